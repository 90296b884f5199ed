package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"debug/buildinfo"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/CycloneDX/cyclonedx-go"
)

func TestSemantic(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"v1.2.3": true, "v0.9.0-rc.1": true, "v1.0.0-3-gabcdef": true, "v1.2.3+build.5": true,
		"1.2.3": false, "v1.2": false, "v01.2.3": false, "v1.2.3 ": false, "": false,
	} {
		if got := semantic.MatchString(text); got != want {
			t.Errorf("%q: %t, want %t", text, got, want)
		}
	}
}

func TestOutput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	own := filepath.Join(dir, "mine")
	if err := os.WriteFile(own, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if checkOutput(dir) == nil {
		t.Error("a directory with other files is replaced")
	}
	if _, err := os.Stat(own); err != nil {
		t.Error(err)
	}
}

const version = "v1.2.3-rc.1"

// TestRelease makes a release for this machine twice, and tries what is in it.
func TestRelease(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	var dirs []string
	for range 2 {
		dir := filepath.Join(t.TempDir(), "dist")
		dirs = append(dirs, dir)
		if err := run(context.Background(), []string{"-version", version, "-dirty", "-o", dir, "-targets", "linux-amd64"}); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("reproducible", func(t *testing.T) { sameFiles(t, dirs[0], dirs[1]) })
	t.Run("archive", func(t *testing.T) { tryArchive(t, filepath.Join(dirs[0], "cairn-1.2.3-rc.1-linux-amd64.tar.gz")) })
	t.Run("deb", func(t *testing.T) { tryDeb(t, filepath.Join(dirs[0], "cairn_1.2.3~rc.1_amd64.deb")) })
	t.Run("rpm", func(t *testing.T) { tryRPM(t, filepath.Join(dirs[0], "cairn-1.2.3~rc.1-1.x86_64.rpm")) })
	t.Run("container", func(t *testing.T) { tryContainer(t, dirs[0]) })
	t.Run("size", func(t *testing.T) { trySize(t, filepath.Join(dirs[0], "cairn-1.2.3-rc.1-linux-amd64.tar.gz")) })
	t.Run("materials", func(t *testing.T) { tryMaterials(t, filepath.Join(dirs[0], "cairn-1.2.3-rc.1-linux-amd64.cdx.json")) })
	t.Run("licences", func(t *testing.T) { tryLicences(t, filepath.Join(dirs[0], "cairn-1.2.3-rc.1-linux-amd64.tar.gz")) })
	t.Run("sums", func(t *testing.T) { tool(t, dirs[0], "sha256sum", "--check", "--strict", sumsFile) })
	t.Run("formula", func(t *testing.T) { tool(t, dirs[0], "ruby", "-c", "cairn.rb") })
}

// tool runs a program, or skips the test if it is not installed, and returns its output.
func tool(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath(name); errors.Is(err, exec.ErrNotFound) {
		t.Skipf("needs %s", name)
	}
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

func sameFiles(t *testing.T, a, b string) {
	n := 0
	err := filepath.WalkDir(a, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		n++
		name, err := filepath.Rel(a, path)
		if err != nil {
			return err
		}
		x, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		y, err := os.ReadFile(filepath.Join(b, name))
		if err == nil && !bytes.Equal(x, y) {
			t.Errorf("%s differs between two builds", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if n < 6 {
		t.Errorf("the release has only %d files", n)
	}
}

// readArchive calls fn with each file of an archive.
func readArchive(t *testing.T, path string, fn func(h *tar.Header, data io.Reader)) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	in := tar.NewReader(z)
	for {
		h, err := in.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		fn(h, in)
	}
}

func tryArchive(t *testing.T, path string) {
	var names []string
	readArchive(t, path, func(h *tar.Header, _ io.Reader) {
		if h.Uid != 0 || h.ModTime.Unix() != 1700000000 {
			t.Errorf("%s: owner %d, time %v", h.Name, h.Uid, h.ModTime)
		}
		names = append(names, strings.TrimPrefix(h.Name, "cairn-1.2.3-rc.1-linux-amd64/"))
	})
	for _, want := range []string{"cairn", "LICENSE", "man/man1/cairn-merge.1.gz", "completions/cairn.bash", "kit/cmake/cairn.cmake"} {
		if !slices.Contains(names, want) {
			t.Errorf("the archive lacks %s", want)
		}
	}
}

// maxSize is what the program should have at most; docs/releasing.md gives its size.
const maxSize = 30_000_000

// trySize checks the size of the program, and that the linker removes methods that nothing calls: it keeps all of them
// if text/template can be reached, which calls methods by their names.
func trySize(t *testing.T, path string) {
	var program []byte
	readArchive(t, path, func(h *tar.Header, data io.Reader) {
		if filepath.Base(h.Name) == "cairn" {
			var err error
			if program, err = io.ReadAll(data); err != nil {
				t.Fatal(err)
			}
		}
	})
	if n := len(program); n < 1<<20 || n > maxSize {
		t.Errorf("the program has %d bytes, at most %d are expected", n, maxSize)
	}
	if bytes.Contains(program, []byte("text/template.(*state).evalField\x00")) {
		t.Error("the program contains text/template: the linker keeps every method")
	}
	if !bytes.Contains(program, []byte("main.newRoot\x00")) {
		t.Error("the names of functions are not where this test looks for them")
	}
}

// tryLicences checks that an archive has the licence of each module in its program.
func tryLicences(t *testing.T, path string) {
	files := make(map[string][]byte)
	readArchive(t, path, func(h *tar.Header, data io.Reader) {
		if name := filepath.Base(h.Name); name == "cairn" || name == thirdParty {
			var err error
			if files[name], err = io.ReadAll(data); err != nil {
				t.Fatal(err)
			}
		}
	})
	info, err := buildinfo.Read(bytes.NewReader(files["cairn"]))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range info.Deps {
		begin := bytes.Index(files[thirdParty], []byte("\n"+d.Path+" "+d.Version+": "))
		if begin < 0 || !bytes.Contains(files[thirdParty][begin:min(begin+20_000, len(files[thirdParty]))], []byte("opyright")) {
			t.Errorf("%s %s: no licence in %s", d.Path, d.Version, thirdParty)
		}
	}
	if len(info.Deps) < 10 {
		t.Errorf("only %d modules in the program", len(info.Deps))
	}
}

// tryDeb installs the package below a directory, runs the program, and removes it.
func tryDeb(t *testing.T, path string) {
	root := t.TempDir()
	for _, dir := range []string{"info", "updates"} {
		if err := os.MkdirAll(filepath.Join(root, "var/lib/dpkg", dir), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	dpkg := func(args ...string) {
		t.Helper()
		tool(t, root, "dpkg", append([]string{"--root=" + root, "--force-not-root", "--force-script-chrootless", "--log=/dev/null"}, args...)...)
	}
	dpkg("--install", path)
	tryProgram(t, root)
	for _, name := range []string{"usr/share/man/man1/cairn.1.gz", "usr/share/bash-completion/completions/cairn", "usr/share/doc/cairn/copyright", "usr/share/cairn/kit/debian/cairn.mk"} {
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			t.Error(err)
		}
	}
	dpkg("--remove", "cairn")
	if _, err := os.Stat(filepath.Join(root, "usr")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after the removal there is still %s/usr (%v)", root, err)
	}
}

// tryProgram runs what was installed below root, and builds and records a program with it.
func tryProgram(t *testing.T, root string) {
	t.Helper()
	program := filepath.Join(root, "usr/bin/cairn")
	if got := tool(t, root, program, "version"); !strings.HasPrefix(got, "cairn "+version+" ") {
		t.Errorf("version is %q", got)
	}
	if got := tool(t, root, program, "help", "merge"); !strings.Contains(got, "Usage:") {
		t.Errorf("help is %q", got)
	}
	dir := t.TempDir()
	source := "int twice(int n) { return 2 * n; }\nint never(int n) { return n; }\nint main(int argc, char **argv) { return twice(argc) - 2; }\n"
	if err := os.WriteFile(filepath.Join(dir, "app.c"), []byte(source), 0o666); err != nil {
		t.Fatal(err)
	}
	tool(t, dir, program, "cc", "gcc", "-O1", "-fno-inline", "-o", "app", "app.c")
	tool(t, dir, "env", "CAIRN_DIR=raws", "./app")
	tool(t, dir, program, "merge", "-o", "app.mip", "app", "raws")
	if got := tool(t, dir, program, "covered", "app.mip", "--missed"); !strings.HasPrefix(got, "never ") || !strings.Contains(got, "2 of 3 (66.7%) functions ran") {
		t.Errorf("functions that did not run: %q", got)
	}
}

func tryRPM(t *testing.T, path string) {
	if got := tool(t, ".", "rpm", "-qp", "--queryformat", "%{NAME} %{VERSION} %{ARCH} %{LICENSE} %{BUILDHOST}", path); got != "cairn 1.2.3~rc.1 x86_64 Apache-2.0 localhost" {
		t.Errorf("rpm says %q", got)
	}
	root := t.TempDir()
	tool(t, root, "rpm", "--root", root, "--dbpath", "/var/lib/rpm", "--nodeps", "-i", path)
	tryProgram(t, root)
	tool(t, root, "rpm", "--root", root, "--dbpath", "/var/lib/rpm", "-e", "cairn")
	if _, err := os.Stat(filepath.Join(root, "usr/bin/cairn")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after the removal the program is still there (%v)", err)
	}
}

// tryContainer makes the image by buildah, which needs no daemon, and runs the program in it.
func tryContainer(t *testing.T, dir string) {
	if os.Getuid() != 0 {
		t.Skip("needs root: buildah is run without name spaces")
	}
	store := t.TempDir()
	buildah := func(args ...string) string {
		t.Helper()
		return tool(t, dir, "buildah", append([]string{"--root", filepath.Join(store, "root"), "--runroot", filepath.Join(store, "run"), "--storage-driver", "vfs"}, args...)...)
	}
	buildah("bud", "--isolation", "chroot", "--build-arg", "TARGETARCH=amd64", "-f", "Containerfile", "-t", "cairn", ".")
	name := strings.TrimSpace(buildah("from", "--name", "trial", "localhost/cairn"))
	if got := buildah("run", "--isolation", "chroot", name, "--", "cairn", "version"); !strings.HasPrefix(got, "cairn "+version+" ") {
		t.Errorf("version is %q", got)
	}
}

func tryMaterials(t *testing.T, path string) {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var bom cyclonedx.BOM
	if err := cyclonedx.NewBOMDecoder(f, cyclonedx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	if bom.Metadata.Component.Version != version || !slices.ContainsFunc(*bom.Components, func(c cyclonedx.Component) bool { return c.Name == "github.com/spf13/cobra" && c.Version != "" }) {
		t.Errorf("%+v", bom.Metadata.Component)
	}
}

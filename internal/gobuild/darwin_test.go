package gobuild_test

import (
	"bytes"
	"crypto/sha256"
	"debug/macho"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/format/golines"
	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/gobuild/image"
	"github.com/cairnprof/cairn/internal/gobuild/machoimage"
	"github.com/cairnprof/cairn/internal/shorttest"
)

const machoDir = "../../proof/oracle/testdata/macho"

// loaders are programs that run those for macOS, by architecture.
var loaders shorttest.Memo[string]

// loader returns the words that run a program for macOS on an architecture.
func loader(t *testing.T, arch string) []string {
	t.Helper()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the loader is for linux/amd64")
	}
	compiler, words := "gcc", []string(nil)
	if arch == "arm64" {
		compiler, words = "aarch64-linux-gnu-gcc", []string{"qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"}
	}
	if _, err := exec.LookPath(compiler); err != nil {
		t.Skip(err)
	}
	if len(words) > 0 {
		emulator(t)
	}
	to, err := loaders.Get(arch, func() (string, error) {
		dir, err := sharedDir()
		if err != nil {
			return "", err
		}
		to := filepath.Join(dir, "loader-"+arch)
		return to, shorttest.MachOLoader(compiler, machoDir, to)
	})
	if err != nil {
		t.Fatal(err)
	}
	return append(words, to)
}

// TestDarwin runs programs for macOS and compares the calls that they count with those of their profiles.
func TestDarwin(t *testing.T) {
	for _, row := range []struct {
		name, arch, mode string
		env, build       []string
	}{
		{"count", "amd64", "count", nil, nil},
		{"stripped", "amd64", "count", nil, []string{"-ldflags=-s", "-trimpath"}},
		{"arm64", "arm64", "count", nil, nil},
		{"go1.25", "amd64", "count", []string{"GOTOOLCHAIN=go1.25.5"}, nil},
		{"arm64/go1.25", "arm64", "count", []string{"GOTOOLCHAIN=go1.25.5"}, nil},
		{"cover", "arm64", "cover", nil, nil},
		{"order", "amd64", "order", nil, nil},
		{"block", "amd64", "block", nil, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			cairn, _ := needsGo(t)
			run := loader(t, row.arch)
			dir, raws := t.TempDir(), t.TempDir()
			src, err := os.ReadFile("testdata/darwin.go.txt")
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "main.go"), src, 0o666); err != nil {
				t.Fatal(err)
			}
			args := []string{"go", "--mode", row.mode}
			if row.mode == "count" {
				args = append(args, "--atomic")
			}
			args = append(append(args, "build", "-o", "app"), append(row.build, "main.go")...)
			do(t, dir, "", append([]string{"GOOS=darwin", "GOARCH=" + row.arch, "CGO_ENABLED=0"}, row.env...), cairn, args...)
			app := filepath.Join(dir, "app")
			checkMachO(t, app, row.arch == "arm64")
			out := do(t, dir, "", []string{"CAIRN_DIR=" + raws}, run[0], append(run[1:len(run):len(run)], app)...)
			profile := filepath.Join(dir, "app.mip")
			do(t, dir, "", nil, cairn, "merge", "--strict", "-o", profile, "app", raws)
			checkPrinted(t, profile, out, 9, row.mode == "count")
			lines := do(t, dir, "", nil, cairn, "covered", profile, "--debug", app, "--lcov")
			if !strings.Contains(lines, "\nDA:") {
				t.Errorf("no lines ran: %.300s", lines)
			}
		})
	}
}

// checkPrinted compares a profile with the lines NAME CALLS that a program printed of its functions.
func checkPrinted(t *testing.T, profile, printed string, functions int, counts bool) {
	t.Helper()
	m := readProfile(t, profile).Modules[0]
	calls, ran := map[string]uint64{}, map[string]bool{}
	for i := range m.Funcs {
		calls[m.Funcs[i].Name], ran[m.Funcs[i].Name] = m.Counts[i].Calls, m.Counts[i].Runs > 0
	}
	compared := 0
	for line := range strings.Lines(printed) {
		var name string
		var n uint64
		if _, err := fmt.Sscan(line, &name, &n); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if name == "main.never" {
			if _, ok := calls[name]; !ok {
				t.Errorf("%s is not in the profile", name)
			}
		}
		compared++
		if counts && calls[name] != n || ran[name] != (n > 0) {
			t.Errorf("%s: %d calls, ran %t; it counted %d", name, calls[name], ran[name], n)
		}
	}
	if compared != functions {
		t.Errorf("%d functions were printed", compared)
	}
}

// checkMachO checks a program's headers by LLVM, and its signature.
func checkMachO(t *testing.T, path string, signed bool) {
	t.Helper()
	if _, err := exec.LookPath("llvm-objdump-22"); err == nil {
		if out := do(t, ".", "", nil, "llvm-objdump-22", "--macho", "--private-headers", path); !strings.Contains(out, "__cairn_raw") {
			t.Errorf("no section for records:\n%s", out)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := macho.NewFile(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range f.Loads {
		if raw := l.Raw(); binary.LittleEndian.Uint32(raw) == 0x1d {
			if !signed {
				t.Error("it is signed")
			}
			checkSignature(t, data, int(binary.LittleEndian.Uint32(raw[8:])), int(binary.LittleEndian.Uint32(raw[12:])))
			signed = false
		}
	}
	if signed {
		t.Error("it is not signed")
	}
	// The go command signs last, in the same way.
	again, err := machoimage.Parse(bytes.Clone(data))
	if err != nil {
		t.Fatal(err)
	}
	if now, err := again.Bytes(); err != nil || !bytes.Equal(now, data) {
		t.Errorf("signed again it has %d bytes, was %d, and is not the same: %v", len(now), len(data), err)
	}
}

// checkSignature checks the code directory at an offset, as the kernel does: the hash of each page.
func checkSignature(t *testing.T, data []byte, off, size int) {
	t.Helper()
	be := binary.BigEndian
	sig := data[off:]
	if len(sig) != size || be.Uint32(sig) != 0xfade0cc0 || int(be.Uint32(sig[4:])) != size {
		t.Fatalf("signature of %d bytes, %d at the end of the file: % x", size, len(sig), sig[:12])
	}
	dir := sig[be.Uint32(sig[16:]):]
	hashes, pages, limit := dir[be.Uint32(dir[16:]):], int(be.Uint32(dir[28:])), int(be.Uint32(dir[32:]))
	if be.Uint32(dir) != 0xfade0c02 || limit != off || pages != (limit+4095)/4096 || dir[36] != 32 || dir[37] != 2 || dir[39] != 12 {
		t.Fatalf("code directory: % x, of %d bytes in %d pages", dir[:44], limit, pages)
	}
	for i := range pages {
		if sum := sha256.Sum256(data[i*4096 : min(i*4096+4096, limit)]); !bytes.Equal(sum[:], hashes[i*32:][:32]) {
			t.Errorf("page %d has another hash", i)
		}
	}
}

// TestExtendMachO adds sections to programs of C, which run as before, and reads the sections.
func TestExtendMachO(t *testing.T) {
	t.Parallel()
	for arch, target := range map[string]string{"amd64": "x86_64-apple-macos12", "arm64": "arm64-apple-macos12"} {
		t.Run(arch, func(t *testing.T) {
			t.Parallel()
			run := loader(t, arch)
			for _, tool := range []string{"clang-22", "ld64.lld-22"} {
				if _, err := exec.LookPath(tool); err != nil {
					t.Skip(err)
				}
			}
			dir := t.TempDir()
			const source = "int printf(const char *, ...); static char a[64], b[4096], c[64]; char *volatile p = b;\n" +
				"int main(int n, char **v) { a[n] = c[n] = p[n] = (char)n; return printf(\"%d\\n\", a[n] + c[n] + p[n]) > 9; }\n"
			if err := os.WriteFile(filepath.Join(dir, "main.c"), []byte(source), 0o666); err != nil {
				t.Fatal(err)
			}
			tbd, err := filepath.Abs(filepath.Join(machoDir, "libSystem.tbd"))
			if err != nil {
				t.Fatal(err)
			}
			link := func(pad string) {
				do(t, dir, "", nil, "clang-22", "-target", target, "-w", "-fuse-ld=lld", "-nostdlib", "-Wl,-no_fixup_chains,-adhoc_codesign,-headerpad,"+pad, "-o", "app", "main.c", tbd)
			}
			app := filepath.Join(dir, "app")
			link("0x20")
			if err := extend(t, app, "_b"); err == nil || !strings.Contains(err.Error(), "headerpad") {
				t.Errorf("without room for load commands: %v", err)
			}
			link("0x400")
			if err := extend(t, app, "_b"); err != nil {
				t.Fatal(err)
			}
			checkMachO(t, app, true)
			if got := do(t, dir, "", nil, run[0], append(run[1:len(run):len(run)], app, "x")...); got != "6\n" {
				t.Errorf("it printed %q", got)
			}
		})
	}
}

// extend adds sections to a program, of which one is the memory of a variable, and checks that they and its symbols are found.
func extend(t *testing.T, path, variable string) error {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, err := machoimage.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	symbols, err := before.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(symbols, func(s image.Symbol) bool { return "_"+s.Name == variable })
	if i < 0 {
		t.Fatalf("no symbol %s of %v", variable, symbols)
	}
	add := []image.Addition{
		{Name: wire.RawSection, Addr: symbols[i].Addr, Size: 4096},
		{Name: wire.MapSection, Data: bytes.Repeat([]byte("map"), 5000)},
		{Name: golines.Section, Data: []byte("lines")},
	}
	out, err := before.Extend(add, false)
	if err != nil {
		return err
	}
	only, err := before.Only(add)
	if err != nil {
		t.Fatal(err)
	}
	after, err := machoimage.Parse(out)
	if err != nil {
		t.Fatal(err)
	}
	if now, err := after.Symbols(); err != nil || len(now) != len(symbols) {
		t.Errorf("symbols %v, were %v: %v", now, symbols, err)
	}
	if err := os.WriteFile(path, out, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".debug", only, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, path + ".debug"} {
		bin, err := objfile.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer bin.Close()
		if id, err := bin.BuildID(); err != nil || string(id) != string(before.BuildID()) {
			t.Errorf("%s: id %x: %v", name, id, err)
		}
		for _, a := range add {
			data, addr, size, ok, err := bin.Section(a.Name)
			if err != nil || !ok || !bytes.Equal(data, a.Data) || a.Data == nil && (addr != a.Addr || size != a.Size) {
				t.Errorf("%s: section %s: %d bytes at %#x, size %#x: %t, %v", name, a.Name, len(data), addr, size, ok, err)
			}
		}
	}
	return nil
}

package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// file is a file of archives and packages.
type file struct {
	path string // in an archive
	in   string // in packages, from the root; "" if they do not have it
	mode fs.FileMode
	data []byte
}

// documentation makes man pages and completions, and reads what else all archives have.
func (b *build) documentation(ctx context.Context) error {
	man := filepath.Join(b.work, "man")
	env := []string{"SOURCE_DATE_EPOCH=" + strconv.FormatInt(b.date.Unix(), 10), "CGO_ENABLED=0"}
	if _, err := command(ctx, b.source, env, "go", "run", "-tags", "man", "./cmd/cairn", "man", man); err != nil {
		return err
	}
	pages, err := os.ReadDir(man)
	if err != nil {
		return err
	}
	for _, p := range pages {
		data, err := os.ReadFile(filepath.Join(man, p.Name()))
		if err != nil {
			return err
		}
		packed, err := b.gzip(data)
		if err != nil {
			return err
		}
		b.add("man/man1/"+p.Name()+".gz", "/usr/share/man/man1/"+p.Name()+".gz", 0o644, packed)
	}
	for shell, to := range map[string]string{
		"bash": "/usr/share/bash-completion/completions/cairn", "zsh": "/usr/share/zsh/vendor-completions/_cairn", "fish": "/usr/share/fish/vendor_completions.d/cairn.fish",
	} {
		data, err := command(ctx, b.source, env, "go", "run", "./cmd/cairn", "completion", shell)
		if err != nil {
			return err
		}
		b.add("completions/"+filepath.Base(to)+map[string]string{"bash": ".bash"}[shell], to, 0o644, data)
	}
	for name, to := range map[string]string{
		"README.md": "/usr/share/doc/cairn/README.md", "CHANGELOG.md": "/usr/share/doc/cairn/CHANGELOG.md", "LICENSE": "/usr/share/doc/cairn/copyright",
		"internal/runtime/nativert/c/cairn.h": "/usr/share/cairn/cairn.h",
	} {
		data, err := os.ReadFile(filepath.Join(b.source, name))
		if err != nil {
			return err
		}
		b.add(filepath.Base(name), to, 0o644, data)
	}
	if err := errors.Join(b.kit(), b.licences(ctx)); err != nil {
		return err
	}
	slices.SortFunc(b.shared, func(x, y file) int { return strings.Compare(x.path, y.path) })
	return nil
}

// kit adds the files for build systems.
func (b *build) kit() error {
	root := filepath.Join(b.source, "kit")
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if info.Mode()&0o100 != 0 {
			mode = 0o755
		}
		name, err := filepath.Rel(b.source, path)
		if err == nil {
			b.add(filepath.ToSlash(name), "/usr/share/cairn/"+filepath.ToSlash(name), mode, data)
		}
		return err
	})
}

func (b *build) add(path, in string, mode fs.FileMode, data []byte) {
	b.shared = append(b.shared, file{path, in, mode, data})
}

// gzip compresses data, without a name or a time.
func (b *build) gzip(data []byte) ([]byte, error) {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(data); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// archiveName is the name of the archive for a system, without its suffix.
func (b *build) archiveName(t target) string { return "cairn-" + b.number() + "-" + t.String() }

// suffix is that of the archive for a system.
func (t target) suffix() string {
	if t.os == "windows" {
		return ".zip"
	}
	return ".tar.gz"
}

// archive writes the archive for a system.
func (b *build) archive(t target, program string) error {
	data, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	pack := b.tarball
	if t.os == "windows" {
		pack = b.zip
	}
	packed, err := pack(b.archiveName(t), slices.Concat([]file{{t.program(), "", 0o755, data}}, b.shared, b.hooks[t]))
	if err != nil {
		return err
	}
	return b.write(b.archiveName(t)+t.suffix(), packed)
}

// addHooks makes the hooks of an archive for Windows, by mingw-w64.
func (b *build) addHooks(ctx context.Context, t target) error {
	if t != (target{"windows", "amd64"}) {
		return nil
	}
	dir := filepath.Join(b.work, "hooks")
	if _, err := command(ctx, b.source, []string{"CGO_ENABLED=0"}, "go", "run", "./cmd/cairn", "hooks", "-o", dir); err != nil {
		return err
	}
	made, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	b.hooks = map[target][]file{}
	for _, e := range made {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		b.hooks[t] = append(b.hooks[t], file{"hooks/" + e.Name(), "", 0o644, data})
	}
	return nil
}

// tarball returns a compressed tar archive of files below the directory top.
func (b *build) tarball(top string, files []file) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range files {
		err := w.WriteHeader(&tar.Header{
			Name: top + "/" + f.path, Mode: int64(f.mode), Size: int64(len(f.data)), ModTime: b.date, Uname: "root", Gname: "root", Format: tar.FormatUSTAR,
		})
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.gzip(out.Bytes())
}

// zip returns a zip archive of files below the directory top.
func (b *build) zip(top string, files []file) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range files {
		h := &zip.FileHeader{Name: top + "/" + f.path, Method: zip.Deflate, Modified: b.date}
		h.SetMode(f.mode)
		to, err := w.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := to.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// write writes a file of the release.
func (b *build) write(name string, data []byte) error {
	path := filepath.Join(b.out, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		return err
	}
	return os.Chtimes(path, time.Time{}, b.date)
}

// sum returns the digest of a file of the release.
func (b *build) sum(name string) (string, error) {
	data, err := os.ReadFile(filepath.Join(b.out, name))
	return fmt.Sprintf("%x", sha256.Sum256(data)), err
}

const sumsFile = "SHA256SUMS"

// sums writes the digests of all files.
func (b *build) sums() error {
	var text strings.Builder
	err := filepath.WalkDir(b.out, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(b.out, path)
		if err != nil {
			return err
		}
		sum, err := b.sum(name)
		fmt.Fprintf(&text, "%s  %s\n", sum, filepath.ToSlash(name))
		return err
	})
	if err != nil {
		return err
	}
	return b.write(sumsFile, []byte(text.String()))
}

package toolchain

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cairnprof/cairn/internal/instrument/catch"
	"github.com/cairnprof/cairn/internal/lazyregexp"
)

// A static library of rustc has Rust's own library in it, with the crates that this is made of. Their objects name
// sources such as src/lib.rs, as those of any crate do, but the names of their members begin with CRATE-HASH, as
// that of the file in rustc's installation does: libCRATE-HASH.rlib. The hash is one of the whole crate.

// rustMember matches a member of such a library.
var rustMember = lazyregexp.New(`^([0-9A-Za-z_]+-[0-9a-f]{16})\..*\.o$`)

// rustLibrary is the library of the rustc that the link's directory has. It is searched at the first use.
type rustLibrary struct {
	dirs     []string
	searched bool
	found    map[string]bool // by CRATE-HASH
}

// has reports whether a member of an archive is one of Rust's library. Without a rustc none is.
func (l *rustLibrary) has(member string) bool {
	m := rustMember().FindStringSubmatch(member)
	if m == nil {
		return false
	}
	if !l.searched {
		l.searched, l.found = true, map[string]bool{}
		l.dirs = rustDirs()
	}
	name := m[1]
	is, known := l.found[name]
	if !known {
		is = slices.ContainsFunc(l.dirs, func(dir string) bool {
			_, err := os.Stat(filepath.Join(dir, "lib"+name+".rlib"))
			return err == nil
		})
		l.found[name] = is
	}
	return is
}

// rustDirs returns the directories of the library for each target that is installed.
func rustDirs() []string {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "rustc", "--print", "sysroot")
	cmd.Env = append(os.Environ(), catch.EnvCaught+"=1") // no compilation of the build
	out, err := cmd.Output()
	root := strings.TrimSpace(string(out))
	if err != nil || !filepath.IsAbs(root) {
		return nil
	}
	targets := filepath.Join(root, "lib", "rustlib")
	entries, err := os.ReadDir(targets)
	if err != nil {
		return nil
	}
	var dirs []string
	for _, e := range entries {
		dirs = append(dirs, filepath.Join(targets, e.Name(), "lib"))
	}
	return dirs
}

package toolchain

import (
	"os"
	"path/filepath"
	"testing"
)

// TestRustLibrary tells members of Rust's library from those of other crates, of the same name, too.
func TestRustLibrary(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"libmemchr-ea71fa85f6699d6b.rlib", "libstd-d1237ef7159db0a2.rlib"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l := rustLibrary{dirs: []string{filepath.Join(dir, "none"), dir}, searched: true, found: map[string]bool{}}
	for member, want := range map[string]bool{
		"std-d1237ef7159db0a2.std.e28293b1aa0f68bd-cgu.0.rcgu.o":       true,
		"memchr-ea71fa85f6699d6b.memchr.9642f0ce76a98c65-cgu.0.rcgu.o": true,
		"memchr-00000000f6699d6b.memchr.9642f0ce76a98c65-cgu.0.rcgu.o": false,
		"mine-ea71fa85f6699d6b.mine.9642f0ce76a98c65-cgu.0.rcgu.o":     false,
		"memchr-ea71fa85f6699d6b":                                      false,
		"memchr.o":                                                     false,
		"../memchr-ea71fa85f6699d6b.memchr.o":                          false,
	} {
		for range 2 {
			if got := l.has(member); got != want {
				t.Errorf("%s: %v, want %v", member, got, want)
			}
		}
	}
}

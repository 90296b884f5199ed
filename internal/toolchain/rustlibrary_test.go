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

// TestRustMade checks which functions rustc makes for a link, by the symbols of 1.95 and of older versions.
func TestRustMade(t *testing.T) {
	t.Parallel()
	for symbol, want := range map[string]bool{
		"_RNvCsfLfy6EI15iL_7___rustc14___rust_realloc":                      true,
		"_RNvCsfLfy6EI15iL_7___rustc12___rust_alloc":                        true,
		"_RNvCsfLfy6EI15iL_7___rustc35___rust_no_alloc_shim_is_unstable_v2": true,
		"__rust_alloc":                     true,
		"__rust_alloc_zeroed":              true,
		"__rust_dealloc":                   true,
		"_RNvCs1234_3app4main":             false,
		"_ZN3app4main17h0123456789abcdefE": false,
		"rust_alloc":                       false,
		"":                                 false,
	} {
		if got := rustMade(symbol); got != want {
			t.Errorf("%s: %v", symbol, got)
		}
	}
}

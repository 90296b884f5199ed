package driver

import (
	"strings"
	"testing"
)

// TestAddsCXX checks which links get gcc's C++ library as a shared one.
func TestAddsCXX(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		"g++ a.cc": true,
		"/usr/bin/x86_64-linux-gnu-g++-12 -o a a.o": true,
		"clang++-22 -fuse-ld=lld a.o":               true,
		"c++ @response":                             true,
		"g++ -stdlib=libstdc++ a.o":                 true,
		"gcc a.o -lstdc++":                          false,
		"gcc-12 a.c":                                false,
		"clang a.o":                                 false,
		"g++ -c a.cc":                               false,
		"g++ -shared a.o":                           false,
		"g++ -static a.o":                           false,
		"g++ -r a.o":                                false,
		"g++ -static-libstdc++ a.o":                 false,
		"g++ -shared-libgcc a.o":                    false,
		"clang++ -stdlib=libc++ a.o":                false,
		"g++ -nostdlib a.o -lc":                     false,
		"g++ -fsanitize=address a.o":                false,
	} {
		words := strings.Fields(line)
		c := Parse(FamilyOf(words[0]), words[1:], readTest)
		if got := c.AddsCXX(words[0]); got != want {
			t.Errorf("%s: %t", line, got)
		}
	}
}

// TestLacksLibc checks which links have no C library.
func TestLacksLibc(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		"a.o":                                    false,
		"-nostdlib -shared a.o":                  true,
		"-nodefaultlibs a.o":                     true,
		"-shared -nostdlib crti.o a.o -lc -lgcc": false, // as libtool links C++
		"-nostartfiles a.o":                      false,
	} {
		if c := Parse(GCC, strings.Fields(line), readTest); c.LacksLibc() != want {
			t.Errorf("%s: %t", line, !want)
		}
	}
}

// TestKeepsRelocations checks which links say how relocations are packed.
func TestKeepsRelocations(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		"a.o":                               false,
		"-Wl,-z,nopack-relative-relocs a.o": true,
		"-Xlinker -z -Xlinker pack-relative-relocs": true,
		"-Wl,--pack-dyn-relocs=none a.o":            true,
		"-Wl,-z,relro a.o":                          false,
	} {
		if c := Parse(GCC, strings.Fields(line), readTest); c.KeepsRelocations() != want {
			t.Errorf("%s: %t", line, !want)
		}
	}
}

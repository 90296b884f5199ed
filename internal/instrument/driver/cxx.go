package driver

import (
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/lazyregexp"
)

// cxxDriver matches the names of drivers that add the C++ library to a link: g++, clang++-22, x86_64-linux-gnu-g++-12.
var cxxDriver = lazyregexp.New(`\+\+(-[\d.]+)?$`)

// sharesCXX are options with which a driver adds no library of gcc for C++, or is told to share it.
var sharesCXX = []string{"-nostdlib", "-nodefaultlibs", "-nostdlib++", "-stdlib=libc++", "-shared-libgcc", "-static-libstdc++", "--driver-mode=gcc"}

// LacksLibc reports whether the arguments of a link omit the C library and do not name one themselves: what loads the result,
// or the program itself, may support few kinds of relocations.
func (c *Command) LacksLibc() bool { return isBare(c.words) }

// KeepsRelocations reports whether a link chooses itself how relocations are packed.
func (c *Command) KeepsRelocations() bool {
	return slices.ContainsFunc(c.words, func(w string) bool {
		return strings.Contains(w, "pack-relative-relocs") || strings.Contains(w, "-pack-dyn-relocs")
	})
}

// AddsCXX reports whether the driver at a path links a program with gcc's C++ library as a shared one, unless told otherwise.
// Sanitizers replace functions of that library when the program starts, and count as told.
func (c *Command) AddsCXX(driver string) bool {
	return c.Links && !c.Shared && !c.Static && cxxDriver().MatchString(ToolName(driver)) && !slices.ContainsFunc(c.words, func(w string) bool {
		return slices.Contains(sharesCXX, w) || strings.HasPrefix(w, "-fsanitize=")
	})
}

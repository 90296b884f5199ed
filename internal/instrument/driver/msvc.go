package driver

import (
	"path/filepath"
	"slices"
	"strings"
)

// Problem: with the target of MSVC, clang starts no assembler but its own, whatever -fno-integrated-as and -B say.
//
// Choice: clang is started under a name of ours, and is told to run its parts as processes of their own and not to resolve its
// name. It starts each part by that name: cairn, which has the compiler proper write assembly, and assembles that. Whatever
// the syntax of the driver, the command line of the compiler proper is the same.

// StandIn returns the path by which clang is started for MSVC's target: of cairn, in the directory of the assembler's stand-in,
// under the compiler's name, which says whether it is clang, clang++ or clang-cl.
func (tc *Toolchain) StandIn(compiler string) string {
	return filepath.Join(tc.Bin, filepath.Base(compiler))
}

// msvcLink returns the arguments of a link by lld-link. The runtime is an object that nothing else draws in; the loader calls it
// by a table of the C library. A CodeView record, which identifies the program, is made with a PDB, or if it is asked for.
func (c *Command) msvcLink(args []string, tc Toolchain) []string {
	for _, w := range c.msvcOptions(tc) {
		args = append(args, "-Xlinker", w)
	}
	if c.Language {
		args = append(args, "-x", "none")
	}
	return append(args, tc.Archive, "-lkernel32")
}

// msvcOptions returns the options of lld-link. Logs of the modes that measure time have no names: where the link makes no PDB, it
// writes symbols.
func (c *Command) msvcOptions(tc Toolchain) []string {
	bare := slices.Contains(c.words, "-nostdlib") || slices.Contains(c.words, "-nodefaultlibs")
	return msvcOptions(bare, tc.Timed && !slices.ContainsFunc(c.words, asksForDebug))
}

// asksForDebug reports whether a word of a command may make a PDB: options of compilers, and of the linker behind theirs.
func asksForDebug(word string) bool {
	if strings.HasPrefix(word, "-g") {
		return true
	}
	return slices.ContainsFunc(strings.Split(strings.ToLower(word), ","), func(option string) bool {
		name, _, _ := strings.Cut(strings.TrimPrefix(option, "/clang:"), ":")
		return strings.HasPrefix(name, "-g") || name != "" && strings.Contains("-/", name[:1]) && slices.Contains([]string{"debug", "z7", "zi"}, name[1:])
	})
}

func msvcOptions(bare, symbols bool) []string {
	out := []string{"-build-id"}
	if !bare {
		out = append(out, "-include:"+tlsTable)
	}
	if symbols {
		out = append(out, "-debug:symtab")
	}
	return out
}

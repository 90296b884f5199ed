package build

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/runtime/nativert"
	"github.com/cairnprof/cairn/internal/toolchain"
	"github.com/cairnprof/cairn/internal/verb"
)

// Hooks returns the command cairn hooks.
func Hooks(s *verb.Streams) *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "hooks [-o DIR] [COMPILER]",
		Short: "Write the hooks for Windows that other compilers call",
		Long: `hooks compiles the functions that compilers for Windows call at the beginning and at
the end of each function: _penter and _pexit of MSVC (/Gh /GH), and those of
-finstrument-functions and -pg -mfentry of gcc and clang. A program that is linked with
them logs its calls that take too long, as in mode spike: see docs/windows-hooks.md.

It writes cairn_hooks.obj for MSVC and clang-cl, cairn_hooks.o for mingw-w64, and
cairn_hooks.dll with cairn_hooks.def for programs with several DLLs. For programs as they
are it writes cairn_detours.exe and cairn_detours.dll, which take what cairn watch plan
wrote. COMPILER is a C compiler of mingw-w64, x86_64-w64-mingw32-gcc unless another is
given. The archives of releases for Windows have these files.`,
		Example: "  cairn hooks -o hooks",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			compiler := "x86_64-w64-mingw32-gcc"
			if len(args) > 0 {
				compiler = args[0]
			}
			if err := os.MkdirAll(out, 0o755); err != nil {
				return err
			}
			return toolchain.WindowsHooks(c.Context(), compiler, out)
		},
	}
	c.Flags().StringVarP(&out, "output", "o", ".", "`directory` to write to")
	verb.Directories(c, "output")
	return c
}

// Header returns the command cairn header.
func Header(s *verb.Streams) *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "header [-o cairn.h]",
		Short: "Print cairn.h, the header for instrumented programs",
		Long: `header prints cairn.h, which declares cairn_dump, cairn_reset, CAIRN_SKIP and the
marks for spikes that docs/markup.md lists. Compilers run through cairn cc or cairn
build find <cairn.h> without further flags; keep a copy in your sources so that they
also compile without cairn.`,
		Example: "  cairn header -o include/cairn.h",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return verb.WriteBytes(s, out, nativert.Header())
		},
	}
	c.Flags().StringVarP(&out, "output", "o", "-", "`file` to write; - for standard output")
	return c
}

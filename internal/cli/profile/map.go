package profile

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/internal/cli/calls"
	"github.com/cairnprof/cairn/internal/inputs/gather"
	"github.com/cairnprof/cairn/internal/verb"
)

// Map returns the command cairn map.
func Map(s *verb.Streams) *cobra.Command {
	var output string
	var traced calls.XRayMapFlags
	c := &cobra.Command{
		Use:   "map BINARY [-o FILE.mipmap] | map PROGRAM [--xray] [flags]",
		Short: "Extract the map of a binary, or print XRay's instrumentation map",
		Long: `map copies the map out of a binary or shared library that was built with cairn cc
into a file. The map assigns the records of a raw file to functions; a raw file
cannot be read without the map of its build. The default name is
BINARY.mipmap.

The map is in the section .debug.cairn, which strip removes. These keep it, too:
  objcopy --only-keep-debug app app.debug && strip app
  objcopy --dump-section .debug.cairn=app.section app
The first makes a file that every cairn command accepts in place of the binary. The
second copies the section alone, which cairn cannot read by itself because it lacks
the build id.

For a program that was built with -fxray-instrument, map instead prints XRay's
instrumentation map: the function of each function id in logs, and the addresses of
its sleds. If a binary has both, map uses cairn's own; --xray or --format selects the
other. Object files, Mach-O files and YAML maps are supported, too; a damaged map is
an error. The formats:
  text  a table of sleds, one on each line; the default
  yaml  what llvm-xray extract --symbolize prints
  json  functions with their sleds and where they are declared
The map survives strip, function names do not: a stripped program needs its debug
file beside it or below /usr/lib/debug.`,
		Example: `  cairn map app -o app.mipmap && strip app
  clang++ -g -fxray-instrument app.cc -o traced && cairn map traced`,
		Args: verb.ExactFiles("map", "a binary", 1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			if wanted, err := traced.Wanted(args[0]); err != nil {
				return err
			} else if wanted {
				return traced.Run(s, args[0], output)
			}
			path := output
			if path == "" {
				path = args[0] + ".mipmap"
			}
			m, err := gather.ReadMap(s, args[0])
			if err != nil {
				return err
			}
			if err := verb.WriteFile(s, path, func(w io.Writer) error { return mip.WriteMap(w, m) }); err != nil {
				return err
			}
			fmt.Fprintf(s.Remarks(), "%s: %d functions of %s (%s)\n", path, len(m.Funcs), m.Module, m.BuildID.Short())
			return nil
		},
	}
	c.Flags().StringVarP(&output, "output", "o", "", "write to this `file`, a .mipmap, or - for standard output, the default for an instrumentation map")
	traced.Register(c)
	return c
}

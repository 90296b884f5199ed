// Package layout has the commands about the layout of programs: orders for linkers and
// compilers, and the pages that runs touch.
package layout

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cairnprof/cairn/internal/cli/profile"
	"github.com/cairnprof/cairn/internal/inputs/linkset"
	"github.com/cairnprof/cairn/internal/layout/linkorder"
	"github.com/cairnprof/cairn/internal/layout/order"
	"github.com/cairnprof/cairn/internal/output/orderfile"
	"github.com/cairnprof/cairn/internal/toolchain"
	"github.com/cairnprof/cairn/internal/verb"
)

const orderHelp = `order ranks the functions that ran and writes an order file, by which a linker lays
them out: programs whose startup code is contiguous touch fewer pages. Compile with
-ffunction-sections. Formats:

  lld        symbols, for lld: -Wl,--symbol-ordering-file=FILE
  ld64       symbols with an underscore, for ld64: -Wl,-order_file,FILE
  gold       section names, for gold: -Wl,--section-ordering-file=FILE
  ld         for GNU ld from 2.43 on: -Wl,--section-ordering-file=FILE
  ld-script  for any GNU ld: -Wl,-T,FILE
  pe-script  for GNU ld of mingw-w64: -Wl,-T,FILE
  lld-link   for lld-link: /order:@FILE
  auto       the format of --linker, or else of the linker of the compiler $CC (gcc)

symbols is another name for lld, and sections for gold. mold does not support order
files. cairn cc --use and cairn build --use do all of this automatically.

Algorithms:

  startup    signature, then hot for functions that no run recorded; the default
  signature  functions that the same runs executed are placed together
  bp         balanced partitioning with the rules of llvm-profdata order
  bp-lld     balanced partitioning with the rules of lld
  first      the recorded orders one after the other
  mean       by mean position of the first execution; needs no recorded orders
  hot        callees near their callers, by cache-directed sort: for throughput
  c3         the same by call-chain clustering (hfsort)

With a BINARY or --objects, functions are looked up in the program that is to be
ordered: functions that no longer exist are omitted and reported, and names of
sections are taken from there. Give the binary of the last link.

--run runs and records the given program without instrumentation, by a breakpoint on
each of its functions. The order is added to the profile, which is created if
missing, under the name that --scenario gives; without a profile the order is that of
this run alone. The exit code is the program's. Without -o the program's standard output goes to
standard error. Linux on x86-64 only.

--data LOG adds the variables and constants of the program, by their first access,
for lld and gold: compile with -fdata-sections. Record the accesses of the program of the
BINARY, on x86-64:

  valgrind --tool=lackey --trace-mem=yes --log-file=LOG ./app

The order file also goes to cairn cc and cairn build, as --data-order of --use.

--from URL takes the profile of a program from a collector (cairn collect), which is the
same as giving URL/PROGRAM@BUILD as the profile.

The summary counts the 4 KiB pages that each scenario touches now and in the new
order, and the fewest pages that its functions fit in. With two or more scenarios it
also reports scenarios that run code that no other scenario runs.`

// Order returns the command cairn order.
func Order(s *verb.Streams) *cobra.Command {
	var f orderfile.Choice
	c := &cobra.Command{
		Use:   "order FILE.mip [BINARY] [flags] | order --run [FILE.mip] [flags] -- PROGRAM [ARG...]",
		Short: "Write an order file, by which a linker lays out functions",
		Long:  orderHelp,
		Example: `  cairn order app.mip app -o app.order
  clang -fuse-ld=lld -ffunction-sections -Wl,--symbol-ordering-file=app.order *.c -o app
  cairn order --run -o app.order -- ./app --help
  cairn order --from https://collector:7474 --program app --build 1f3c -o app.order`,
		Args: func(c *cobra.Command, args []string) error { return orderArgs(c, &f, args) },
		RunE: func(c *cobra.Command, _ []string) error { return f.Write(c.Context(), s) },
	}
	profile.RegisterProfile(c, &f.Choice)
	registerLink(c, &f.Link)
	fl := c.Flags()
	fl.SetInterspersed(false) // later flags belong to the program
	fl.BoolVar(&f.Record, "run", false, "run the given program, record its first executions, and order by them")
	fl.StringVar(&f.From, "from", "", "take the profile from the collector at this `URL`")
	fl.StringVar(&f.OfProgram, "program", "", "the `name` of the program (needs --from)")
	fl.StringVar(&f.OfBuild, "build", "", "the build `id` of the program, or its start; needed if the collector has several builds (needs --from)")
	fl.StringVarP(&f.Out, "output", "o", "-", "write to this `file`")
	fl.StringVar(&f.Algorithm, "algorithm", "", "algorithm: `how` is "+toolchain.JoinAlgorithms()+` (default "`+string(order.Algorithms()[0])+`")`)
	verb.Values(c, "algorithm", order.Algorithms()...)
	fl.StringArrayVar(&f.Scenarios, "scenario", nil, "use only runs of the scenario with this `name`; repeatable. With --run, the scenario of the run")
	fl.StringArrayVar(&f.Weights, "weight", nil, "weight of the runs of a scenario: `NAME=W`; repeatable")
	fl.BoolVar(&f.Compress, "compress", false, "place similar functions that never ran together, if that makes the compressed program smaller (needs the binary of the profile)")
	fl.StringArrayVar(&f.Data, "data", nil, "order variables and constants, too, by their first access in this `log` of valgrind --tool=lackey --trace-mem=yes; repeatable (needs the binary)")
	fl.BoolVar(&f.JSON, "json", false, "print the summary as JSON on standard output (needs -o)")
	return c
}

// orderArgs interprets the arguments after the flags. After a profile there may be flags, including
// --run; arguments after the name of a program belong to the program.
func orderArgs(c *cobra.Command, f *orderfile.Choice, args []string) error {
	var files []string
	for !f.Record && len(args) > 0 {
		files = append(files, args[0])
		if err := c.ParseFlags(args[1:]); err != nil {
			return c.FlagErrorFunc()(c, err)
		}
		if help, _ := c.Flags().GetBool("help"); help {
			return pflag.ErrHelp
		}
		args = c.Flags().Args()
	}
	f.Program = args
	if f.Record && len(args) == 0 {
		return verb.Usagef("order: no program given; use --run -- PROGRAM [ARG...]")
	}
	files, err := f.FromCollector(files)
	if err != nil {
		return err
	}
	f.Take(files)
	if f.Link.Binary == "" && len(f.Link.Objects) == 0 && len(f.Binaries) > 0 {
		f.Link.Binary = f.Binaries[0]
	}
	return nil
}

func registerLink(c *cobra.Command, f *linkset.Choice) {
	fl := c.Flags()
	fl.StringVar(&f.Format, "format", "", "`format` of the file: lld, ld64, gold, ld, ld-script, lld-link, pe-script or auto (default \"lld\", with --linker \"auto\")")
	verb.Values(c, "format", linkorder.FormatLLD, linkorder.FormatLD64, linkorder.FormatGold, linkorder.FormatLD, linkorder.FormatLDScript, linkorder.FormatLLDLink, linkorder.FormatPEScript, "auto")
	fl.StringVar(&f.Linker, "linker", "", "write the format of this linker: a `path`, or a name as for -fuse-ld")
	fl.StringVar(&f.Binary, "binary", "", "the `program` to be ordered, from the last link, with symbols")
	verb.Hide(c, "binary")
	fl.StringArrayVar(&f.Objects, "objects", nil, "objects of the program: an object, an archive or a `directory` of them; repeatable")
}

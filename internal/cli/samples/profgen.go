package samples

import (
	"context"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cairnprof/cairn/internal/inputs/sampleset"
	"github.com/cairnprof/cairn/internal/samples/pipeline"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
	"github.com/cairnprof/cairn/sample"
)

// profgenFlags are the flags of cairn profgen.
type profgenFlags struct {
	profgenInputs
	unwindingFlags
	profgenOutput
	llvmFlags
	listFlags
	profgenStages
}

// profgenInputs are what profgen reads.
type profgenInputs struct {
	perfData, perfScript []string
	unsymbolized         string
	binaries             []string
	blockMap             string    // of the binary
	blocks               *prof.Map // for --format mip
	merge                bool      // profiles, in place of making one
	weights              []string
}

// unwindingFlags say how samples become stacks.
type unwindingFlags struct {
	pid           int32
	infer         string
	contextDepth  int
	countedDepth  int
	recursion     int // length of repetitions that contexts are without
	searchDepth   int
	ignoreStacks  bool
	keepTailJumps bool
}

// profgenOutput is what profgen writes.
type profgenOutput struct {
	out, format string
	names       verb.DisplayFlags
	stores      verb.StoreFlags
	byLines     bool
	onlyCount   bool
	explained   bool // print the inferred frames
	json        bool
	inlines     bool
	minPercent  float64
}

// Profgen returns the command cairn profgen.
func Profgen(s *verb.Streams) *cobra.Command {
	c, _ := newProfgen(s)
	return c
}

func newProfgen(s *verb.Streams) (*cobra.Command, *profgenFlags) {
	f := &profgenFlags{}
	c := &cobra.Command{
		Use:   "profgen BINARY... INPUT... -o FILE [flags]",
		Short: "Make a profile for compilers from branch samples",
		Long:  profgenLong,
		Example: `  cairn profgen app perf.data -o app.prof
  cairn profgen app libengine.so app.perf -o app.prof
  cairn profgen app perf.data --format flame -o app.html
  clang -O2 -fpseudo-probe-for-profiling -fprofile-sample-use=app.prof app.c
  cairn profgen --merge -o week.prof monday.prof tuesday.prof.gz
  cairn profgen --merge --weighted-input 3,new.prof --format extbinary -o both.prof old.prof`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.stores.Check(c, "format", "output"); err != nil {
				return err
			}
			return f.run(c.Context(), s, args, c.Flags().Changed)
		},
	}
	f.register(c)
	return c, f
}

// run converts flags to a plan, runs it, and writes the result. given reports which flags were
// given.
func (f *profgenFlags) run(ctx context.Context, s *verb.Streams, args []string, given func(name string) bool) error {
	if err := f.note(s); err != nil {
		return err
	}
	if err := misplaced(args); err != nil {
		return err
	}
	if !f.merge && f.from == "" { // these read no programs
		var binaries []string
		args, binaries = verb.SplitBinaries(f.splitMaps(args))
		f.binaries = append(f.binaries, binaries...)
	}
	if err := f.listFlags.check(); err != nil {
		return err
	}
	if f.disassembly {
		return f.list(s)
	}
	if f.stores.Given() {
		f.format = formatPprof
	}
	flags, err := f.complete(given)
	if err != nil {
		return err
	}
	plan, err := flags.plan(args)
	if err != nil {
		return err
	}
	if plan.Product == pipeline.Executions {
		if flags.blocks, err = f.readBlockMap(); err != nil {
			return err
		}
	}
	h := sampleset.Host(s)
	if f.maps {
		h.Mapped = func(m *sample.Mapping) { flags.printMapping(s.Out, m) }
	}
	made, err := pipeline.Run(ctx, plan, h)
	if err != nil {
		return sampleset.OtherKind(err)
	}
	if err := flags.show(s, made); err != nil {
		return err
	}
	if f.stores.Given() {
		return f.send(ctx, s, made)
	}
	return flags.write(s, plan.Product, made)
}

func (f *profgenFlags) register(c *cobra.Command) {
	fl := c.Flags()
	fl.StringSliceVar(&f.perfData, "perfdata", nil, "an INPUT: `perf.data`; the name of the option in llvm-profgen")
	fl.StringSliceVar(&f.perfScript, "perfscript", nil, "an INPUT: the `text` of perf script; the name of the option in llvm-profgen")
	fl.StringVar(&f.unsymbolized, "unsymbolized-profile", "", "read this `file` of --skip-symbolization instead of samples")
	fl.StringSliceVar(&f.binaries, "binary", nil, "the program that ran, or one of its libraries: a `file`; repeatable")
	verb.Hide(c, "binary")
	fl.StringVarP(&f.out, "output", "o", "-", "write to this `file`")
	formats.Register(c, &f.format, formatText, "")
	fl.Int32Var(&f.pid, "pid", 0, "only samples of this `process`")
	fl.StringVar(&f.infer, "infer-missing-frames", string(pipeline.InferFull), "`how` to restore frames that tail calls erased: full, llvm or none")
	verb.Values(c, "infer-missing-frames", pipeline.InferFull, pipeline.InferLLVM, pipeline.InferNone)
	fl.Lookup("infer-missing-frames").NoOptDefVal = string(pipeline.InferFull)
	fl.IntVar(&f.searchDepth, "max-search-depth", -1, "with --infer-missing-frames=llvm, restore at most `n` frames in one place; -1 for all")
	fl.IntVar(&f.contextDepth, "csprof-max-context-depth", -1, "keep the innermost `n` callers; -1 for all")
	fl.IntVar(&f.countedDepth, "csprof-max-unsymbolized-context-depth", -1, "keep the innermost `n` callers before symbolization; -1 for all")
	fl.IntVar(&f.recursion, "compress-recursion", -1, "remove repetitions of up to `n` callers from contexts; -1 for all, 0 for none")
	fl.BoolVar(&f.ignoreStacks, "ignore-stack-samples", false, "ignore stacks: make a profile without contexts")
	fl.BoolVar(&f.byLines, "use-dwarf-correlation", false, "use lines of debug information even if there are pseudo probes")
	fl.BoolVar(&f.onlyCount, "skip-symbolization", false, "write counts of addresses, for --unsymbolized-profile")
	fl.BoolVar(&f.keepTailJumps, "keep-tail-jumps", false, "use the stacks of samples at tail jumps, as llvm-profgen does")
	fl.BoolVar(&f.explained, "explain", false, "instead of a profile, print the calls after which frames are missing, and how they were restored")
	fl.BoolVar(&f.inlines, "inlines", false, "with --format folded or flame: give inlined functions frames of their own")
	f.names.RegisterMangled(c)
	f.stores.Register(c)
	fl.Float64Var(&f.minPercent, "min-percent", 0, "with call graphs: omit edges with less than this `share` of all calls, and of all samples")
	fl.BoolVar(&f.json, "json", false, "with --explain, or --format callgraph: print JSON")
	fl.BoolVar(&f.merge, "merge", false, "sum profiles, which replace samples as inputs")
	fl.StringArrayVar(&f.weights, "weighted-input", nil, "with --merge: a profile whose counts are multiplied by N, as `N,FILE`; repeatable")
	f.profgenStages.register(fl)
	f.llvmFlags.register(fl)
	f.listFlags.register(c, fl)
	described := []string{"output", "format", "pid", "infer-missing-frames", "ignore-stack-samples", "explain", "inlines", "mangled", "json", "merge", "weighted-input", "llvm-defaults"}
	fl.VisitAll(func(flag *pflag.Flag) {
		if !slices.Contains(described, flag.Name) {
			verb.Seldom(c, flag.Name)
		}
	})
}

const profgenLong = `profgen converts samples of perf record -b or cairn record to a sample profile for
clang -fprofile-sample-use and llvm-profdata --sample. BINARY is the program that ran, or one
of its libraries; an INPUT is perf.data or the output
of perf script, or a directory of such files (see cairn samples).

Samples with stacks give a context-sensitive profile: counts of a function are kept
for each chain of callers that stacks and branches show. Samples of branches alone, and
all samples with --ignore-stack-samples, give a flat profile. For samples without
branches, counts are inferred from the control flow of each function. A profile is keyed
by pseudo probes if all binaries have them (clang -fpseudo-probe-for-profiling), and by
lines of debug information otherwise.

--infer-missing-frames selects how frames that tail calls erased are restored:

  full  from the branches of the sample, or where the code and all sampled branches
        allow only one chain of tail calls; the default
  llvm  as llvm-profgen does: where sampled branches allow only one chain
  none  not at all

Profiles for compilers have restored frames only with contexts and pseudo probes.
--explain prints which frames were restored, by which rule, and which are ambiguous.

--format also selects formats of other tools. They name functions by symbols and need no
debug information:

  folded  the stacks of the samples, a line each, as flame graph tools read them
  pprof   the same for go tool pprof, with lines and inlined functions as far as there
          is debug information
  otlp    the same as OpenTelemetry's ProfilesData
  flame   the same as a page for a browser
  fdata   the branches for llvm-bolt, of one binary
  mip     a profile with estimates of how often each block and branch ran, of one
          binary that cairn build --map built: its map is BINARY.mipmap or an INPUT.
          cairn show prints it, export converts it, and build --use builds by it
  callgraph, dot, mermaid
          the call graph, as a table or --json, or as a drawing: with the branches of
          calls and tail calls, and the number of stacks with each edge

--otlp, --pyroscope and --parca send what pprof contains to a profile store; see
cairn export -h.

folded, pprof, otlp and flame also accept samples without branches, and call a function
whose frame was restored "name [inferred]".

Options of llvm-profgen have the same meaning, but contexts are not changed unless an
option asks for it: --csspgo-preinliner, --csprof-merge-cold-context and
--gen-cs-nested-profile are off. With --csspgo-preinliner profiles are those that
llvm-profgen makes by default; without it, those of llvm-profgen
--csspgo-preinliner=0 --csprof-merge-cold-context=0 --gen-cs-nested-profile=0. Only
samples at tail jumps differ, whose stacks lack a frame: they are ignored unless
--keep-tail-jumps or --infer-missing-frames=llvm is given. With --llvm-defaults, or if
cairn is run under the name llvm-profgen (a link), all defaults are those of llvm-profgen.

--merge sums profiles, also those of other tools, as llvm-profdata merge does: text, extbinary
and LLVM's older binary, compressed or not.`

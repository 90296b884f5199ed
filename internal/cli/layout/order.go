// Package layout has the commands about the layout of programs: orders for linkers and
// compilers, and the pages that runs touch.
package layout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/cli/profile"
	"github.com/cairnprof/cairn/internal/inputs/gather"
	"github.com/cairnprof/cairn/internal/layout/linkorder"
	"github.com/cairnprof/cairn/internal/layout/order"
	"github.com/cairnprof/cairn/internal/profile/callgraph"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/toolchain"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// orderFlags are the flags of cairn order.
type orderFlags struct {
	gather.Choice
	link      linkFlags
	algorithm string
	scenarios []string
	weights   []string
	compress  bool
	data      []string // traces of accesses
	out       string
	json      bool
	record    bool
	program   []string // that is run, with its arguments

	from, ofProgram, ofBuild string // a profile of a collector
}

const orderHelp = `order ranks the functions that ran and writes an order file, by which a linker lays
them out: programs whose startup code is contiguous touch fewer pages. Compile with
-ffunction-sections. Formats:

  lld        symbols, for lld: -Wl,--symbol-ordering-file=FILE
  ld64       symbols with an underscore, for ld64: -Wl,-order_file,FILE
  gold       section names, for gold: -Wl,--section-ordering-file=FILE
  ld         for GNU ld from 2.43 on: -Wl,--section-ordering-file=FILE
  ld-script  for any GNU ld: -Wl,-T,FILE
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
	var f orderFlags
	c := &cobra.Command{
		Use:   "order FILE.mip [BINARY] [flags] | order --run [FILE.mip] [flags] -- PROGRAM [ARG...]",
		Short: "Write an order file, by which a linker lays out functions",
		Long:  orderHelp,
		Example: `  cairn order app.mip app -o app.order
  clang -fuse-ld=lld -ffunction-sections -Wl,--symbol-ordering-file=app.order *.c -o app
  cairn order --run -o app.order -- ./app --help
  cairn order --from https://collector:7474 --program app --build 1f3c -o app.order`,
		Args: f.args,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c.Context(), s) },
	}
	profile.RegisterProfile(c, &f.Choice)
	f.link.register(c)
	fl := c.Flags()
	fl.SetInterspersed(false) // later flags belong to the program
	fl.BoolVar(&f.record, "run", false, "run the given program, record its first executions, and order by them")
	fl.StringVar(&f.from, "from", "", "take the profile from the collector at this `URL`")
	fl.StringVar(&f.ofProgram, "program", "", "the `name` of the program (needs --from)")
	fl.StringVar(&f.ofBuild, "build", "", "the build `id` of the program, or its start; needed if the collector has several builds (needs --from)")
	fl.StringVarP(&f.out, "output", "o", "-", "write to this `file`")
	fl.StringVar(&f.algorithm, "algorithm", "", "algorithm: `how` is "+toolchain.JoinAlgorithms()+` (default "`+string(order.Algorithms()[0])+`")`)
	verb.Values(c, "algorithm", order.Algorithms()...)
	fl.StringArrayVar(&f.scenarios, "scenario", nil, "use only runs of the scenario with this `name`; repeatable. With --run, the scenario of the run")
	fl.StringArrayVar(&f.weights, "weight", nil, "weight of the runs of a scenario: `NAME=W`; repeatable")
	fl.BoolVar(&f.compress, "compress", false, "place similar functions that never ran together, if that makes the compressed program smaller (needs the binary of the profile)")
	fl.StringArrayVar(&f.data, "data", nil, "order variables and constants, too, by their first access in this `log` of valgrind --tool=lackey --trace-mem=yes; repeatable (needs the binary)")
	fl.BoolVar(&f.json, "json", false, "print the summary as JSON on standard output (needs -o)")
	return c
}

// args interprets the arguments after the flags. After a profile there may be flags, including
// --run; arguments after the name of a program belong to the program.
func (f *orderFlags) args(c *cobra.Command, args []string) error {
	var files []string
	for !f.record && len(args) > 0 {
		files = append(files, args[0])
		if err := c.ParseFlags(args[1:]); err != nil {
			return c.FlagErrorFunc()(c, err)
		}
		if help, _ := c.Flags().GetBool("help"); help {
			return pflag.ErrHelp
		}
		args = c.Flags().Args()
	}
	f.program = args
	if f.record && len(args) == 0 {
		return verb.Usagef("order: no program given; use --run -- PROGRAM [ARG...]")
	}
	files, err := f.fromCollector(files)
	if err != nil {
		return err
	}
	f.Take(files)
	if f.link.binary == "" && len(f.link.objects) == 0 && len(f.Binaries) > 0 {
		f.link.binary = f.Binaries[0]
	}
	return nil
}

// fromCollector returns the profile that --from names.
func (f *orderFlags) fromCollector(files []string) ([]string, error) {
	switch {
	case f.from == "" && f.ofProgram+f.ofBuild != "":
		return files, verb.Usagef("order: --program and --build need --from URL")
	case f.from == "":
		return files, nil
	case f.record || len(files) > 0:
		return files, verb.Usagef("order: --from replaces the profile: give no other one, and no --run")
	case f.ofProgram == "":
		return files, verb.Usagef("order: --from %s: give the name of the program with --program", f.from)
	}
	url := strings.TrimSuffix(f.from, "/") + "/" + f.ofProgram
	if f.ofBuild != "" {
		url += "@" + f.ofBuild
	}
	return []string{url}, nil
}

// check validates the flags before a program is run.
func (f *orderFlags) check() error {
	if _, err := parseWeights(f.weights); err != nil {
		return err
	}
	algorithm := order.Algorithm(f.algorithm)
	if algorithm != "" && !slices.Contains(order.Algorithms(), algorithm) {
		return verb.Usagef("--algorithm %s: must be one of %s", algorithm, toolchain.JoinAlgorithms())
	}
	switch algorithm {
	case order.Hot, order.C3, order.Mean:
		if len(f.scenarios) > 0 && !f.record {
			return verb.Usagef("--scenario cannot be used with --algorithm %s, which uses the counts of all runs", algorithm)
		}
	}
	if !f.record {
		return nil
	}
	if len(f.scenarios) > 1 {
		return verb.Usagef("order: --run records one scenario: give --scenario once")
	}
	return f.checkAddable()
}

// checkAddable finds out whether a run could be added to the profile.
func (f *orderFlags) checkAddable() error {
	if f.Path == "" {
		return nil
	}
	_, err := os.Stat(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		_, err = os.Stat(filepath.Dir(f.Path)) // it is made there
		return err
	}
	if err == nil {
		_, err = verb.ReadProfile(f.Path)
	}
	return err
}

func (f *orderFlags) run(ctx context.Context, s *verb.Streams) error {
	if f.json && f.out == "-" {
		return verb.Usagef("--json prints the summary on standard output: write the order to a file with -o FILE")
	}
	if err := f.check(); err != nil {
		return err
	}
	format, err := f.link.resolveFormat(ctx)
	if err != nil {
		return err
	}
	if err := f.checkData(format); err != nil {
		return err
	}
	m, code, err := f.loadModule(ctx, s)
	if err != nil {
		return err
	}
	if m.Go() {
		verb.Note(s, "this is a profile of a Go program: cmd/link does not support an order of functions. The file lists the functions in the order in which they ran; go build can use a profile (cairn export --format pgo -o default.pgo)")
	}
	if err := f.write(s, m, format); err != nil || code == 0 {
		return err
	}
	return verb.ExitError(code)
}

// write writes the order of a module and reports its effect.
func (f *orderFlags) write(s *verb.Streams, m *prof.Module, format linkorder.Format) error {
	m, err := f.selectTraces(m)
	if err != nil {
		return err
	}
	link, sameBuild, err := f.link.load(m)
	if err != nil {
		return err
	}
	done := verb.Working(s, "computing the order of %s", report.Plural(len(m.Funcs), "function"))
	r, err := f.rank(s, m)
	done()
	if err != nil {
		return err
	}
	res := linkorder.Resolve(toolchain.Listed(m, r.ranked, sameBuild), link)
	text, skipped := linkorder.Render(format, res.Entries)
	dataText, data, err := f.orderData(s, format)
	if err != nil {
		return err
	}
	if err := verb.WriteBytes(s, f.out, append(text, dataText...)); err != nil {
		return err
	}
	sum := newOrderSummary(r, res, format, skipped)
	sum.Data = data
	if f.json {
		return report.WriteJSON(s.Out, sum)
	}
	return sum.print(s.Remarks())
}

// loadModule returns the module to be ordered: from the profile, or from a run, whose exit
// code is returned.
func (f *orderFlags) loadModule(ctx context.Context, s *verb.Streams) (m *prof.Module, code int, err error) {
	if f.record {
		m, status, err := f.runRecorded(ctx, s, f.program)
		return m, status.Code, err
	}
	p, err := f.Open(ctx, s)
	if err != nil {
		return nil, 0, err
	}
	m, err = onlyModule(&f.Choice, p)
	return m, 0, err
}

// onlyModule returns the one module of p: an order file is for one link.
func onlyModule(f *gather.Choice, p *prof.Profile) (*prof.Module, error) {
	if len(p.Modules) == 1 {
		return &p.Modules[0], nil
	}
	if len(p.Modules) == 0 {
		return nil, fmt.Errorf("%s: the profile is empty", f.Path)
	}
	names := make([]string, len(p.Modules))
	for i := range p.Modules {
		names[i] = p.Modules[i].Module
	}
	return nil, verb.Usagef("%s has several modules: select one with --module (%s)", f.Path, strings.Join(names, ", "))
}

// moduleOf returns the module of p that a binary is of: by its build id, or else, as for the same
// program in another layout, by its name. If there is only one module it is that.
func moduleOf(f *gather.Choice, p *prof.Profile, binary string) (*prof.Module, error) {
	if len(p.Modules) > 1 && binary != "" {
		bin, err := objfile.Open(binary)
		if err != nil {
			return nil, err
		}
		id, _ := bin.RecordedID() // without one it is chosen by its name
		bin.Close()
		named := -1
		for i := range p.Modules {
			switch m := &p.Modules[i]; {
			case id != "" && m.BuildID == id:
				return m, nil
			case m.Module != filepath.Base(binary):
			case named >= 0:
				return onlyModule(f, p)
			default:
				named = i
			}
		}
		if named >= 0 {
			return &p.Modules[named], nil
		}
	}
	return onlyModule(f, p)
}

// parseWeights parses the arguments of --weight.
func parseWeights(flags []string) (map[string]uint64, error) {
	weights := make(map[string]uint64)
	for _, w := range flags {
		at := strings.LastIndexByte(w, '=')
		if at < 0 {
			return nil, verb.Usagef("--weight %s: must be NAME=W", w)
		}
		n, err := strconv.ParseUint(w[at+1:], 10, 32)
		if err != nil || n == 0 {
			return nil, verb.Usagef("--weight %s: the weight must be from 1 to %d", w, uint32(math.MaxUint32))
		}
		weights[w[:at]] = n
	}
	return weights, nil
}

// selectTraces returns m with the traces selected by --scenario, weighted by --weight. Counts
// are sums over all runs: with --scenario they are not usable.
func (f *orderFlags) selectTraces(m *prof.Module) (*prof.Module, error) {
	weights, err := parseWeights(f.weights)
	if err != nil {
		return nil, err
	}
	if len(weights) == 0 && len(f.scenarios) == 0 {
		return m, nil
	}
	have := make(map[string]bool)
	for i := range m.Traces {
		have[m.Traces[i].Scenario] = true
	}
	wanted := slices.Clone(f.scenarios)
	for name := range weights {
		wanted = append(wanted, name)
	}
	for _, name := range wanted {
		if !have[name] {
			return nil, verb.Usagef("the profile has no run of scenario %q (cairn info lists them)", name)
		}
	}
	out := *m
	out.Traces = nil
	for _, t := range m.Traces {
		if len(f.scenarios) > 0 && !slices.Contains(f.scenarios, t.Scenario) {
			continue
		}
		t.Weight = cmp.Or(weights[t.Scenario], t.Weight)
		out.Traces = append(out.Traces, t)
	}
	if len(f.scenarios) > 0 {
		out.Counts = make([]prof.Counts, len(m.Counts))
	}
	return &out, nil
}

// ranking is an order and its inputs.
type ranking struct {
	in        *order.Input
	algorithm order.Algorithm
	opts      order.Options
	ranked    []uint32 // functions of the order file; the rest follows by address
}

// rank computes the order.
func (f *orderFlags) rank(s *verb.Streams, m *prof.Module) (*ranking, error) {
	r := &ranking{algorithm: order.Algorithm(f.algorithm), opts: order.Options{Compress: f.compress}}
	if f.algorithm == "" {
		r.algorithm = order.Algorithms()[0]
	}
	if len(m.Traces) == 0 && !recordsOrder(m) {
		verb.Note(s, "%s has no order of first executions: functions are listed by address (use --mode=order or count)", f.Path)
	}
	graph := callgraph.Build(&prof.Profile{Modules: []prof.Module{*m}}, false)
	r.in = order.FromModule(m, toolchain.OrderEdges(graph, 0, m))
	if f.compress {
		if err := f.link.readContent(m, r.in); err != nil {
			return nil, err
		}
	}
	result, err := order.Compute(r.in, r.algorithm, r.opts)
	if err != nil {
		return nil, err
	}
	if f.compress && result.Packed == 0 {
		verb.Note(s, "--compress: functions that never ran stay in order of address: code and unwind tables compress to about %s bytes, by similarity to %s",
			report.Count(result.ByAddress), report.Count(result.Similar))
	}
	r.ranked = result.Ran(r.in)
	if len(r.ranked) == 0 {
		return nil, f.nothingRan(m)
	}
	return r, nil
}

func (f *orderFlags) nothingRan(m *prof.Module) error {
	if f.record && f.Path == "" {
		return fmt.Errorf("%s: none of its functions ran: nothing to order", m.Module)
	}
	return fmt.Errorf("%s: no function of %s ran: nothing to order (merge the raw files of runs first)", f.Path, m.Module)
}

func recordsOrder(m *prof.Module) bool {
	for i := range m.Funcs {
		if m.Funcs[i].Mode.HasOrder() {
			return true
		}
	}
	return false
}

// Package orderfile writes the order of functions and data for linkers, with a summary of its effect.
package orderfile

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

	"github.com/cairnprof/cairn/internal/inputs/gather"
	"github.com/cairnprof/cairn/internal/inputs/linkset"
	"github.com/cairnprof/cairn/internal/layout/linkorder"
	"github.com/cairnprof/cairn/internal/layout/order"
	"github.com/cairnprof/cairn/internal/profile/callgraph"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/toolchain"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// Choice is what is ordered, and how.
type Choice struct {
	gather.Choice
	Link      linkset.Choice
	Algorithm string
	Scenarios []string
	Weights   []string
	Compress  bool
	Data      []string // traces of accesses
	Out       string
	JSON      bool
	Record    bool
	Program   []string // that is run, with its arguments

	From, OfProgram, OfBuild string // a profile of a collector
}

// FromCollector returns the profile that --from names.
func (f *Choice) FromCollector(files []string) ([]string, error) {
	switch {
	case f.From == "" && f.OfProgram+f.OfBuild != "":
		return files, verb.Usagef("order: --program and --build need --from URL")
	case f.From == "":
		return files, nil
	case f.Record || len(files) > 0:
		return files, verb.Usagef("order: --from replaces the profile: give no other one, and no --run")
	case f.OfProgram == "":
		return files, verb.Usagef("order: --from %s: give the name of the program with --program", f.From)
	}
	url := strings.TrimSuffix(f.From, "/") + "/" + f.OfProgram
	if f.OfBuild != "" {
		url += "@" + f.OfBuild
	}
	return []string{url}, nil
}

// check validates the flags before a program is run.
func (f *Choice) check() error {
	if _, err := parseWeights(f.Weights); err != nil {
		return err
	}
	algorithm := order.Algorithm(f.Algorithm)
	if algorithm != "" && !slices.Contains(order.Algorithms(), algorithm) {
		return verb.Usagef("--algorithm %s: must be one of %s", algorithm, toolchain.JoinAlgorithms())
	}
	switch algorithm {
	case order.Hot, order.C3, order.Mean:
		if len(f.Scenarios) > 0 && !f.Record {
			return verb.Usagef("--scenario cannot be used with --algorithm %s, which uses the counts of all runs", algorithm)
		}
	}
	if !f.Record {
		return nil
	}
	if len(f.Scenarios) > 1 {
		return verb.Usagef("order: --run records one scenario: give --scenario once")
	}
	return f.checkAddable()
}

// checkAddable finds out whether a run could be added to the profile.
func (f *Choice) checkAddable() error {
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

// Write writes the order of the profile, or of a run, and prints its effect.
func (f *Choice) Write(ctx context.Context, s *verb.Streams) error {
	if f.JSON && f.Out == "-" {
		return verb.Usagef("--json prints the summary on standard output: write the order to a file with -o FILE")
	}
	if err := f.check(); err != nil {
		return err
	}
	format, err := f.Link.ResolveFormat(ctx)
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
func (f *Choice) write(s *verb.Streams, m *prof.Module, format linkorder.Format) error {
	m, err := f.selectTraces(m)
	if err != nil {
		return err
	}
	link, sameBuild, err := f.Link.Load(m)
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
	if err := verb.WriteBytes(s, f.Out, append(text, dataText...)); err != nil {
		return err
	}
	sum := newOrderSummary(r, res, format, skipped)
	sum.Data = data
	if f.JSON {
		return report.WriteJSON(s.Out, sum)
	}
	return sum.print(s.Remarks())
}

// loadModule returns the module to be ordered: from the profile, or from a run, whose exit
// code is returned.
func (f *Choice) loadModule(ctx context.Context, s *verb.Streams) (m *prof.Module, code int, err error) {
	if f.Record {
		m, status, err := f.runRecorded(ctx, s, f.Program)
		return m, status.Code, err
	}
	p, err := f.Open(ctx, s)
	if err != nil {
		return nil, 0, err
	}
	m, err = f.OnlyModule(p)
	return m, 0, err
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
func (f *Choice) selectTraces(m *prof.Module) (*prof.Module, error) {
	weights, err := parseWeights(f.Weights)
	if err != nil {
		return nil, err
	}
	if len(weights) == 0 && len(f.Scenarios) == 0 {
		return m, nil
	}
	have := make(map[string]bool)
	for i := range m.Traces {
		have[m.Traces[i].Scenario] = true
	}
	wanted := slices.Clone(f.Scenarios)
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
		if len(f.Scenarios) > 0 && !slices.Contains(f.Scenarios, t.Scenario) {
			continue
		}
		t.Weight = cmp.Or(weights[t.Scenario], t.Weight)
		out.Traces = append(out.Traces, t)
	}
	if len(f.Scenarios) > 0 {
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
func (f *Choice) rank(s *verb.Streams, m *prof.Module) (*ranking, error) {
	r := &ranking{algorithm: order.Algorithm(f.Algorithm), opts: order.Options{Compress: f.Compress}}
	if f.Algorithm == "" {
		r.algorithm = order.Algorithms()[0]
	}
	if len(m.Traces) == 0 && !recordsOrder(m) {
		verb.Note(s, "%s has no order of first executions: functions are listed by address (use --mode=order or count)", f.Path)
	}
	graph := callgraph.Build(&prof.Profile{Modules: []prof.Module{*m}}, false)
	r.in = order.FromModule(m, toolchain.OrderEdges(graph, 0, m))
	if f.Compress {
		if err := f.Link.ReadContent(m, r.in); err != nil {
			return nil, err
		}
	}
	result, err := order.Compute(r.in, r.algorithm, r.opts)
	if err != nil {
		return nil, err
	}
	if f.Compress && result.Packed == 0 {
		verb.Note(s, "--compress: functions that never ran stay in order of address: code and unwind tables compress to about %s bytes, by similarity to %s",
			report.Count(result.ByAddress), report.Count(result.Similar))
	}
	r.ranked = result.Ran(r.in)
	if len(r.ranked) == 0 {
		return nil, f.nothingRan(m)
	}
	return r, nil
}

func (f *Choice) nothingRan(m *prof.Module) error {
	if f.Record && f.Path == "" {
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

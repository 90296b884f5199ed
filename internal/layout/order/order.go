package order

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/prof"
)

// Input is the input of an order's computation.
type Input struct {
	Funcs  []Func       // the program's functions
	Traces []prof.Trace // their Funcs are indexes into Funcs
	Edges  []Edge       // the call graph
}

// Func is the data of a function that an order needs.
type Func struct {
	Size      uint64  // size of the part that is placed, in bytes
	Addr      uint64  // current address; breaks ties
	Calls     uint64  // calls in all runs, 0 if not counted
	Runs      uint64  // runs in which it ran
	MeanOrder float64 // mean first-execution index over Runs, 0 if not known
	Hot       bool    // Startup places it by Hot even if it is in a trace
	HotPart   bool    // a part that the compiler moved away is hot as well: Size has it
	Content   []byte  // its code, for Options.Compress; may be nil
}

// Edge is the number of calls between two functions. Edges of the same two functions are
// summed.
type Edge struct {
	Caller, Callee uint32 // indexes into Input.Funcs
	Weight         uint64 // calls, or another measure of affinity
}

// Algorithm is the name of an algorithm.
type Algorithm string

// The algorithms. The package comment compares them.
const (
	First     Algorithm = "first"     // the traces one after the other
	Mean      Algorithm = "mean"      // by mean first-execution index
	BP        Algorithm = "bp"        // balanced partitioning with the utilities of llvm-profdata, unfiltered
	BPLLD     Algorithm = "bp-lld"    // balanced partitioning with the utilities of lld
	Hot       Algorithm = "hot"       // cache-directed sort of the call graph
	C3        Algorithm = "c3"        // call-chain clustering (hfsort)
	Signature Algorithm = "signature" // by the set of traces that ran a function
	Startup   Algorithm = "startup"   // Signature, then Hot for what ran but is in no trace, or is Func.Hot
)

// Algorithms returns all algorithms, the default first.
func Algorithms() []Algorithm {
	return []Algorithm{Startup, Signature, First, Mean, BP, BPLLD, Hot, C3}
}

// Options change how an order is computed. The zero value is the default.
type Options struct {
	// Compress places similar functions that neither a trace nor a count places next to each
	// other, if the file then compresses better. It needs Func.Content.
	Compress bool
	// PageSize is the page size in bytes for Signature and Startup; 0 means 4096.
	PageSize uint64
	// OutlierFilter makes BP drop the utilities that llvm-profdata drops, for comparison with
	// that tool. It costs pages.
	OutlierFilter bool
}

// Result is an order of all functions of an input.
type Result struct {
	// Order has each index of Input.Funcs once. The first Placed() were placed by the
	// algorithm; the others follow by address.
	Order []uint32
	// The numbers of functions at the beginning of the order by reason, in this sequence:
	Startup int // they are in a trace, or have a first-execution index
	Hot     int // they ran, or are in the call graph
	Packed  int // their code is similar to that of their neighbours
	// With Options.Compress, estimates of the compressed bytes of code and unwind tables: with
	// the remaining functions by similarity, and by address.
	Similar, ByAddress int
}

// Placed returns the number of functions that the algorithm placed. Only these must be passed
// to a linker.
func (r *Result) Placed() int { return r.Startup + r.Hot + r.Packed }

// Ran returns the functions that the algorithm placed and, after them, the others that ran. in
// is the input of the order.
func (r *Result) Ran(in *Input) []uint32 {
	ran := slices.Clone(r.Order[:r.Placed()])
	for _, f := range r.Order[r.Placed():] {
		if in.Funcs[f].Runs > 0 {
			ran = append(ran, f)
		}
	}
	return ran
}

// FromModule converts a profile's module to an input, with a separate call graph. Code bytes
// are omitted. The size of a function is that of its first fragment: parts that the compiler
// split off are not placed with it.
func FromModule(m *prof.Module, edges []Edge) *Input {
	in := &Input{Funcs: make([]Func, len(m.Funcs)), Traces: m.Traces, Edges: edges}
	for i := range m.Funcs {
		f, c := &m.Funcs[i], &m.Counts[i]
		in.Funcs[i] = Func{
			Size: uint64(f.Fragments[0].Size), Addr: f.Addr(),
			Calls: c.Calls, Runs: c.Runs, MeanOrder: c.MeanOrder(),
		}
	}
	in.weighMeans(m)
	return in
}

// weighMeans computes mean first-execution indexes from the traces, if they have different weights
// and are those of all runs: the counts of a module have no weights.
func (in *Input) weighMeans(m *prof.Module) {
	weighed := slices.ContainsFunc(m.Traces, func(t prof.Trace) bool { return t.Weight != m.Traces[0].Weight })
	if !weighed || m.TracesSeen > uint64(len(m.Traces)) {
		return
	}
	sums, weights := make([]float64, len(in.Funcs)), make([]float64, len(in.Funcs))
	for i := range m.Traces {
		w := float64(max(m.Traces[i].Weight, 1))
		for at, f := range m.Traces[i].Funcs {
			if int(f) < len(sums) { // others are an error of Compute
				sums[f] += w * float64(at+1)
				weights[f] += w
			}
		}
	}
	for f := range in.Funcs {
		if weights[f] > 0 {
			in.Funcs[f].MeanOrder = sums[f] / weights[f]
		}
	}
}

// TracesOf returns the traces of m. Without any it returns one with the functions that ran, by
// mean first execution, or none if no function ran.
func TracesOf(m *prof.Module) []prof.Trace {
	if len(m.Traces) > 0 {
		return m.Traces
	}
	in := FromModule(m, nil)
	r, err := Compute(in, Mean, Options{})
	if err != nil {
		return nil
	}
	ran := r.Ran(in)
	if len(ran) == 0 {
		return nil
	}
	return []prof.Trace{{Scenario: "all runs", Weight: 1, Funcs: ran}}
}

// check validates the indexes of in.
func (in *Input) check() error {
	n := len(in.Funcs)
	for t := range in.Traces {
		for _, f := range in.Traces[t].Funcs {
			if int(f) >= n {
				return fmt.Errorf("trace %d names function %d of %d", t, f, n)
			}
		}
	}
	for i, e := range in.Edges {
		if int(max(e.Caller, e.Callee)) >= n {
			return fmt.Errorf("call graph edge %d joins functions %d and %d of %d", i, e.Caller, e.Callee, n)
		}
	}
	return nil
}

// Compute returns the order of in's functions by alg. The same input gives the same order on
// every machine. It returns an error if a trace or edge refers to a function that does not
// exist, or alg does not exist.
func Compute(in *Input, alg Algorithm, opts Options) (*Result, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	traces := firstUses(in)
	b := newBuilder(in)
	switch alg {
	case First:
		b.startup(concatenate(traces))
	case Mean:
		b.startup(byMeanOrder(in))
	case BP, BPLLD:
		b.startup(byPartitioning(in, traces, alg, opts.OutlierFilter))
	case Signature:
		b.startup(bySignature(in, traces, opts.PageSize))
	case Startup:
		if len(traces) == 0 {
			b.startup(slices.DeleteFunc(byRuns(in), func(f uint32) bool { return in.Funcs[f].Hot }))
		}
		b.startup(bySignature(in, in.withoutHot(traces), opts.PageSize))
		b.hot(newGraph(in, b.placed).cdsort())
	case Hot:
		b.hot(newGraph(in, b.placed).cdsort())
	case C3:
		b.hot(newGraph(in, b.placed).c3())
	default:
		return nil, fmt.Errorf("unknown order algorithm %q", alg)
	}
	if opts.Compress {
		if err := b.pack(); err != nil {
			return nil, err
		}
	}
	return b.finish(), nil
}

// builder appends functions to an order, each once.
type builder struct {
	in     *Input
	placed []bool
	result Result
}

func newBuilder(in *Input) *builder {
	return &builder{in: in, placed: make([]bool, len(in.Funcs)), result: Result{Order: make([]uint32, 0, len(in.Funcs))}}
}

// add appends the elements of funcs that exist and are not placed yet, and returns their
// number.
func (b *builder) add(funcs []uint32) int {
	before := len(b.result.Order)
	for _, f := range funcs {
		if int(f) < len(b.placed) && !b.placed[f] {
			b.placed[f] = true
			b.result.Order = append(b.result.Order, f)
		}
	}
	return len(b.result.Order) - before
}

func (b *builder) startup(funcs []uint32) { b.result.Startup += b.add(funcs) }
func (b *builder) hot(funcs []uint32)     { b.result.Hot += b.add(funcs) }

// finish appends the remaining functions.
func (b *builder) finish() *Result {
	b.add(ByAddress(b.in))
	return &b.result
}

// ByAddress returns the indexes of in's functions by address, which is the current order.
func ByAddress(in *Input) []uint32 {
	order := make([]uint32, len(in.Funcs))
	for i := range order {
		order[i] = uint32(i)
	}
	stablesort.Func(order, func(a, b uint32) int { return cmp.Compare(in.Funcs[a].Addr, in.Funcs[b].Addr) })
	return order
}

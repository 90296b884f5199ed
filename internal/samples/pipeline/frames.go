package pipeline

import (
	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/samples/profgen"
	"github.com/cairnprof/cairn/internal/samples/tailcall"
	"github.com/cairnprof/cairn/internal/samples/unwind"
)

// frames has the data for finding frames that tail calls erased.
type frames struct {
	probes *profgen.Probes   // nil if locations have none, or none are needed
	graph  *tailcall.Graph   // of tail calls
	by     tailcall.Inferrer // nil if stacks are used as they are
}

// findFrames prepares the restoration of frames.
func (r run) findFrames(b *binaries, c counts) (f frames, err error) {
	infer := r.Infer
	if c.flat || !r.Product.forCompilers() && len(c.Moments) == 0 {
		infer = InferNone
	}
	switch {
	case r.Product == Addresses, r.Product == Branches, r.Product == Executions, b.lines != nil:
		return f, nil
	case infer == InferNone && r.Product != Profile:
		return f, nil
	}
	var met *unwind.Result // those of other functions are not needed
	if infer != InferFull {
		met = c.Result
	}
	if f.probes, err = b.readProbes(met); err != nil || infer == InferNone {
		return f, err
	}
	if b.lazy {
		on := tailcall.NewOnDemand(b.code, c.Moments)
		f.graph, f.by = on.Graph(), on
		return f, nil
	}
	f.graph = tailcall.NewGraph(b.code, c.Contexts)
	if infer == InferLLVM {
		f.by = tailcall.NewLLVM(f.graph, r.SearchDepth)
		return f, nil
	}
	var place func(machinecode.Ref) uint64
	if f.probes != nil {
		place = f.probes.Place
	}
	full := tailcall.NewFull(f.graph, place)
	if r.Product != Explanation {
		full.Brief()
	}
	f.by = full
	return f, nil
}

package cli

import (
	"github.com/cairnprof/cairn/internal/profgen"
	"github.com/cairnprof/cairn/internal/tailcall"
	"github.com/cairnprof/cairn/internal/unwind"
)

// inferrer returns what finds missing frames, nil if nothing is to.
func (r *profgenRun) inferrer(counts *unwind.Result, probes *profgen.Probes) tailcall.Inferrer {
	switch r.infer {
	case inferFull:
		return tailcall.NewFull(tailcall.NewGraph(r.code, counts.Contexts), probes.Place)
	case inferLLVM:
		return tailcall.NewLLVM(tailcall.NewGraph(r.code, counts.Contexts))
	}
	return nil
}

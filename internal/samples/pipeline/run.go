package pipeline

import (
	"context"
	"errors"
	"io"
	"sync/atomic"

	"github.com/cairnprof/cairn/format/sampleprof"
	"github.com/cairnprof/cairn/format/unsymbolized"
	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/samples/profgen"
	"github.com/cairnprof/cairn/internal/samples/tailcall"
	"github.com/cairnprof/cairn/sample"
)

// Host is the caller of a plan.
type Host struct {
	In       io.Reader                                           // standard input
	Note     func(format string, args ...any)                    // prints a remark
	Progress func(megabytes *atomic.Int64, of int) (stop func()) // shows the progress of reading
	// Kernel opens the list of the running kernel's symbols, and returns the kernel's build id. It may be nil.
	Kernel func() (symbols io.ReadCloser, buildID string, err error)
	Mapped func(*sample.Mapping) // is called for all mappings of the inputs, if it is not nil
}

// Result is the output: one of Profile, Addresses, Missing, Stacks, Calls, Branches and Executions,
// depending on the plan's product.
type Result struct {
	Profile   *sampleprof.File
	Addresses *unsymbolized.Profile
	Missing   []tailcall.Pair // whose names are in Graph
	Stacks    *profgen.Stacks
	Calls     *profgen.CallGraph
	Branches  []sample.BranchCount
	// Executions are those that the samples show.
	Executions *profgen.Executions

	Programs []*objfile.Program // those that ran
	Code     *machinecode.Set   // of them
	Source   *profgen.Source    // of stacks with detail
	Graph    *tailcall.Graph
}

// errNoFunction is returned because compilers do not read empty profiles.
var errNoFunction = errors.New("no function has counts: did other binaries run, or was this code mapped at other addresses?")

// run is the state that all steps share.
type run struct {
	*Plan
	Host

	kernel *kernel // of stacks, nil if it is outside
}

// Run executes the steps of a plan.
func Run(ctx context.Context, p *Plan, host Host) (*Result, error) {
	r := run{Plan: p, Host: host, kernel: newKernel(p)}
	if p.Sum != nil {
		return r.sum()
	}
	bin, err := r.readBinaries()
	if err != nil {
		return nil, err
	}
	counts, err := r.count(ctx, bin)
	if err != nil {
		return nil, err
	}
	frames, err := r.findFrames(bin, counts)
	if err != nil {
		return nil, err
	}
	if p.Product != Profile {
		return r.otherProduct(bin, counts, frames)
	}
	profile := r.attribute(bin, counts, frames)
	if text := bin.withoutDebug(counts); text != "" && len(profile.Contexts) == 0 {
		return nil, errors.New(text)
	} else if text != "" {
		r.Note("%s", text)
	}
	before := r.preinline(profile, bin, counts, frames.probes)
	r.cutCold(profile, before)
	r.nest(profile)
	return r.finish(profile, bin)
}

// sum executes the steps that apply to profiles instead of samples.
func (r run) sum() (*Result, error) {
	profile, err := r.sumProfiles()
	if err != nil {
		return nil, err
	}
	bin, before := &binaries{}, (*sampleprof.Summary)(nil)
	if r.Preinline != nil && profile.HasContexts {
		if bin, err = r.readBinaries(); err != nil {
			return nil, err
		}
		probes, err := bin.readProbes(nil)
		if err != nil {
			return nil, err
		}
		before = r.preinline(profile, bin, everywhere(bin.code), probes)
	} else {
		r.preinline(profile, bin, counts{}, nil)
	}
	r.cutCold(profile, before)
	r.nest(profile)
	return r.finish(profile, bin)
}

// finish sets how a profile is written.
func (r run) finish(profile *sampleprof.File, bin *binaries) (*Result, error) {
	if len(profile.Contexts) == 0 {
		return nil, errNoFunction
	}
	profile.HashNames = r.HashNames
	if r.ListNames && bin.code != nil {
		profile.Symbols = profgen.FunctionNames(bin.code, bin.lines != nil)
	}
	return &Result{Profile: profile, Programs: bin.programs}, nil
}

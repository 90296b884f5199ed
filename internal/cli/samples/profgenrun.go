package samples

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/cairnprof/cairn/format/unsymbolized"
	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/logfile"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/samples/profgen"
	"github.com/cairnprof/cairn/internal/samples/tailcall"
	"github.com/cairnprof/cairn/internal/samples/unwind"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/sample"
)

// ProfgenRun is what a profile is made of.
type ProfgenRun struct {
	*ProfgenFlags

	programs []*objfile.Program
	code     *machinecode.Set
	lines    *profgen.Lines        // nil for profiles keyed by pseudo probes
	source   *profgen.Source       // of stacks, if that was asked for
	scopes   []*objfile.ScopeTable // for the pre-inliner
	flat     bool                  // without contexts
	// addresses: the samples have no branches, and counts are inferred from where they are
	addresses bool
}

func (f *ProfgenFlags) run(ctx context.Context, s *verb.Streams, args []string) error {
	files, err := f.inputs(args)
	if err != nil {
		return err
	}
	r := ProfgenRun{ProfgenFlags: f}
	if err := r.loadBinaries(s); err != nil {
		return err
	}
	var counts *unwind.Result
	if f.unsymbolized != "" {
		counts, err = r.readCounts(s)
	} else {
		counts, err = r.count(ctx, s, files)
	}
	if err != nil {
		return err
	}
	if r.listSymbols {
		r.symbols = profgen.FunctionNames(r.code, r.lines != nil)
	}
	write, err := r.profile(s, counts)
	if err != nil {
		return err
	}
	return verb.WriteFile(s, f.out, write)
}

// loadBinaries reads the binaries, and finds out what the profile can be keyed by.
func (r *ProfgenRun) loadBinaries(s *verb.Streams) error {
	var open []*objfile.File
	defer func() {
		for _, f := range open {
			f.Close()
		}
	}()
	for i, path := range r.Binaries {
		if slices.Contains(r.Binaries[:i], path) {
			continue
		}
		f, err := objfile.Open(path)
		if err != nil {
			return err
		}
		open = append(open, f)
		if r.debugBinary != "" {
			if err := f.SetDebugFile(r.debugBinary); err != nil {
				return err
			}
		}
		p, err := f.Program()
		if err != nil {
			return err
		}
		if len(p.Symbols) == 0 {
			return fmt.Errorf("%s: it has no symbols (it is stripped; give the unstripped binary, or its debug file with --debug-binary)", path)
		}
		r.programs = append(r.programs, p)
	}
	if !r.forCompilers() {
		return r.loadSymbols(s, open)
	}
	if without := r.withoutProbes(); without != "" || r.byLines {
		if without != "" && len(r.programs) > 1 && !r.byLines && r.withProbes() {
			verb.Note(s, "%s has no pseudo probes: the profile is keyed by lines", without)
		}
		r.byLines = true
		for _, p := range r.programs {
			p.Probes = nil // functions are those of debug information
		}
	}
	var err error
	if r.code, err = machinecode.NewSet(r.programs...); err != nil {
		return err
	}
	if err := r.checkDiscriminators(); err != nil {
		return err
	}
	if !r.byLines {
		return r.loadScopes(open)
	}
	var info []profgen.DebugInfo
	for _, f := range open {
		d, err := debugInfo(f)
		if err != nil {
			return err
		}
		d.FS = r.fs
		info = append(info, d)
		r.scopes = append(r.scopes, d.Scopes)
	}
	r.lines = profgen.NewLines(r.code, info)
	return nil
}

// checkDiscriminators finds out what discriminators are: a profile has one kind.
func (r *ProfgenRun) checkDiscriminators() error {
	for i, p := range r.programs {
		if i == 0 {
			r.fs = p.FSDiscriminators()
		} else if r.fs != p.FSDiscriminators() {
			return fmt.Errorf("of %s and %s one was compiled with -enable-fs-discriminator, and the other was not: make a profile of each", r.programs[0].Path, p.Path)
		}
	}
	return nil
}

// debugInfo returns what a binary without pseudo probes is profiled by.
func debugInfo(f *objfile.File) (d profgen.DebugInfo, err error) {
	if d.Lines, err = f.Lines(); err == nil {
		d.Scopes, err = f.Scopes()
	}
	if errors.Is(err, objfile.ErrNoDebug) || errors.Is(err, objfile.ErrNoScopes) {
		return d, fmt.Errorf("%s: it has neither pseudo probes nor debug information (compile with clang -fpseudo-probe-for-profiling or -g)", f.Path())
	}
	return d, err
}

func (p *ProfgenRun) withProbes() bool {
	for _, x := range p.programs {
		if len(x.Probes) > 0 {
			return true
		}
	}
	return false
}

// withoutProbes returns the first binary that has no pseudo probes.
func (p *ProfgenRun) withoutProbes() string {
	for _, x := range p.programs {
		if len(x.Probes) == 0 || len(x.Probed) == 0 {
			return x.Path
		}
	}
	return ""
}

// readCounts reads what --skip-symbolization wrote.
func (r *ProfgenRun) readCounts(s *verb.Streams) (*unwind.Result, error) {
	stream, err := logfile.OpenStream(r.unsymbolized, s.In)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	p, err := unsymbolized.Read(stream, stream.Name)
	if err != nil {
		return nil, err
	}
	if len(p.Counts) == 0 && !r.fillZero {
		return nil, fmt.Errorf("%s: it has no counts", stream.Name)
	}
	r.flat = !p.HasContexts || r.ignoreStacks
	if !r.flat && r.byLines {
		return nil, fmt.Errorf("%s: its contexts are addresses, and those of a profile that is keyed by lines are names", stream.Name)
	}
	if r.ignoreStacks {
		for i := range p.Counts {
			p.Counts[i].Context = nil
		}
	}
	result, lost, err := unwind.ReadCounts(p.Counts, r.code, r.countedBase())
	if lost > 0 {
		verb.Note(s, "%s: %s where %s has no code: is it of another build?", stream.Name, report.Plural(lost, "count"), r.Binaries[0])
	}
	return result, err
}

// count reads all samples.
func (r *ProfgenRun) count(ctx context.Context, s *verb.Streams, files []string) (*unwind.Result, error) {
	paths, err := logfile.Expand(files)
	if err != nil {
		return nil, err
	}
	var counter *unwind.Runner
	defer func() {
		if counter != nil {
			counter.Result() // ends its goroutines
		}
	}()
	var first *sample.Info
	for _, path := range paths {
		in, err := openSamples(s, path)
		if err != nil {
			return nil, err
		}
		defer in.Close()
		switch {
		case first == nil:
			first = in.Info()
			if err := r.lacks(first); err != nil {
				return nil, err
			}
			r.addresses = first.Kind == sample.Stacks && r.forCompilers()
			r.flat = r.addresses || r.ignoreStacks || first.Kind == sample.Branches || r.Format == formatFdata
			opt := r.options()
			opt.CheckStacks = r.like && first.Kind == sample.Hybrid
			counter = unwind.Start(r.code, opt, runtime.GOMAXPROCS(0))
		case in.Info().Kind != first.Kind && !r.ignoreStacks:
			return nil, fmt.Errorf("%s has %v and %s %v: make a profile of each, or give --ignore-stack-samples",
				first.File, first.Kind, in.Info().File, in.Info().Kind)
		}
		if err := countInput(ctx, s, in, counter); err != nil {
			return nil, err
		}
	}
	result := counter.Result()
	counter = nil
	r.report(s, &result.Stats)
	if result.Stats.Used == 0 {
		return nil, r.nothingUsed(&result.Stats)
	}
	if r.addresses {
		verb.Note(s, "the samples have no branches: counts are inferred from the instructions they were taken at, by the flow of control")
		result = profgen.FromAddresses(result, r.code)
	}
	return result, nil
}

// nothingUsed says why there is no profile.
func (r *ProfgenRun) nothingUsed(st *unwind.Stats) error {
	binaries := strings.Join(r.Binaries, ", ")
	if !st.Mapped && len(st.OtherFiles) > 0 {
		return fmt.Errorf("no sample is in %s: the name must be that of the file when it ran, whatever the directory, and what ran is %s", binaries, strings.Join(st.OtherFiles, ", "))
	}
	return fmt.Errorf("no sample of %s could be used (cairn samples says what is in an input)", binaries)
}

// countInput reads one input.
func countInput(ctx context.Context, s *verb.Streams, in *sampleInput, counter *unwind.Runner) error {
	const mega = 1 << 20
	var done atomic.Int64
	stop := func() {}
	if size := in.Info().Size; size > 0 {
		stop = verb.StartProgress(s.Err, "MB", &done, int(size/mega))
	}
	defer func() { stop() }()
	for b, err := range in.Batches(ctx) {
		if err != nil {
			return err
		}
		counter.Add(b)
		done.Store(in.Stats().Bytes / mega)
	}
	stop()
	stop = func() {}
	in.notes(s)
	return nil
}

// countedBase returns what addresses in unsymbolized profiles are relative to.
func (r *ProfgenRun) countedBase() uint64 {
	switch {
	case !r.offsets:
		return 0
	case r.firstBase:
		return r.code.Binaries()[0].Loaded
	}
	return r.code.Binaries()[0].Base
}

func (r *ProfgenRun) options() unwind.Options {
	opt := unwind.Options{
		Flat: r.flat, Addresses: r.addresses, MaxDepth: contextLimit(r.countedDepth), Recursion: contextLimit(r.recursion), PID: r.pid, OnePID: r.pid != 0,
		TailCalls:       r.Infer == InferFull && !r.onlyCount,
		TrustDepartures: r.keepTailJumps || r.Infer == inferLLVM,
		Frameless:       r.Infer == InferFull && !r.onlyCount,
		Moments:         r.ofStacks() || r.ofCalls() && !r.flat,
	}
	if r.lines != nil && !r.flat {
		opt.Inlining = r.lines
	}
	return opt
}

// report says what became of the samples.
func (r *ProfgenRun) report(s *verb.Streams, st *unwind.Stats) {
	verb.Note(s, "samples used: %s of %s (%s)", report.Count(st.Used), report.Count(st.Samples), report.Share(st.Used, st.Samples))
	for _, x := range []struct {
		what      string
		count, of uint64
	}{
		{"left out, of other processes", st.OtherProcess, st.OtherProcess + st.Samples},
		{"left out, no branches in the binaries", st.NoBranches, st.Samples},
		{"left out, no frame in the binaries", st.Elsewhere, st.Samples},
		{"left out, no stack", st.NoStack, st.Samples},
		{"left out, in prologues and epilogues, where stacks lack a frame", st.NoFrame, st.Samples},
		{"left out, at tail jumps, where stacks lack a frame", st.Departing, st.Samples},
		{"used with the frame that branches show, in prologues, epilogues and at tail jumps", st.Recovered, st.Samples},
		{"stacks cut at an address that no call returns to (frame pointers are missing)", st.CutStacks, st.Samples},
		{"branches followed by code that does not lead to the next one; callers before them are not known", st.Impossible, st.Branches},
		{"branches to other binaries or from them, one way only; callers before them are not known", st.Unpaired, st.Branches},
		{"calls that are not the ones on the stack", st.Mismatched, st.Branches},
	} {
		if x.count != 0 {
			verb.Note(s, "%s: %s (%s)", x.what, report.Count(x.count), report.Share(x.count, x.of))
		}
	}
	for _, path := range st.StrangeBinaries {
		verb.Note(s, "%s was mapped with another build id than the binary of its name here has: its samples are left out", path)
	}
	if st.Used > 0 && st.Used < st.Samples/10 {
		verb.Note(s, "hardly any sample could be used: did %s run, in this build? (cairn samples says what is in an input)", strings.Join(r.Binaries, ", "))
	}
	if !st.Mapped && (st.Used > 0 || len(st.OtherFiles) == 0) {
		verb.Note(s, "nothing says where the binaries were mapped: addresses are taken to be those that they were linked to")
	}
}

// profile makes the profile, and returns what writes it.
func (r *ProfgenRun) profile(s *verb.Streams, counts *unwind.Result) (func(io.Writer) error, error) {
	if !r.forCompilers() {
		return r.sampled(s, counts)
	}
	if r.onlyCount {
		p := &unsymbolized.Profile{HasContexts: !r.flat}
		if r.lines != nil && !r.flat {
			opt := profgen.Options{MaxDepth: contextLimit(r.contextDepth), Recursion: contextLimit(r.recursion)}
			counts, p.Keys = profgen.NamedContexts(counts, r.lines, opt)
		}
		p.Counts = counts.Counts(r.code, r.countedBase())
		return func(w io.Writer) error { return unsymbolized.Write(w, p) }, nil
	}
	if r.explained && (r.lines != nil || r.flat) {
		return nil, errors.New("--explain: frames are restored only in contexts that are keyed by pseudo probes")
	}
	opt := profgen.Options{MaxDepth: contextLimit(r.contextDepth), Recursion: contextLimit(r.recursion), Recount: r.recount}
	if r.lines != nil {
		if r.flat {
			if r.fillZero {
				profgen.AllFunctions(counts, r.code)
			}
			return r.writeFlat(s, profgen.FlatByLines(counts, r.lines), r.Format), nil
		}
		return r.writeContexts(s, r.preinlined(s, profgen.ContextsByLines(counts, r.lines, opt), counts, nil), r.Format), nil
	}
	met := counts
	if r.flat {
		r.Infer = inferNone
	}
	if r.Infer == InferFull {
		met = nil
	}
	probes, err := profgen.ReadProbes(r.code, r.programs, met)
	if err != nil {
		return nil, err
	}
	if r.Infer != inferNone {
		graph := tailcall.NewGraph(r.code, counts.Contexts)
		opt.Inferrer = r.inferrer(graph, probes.Place)
		if r.explained {
			return r.explain(graph, opt.Inferrer, counts), nil
		}
	}
	if r.flat {
		return r.writeFlat(s, profgen.FlatByProbes(counts, probes), r.Format), nil
	}
	if !probes.HaveCalls() {
		verb.Note(s, "there are no pseudo probes of calls, and so no callers: compile with -g1 as well")
	}
	return r.writeContexts(s, r.preinlined(s, profgen.ContextsByProbes(counts, probes, opt), counts, probes), r.Format), nil
}

package pipeline

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/cairnprof/cairn/format/perfscript"
	"github.com/cairnprof/cairn/format/sampleprof"
	"github.com/cairnprof/cairn/format/unsymbolized"
	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/logfile"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/samples/mapped"
	"github.com/cairnprof/cairn/internal/samples/profgen"
	"github.com/cairnprof/cairn/internal/samples/samplefile"
	"github.com/cairnprof/cairn/internal/samples/unwind"
	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/sample"
)

// counts are the numbers of executions of code.
type counts struct {
	*unwind.Result

	flat  bool                 // without contexts
	named [][]sampleprof.Frame // the contexts of counts that were read, if these are names
}

// count counts the samples.
func (r run) count(ctx context.Context, b *binaries) (counts, error) {
	if r.Counted != "" {
		return r.readCounts(b)
	}
	paths, err := samplefile.Expand(r.Samples)
	if err != nil {
		return counts{}, err
	}
	var counter *unwind.Runner
	defer func() {
		if counter != nil {
			counter.Result() // ends its goroutines
		}
	}()
	var first *sample.Info
	for _, path := range paths {
		in, err := r.open(path)
		if err != nil {
			return counts{}, err
		}
		defer in.Close()
		switch {
		case first == nil:
			first = in.Info()
			if err := r.lacks(first); err != nil {
				return counts{}, err
			}
			how := r.unwinding(b, first.Kind)
			how.Named = len(paths) == 1 && first.AllPIDs
			counter = unwind.Start(b.code, how, workers(first))
		case in.Info().Kind != first.Kind && !r.IgnoreStacks:
			return counts{}, fmt.Errorf("%s has %v, but %s has %v: make a profile of each, or give --ignore-stack-samples",
				first.File, first.Kind, in.Info().File, in.Info().Kind)
		}
		if err := r.countFile(ctx, in, counter); err != nil {
			return counts{}, err
		}
	}
	result, err := counter.Result(), counter.Err()
	if counter = nil; err != nil {
		return counts{}, err
	}
	if text := r.kernel.lacking(); text != "" {
		r.Note("%s", text)
	}
	r.noteUnused(&result.Stats)
	r.noteCopies(&result.Stats, b.tables.missing)
	if result.Stats.Used == 0 {
		return counts{}, r.nothingUsed(&result.Stats)
	}
	how := r.unwinding(b, first.Kind)
	if how.Addresses {
		r.Note("the samples have no branches: counts are inferred from sampled instructions and control flow")
		result = profgen.FromAddresses(result, b.code)
	}
	return counts{Result: result, flat: how.Flat}, nil
}

// workers returns the number of goroutines that unwind an input. Copies of stacks take the reader longer to read than to
// walk, and are in the cache of its processor: other goroutines cost more time of processors, and no less to wait for.
func workers(in *sample.Info) int {
	if in.Copies {
		return 1
	}
	return runtime.GOMAXPROCS(0)
}

// open opens an input, which may have been read already.
func (r run) open(path string) (*samplefile.File, error) {
	if r.Kept != nil {
		return r.Kept.Open(), nil
	}
	return samplefile.Open(path, r.In)
}

// unwinding returns the options for unwinding a kind of samples.
func (r run) unwinding(b *binaries, kind sample.Kind) unwind.Options {
	addresses := kind == sample.Stacks && (r.Product.forCompilers() || r.Product == Executions)
	full := r.Infer == InferFull && r.Product != Addresses
	opt := unwind.Options{
		Flat:      addresses || r.IgnoreStacks || kind == sample.Branches || r.Product == Branches || r.Product == Executions,
		Addresses: addresses, CheckStacks: r.CheckStacks && kind == sample.Hybrid,
		MaxDepth: r.CountedDepth, Recursion: r.Recursion, PID: r.PID, OnePID: r.PID != 0,
		TailCalls: full, Frameless: full, TrustDepartures: r.KeepTailJumps || r.Infer == InferLLVM,
	}
	opt.Moments = r.Product == Stacks || r.Product == Calls && !opt.Flat
	if b.lines != nil && !opt.Flat {
		opt.Inlining = b.lines
	}
	opt.Everywhere = r.Product == Stacks && r.Everywhere
	opt.Files = b.files()
	opt.Kernel = r.kernel.frames()
	if b.tables == nil {
		if b.tables = r.Tables; b.tables == nil {
			b.tables = b.unwindTables()
		}
	}
	opt.Tables = b.tables.Of
	return opt
}

// lacks returns an error if an input cannot be used.
func (r run) lacks(in *sample.Info) error {
	switch {
	case in.Kind == sample.Nothing:
		return fmt.Errorf("%s: no samples (cairn samples lists its contents)", in.File)
	case r.Product == Stacks && !in.Kind.HasStacks():
		return fmt.Errorf("%s: %v without stacks: record it with perf record --call-graph fp, or with cairn record", in.File, in.Kind)
	case in.Kind == sample.Stacks && (r.Product == Explanation || r.Product == Addresses || r.Product == Branches):
		return fmt.Errorf("%s: %v without branches: record it with perf record -b, or with cairn record", in.File, in.Kind)
	}
	return nil
}

// nothingUsed returns the error for inputs without usable samples.
func (r run) nothingUsed(st *unwind.Stats) error {
	names := strings.Join(r.Binaries, ", ")
	if !st.Mapped && len(st.OtherFiles) > 0 {
		return fmt.Errorf("no sample is in %s: neither build id nor name nor content are those of a file that ran; these are %s (a copy needs the name of the file that ran)", names, filesThatRan(st.OtherFiles))
	}
	return fmt.Errorf("no sample of %s could be used (cairn samples shows why)", names)
}

// countFile reads one input.
func (r run) countFile(ctx context.Context, in *samplefile.File, counter *unwind.Runner) (err error) {
	defer logfile.Guard(in.Info().File, &err)()
	const mega = 1 << 20
	var done atomic.Int64
	stop := func() {}
	if size := in.Info().Size; size > 0 {
		stop = r.Progress(&done, int(size/mega))
	}
	defer func() { stop() }()
	for b, err := range in.Batches(ctx) {
		if err != nil {
			return err
		}
		r.passMappings(b)
		r.kernel.see(b, in.Info(), r.Host.Kernel)
		counter.Add(b)
		done.Store(in.Stats().Bytes / mega)
	}
	stop()
	stop = func() {}
	for _, text := range in.Notes() {
		r.Note("%s", text)
	}
	return nil
}

// passMappings passes the mappings of a batch to the host's callback.
func (r run) passMappings(b *sample.Batch) {
	if r.Mapped == nil {
		return
	}
	for i := range b.Events {
		if e := &b.Events[i]; e.Kind == sample.Map {
			r.Mapped(&e.Mapping)
		}
	}
}

// noteUnused prints notes about samples that were not used.
func (r run) noteUnused(st *unwind.Stats) {
	r.Note("samples used: %s of %s (%s)", report.Count(st.Used), report.Count(st.Samples), report.Share(st.Used, st.Samples))
	flat := func(n uint64) uint64 { // of stacks another note says it
		if r.Product == Stacks || r.Product == Calls {
			return 0
		}
		return n
	}
	for _, x := range []struct {
		what      string
		count, of uint64
	}{
		{"omitted, of other processes", st.OtherProcess, st.OtherProcess + st.Samples},
		{"omitted, no branches in the binaries", st.NoBranches, st.Samples},
		{"omitted, no frame in the binaries", st.Elsewhere, st.Samples},
		{"omitted, no stack", st.NoStack, st.Samples},
		{"omitted, in prologues and epilogues, where stacks lack a frame", flat(st.NoFrame), st.Samples},
		{"omitted, at tail jumps, where stacks lack a frame", flat(st.Departing), st.Samples},
		{"used with the frame that branches show, in prologues, epilogues and at tail jumps", flat(st.Recovered), st.Samples},
		{"stacks cut at an address that no call returns to (frame pointers are missing)", st.CutStacks, st.Samples},
		{"branches followed by code that does not lead to the next one; callers before them are unknown", st.Impossible, st.Branches},
		{"branches to other binaries or from them, one way only; callers before them are unknown", st.Unpaired, st.Branches},
		{"calls that are not the ones on the stack", st.Mismatched, st.Branches},
		{"with the newest branch recorded twice, of which one was used", st.Repeated, st.Samples},
	} {
		if x.count != 0 {
			r.Note("%s: %s (%s)", x.what, report.Count(x.count), report.Share(x.count, x.of))
		}
	}
	if r.Product == Stacks || r.Product == Calls {
		for _, text := range []string{howCallers(st), lackingTotals(st)} {
			if text != "" {
				r.Note("%s", strings.TrimSuffix(strings.ToLower(text[:1])+text[1:], "."))
			}
		}
	}
	if st.Complete > 0 && st.Complete/16 >= st.Recovered && st.NoFrame+st.Departing > 0 {
		r.Note("in prologues and epilogues the stacks have the caller that branches show: if they were not walked by frame pointers alone, begin the text with %q, and no sample is omitted there", strings.TrimSpace(perfscript.WholeStacks))
	}
	for _, path := range st.StrangeBinaries {
		r.Note("the mapped %s has another build id than the given binary: its samples are omitted", path)
	}
	if st.Replaced {
		r.Note("anonymous memory was mapped in place of code: it is taken for the code that was there, as of programs that have their code in huge pages")
	}
	if st.Used > 0 && st.Used < st.Samples/10 {
		r.Note("hardly any sample could be used: did this build of %s run? (cairn samples shows why)", strings.Join(r.Binaries, ", "))
	}
	if !st.Mapped && len(r.Binaries) > 0 && (st.Used > 0 || len(st.OtherFiles) == 0) {
		r.Note("%s", unmapped(r.Binaries, st.OtherFiles))
	}
}

// unmapped says why addresses of binaries are not known: no mapping is one of them, but those of others may be there.
func unmapped(binaries, others []string) string {
	const assumed = "addresses are assumed to be link-time addresses"
	if len(others) == 0 {
		return "the input has no mappings: " + assumed
	}
	return fmt.Sprintf("no file that ran has the name or the build id of %s, only %s: %s (a copy needs the name of the file that ran)",
		strings.Join(binaries, ", "), filesThatRan(others), assumed)
}

// filesThatRan lists the first few of some paths: those that are probably meant come first, such as of files that are not
// there any more, of which a copy was named; those of the system last.
func filesThatRan(paths []string) string {
	group := func(path string) int {
		switch {
		case strings.HasSuffix(path, " (deleted)"):
			return 0
		case strings.HasPrefix(path, "/usr/"), strings.HasPrefix(path, "/lib"), strings.HasPrefix(path, "/bin/"):
			return 2
		}
		return 1
	}
	paths = slices.Clone(paths)
	stablesort.Func(paths, func(a, b string) int { return group(a) - group(b) })
	const most = 4
	list := strings.Join(paths[:min(most, len(paths))], ", ")
	switch n := len(paths) - most; {
	case len(paths) >= mapped.MaxOthers:
		list += fmt.Sprintf(" and %d or more others", n)
	case n > 0:
		list += fmt.Sprintf(" and %d more", n)
	}
	return list
}

// readCounts reads counts of addresses that were written before.
func (r run) readCounts(b *binaries) (counts, error) {
	stream, err := logfile.OpenStream(r.Counted, r.In)
	if err != nil {
		return counts{}, err
	}
	defer stream.Close()
	p, err := unsymbolized.Read(stream, stream.Name)
	if err != nil {
		return counts{}, err
	}
	if len(p.Counts) == 0 && !r.FillZero {
		return counts{}, fmt.Errorf("%s: no counts", stream.Name)
	}
	flat := !p.HasContexts || r.IgnoreStacks
	switch {
	case flat:
	case b.lines != nil && p.Names == nil && slices.ContainsFunc(p.Counts, hasContext):
		return counts{}, fmt.Errorf("%s: its contexts are addresses, but those of a profile keyed by lines are names", stream.Name)
	case b.lines == nil && p.Names != nil:
		return counts{}, fmt.Errorf("%s: its contexts are names, as those of profiles keyed by lines are, but %s has pseudo probes (give --use-dwarf-correlation)", stream.Name, r.Binaries[0])
	}
	if r.IgnoreStacks {
		for i := range p.Counts {
			p.Counts[i].Context = nil
		}
	}
	result, lost, err := unwind.ReadCounts(p.Counts, b.code, r.base(b))
	if lost > 0 {
		r.Note("%s: %s at addresses where %s has no code: is it of another build?", stream.Name, report.Plural(lost, "count"), r.Binaries[0])
	}
	return counts{result, flat, p.Names}, err
}

func hasContext(c sample.Counts) bool { return len(c.Context) > 0 }

// base returns the address that counts of addresses are relative to.
func (r run) base(b *binaries) uint64 {
	switch r.Base {
	case NoBase:
		return 0
	case FirstBase:
		return b.code.Binaries()[0].Loaded
	}
	return b.code.Binaries()[0].Base
}

// everywhere returns counts of all code, as if each function had run.
func everywhere(code *machinecode.Set) counts {
	c := &unwind.Result{}
	profgen.AllFunctions(c, code)
	return counts{Result: c, flat: true}
}

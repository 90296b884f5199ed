package orderfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/cairnprof/cairn/internal/inputs/gather"
	"github.com/cairnprof/cairn/internal/profile/merge"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/internal/watch/ptrace"
	"github.com/cairnprof/cairn/prof"
)

// runRecorded runs a program, adds its trace to the profile if there is one, and returns the
// module to be ordered. If the program fails, recording still succeeds: status is the
// program's exit code.
func (f *Choice) runRecorded(ctx context.Context, s *verb.Streams, argv []string) (m *prof.Module, status ptrace.Status, err error) {
	scenario := ""
	if len(f.Scenarios) == 1 {
		scenario = f.Scenarios[0]
	}
	toOut := f.Out == "-"
	rec, err := recordRun(ctx, s, argv, scenario, toOut)
	if err != nil {
		return nil, status, err
	}
	reportRun(s, rec, argv[0])
	if f.Link.Binary == "" && len(f.Link.Objects) == 0 && !rec.Derived {
		f.Link.Binary, err = exec.LookPath(argv[0])
		if err != nil {
			return nil, status, err
		}
	}
	f.Scenarios = nil // the name is the run's: all that the profile has is ordered
	m = rec.Module
	if f.Path != "" {
		m, err = addToProfile(context.WithoutCancel(ctx), s, f.Path, m)
	}
	return m, rec.Run.Status, err
}

// recordRun runs a program under breakpoints.
func recordRun(ctx context.Context, s *verb.Streams, argv []string, scenario string, keepOut bool) (*ptrace.Recording, error) {
	var rec *ptrace.Recording
	err := verb.Traced(ctx, s, keepOut, func(ctx context.Context, opts *ptrace.Options) (err error) {
		rec, err = ptrace.Record(ctx, argv, scenario, opts)
		return err
	})
	return rec, err
}

// reportRun prints the cost of the run and what was not recorded.
func reportRun(s *verb.Streams, rec *ptrace.Recording, name string) {
	run := rec.Run
	hits := len(run.Calls)
	cost := ""
	if hits > 0 {
		cost = fmt.Sprintf("; recording took %.1f ms of them, %.0f us per first call", ms(run.Tracing), 1000*ms(run.Tracing)/float64(hits))
	}
	fmt.Fprintf(s.Remarks(), "recorded %d of %d functions in %.1f ms%s\n", hits, run.Planted, ms(run.Elapsed), cost)
	if rec.Derived {
		verb.Note(s, "%s has no build id: using the hash of the file (link with -Wl,--build-id)", name)
	}
	if run.Replaced {
		verb.Note(s, "%s replaced itself by another program (exec), which was not recorded", name)
	}
	if run.Status.Code != 0 {
		verb.Note(s, "%s ended with %v", name, run.Status)
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// addToProfile adds the run in m to the profile at path, which it creates if necessary, and
// returns the module with all of its runs.
func addToProfile(ctx context.Context, s *verb.Streams, path string, m *prof.Module) (*prof.Module, error) {
	p := new(prof.Profile)
	if _, err := os.Stat(path); err == nil {
		var unlock func()
		if path, p, unlock, err = gather.Lock(ctx, path); err != nil {
			return nil, err
		}
		defer unlock()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for i := range m.Traces {
		m.Traces[i].Key = rand.Uint64()
	}
	i := slices.IndexFunc(p.Modules, func(o prof.Module) bool { return o.BuildID == m.BuildID })
	err := merge.Profiles(p, &prof.Profile{Modules: []prof.Module{*m}})
	if errors.Is(err, merge.ErrConflict) {
		// It was instrumented, too, and has the map of that.
		added := traceOnly(&p.Modules[i].Map, m)
		if len(added.Traces) == 0 {
			return nil, fmt.Errorf("%s: the run executed no instrumented function: not added", path)
		}
		err = merge.Modules(&p.Modules[i], added)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	i = slices.IndexFunc(p.Modules, func(o prof.Module) bool { return o.BuildID == m.BuildID })
	merge.Sample(&p.Modules[i], gather.DefaultTraces)
	return &p.Modules[i], verb.WriteProfile(s, path, p)
}

// traceOnly returns the traces of from for a module that another map describes,
// and no counts. Functions are the same if they are at the same address.
func traceOnly(to *prof.Map, from *prof.Module) *prof.Module {
	m := &prof.Module{Map: *to, Counts: make([]prof.Counts, len(to.Funcs)), TracesSeen: from.TracesSeen}
	index := make(map[uint64]uint32, len(to.Funcs))
	for i := range to.Funcs {
		f := &to.Funcs[i]
		index[f.Addr()] = uint32(i)
		if f.Mode.HasBlocks() {
			m.Counts[i].Blocks = make([]uint64, f.NumBlocks()-1)
		}
	}
	for _, t := range from.Traces {
		var funcs []uint32
		for _, fn := range t.Funcs {
			if i, ok := index[from.Funcs[fn].Addr()]; ok {
				funcs = append(funcs, i)
			}
		}
		if t.Funcs = funcs; len(funcs) > 0 {
			m.Traces = append(m.Traces, t)
		}
	}
	return m
}

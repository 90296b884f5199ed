package spikes_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/internal/spikes"
)

// run is a thread of the test. Its calls are written as trees of functions with the
// milliseconds that they take outside of their calls. Calls of 10 ms or more are logged as the
// runtime would log them.
type run struct {
	episodes []*tracelog.Episode
	callers  []*tracelog.Caller
	now      float64
	frame    uint64
	stack    []made
	number   uint64
	logged   func(number uint64) bool // nil: all
}

type made struct {
	f     int
	begin float64
}

func (r *run) sp(depth int) uint32 { return uint32(0x10000 - 64*depth) }

// call runs a function: first its calls, then its own time. It reports whether it or a call
// below it was a spike.
func (r *run) call(f int, own float64, inside ...func() bool) func() bool {
	return func() bool {
		depth := len(r.stack)
		r.stack = append(r.stack, made{f: f, begin: r.now})
		below := false
		for _, do := range inside {
			below = do() || below
		}
		r.now += own
		begin := r.stack[depth].begin
		took := between(r.now-begin, r.now-begin+.25)
		defer func() { r.stack = r.stack[:depth] }()
		switch {
		case r.now-begin < 10:
			return false
		case !below:
			r.peak(took)
		default:
			c := tracelog.Caller{TID: 7, Parent: tracelog.Parent{PC: uint64(100*f + 60), Ended: uint64(r.now * ms), Time: took, Threshold: 10 * ms, SP: r.sp(depth)}}
			r.callers = append(r.callers, &c)
			if n := len(r.episodes); n > 0 && r.episodes[n-1].Number == r.number {
				r.episodes[n-1].Parents = append(r.episodes[n-1].Parents, c.Parent)
			}
		}
		return true
	}
}

func (r *run) peak(took tracelog.Interval) {
	r.number++
	if r.logged != nil && !r.logged(r.number) {
		return
	}
	e := &tracelog.Episode{TID: 7, Number: r.number, Time: uint64(r.now * ms), Peak: took, Threshold: 10 * ms, Frame: r.frame}
	for d := len(r.stack) - 1; d >= 0; d-- {
		x := tracelog.Entry{PC: uint64(100*r.stack[d].f + 50), SP: r.sp(d), Time: between(r.now-r.stack[d].begin, r.now-r.stack[d].begin+.25)}
		e.Stack = append(e.Stack, x)
	}
	r.episodes = append(r.episodes, e)
}

// settle returns the log data of a run that took the given milliseconds.
func (r *run) settle(t *testing.T, life float64) *spikes.Set {
	t.Helper()
	s := spikes.New([]spikes.Log{{Name: "game.cairnlog", Trailer: &tracelog.Trailer{Time: uint64(life * ms), Threshold: 10 * ms}}}, address)
	each := func(do func(int, *tracelog.Episode) error) error {
		for _, e := range r.episodes {
			if err := do(0, e); err != nil {
				return err
			}
		}
		return nil
	}
	_ = each(func(log int, e *tracelog.Episode) error {
		s.Add(log, e)
		return nil
	})
	for _, c := range r.callers {
		s.AddCaller(0, c)
	}
	if err := s.Settle(name, each); err != nil {
		t.Fatal(err)
	}
	return s
}

// list returns the functions that are ranked, each with its unexplained time in ms.
func list(s *spikes.Set) string {
	var names []string
	for _, g := range s.Ranked(spikes.ByWorst) {
		loc := name(g.Worst.Addrs[0], true)
		kind := "" // of callers
		if g.Worst.Blame != nil {
			kind = "^"
		}
		names = append(names, fmt.Sprintf("%s%s %d", kind, loc.Outer().Function, g.Limit/ms))
	}
	return strings.Join(names, ", ")
}

// TestBlame checks that calls are ranked by the time that the calls below them do not explain.
func TestBlame(t *testing.T) {
	t.Parallel()
	const root, create, spawn, meshes, skeleton, tick = 0, 1, 2, 3, 4, 5
	for _, test := range []struct {
		name, want, lasting string
		life                float64
		calls               func(r *run) func() bool
	}{
		{"a chain has one to blame", "SetSkeletalMesh 30", "", 1000, func(r *run) func() bool {
			return r.call(tick, 1, r.call(create, 2, r.call(spawn, 0, r.call(skeleton, 30))))
		}},
		{"a caller with a spike below", "^CreatePlayerPhase1 413, SetSkeletalMesh 11", "", 1000, func(r *run) func() bool {
			return r.call(tick, 1, r.call(create, 402, r.call(skeleton, 11)))
		}},
		{"a large call explains, small ones do not", "^SpawnCharacter 249, CreateMeshes 200, SetSkeletalMesh 11", "", 2000, func(r *run) func() bool {
			return r.call(tick, 1, r.call(spawn, 228, r.call(meshes, 200), r.call(skeleton, 11), r.call(skeleton, 11)))
		}},
		{"two callers on one stack", "^CreateMeshes 99, ^CreatePlayerPhase1 49, SetSkeletalMesh 40", "", 1000, func(r *run) func() bool {
			return r.call(create, 50, r.call(meshes, 100, r.call(skeleton, 40)))
		}},
		{"main is around all", "Tick 494, SetSkeletalMesh 30", "main", 1100, func(r *run) func() bool {
			return r.call(root, 500, r.call(tick, 490, r.call(skeleton, 4)), r.call(tick, 0, r.call(skeleton, 30)))
		}},
		{"recursion", "^CreateMeshes 69, CreateMeshes 20", "", 1000, func(r *run) func() bool {
			return r.call(meshes, 0, r.call(meshes, 70, r.call(meshes, 0, r.call(meshes, 20))))
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := &run{now: 1}
			test.calls(r)()
			s := r.settle(t, test.life)
			if got := list(s); got != test.want {
				t.Errorf("%s\nwant %s", got, test.want)
			}
			w := &spikes.Writer{Set: s, Name: name}
			if got := w.Lasting(); strings.Contains(got, "main") != (test.lasting != "") {
				t.Errorf("lasting: %q", got)
			}
			const unknown = " are in no reported call: in calls shorter than the threshold, or in functions without probes: those of libraries and, unless the build had --small 0, small ones."
			if got := strings.Join(w.Explained(), "\n"); strings.Contains(got, " of main"+unknown) != (test.lasting != "") {
				t.Errorf("explained: %s", got)
			}
		})
	}
}

// TestBlameMany checks that of 150 short spikes none explains why their caller took long.
// Spikes that were only counted are known through their callers, if at all.
func TestBlameMany(t *testing.T) {
	t.Parallel()
	const create, meshes, skeleton, tick = 1, 3, 4, 5
	for _, test := range []struct {
		name   string
		logged func(uint64) bool
		below  string // of the caller, text
	}{
		{"all logged", nil, "in 150 calls"},
		{"a hundred logged", func(n uint64) bool { return n <= 100 || n > 150 }, "in 150 calls"},
		{"none logged", func(n uint64) bool { return n > 150 }, "in 150 calls"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := &run{now: 1, logged: test.logged, frame: 2}
			var chunks []func() bool
			for range 150 {
				chunks = append(chunks, r.call(meshes, .5, r.call(skeleton, 11)))
			}
			r.call(tick, .5, r.call(create, 100, chunks...))()
			r.frame++
			r.call(tick, 0, r.call(skeleton, 50))()
			s := r.settle(t, 10_000)
			g := s.Ranked(spikes.ByWorst)
			if got := list(s); !strings.HasPrefix(got, "^CreatePlayerPhase1 182") || strings.Contains(got, "Tick") || !strings.Contains(got, "SetSkeletalMesh 50") {
				t.Fatal(got)
			}
			if first := s.Rows(spikes.ByWorst, name)[0]; first.Place.Function != "CreatePlayerPhase1" || first.Self > 101*ms || first.Self < 60*ms {
				t.Errorf("the table begins with %+v", first)
			}
			var b bytes.Buffer
			w := &spikes.Writer{Set: s, Name: name}
			if err := w.Spike(&b, g[0], g[0].Worst); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(b.String(), "LONG CALLER") || !strings.Contains(b.String(), test.below) {
				t.Errorf("%s", b.String())
			}
			o := w.Object(g[0], g[0].Worst)
			if o.Caller == nil || len(o.Children) != 1 || o.Children[0].Calls != 150 || o.Peak.Function != "CreatePlayerPhase1" {
				t.Errorf("%+v", o)
			}
		})
	}
}

// TestEaters checks that the time of a frame is divided among the functions that took it, and
// that each is counted once.
func TestEaters(t *testing.T) {
	t.Parallel()
	const create, meshes, tick = 1, 3, 5
	r := &run{now: 1, frame: 2}
	var chunks []func() bool
	for range 20 {
		chunks = append(chunks, r.call(meshes, 11))
	}
	begin := r.now
	r.call(tick, 11, r.call(create, 40, chunks...))()
	s := r.settle(t, 10_000)
	s.Logs[0].Frames = &tracelog.Frames{Longest: []tracelog.Frame{{Number: 2, End: uint64(r.now*ms) + 1, Took: uint64((r.now-begin)*ms) + 2}}}
	in := s.Frames(name)[0][2]
	var got []string
	for i := range in.Eaters {
		got = append(got, fmt.Sprintf("%s %d in %d", in.Eaters[i].Name(name).Function, in.Eaters[i].Time/ms, in.Eaters[i].Calls))
	}
	if text := strings.Join(got, ", "); text != "CreatePlayerPhase1 260 in 1, Tick 10 in 1" || len(in.Spikes) != 8 {
		t.Errorf("%s; spikes %v", text, in.Spikes)
	}
	// What is shorter than a step of the clock is not known.
	s.Logs[0].Trailer = &tracelog.Trailer{Period: 11 * ms}
	if in = s.Frames(name)[0][2]; len(in.Eaters) != 1 || in.Eaters[0].Time != 260*ms {
		t.Errorf("%+v", in.Eaters)
	}
}

// TestLate checks that a caller that is ranked explains the time of all its calls, also of those that are not: too short
// to be ranked themselves, but too long to be no late calls.
func TestLate(t *testing.T) {
	t.Parallel()
	const create, chunk, work = 1, 3, 4
	r := &run{now: 1}
	var chunks []func() bool
	for range 20 {
		chunks = append(chunks, r.call(chunk, 6, r.call(work, 11)))
	}
	r.call(create, 40, chunks...)()
	s := r.settle(t, 10_000)
	if l := s.Late(); l.Time < 370*ms || l.Explained != l.Time {
		t.Errorf("%d of %d ms are explained", l.Explained/ms, l.Time/ms)
	}
}

// TestBlameLarge checks that a hundred thousand calls are nested quickly, on one stack and on
// several.
func TestBlameLarge(t *testing.T) {
	t.Parallel()
	r := &run{now: 1}
	var calls []func() bool
	for i := range 50_000 {
		calls = append(calls, r.call(3, .5, r.call(4, 11+float64(i%3))))
	}
	r.call(1, 1, calls...)()
	for i := range r.episodes { // two stacks that take turns
		if i%2 == 0 {
			r.episodes[i].Stack[0].SP += 1 << 20
		}
	}
	s := r.settle(t, 1e7)
	if n := len(s.Ranked(spikes.ByWorst)); n != 2 {
		t.Errorf("%d stacks: %s", n, list(s))
	}
}

package spikes_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/internal/spikes"
)

// server is a thread whose waits are described: it calls functions below main, which does not end.
type server struct {
	set    *spikes.Set
	number uint64
	now    float64 // ms
	ready  uint16  // of 9 samples, those in which the thread waited for a processor
}

// wait adds a wait in epoll_wait of some time in function f, below callers that had begun some time before it and
// end some time after it, the innermost first.
func (s *server) wait(on tracelog.WaitFlags, f int, took float64, callers ...[3]float64) {
	s.number++
	s.now += 1 + took
	at := func(f int) uint64 { return uint64(100*f + 50) }
	sp := func(f int) uint32 { return uint32(0x9000 - 16*f) }
	e := &tracelog.Episode{
		TID: 7, Number: s.number, Time: uint64(s.now * ms), Peak: between(took, took+.2), Threshold: 10 * ms,
		Stack: []tracelog.Entry{{PC: at(f), Time: between(took, took+.2), SP: sp(f)}},
		Usage: &tracelog.Usage{CPU: between(0, .1), Call: "epoll_wait", Waits: 9, InCall: 9 - s.ready, Ready: s.ready},
		Wait:  &tracelog.Wait{On: on, Longest: uint64(took * ms)},
	}
	var ends []tracelog.Parent
	for _, c := range callers {
		g, before, after := int(c[0]), c[1], c[2]
		e.Stack = append(e.Stack, tracelog.Entry{PC: at(g), Time: between(took+before, took+before+.2), SP: sp(g)})
		ends = append(ends, tracelog.Parent{PC: at(g), Time: between(took+before+after, took+before+after+.2), SP: sp(g), Ended: uint64((s.now + after) * ms), Threshold: 10 * ms})
	}
	e.Stack = append(e.Stack, tracelog.Entry{PC: at(0), Time: between(s.now, s.now+.2), SP: sp(0)})
	e.Parents = ends
	s.set.Add(0, e)
	for _, p := range ends {
		s.set.AddCaller(0, &tracelog.Caller{TID: 7, Parent: p})
	}
	for _, c := range callers {
		s.now = max(s.now, s.now+c[2])
	}
}

// TestIdle decides which waits in one system call are idle. Functions 1 to 5 are those of the game: CreatePlayerPhase1,
// SpawnCharacter, CreateMeshes, SetSkeletalMesh, Tick.
func TestIdle(t *testing.T) {
	t.Parallel()
	const listener, client, own, event, unknown = tracelog.WaitListener, tracelog.WaitIncoming, tracelog.WaitOutgoing, tracelog.WaitInternal, tracelog.WaitUnknown
	tests := []struct {
		name   string
		script func(s *server)
		want   string // ranked; "?": and marked, then what is idle
	}{
		{"a loop", func(s *server) { s.wait(listener|own|event, 1, 500) }, "; CreatePlayerPhase1"},
		{"a loop of which each round is a call", func(s *server) { s.wait(listener|event, 1, 500, [3]float64{2, 15, 1}) }, "; CreatePlayerPhase1"},
		{"a client with nothing begun", func(s *server) { s.wait(client, 3, 80, [3]float64{2, 0, 1}) }, "; CreateMeshes"},
		{"a client in the middle of a request", func(s *server) { s.wait(client, 3, 80, [3]float64{2, 20, 1}) }, "CreateMeshes; "},
		{"another server", func(s *server) { s.wait(own, 3, 80, [3]float64{2, 0, 1}) }, "CreateMeshes; "},
		{"another server, not in a request", func(s *server) { s.wait(own, 3, 80) }, "CreateMeshes?; "},
		{"another thread, in a request that had begun", func(s *server) { s.wait(event, 3, 80, [3]float64{2, 20, 1}) }, "CreateMeshes; "},
		{"another thread, once", func(s *server) { s.wait(event, 3, 80, [3]float64{2, 0, 1}) }, "CreateMeshes?; "},
		{"a worker's queue", func(s *server) {
			for range 4 {
				s.wait(event, 3, 80, [3]float64{2, 0, 1})
			}
		}, "; CreateMeshes"},
		{"a lock, beside clients", func(s *server) {
			s.wait(client|event, 3, 80, [3]float64{2, 0, 1})
			s.wait(event, 5, 80, [3]float64{4, 0, 1})
			s.wait(event, 5, 80, [3]float64{4, 0, 1})
		}, "Tick; CreateMeshes"},
		{"a loop behind other programs", func(s *server) { s.ready = 3; s.wait(listener|client, 1, 25) }, "; CreatePlayerPhase1"},
		{"a loop behind other programs for too long", func(s *server) { s.ready = 3; s.wait(listener|client, 1, 80) }, "CreatePlayerPhase1 26.7 of 80; "},
		{"a client behind other programs for too long", func(s *server) { s.ready = 3; s.wait(client, 3, 80, [3]float64{2, 0, 1}) }, "CreateMeshes 26.7 of 80; "},
		{"a client in the middle of a request behind other programs", func(s *server) { s.ready = 3; s.wait(client, 3, 80, [3]float64{2, 20, 1}) }, "CreateMeshes; "},
		{"not known, once", func(s *server) { s.wait(unknown, 3, 80) }, "CreateMeshes?; "},
		{"not known, again", func(s *server) { s.wait(unknown, 3, 80); s.wait(unknown, 3, 85) }, "; CreateMeshes"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := &server{now: 100, set: spikes.New([]spikes.Log{{Name: "game.cairnlog", Trailer: &tracelog.Trailer{Time: 60_000 * ms}}}, address)}
			test.script(s)
			if err := s.set.Settle(name, func(func(int, *tracelog.Episode) error) error { return nil }); err != nil {
				t.Fatal(err)
			}
			w := &spikes.Writer{Set: s.set, Name: name}
			var ranked, idle []string
			for _, g := range s.set.Ranked(spikes.ByWorst) {
				if g.Worst.Blame != nil {
					continue
				}
				loc := name(g.Worst.Addrs[0], true)
				mark := ""
				if g.Idle == spikes.Doubtful {
					mark = "?"
				}
				if g.Limit != g.Worst.Peak.Lo {
					mark += fmt.Sprintf(" %.1f of %.0f", float64(g.Limit)/ms, float64(g.Worst.Peak.Lo)/ms)
				}
				ranked = append(ranked, loc.Outer().Function+mark)
			}
			for _, r := range w.IdleRows() {
				idle = append(idle, r.Function)
			}
			if got := fmt.Sprintf("%s; %s", strings.Join(ranked, " "), strings.Join(idle, " ")); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
			if l := s.set.Late(); l.Explained > l.Time || l.Time+l.Idle == 0 {
				t.Errorf("%+v", l)
			}
		})
	}
}

// TestAwaited ranks only the wait for a processor of a thread that waited for work before it, and says so.
func TestAwaited(t *testing.T) {
	t.Parallel()
	s := &server{now: 100, ready: 3, set: spikes.New([]spikes.Log{{Name: "game.cairnlog", Trailer: &tracelog.Trailer{Time: 60_000 * ms}}}, address)}
	s.wait(tracelog.WaitListener, 1, 80)
	if err := s.set.Settle(name, func(func(int, *tracelog.Episode) error) error { return nil }); err != nil {
		t.Fatal(err)
	}
	w := &spikes.Writer{Set: s.set, Name: name}
	var b strings.Builder
	if err := w.Spike(&b, s.set.Groups[0], s.set.Groups[0].Worst); err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(b.String(), "\n")
	if want := "waited for a processor 26.6..27.0 of 80.0..80.2 ms, for work in epoll_wait for new connections the rest   (ranked without the wait for work)"; !strings.HasSuffix(line, want) {
		t.Errorf("%q, want %q", line, want)
	}
	if l := s.set.Late(); l.Time > 27*ms || l.Idle < 53*ms || l.Explained != l.Time {
		t.Errorf("%+v", l)
	}
	if o := w.Object(s.set.Groups[0], s.set.Groups[0].Worst); o.Awaited < 53*ms || o.Awaited > 54*ms {
		t.Errorf("%d ns", o.Awaited)
	}
}

// TestFrozen takes the time in which a process stood still from that of calls.
func TestFrozen(t *testing.T) {
	t.Parallel()
	log := spikes.Log{Name: "game.cairnlog", Freezes: []tracelog.Freeze{{From: 1000 * ms, To: 1500 * ms}}, Trailer: &tracelog.Trailer{Time: 60_000 * ms}}
	s := spikes.New([]spikes.Log{log}, address)
	for i, took := range []float64{505, 530} { // of which 5 and 30 ms are their own
		s.Add(0, &tracelog.Episode{
			TID: uint32(7 + i), Number: uint64(1 + i), Time: 1502 * ms, Peak: between(took, took+.2), Threshold: 10 * ms,
			Stack: []tracelog.Entry{entry(uint64(150+100*i), between(took, took+.2)), entry(50, between(1400, 1401))},
		})
	}
	if err := s.Settle(name, func(func(int, *tracelog.Episode) error) error { return nil }); err != nil {
		t.Fatal(err)
	}
	ranked := s.Ranked(spikes.ByWorst)
	if len(ranked) != 1 || ranked[0].Limit != 30*ms || ranked[0].Worst.Frozen != 500*ms {
		t.Errorf("%d ranked: %+v", len(ranked), ranked)
	}
	if rows := s.FreezeRows(); len(rows) != 1 || rows[0].Calls != 2 {
		t.Errorf("%+v", rows)
	}
	if l := s.Late(); l.Time != 35*ms || l.Frozen != 1000*ms || l.Explained != l.Time {
		t.Errorf("%+v", l)
	}
	w := &spikes.Writer{Set: s, Name: name}
	if text := w.Freezes(); len(text) != 1 || !strings.HasPrefix(text[0], "freeze 500 ms  all threads  from 1.000 s to 1.500 s: ") {
		t.Errorf("%q", text)
	}
}

// TestTwins has waits for work and other spikes of one stack: the log's count of the stack, with its longest, is of both.
func TestTwins(t *testing.T) {
	t.Parallel()
	s := &server{now: 100, set: spikes.New([]spikes.Log{{Name: "game.cairnlog", Trailer: &tracelog.Trailer{Time: 60_000 * ms}}}, address)}
	for range 3 {
		s.wait(tracelog.WaitListener, 3, 900)
	}
	s.number++
	s.set.Add(0, &tracelog.Episode{
		TID: 7, Number: s.number, Time: 5000 * ms, Peak: between(30, 30.2), Threshold: 10 * ms,
		Stack: []tracelog.Entry{{PC: 350, Time: between(30, 30.2), SP: 0x9000 - 48}, {PC: 50, Time: between(5000, 5000.2), SP: 0x9000}},
	})
	s.set.Count(0, &tracelog.Seen{PC: 350, Count: 6, Worst: 900 * ms, Episode: 1})
	if err := s.set.Settle(name, func(func(int, *tracelog.Episode) error) error { return nil }); err != nil {
		t.Fatal(err)
	}
	ranked := s.set.Ranked(spikes.ByWorst)
	rows := (&spikes.Writer{Set: s.set, Name: name}).IdleRows()
	if len(ranked) != 1 || ranked[0].Limit != 30*ms || ranked[0].Seen != 1 || len(rows) != 1 || rows[0].Seen != 5 {
		t.Errorf("%d ranked: %+v; idle: %+v", len(ranked), ranked, rows)
	}
}

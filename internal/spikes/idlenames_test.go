package spikes

import (
	"slices"
	"testing"

	"github.com/cairnprof/cairn/format/tracelog"
)

// TestIdleNames decides by the functions of Go's library in a stack: the innermost that tells is the one that counts.
func TestIdleNames(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		stack []string
		want  Idleness
	}{
		{[]string{"main.next", "main.worker"}, Doubtful},
		{[]string{"main.delay", "net/http.HandlerFunc.ServeHTTP", "net/http.serverHandler.ServeHTTP", "net/http.(*conn).serve"}, Working},
		{[]string{"net/http.(*conn).readRequest", "net/http.(*conn).serve"}, Idle},
		{[]string{"net.(*Resolver).lookupHost", "net.(*Resolver).LookupHost", "main.resolve"}, Working},
		{[]string{"net.(*netFD).accept", "main.serve"}, Idle},
	} {
		addrs := make([]Address, len(test.stack))
		for i := range addrs {
			addrs[i].Offset = uint64(i)
		}
		got := idleNames(addrs, func(a Address, _ bool) Location {
			return Location{Places: []Place{{Symbol: test.stack[a.Offset], Function: test.stack[a.Offset]}}}
		})
		if got != test.want {
			t.Errorf("%v: %d, want %d", test.stack, got, test.want)
		}
	}
}

// TestAccepting: main is idle though it ran when it was last looked at, if that was between two connections; if it computes
// something, it is late. So is a loop around all work of a thread that sleeps in each round; who sleeps since it began is late.
func TestAccepting(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		inner, call string
		since       uint64
		want        Idleness
	}{
		{"net.(*TCPListener).Accept", "", 0, Idle},
		{"main.compute", "", 0, Working},
		{"internal/poll.runtime_pollWait", "", 0, Idle}, // the function of a connection, as it wakes up
		{"usleep", "clock_nanosleep", 3.9e9, Idle},
		{"usleep", "clock_nanosleep", 1e8, Working},
		{"usleep", "fsync", 3.9e9, Working},
	} {
		names := []string{"main.main", "runtime.main", test.inner}
		s := New([]Log{{}}, func(_ int, pc, _ uint64) Address { return Address{Offset: pc} })
		sp := s.Spike(0, &tracelog.Episode{
			Peak: tracelog.Interval{Lo: 4e9, Hi: 4e9}, Time: 4e9, Threshold: 1e7, Stack: []tracelog.Entry{{PC: 0, Time: tracelog.Interval{Lo: 4e9, Hi: 4e9}}, {PC: 1, Flags: tracelog.NoStamp}},
			Open: &tracelog.Ongoing{Runs: test.call == "", Call: test.call, Since: test.since, Until: 4e9, Inner: []tracelog.Entry{{PC: 2, Flags: tracelog.NoStamp}}},
		})
		got := s.openIdleness(sp, func(a Address, _ bool) Location {
			return Location{Places: []Place{{Symbol: names[a.Offset], Function: names[a.Offset]}}}
		})
		if got != test.want {
			t.Errorf("main in %s: %d, want %d", test.inner, got, test.want)
		}
	}
}

// TestAwaitsSignal: a thread whose loop waits for a signal is idle; a function that another calls, below main, may have lost one.
func TestAwaitsSignal(t *testing.T) {
	t.Parallel()
	const probe, none tracelog.EntryFlags = 0, tracelog.NoStamp
	for _, test := range []struct {
		call  string
		stack []tracelog.EntryFlags // of main and its callees, the innermost first
		want  Idleness
	}{
		{"pause", []tracelog.EntryFlags{probe}, Idle},
		{"rt_sigsuspend", []tracelog.EntryFlags{probe, probe}, Idle}, // a loop below main
		{"rt_sigsuspend", []tracelog.EntryFlags{probe, none}, Idle},
		{"pause", []tracelog.EntryFlags{probe, probe, probe}, Doubtful},
		{"rt_sigsuspend", []tracelog.EntryFlags{probe, none, probe}, Doubtful},
		{"rt_sigtimedwait", []tracelog.EntryFlags{probe, none, none}, Doubtful},
		{"epoll_wait", []tracelog.EntryFlags{probe, probe, probe}, Idle}, // as a loop around all work
	} {
		e := &tracelog.Episode{
			Peak: tracelog.Interval{Lo: 4e9, Hi: 4e9}, Time: 4e9, Threshold: 1e7,
			Open: &tracelog.Ongoing{Call: test.call, Since: 1, Until: 4e9},
		}
		for _, f := range append(slices.Clip(test.stack), none, none, none) { // with what starts main
			e.Stack = append(e.Stack, tracelog.Entry{Flags: f, Time: e.Peak})
		}
		s := New([]Log{{}}, func(_ int, pc, _ uint64) Address { return Address{Offset: pc} })
		if got := s.openIdleness(s.Spike(0, e), func(Address, bool) Location { return Location{Places: []Place{{}}} }); got != test.want {
			t.Errorf("%s below %v: %d, want %d", test.call, test.stack, got, test.want)
		}
	}
}

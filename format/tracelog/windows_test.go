package tracelog_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/format/tracelog/wire"
	"github.com/cairnprof/cairn/internal/calls/account"
)

// flightHeader is callsHeader of a log of spikes with a flight recorder.
func flightHeader() []byte {
	file := callsHeader(base, 0)
	le.PutUint32(file[wire.ModeOffset:], wire.ModeSpike)
	le.PutUint32(file[wire.FlagsOffset:], wire.Flight)
	le.PutUint32(file[wire.ChecksumOffset:], fnv32(file[:wire.ChecksumOffset]))
	return file
}

// flightTop is the top of the stack of the threads of tests.
const flightTop = 0xff00_0000

// flightChunk returns a chunk of a window.
func flightChunk(tid, sequence uint32, spike uint64, events ...event) []byte {
	c := make([]byte, wire.ChunkSize)
	le.PutUint32(c, wire.ChunkMagic)
	le.PutUint16(c[wire.ChunkKindOffset:], wire.KindFlight)
	le.PutUint32(c[wire.ChunkTIDOffset:], tid)
	le.PutUint32(c[wire.ChunkSequenceOffset:], sequence)
	le.PutUint64(c[wire.ChunkFirstOffset:], origin)
	le.PutUint64(c[wire.ChunkEpisodeOffset:], spike)
	le.PutUint32(c[wire.ChunkTopOffset:], flightTop)
	for i, e := range events {
		le.PutUint32(c[wire.ChunkHeaderSize+8*i:], e.clock)
		le.PutUint32(c[wire.ChunkHeaderSize+8*i+4:], e.word)
	}
	return c
}

// called is an event: a function by its letter, below the top of the stack.
func called(letter byte, below uint32) event {
	return event{uint32(base&(1<<32-1)) + 16*uint32(letter-'a'), flightTop - below}
}

func at(us uint32) event { return event{wire.FlightTime, us} }

func left(below uint32) event { return event{wire.FlightExit, flightTop - below} }

func openWindows(t testing.TB, spike uint64, chunks ...[]byte) *tracelog.Windows {
	t.Helper()
	file := slices.Concat(append([][]byte{flightHeader()}, chunks...)...)
	if !tracelog.DetectWindows(file[:64]) {
		t.Fatal("not detected")
	}
	w, err := tracelog.OpenWindows(bytes.NewReader(file), int64(len(file)), "x", nil, spike)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// nesting formats the events of a thread: a letter for each entry, ) for each exit.
func nesting(t testing.TB, l calllog.Log, thread int) string {
	t.Helper()
	var b strings.Builder
	for it, err := range calllog.Events(l, thread) {
		if err != nil {
			t.Fatal(err)
		}
		if it.Kind == calllog.Enter {
			b.WriteByte('a' + byte(it.Func.Index()&255/4))
		} else {
			b.WriteByte(')')
		}
	}
	return b.String()
}

func TestWindowsNesting(t *testing.T) {
	t.Parallel()
	const other = 0x8000_0000 // below the top: not on the thread's own stack
	for _, test := range []struct {
		name   string
		events []event
		want   string
	}{
		{"one in another", []event{called('a', 0), called('b', 64), called('c', 128)}, "abc"},
		{"one after another", []event{called('a', 0), called('b', 64), called('c', 64)}, "ab)c"},
		{"back up", []event{called('a', 0), called('b', 64), called('c', 128), called('d', 64)}, "abc))d"},
		{"recursion", []event{called('a', 0), called('a', 64), called('a', 128), called('b', 0)}, "aaa)))b"},
		{"from further out than the window", []event{called('a', 512), called('b', 256), called('c', 320)}, "a)bc"},
		{"an end that was seen", []event{called('a', 0), called('b', 64), called('c', 128), left(64), called('d', 128)}, "abc))d"},
		{"an end of nobody", []event{called('a', 0), left(64), called('b', 64)}, "ab"},
		{"a handler on a stack of its own", []event{called('a', 0), called('b', 64), called('s', other), called('t', other+64), called('c', 64)}, "abst)))c"},
		{"a handler that calls twice", []event{called('a', 0), called('s', other), called('t', other+64), called('u', other+64), called('b', 64)}, "ast)u))b"},
		{"a handler again", []event{called('a', 0), called('s', other), called('s', other), called('b', 64)}, "as)s)b"},
		{"a handler within one", []event{called('a', 0), called('s', other), called('t', other+64<<20), called('u', other+64), called('b', 64)}, "ast)u))b"},
		{"the end of a handler", []event{called('a', 0), called('s', other), left(other), called('s', other+64<<20), called('b', 64)}, "as)s)b"},
		{"no event between", []event{called('a', 0), {}, called('b', 64)}, "ab"},
		{"a stack of 200 MiB", []event{called('a', 0), called('b', 200<<20), called('c', 64)}, "ab)c"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := openWindows(t, tracelog.AllWindows, flightChunk(9, 0, 3, append([]event{at(10)}, test.events...)...))
			if got := nesting(t, w, 0); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

// withEnds returns a log of a recorder that records the ends of calls that no later entry
// implies.
func withEnds(file []byte) []byte {
	le.PutUint32(file[wire.FlagsOffset:], wire.Flight|wire.FlightEnds)
	le.PutUint32(file[wire.ChecksumOffset:], fnv32(file[:wire.ChecksumOffset]))
	return file
}

// nestings formats the calls of all threads, with ? before a call whose caller is not certain.
func nestings(t testing.TB, file []byte) (list []string) {
	t.Helper()
	w, err := tracelog.OpenWindows(bytes.NewReader(file), int64(len(file)), "x", nil, tracelog.AllWindows)
	if err != nil {
		t.Fatal(err)
	}
	for i, th := range w.Threads() {
		s := fmt.Sprintf("%d/%d ", th.TID, th.Stack)
		for it, err := range calllog.Events(w, i) {
			if err != nil {
				t.Fatal(err)
			}
			if it.Kind != calllog.Enter {
				s += ")"
				continue
			}
			if _, plain := tracelog.Uncertain(it.Func); !plain {
				s += "?"
			}
			s += string(rune('a' + byte(it.Func.Index()&255/4)))
		}
		list = append(list, s)
	}
	return list
}

// TestWindowsStacks checks that the stacks of a thread are distinguished, and which calls are
// certain.
func TestWindowsStacks(t *testing.T) {
	t.Parallel()
	const one, two, heap = 0x1000_0000, 0x1000_0000 + 32<<10, 0x8000_0000 // below the top
	stack := func(below uint32) event { return event{wire.FlightStack, flightTop - below} }
	handlers := func(below uint32) event { return event{wire.FlightHandlers, flightTop - below} }
	for _, test := range []struct {
		name   string
		events []event
		want   []string
	}{
		{"an end between", []event{called('a', 0), called('b', 64), left(64), called('c', 128)}, []string{"9/0 ab)c"}},
		{
			"two that change",
			[]event{
				called('a', 0), called('r', 64), stack(one), called('b', one+64), called('c', one+128), left(64), called('r', 128),
				stack(two), called('d', two+64), called('e', two+128), called('f', one+192), called('g', two+192), left(one + 128), called('h', one+256),
			},
			[]string{"9/0 ar)r", "9/1 bcf))h", "9/2 deg"},
		},
		{"told later", []event{called('b', one+64), called('a', 0), called('c', one+128), stack(one)}, []string{"9/0 a", "9/1 bc"}},
		{"told twice", []event{stack(one), called('b', one+64), stack(one), called('c', one+128)}, []string{"9/1 bc"}},
		{"a handler on its stack", []event{called('a', 0), called('b', 64), handlers(heap), called('s', heap+64), called('t', heap+128), called('c', 128)}, []string{"9/0 abst))c"}},
		{
			"a handler in a coroutine",
			[]event{called('a', 0), stack(one), handlers(heap), called('b', one+64), called('s', heap+64), called('c', one+128)},
			[]string{"9/0 a", "9/1 bs)c"},
		},
		{"on a stack of which nothing is known", []event{called('a', 0), called('s', heap), called('t', heap+64), called('c', 64)}, []string{"9/0 a?st))c"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			file := slices.Concat(withEnds(flightHeader()), flightChunk(9, 0, 3, append([]event{at(10)}, test.events...)...))
			if got := nestings(t, file); !slices.Equal(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
	// Without the ends no caller is certain.
	file := slices.Concat(flightHeader(), flightChunk(9, 0, 3, at(10), called('a', 0), called('b', 64), called('c', 128)))
	if got := nestings(t, file); !slices.Equal(got, []string{"9/0 a?b?c"}) {
		t.Errorf("%q", got)
	}
}

// TestWindowsChoice checks which events belong to the windows of spikes and which to rings.
func TestWindowsChoice(t *testing.T) {
	t.Parallel()
	chunks := [][]byte{
		flightChunk(9, 5, 1, at(1), called('c', 64)), // in the file before its first chunk
		flightChunk(9, 4, 1, at(1), called('a', 0), called('b', 64)),
		flightChunk(8, 0, 2, at(7), called('d', 0)),
		flightChunk(9, 6, 0, at(9), called('e', 0)),
		flightChunk(9, 8, 0, at(9), called('f', 64)), // one is missing before it
	}
	for spike, want := range map[uint64][]string{tracelog.AllWindows: {"8 d", "9 ab)c"}, 1: {"9 ab)c"}, 2: {"8 d"}, 0: {"9 e)f"}, 3: nil} {
		w := openWindows(t, spike, chunks...)
		var got []string
		for i, th := range w.Threads() {
			got = append(got, fmt.Sprint(th.TID, " ", nesting(t, w, i)))
		}
		if !slices.Equal(got, want) {
			t.Errorf("spike %d: %q, want %q", spike, got, want)
		}
	}
}

func TestWindowsTimes(t *testing.T) {
	t.Parallel()
	w := openWindows(t, 1, flightChunk(9, 0, 1, at(1), called('a', 0), at(1001), called('b', 64), at(900), called('c', 64), at(5001), left(64), at(6001)))
	var got []string
	for it, err := range calllog.Events(w, 0) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(it.Kind, " ", (it.Time-origin)/1000))
	}
	if want := []string{"enter 0", "enter 1000", "exit 1000", "enter 1000", "exit 5000"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if x := w.Windows[0]; x.Calls != 3 || x.From != origin || x.To != origin+6_000_000 {
		t.Errorf("%d calls from %d to %d", x.Calls, x.From, x.To)
	}
}

// checkWindows reads all windows of a file.
func checkWindows(t testing.TB, file []byte) {
	t.Helper()
	for _, spike := range []uint64{0, tracelog.AllWindows} {
		w, err := tracelog.OpenWindows(bytes.NewReader(file), int64(len(file)), "x", nil, spike)
		if err != nil {
			return
		}
		var enters, calls uint64
		for i, th := range w.Threads() {
			calls += w.Windows[i].Calls
			depth := 0
			for b, err := range w.Batches(i, 0, th.Parts) {
				var damage *calllog.Damage
				if err != nil {
					if !errors.As(err, &damage) {
						t.Fatal(err)
					}
					continue
				}
				for _, e := range b.Events {
					depth++
					if e.Kind == calllog.Exit {
						depth -= 2
					} else {
						enters++
					}
					if depth < 0 {
						t.Fatal("an exit of nobody")
					}
				}
			}
		}
		if enters != calls {
			t.Fatalf("%d enters of %d calls", enters, calls)
		}
		r, err := account.Run(context.Background(), w, account.Options{Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		if n := r.Total().Orphans; n > 0 {
			t.Fatalf("%d exits of nobody", n)
		}
	}
}

func windowsSample() []byte {
	return slices.Concat(flightHeader(),
		flightChunk(9, 0, 1, at(1), called('a', 0), called('b', 64), called('s', 0x8000_0000), at(900), called('c', 64), left(64)),
		flightChunk(9, 1, 1, at(1000), called('d', 128)),
		flightChunk(8, 0, 0, at(5), called('a', 0)))
}

func TestWindowsMutants(t *testing.T) {
	t.Parallel()
	sample := windowsSample()
	rng := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		file := slices.Clone(sample)
		for range 1 + rng.IntN(4) {
			file[wire.ChunkSize*(2+rng.IntN(3))+rng.IntN(128)] = byte(rng.IntN(256))
		}
		if rng.IntN(4) == 0 {
			file = file[:len(file)-rng.IntN(3*wire.ChunkSize)]
		}
		checkWindows(t, file)
	}
}

func FuzzWindows(f *testing.F) {
	sample := windowsSample()
	f.Add(sample[2*wire.ChunkSize : 2*wire.ChunkSize+256])
	f.Fuzz(func(t *testing.T, chunk []byte) {
		file := slices.Clone(sample)
		copy(file[2*wire.ChunkSize:], chunk)
		checkWindows(t, file)
	})
}

package unwind

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/ehframe"
	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/sample"
)

const text = 0x401000

// code is a program: main calls f and g, f calls g, h jumps to g.
func code(t testing.TB, rows ...ehframe.Row) *machinecode.Set {
	t.Helper()
	c := make([]byte, 0x50)
	for i := range c {
		c[i] = 0x90
	}
	copy(c[0x00:], []byte{0x90, 0x90, 0xe8, 0x19, 0, 0, 0}) // main: call f
	copy(c[0x08:], []byte{0xe8, 0x23, 0, 0, 0})             // call g
	copy(c[0x0e:], []byte{0xe8, 0x2d, 0, 0, 0, 0x90, 0xc3}) // call h; nop; ret
	copy(c[0x22:], []byte{0xe8, 0x09, 0, 0, 0, 0x90, 0xc3}) // f: call g; nop; ret
	copy(c[0x34:], []byte{0xc3})                            // g: ret
	copy(c[0x42:], []byte{0x5d, 0xeb, 0xeb})                // h: pop %rbp; jmp g
	symbol := func(name string, at, size uint64) objfile.TableSymbol {
		return objfile.TableSymbol{Symbol: objfile.Symbol{Name: name, Addr: text + at, Size: size}, Func: true, Section: 1}
	}
	s, err := machinecode.NewSet(&objfile.Program{
		Path:     "bin/prog",
		Segments: []objfile.Segment{{Addr: text, Size: uint64(len(c)), Offset: 0x1000, Exec: true}},
		Code:     []objfile.CodeSection{{Name: ".text", Index: 1, Addr: text, Data: c}},
		Symbols:  []objfile.TableSymbol{symbol("main", 0, 0x20), symbol("f", 0x20, 9), symbol("g", 0x30, 5), symbol("h", 0x40, 5)},
		Probes:   []byte{0},
		Unwind:   ehframe.TableOf(rows),
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// outside is an address in no binary.
const outside = 0x7f0000000000

// place is an address of the program as the tests write it; 0xff is outside.
func place(off uint64) uint64 {
	if off == 0xff {
		return outside
	}
	return text + off
}

// branches makes branches of pairs, the newest first.
func branches(pairs ...uint64) (out []sample.Branch) {
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, sample.Branch{From: place(pairs[i]), To: place(pairs[i+1])})
	}
	return out
}

func stack(offs ...uint64) (out []uint64) {
	for _, off := range offs {
		out = append(out, place(off))
	}
	return out
}

// show writes a result, each context as its calls, ranges and branches.
func show(code *machinecode.Set, r *Result) string {
	at := func(r ref) string {
		if r == external {
			return "out"
		}
		return fmt.Sprintf("%x", code.Address(r)-text)
	}
	var lines []string
	for _, c := range r.Contexts {
		var parts []string
		for _, f := range c.Frames {
			parts = append(parts, at(f))
		}
		line := "[" + strings.Join(parts, " ") + "]"
		for _, x := range c.Ranges {
			line += fmt.Sprintf(" %s-%s", at(x.From), at(x.To))
			if x.Count != 1 {
				line += fmt.Sprintf("*%d", x.Count)
			}
		}
		for _, x := range c.Branches {
			line += fmt.Sprintf(" %s>%s", at(x.From), at(x.To))
			if x.Count != 1 {
				line += fmt.Sprintf("*%d", x.Count)
			}
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "; ")
}

func TestSample(t *testing.T) {
	t.Parallel()
	set := code(t)
	for name, c := range map[string]struct {
		stack    []uint64
		branches []sample.Branch
		opt      Options
		want     string
		stats    Stats // but Samples, Used and Branches
	}{
		"calls": {
			stack: stack(0x32, 0x27, 0x7), branches: branches(0x22, 0x30, 0x02, 0x20),
			want: "[] 2>20; [2] 20-22 22>30",
		},
		"returns": {
			stack: stack(0x07, 0xff), branches: branches(0x28, 0x07, 0x34, 0x27, 0x22, 0x30, 0x02, 0x20),
			want: "[] 2>20; [2] 20-22 27-28 22>30 28>7; [2 22] 30-34 34>27",
		},
		"tail call": {
			stack: stack(0x32, 0x13), branches: branches(0x43, 0x30, 0x0e, 0x40),
			want: "[] e>40; [e] 40-43 43>30",
		},
		"through a library": {
			stack: stack(0x32, 0xff, 0x27, 0x7), branches: branches(0xff, 0x30, 0x22, 0xff, 0x02, 0x20),
			want:  "[] out>30 2>20; [2] 20-22",
			stats: Stats{BranchCounts: BranchCounts{Outside: 1}},
		},
		"from a library": {
			stack: stack(0xff, 0x27), branches: branches(0x34, 0xff, 0xff, 0x30),
			want:  "[] 30-34 out>30",
			stats: Stats{ExternalLeaf: 1},
		},
		"no way back": {
			stack: stack(0x32, 0x27, 0x7), branches: branches(0x22, 0x30, 0xff, 0x20, 0x02, 0x20),
			want:  "[] out>20 2>20; [2] 20-22 22>30",
			stats: Stats{BranchCounts: BranchCounts{Unpaired: 1, Mismatched: 1}},
		},
		"no such run": {
			stack: stack(0x32, 0x27, 0x7), branches: branches(0x22, 0x30, 0x08, 0x40, 0x02, 0x20),
			want:  "[] 2>20 8>40; [2] 22>30",
			stats: Stats{BranchCounts: BranchCounts{Impossible: 2}},
		},
		"missing second frame": {
			stack: stack(0x32, 0x13), branches: branches(0x22, 0x30, 0x02, 0x20),
			want:  "[e] 20-22 2>20 22>30",
			stats: Stats{BranchCounts: BranchCounts{Mismatched: 2}},
		},
		"a stack that is cut": {
			stack: stack(0x32, 0x27, 0x32, 0x7), branches: branches(0x22, 0x30),
			want:  "[] 22>30",
			stats: Stats{CutStacks: 1},
		},
		"a prologue":      {stack: stack(0x31, 0x27), branches: branches(0x22, 0x30), stats: Stats{Unused: Unused{NoFrame: 1}}},
		"an epilogue":     {stack: stack(0x34, 0x27), branches: branches(0x22, 0x30), stats: Stats{Unused: Unused{NoFrame: 1}}},
		"a tail jump":     {stack: stack(0x43, 0x13), branches: branches(0x0e, 0x40), stats: Stats{Unused: Unused{Departing: 1}}},
		"no stack":        {branches: branches(0x0e, 0x40), stats: Stats{Unused: Unused{NoStack: 1}}},
		"no branch":       {stack: stack(0x32, 0x27), stats: Stats{Unused: Unused{NoBranches: 1}}},
		"other branches":  {stack: stack(0x32, 0x27), branches: branches(0xff, 0xff), stats: Stats{Unused: Unused{NoBranches: 1}}},
		"another process": {stack: stack(0x32), branches: branches(0x0e, 0x40), opt: Options{OnePID: true, PID: 8}, stats: Stats{Unused: Unused{OtherProcess: 1}}},
		"a trusted tail jump": {
			stack: stack(0x43, 0x13), branches: branches(0x0e, 0x40), opt: Options{TrustDepartures: true},
			want: "[] e>40",
		},
		"a prologue that the stack lacks the caller of": {
			stack: stack(0x31, 0x07), branches: branches(0x22, 0x30, 0x02, 0x20), opt: Options{Frameless: true},
			want:  "[] 2>20; [2] 20-22 22>30",
			stats: Stats{Callers: Callers{Recovered: 1}},
		},
		"a prologue with a whole stack": {
			stack: stack(0x31, 0x27, 0x07), branches: branches(0x22, 0x30, 0x02, 0x20), opt: Options{Frameless: true},
			want: "[] 2>20; [2] 20-22 22>30",
		},
		"an epilogue behind a call": {
			stack: stack(0x28), branches: branches(0x34, 0x27, 0x22, 0x30, 0x02, 0x20), opt: Options{Frameless: true},
			want:  "[] 2>20; [2] 20-22 22>30; [2 22] 30-34 34>27",
			stats: Stats{Callers: Callers{Recovered: 1}},
		},
		"an epilogue of what a direct call calls": {
			stack: stack(0x34, 0x27), branches: branches(0x33, 0x32), opt: Options{Frameless: true},
			want: "[22] 33>32",
		},
		"an epilogue, and nothing is known": {
			stack: stack(0x34, 0x07), branches: branches(0x33, 0x32), opt: Options{Frameless: true},
			stats: Stats{Unused: Unused{NoFrame: 1}},
		},
		"flat": {
			stack: stack(0x31), branches: branches(0x34, 0x27, 0x22, 0x30, 0xff, 0x20, 0x08, 0x30), opt: Options{Flat: true},
			want: "[] 20-22 30-34 out>20 8>30 22>30 34>27",
		},
		"depth": {
			stack: stack(0x07), branches: branches(0x28, 0x07, 0x34, 0x27, 0x22, 0x30), opt: Options{MaxDepth: 1},
			want: "[2] 27-28 22>30 28>7; [22] 30-34 34>27",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := New(set, c.opt)
			u.Add(&sample.Batch{Samples: []sample.Sample{{PID: 7, Stack: c.stack, Branches: c.branches, Count: 1}}})
			r := u.Result()
			if got := show(set, r); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			got := r.Stats
			got.Samples, got.Used, got.Branches = 0, 0, 0
			if fmt.Sprint(got) != fmt.Sprint(c.stats) {
				t.Errorf("stats %+v", got)
			}
		})
	}
}

// TestReturnToNowhere checks that where a return goes to an address without a call before it,
// the frame is unknown, but its callers are known.
func TestReturnToNowhere(t *testing.T) {
	t.Parallel()
	set := code(t)
	u := New(set, Options{})
	u.Add(&sample.Batch{Samples: []sample.Sample{{
		PID: 7, Stack: stack(0x32, 0x27, 0x7), Branches: branches(0x22, 0x30, 0x34, 0x20, 0x43, 0x30), Count: 3,
	}}})
	if got, want := show(set, u.Result()), "[2] 20-22*3 30-34*3 22>30*3 34>20*3 43>30*3"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestMapped checks that samples are unwound at the addresses at which their processes map the
// binary.
func TestMapped(t *testing.T) {
	t.Parallel()
	set := code(t)
	const far = 0x5500_0000_1000
	mapping := func(pid int32, start uint64, path string) sample.Event {
		return sample.Event{Kind: sample.Map, PID: pid, Mapping: sample.Mapping{
			Start: start, Size: 0x1000, Offset: 0x1000, Path: path, Exec: true,
		}}
	}
	u := New(set, Options{})
	one := func(pid int32, base uint64) sample.Sample {
		return sample.Sample{
			PID: pid, Count: 1, Stack: []uint64{base + 0x32, base + 0x27},
			Branches: []sample.Branch{{From: base + 0x22, To: base + 0x30}},
		}
	}
	u.Add(&sample.Batch{
		Events:  []sample.Event{mapping(1, far, "/x/prog"), mapping(2, 0x2000, "prog"), mapping(3, far, "/x/other")},
		Samples: []sample.Sample{one(1, far), one(2, 0x2000), one(3, far), one(1, text)},
	})
	r := u.Result()
	if got, want := show(set, r), "[] 22>30*2"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if !r.Stats.Mapped || r.Stats.Used != 2 || r.Stats.NoBranches != 2 {
		t.Errorf("%+v", r.Stats)
	}
	// Samples that do not tell their process are of the one that is asked for.
	for pid, used := range map[int32]uint64{1: 1, 2: 0} {
		u := New(set, Options{OnePID: true, PID: pid})
		u.Add(&sample.Batch{
			Events:  []sample.Event{mapping(1, far, "prog"), mapping(2, 0x2000, "prog"), mapping(2, far, "other")},
			Samples: []sample.Sample{one(sample.UnknownPID, far), one(3, far)},
		})
		if r := u.Result(); r.Stats.Used != used || r.Stats.OtherProcess != 1 {
			t.Errorf("process %d: %+v", pid, r.Stats)
		}
	}
}

func TestCompressRecursion(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "", "a": "a", "aa": "a", "aabbab": "ab", "abab": "ab", "abcabcabcd": "abcd", "abcbc": "abc",
		"aabaab": "ab", "abcab": "abcab", "xabcabcyy": "xabcy", "abababa": "aba",
	} {
		if got := string(CompressRecursion([]byte(in), 0)); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
	for longest, want := range map[int]string{-1: "aabbabab", 1: "ababab", 2: "ab", 9: "ab"} {
		if got := string(CompressRecursion([]byte("aabbabab"), longest)); got != want {
			t.Errorf("without repetitions of %d: %q, want %q", longest, got, want)
		}
	}
}

// TestTables compares the hash tables with maps.
func TestTables(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	tr, c := newTrie(), newCounter()
	nodes, counts := map[node]uint32{}, map[edge]uint64{}
	for range 50_000 {
		n := node{uint32(random.IntN(len(tr.nodes))), ref(random.IntN(7))}
		id := tr.child(n.parent, n.at)
		if old, ok := nodes[n]; ok && old != id {
			t.Fatalf("%v is %d and %d", n, old, id)
		}
		nodes[n] = id
		e := edge{uint32(random.IntN(40)), ref(random.IntN(40)), ref(random.IntN(40))}
		k := uint64(random.IntN(5) + 1)
		c.add(e, k)
		counts[e] += k
	}
	if len(tr.nodes) != len(nodes)+1 || c.used != len(counts) {
		t.Errorf("%d nodes of %d, %d counts of %d", len(tr.nodes)-1, len(nodes), c.used, len(counts))
	}
	for _, s := range c.slots {
		if s.count != 0 && s.count != counts[s.edge] {
			t.Errorf("%v is counted %d times, not %d", s.edge, s.count, counts[s.edge])
		}
	}
}

// FuzzSample: whatever samples say, they are unwound, and what is counted makes
// sense.
func FuzzSample(f *testing.F) {
	f.Add([]byte{0x32, 0x27, 0x07}, []byte{0x22, 0x30, 0x02, 0x20, 0x34, 0x27}, byte(0))
	f.Add([]byte{0x32, 0xff, 0x27}, []byte{0xff, 0x30, 0x22, 0xff, 0x43, 0x30}, byte(1))
	f.Add([]byte{0x32, 0x27}, []byte{0x22, 0x30, 0x43, 0x30, 0x0e, 0x40, 0x34, 0x20}, byte(6))
	set := code(f)
	f.Fuzz(func(t *testing.T, frames, pairs []byte, mode byte) {
		s := sample.Sample{PID: 1, Count: 1}
		for _, b := range frames {
			s.Stack = append(s.Stack, place(uint64(b)))
		}
		for ; len(pairs) > 1; pairs = pairs[2:] {
			s.Branches = append(s.Branches, branches(uint64(pairs[0]), uint64(pairs[1]))...)
		}
		u := New(set, Options{Flat: mode&1 != 0, TrustDepartures: mode&2 != 0, TailCalls: mode&4 != 0, Frameless: mode&8 != 0, MaxDepth: int(mode >> 4)})
		u.Add(&sample.Batch{Samples: []sample.Sample{s}})
		r := u.Result()
		for _, c := range r.Contexts {
			if slices.Contains(c.Frames, machinecode.None) || slices.Contains(c.Frames, external) {
				t.Errorf("frames %v", c.Frames)
			}
			for _, x := range c.Ranges {
				if !set.Runs(x.From, x.To) || x.Count == 0 {
					t.Errorf("range %v", x)
				}
			}
			for _, x := range c.Branches {
				if !x.To.IsInstruction() || x.From == machinecode.None {
					t.Errorf("branch %v", x)
				}
			}
		}
	})
}

// TestFrameless checks that where there is no frame, according to the unwind table and the
// source, the caller is the one that branches show.
func TestFrameless(t *testing.T) {
	t.Parallel()
	row := func(at uint64, cfa ehframe.CFA, offset int32) ehframe.Row {
		return ehframe.Row{PC: text + at, CFA: cfa, Offset: offset}
	}
	set := code(t,
		row(0x20, ehframe.CFAStack, 8), row(0x24, ehframe.CFAFrame, 16), // f, which makes its frame late
		row(0x30, ehframe.CFAStack, 8), row(0x32, ehframe.CFAFrame, 16), row(0x34, ehframe.CFAStack, 8), // g
		row(0x35, ehframe.CFAUnknown, 0))
	opened := branches(0x22, 0x30, 0x02, 0x20)
	for name, c := range map[string]struct {
		stack    []uint64
		branches []sample.Branch
		whole    bool
		want     string // the calls; "-" if it is left out
	}{
		"a prologue":                         {stack(0x31, 0x07), opened, false, "2 22"},
		"a prologue that was recorded whole": {stack(0x31, 0x27, 0x07), branches(0x33, 0x31), true, "2 22"},
		"a prologue, and no call":            {stack(0x31, 0x07), branches(0x33, 0x31), false, "-"},
		"no frame yet, far in":               {stack(0x22), branches(0x02, 0x20), false, "2"},
		"before the return, still framed":    {stack(0x33, 0x27, 0x07), branches(0x33, 0x32), false, "2 22"},
		"at the return":                      {stack(0x34, 0x07), opened, false, "2 22"},
		"at the return, and no call":         {stack(0x34, 0x27), branches(0x33, 0x32), false, "-"},
		"the call is on the stack":           {stack(0x34, 0x27, 0x07), opened, false, "2 22"},
	} {
		u := New(set, Options{Frameless: true})
		u.Enter(&sample.Batch{Whole: c.whole})
		got := "-"
		if x, _, ok := u.Moment(&sample.Sample{PID: 7, Stack: c.stack, Branches: c.branches, Count: 1}); ok {
			var calls []string
			for _, r := range x.Frames {
				calls = append(calls, fmt.Sprintf("%x", set.Address(r)-text))
			}
			got = strings.Join(calls, " ")
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestSteps checks that what an unwinder remembers of samples does not affect others: each
// sample alone, in a new unwinder, gives the same sums.
func TestSteps(t *testing.T) {
	t.Parallel()
	set := code(t)
	random := rand.New(rand.NewPCG(5, 6))
	// Mostly what the program does, in any order.
	likely := [][2]uint64{{0x02, 0x20}, {0x08, 0x30}, {0x0e, 0x40}, {0x22, 0x30}, {0x28, 0x07}, {0x34, 0x27}, {0x34, 0x0d}, {0x34, 0x13}, {0x43, 0x30}, {0xff, 0x30}, {0x22, 0xff}}
	for _, opt := range []Options{{}, {TailCalls: true}, {TailCalls: true, Moments: true}, {Flat: true}} {
		together := New(set, opt)
		var apart *Unwinder
		for range 400 {
			s := sample.Sample{PID: 7, Count: uint64(random.IntN(3) + 1), Stack: [][]uint64{
				stack(0x32, 0x27, 0x07), stack(0x07), stack(0x32, 0x13), stack(0xff, 0x27), stack(0x32, 0xff, 0x27, 0x07),
			}[random.IntN(5)]}
			for range random.IntN(9) {
				b := likely[random.IntN(len(likely))]
				s.Branches = append(s.Branches, branches(b[0], b[1])...)
			}
			one := New(set, opt)
			for _, u := range []*Unwinder{together, one} {
				u.Add(&sample.Batch{Samples: []sample.Sample{s}})
			}
			if apart == nil {
				apart = one
			} else {
				apart.merge(one)
			}
		}
		got, want := together.Result(), apart.Result()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%+v: got  %s, %+v\nwant %s, %+v", opt, show(set, got), got.Stats, show(set, want), want.Stats)
		}
		if len(got.Contexts) == 0 || got.Stats.Mismatched == 0 && !opt.Flat {
			t.Errorf("%+v: %+v", opt, got.Stats)
		}
	}
}

// BenchmarkAdd unwinds samples of up to 8 branches.
func BenchmarkAdd(b *testing.B) {
	set := code(b)
	// The program of code, from the end on: main calls f, which calls g, then g, then h.
	all := branches(0x34, 0x13, 0x43, 0x30, 0x0e, 0x40, 0x34, 0x0d, 0x08, 0x30, 0x28, 0x07, 0x34, 0x27, 0x22, 0x30, 0x02, 0x20)
	var batch sample.Batch
	for i := range 1000 {
		s := sample.Sample{PID: 7, Count: 1, Stack: stack(0x32, 0x13), Branches: all[1 : len(all)-i%4]}
		batch.Samples = append(batch.Samples, s)
	}
	for _, tailCalls := range []bool{false, true} {
		b.Run(fmt.Sprintf("tail calls %v", tailCalls), func(b *testing.B) {
			u := New(set, Options{TailCalls: tailCalls})
			for b.Loop() {
				u.Add(&batch)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(batch.Samples)), "ns/sample")
			if u.stats.Used != u.stats.Samples || u.stats.Mismatched+u.stats.Impossible != 0 {
				b.Errorf("%+v", u.stats)
			}
		})
	}
}

// TestRepeated has a sample whose newest branch is recorded twice, as real processors do: its older
// branches count in their contexts all the same.
func TestRepeated(t *testing.T) {
	t.Parallel()
	program := code(t)
	once := sample.Sample{Count: 1, Stack: stack(0x32, 0x27, 0x07), Branches: branches(0x22, 0x30, 0x02, 0x20)}
	twice := once
	twice.Branches = append(once.Branches[:1:1], once.Branches...)
	count := func(s sample.Sample) (string, Stats) {
		u := New(program, Options{})
		u.Add(&sample.Batch{Samples: []sample.Sample{s}})
		r := u.Result()
		return show(program, r), r.Stats
	}
	want, _ := count(once)
	got, stats := count(twice)
	if got != want || stats.Repeated != 1 || stats.Impossible != 0 {
		t.Errorf("got %s; %+v; want %s", got, stats, want)
	}
}

package spikes_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/internal/golden"
	"github.com/cairnprof/cairn/internal/page/single"
	"github.com/cairnprof/cairn/internal/spikes"
)

const ms = 1_000_000 // ns

func between(lo, hi float64) tracelog.Interval {
	return tracelog.Interval{Lo: uint64(lo * ms), Hi: uint64(hi * ms)}
}

// game names the addresses of the test: each function has a hundred.
var game = []spikes.Place{
	{Symbol: "main", Function: "main", File: "game.cc", Line: 1981, Opening: 1970},
	{Symbol: "CreatePlayerPhase1", Function: "CreatePlayerPhase1", File: "player.cc", Line: 527, Opening: 500},
	{Symbol: "SpawnCharacter", Function: "SpawnCharacter", File: "player.cc", Line: 243, Opening: 240},
	{Symbol: "CreateMeshes", Function: "CreateMeshes", File: "player.cc", Line: 1100, Opening: 1088},
	{Symbol: "SetSkeletalMesh", Function: "SetSkeletalMesh", File: "skel.cc", Line: 3470, Opening: 3465},
	{Symbol: "Tick", Function: "Tick", File: "game.cc", Line: 120, Opening: 110},
	{Symbol: "wait_for_gpu", Function: "wait_for_gpu", File: "gpu.cc", Line: 9, Opening: 8},
}

func name(a spikes.Address, call bool) spikes.Location {
	i := int(a.Offset / 100)
	if a.Module < 0 || i >= len(game) {
		return spikes.Location{Places: []spikes.Place{{Function: "0x7f00"}}}
	}
	loc := spikes.Location{Module: "/bin/game", Places: []spikes.Place{game[i]}}
	if i == 2 && call {
		loc.Places = append(loc.Places, spikes.Place{Symbol: "Attach", Function: "Attach", File: "player.h", Line: 12})
	}
	return loc
}

func address(_ int, pc, _ uint64) spikes.Address {
	if pc >= 1000 {
		return spikes.Address{Module: -1, Offset: pc}
	}
	return spikes.Address{Module: 0, Offset: pc}
}

func entry(pc uint64, t tracelog.Interval) tracelog.Entry {
	return tracelog.Entry{PC: pc, Time: t, SP: uint32(0x1000 - pc)}
}

func end(pc uint64, t tracelog.Interval, after float64) tracelog.Parent {
	return tracelog.Parent{PC: pc + 5, Time: t, SP: uint32(0x1000 - pc), Ended: uint64((12503 + after) * ms), Threshold: 10 * ms}
}

// scorpion is the spike shown in the talk on PET.
func scorpion(number uint64) *tracelog.Episode {
	return &tracelog.Episode{
		TID: 7, Number: number, Time: 12503 * ms, Peak: between(11.21, 11.36), Threshold: 10 * ms, Frame: 2323, Blind: 250_000,
		Stack: []tracelog.Entry{
			entry(350, between(11.21, 11.36)), entry(250, between(14.4, 14.6)), entry(150, between(14.5, 14.7)), entry(50, between(12502.2, 12503)),
			{PC: 1000, Flags: tracelog.NoStamp},
		},
		Children: []tracelog.Entry{entry(450, between(8.55, 8.7))},
		Parents:  []tracelog.Parent{end(250, between(14.45, 14.65), .05), end(150, between(14.6, 14.8), .1)},
		Texts: []tracelog.Text{
			{Kind: tracelog.Description, SP: 0x1000 - 350, Text: "mesh=scorpion"},
			{Kind: tracelog.Message, SP: 0x1000 - 350, Text: "waited for the disk\x1b[1m"},
		},
		Flags: tracelog.Preempted,
	}
}

// waits returns one occurrence of a frequent spike.
func waits(i uint64) *tracelog.Episode {
	d := 12 + float64(i)/100
	return &tracelog.Episode{
		TID: 8, Number: 100 + i, Time: (13000 + 20*i) * ms, Peak: between(d, d+.2), Threshold: 10 * ms,
		Stack:   []tracelog.Entry{entry(650, between(d, d+.2)), entry(550, between(d+1, d+1.2)), entry(50, between(500, 501))},
		Parents: []tracelog.Parent{end(550, between(20, 20.2), 7)},
	}
}

func sample() *spikes.Set {
	log := spikes.Log{
		Name: "game.cairnlog", Header: tracelog.Header{PID: 42, Realtime: 1e18, Monotonic: 0},
		Threads: map[uint32]string{7: "MainThread"},
		Stalls:  []tracelog.Stall{{From: 100, To: 200}, {From: 12495 * ms, To: 12496 * ms}},
		Trailer: &tracelog.Trailer{
			Time: 61_200 * ms, Threshold: 10 * ms, Period: 1_250_000, Blind: 38_200_000, Late: 3, WorstGap: 21 * ms, Borderline: 4, Limited: 116, Final: true,
		},
	}
	s := spikes.New([]spikes.Log{log}, address)
	for n := range uint64(2) {
		s.Add(0, scorpion(1+n))
	}
	for i := range uint64(12) {
		s.Add(0, waits(i))
	}
	left := waits(50)
	left.Number, left.Stack = 200, append(left.Stack[:1:1], entry(250, between(12.6, 12.8)), entry(150, between(12.6, 12.8)), entry(50, between(500, 501)))
	left.Parents = []tracelog.Parent{end(150, between(13, 13.2), 1)}
	s.Add(0, left)
	s.Count(0, &tracelog.Seen{PC: 350, Count: 118, Worst: 16_600_000, Episode: 1})
	s.Count(0, &tracelog.Seen{Count: 5})
	return s
}

// TestCountOfThreads checks a stack that several threads have: the count in the log belongs to
// the log's first episode, which need not be the first that is read.
func TestCountOfThreads(t *testing.T) {
	t.Parallel()
	s := spikes.New([]spikes.Log{{Name: "game.cairnlog"}}, address)
	for i, order := range []uint64{2, 0, 1} {
		e := waits(uint64(i))
		e.TID, e.Order = uint32(i), order
		s.Add(0, e)
	}
	s.Count(0, &tracelog.Seen{PC: 650, Count: 50, Episode: 101})
	if s.Uncounted != 0 || s.Groups[0].Seen != 50 || s.Groups[0].Written != 3 {
		t.Errorf("%d of no stack, %d seen, %d written", s.Uncounted, s.Groups[0].Seen, s.Groups[0].Written)
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	s := sample()
	w := &spikes.Writer{Set: s, Name: name}
	var b bytes.Buffer
	for _, g := range s.Ranked(spikes.BySeen) {
		if err := w.Spike(&b, g, g.Worst); err != nil {
			t.Fatal(err)
		}
		b.WriteByte('\n')
	}
	for _, sug := range s.Suggest(name) {
		b.WriteString(sug.Place.Function + ": " + sug.Markup + "\n  " + sug.Why + "\n")
	}
	b.WriteString("\n" + strings.Join(s.Reach().Lines(), "\n") + "\n")
	golden.Compare(t, "testdata/spikes.txt", b.Bytes())
}

func TestOrders(t *testing.T) {
	t.Parallel()
	s := sample()
	for by, want := range map[spikes.Order]string{
		spikes.ByWorst: "CreateMeshes wait_for_gpu wait_for_gpu", spikes.BySeen: "CreateMeshes wait_for_gpu wait_for_gpu",
		spikes.ByTime: "wait_for_gpu wait_for_gpu CreateMeshes",
	} {
		var got []string
		for _, g := range s.Ranked(by) {
			got = append(got, name(g.Worst.Addrs[0], true).Outer().Function)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v", by, got)
		}
	}
	if n := s.Groups[0]; n.Seen != 118 || n.Written != 2 || s.Uncounted != 5 || n.Limit != 16_600_000 {
		t.Errorf("%+v, uncounted %d", n, s.Uncounted)
	}
}

func TestRows(t *testing.T) {
	t.Parallel()
	rows := sample().Rows(spikes.BySeen, name)
	if len(rows) != 2 {
		t.Fatalf("%+v", rows)
	}
	r := rows[0]
	if r.Place.Function != "CreateMeshes" || r.Place.Line != 1088 || r.Seen != 118 || r.Callers != 1 || r.Worst != 16_600_000 || r.Most != 16_600_000 || r.Self != 2*11_210_000 {
		t.Errorf("%+v", r)
	}
	if r := rows[1]; r.Callers != 2 || r.Seen != 13 {
		t.Errorf("%+v", r)
	}
}

func TestObject(t *testing.T) {
	t.Parallel()
	s := sample()
	w := &spikes.Writer{Set: s, Name: name}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", " ")
	if err := enc.Encode(w.Object(s.Groups[0], s.Groups[0].Worst)); err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "testdata/object.json", b.Bytes())
	o := w.Object(s.Groups[2], s.Groups[2].Worst)
	if !o.Stack[2].Abandoned || o.Stack[1].Abandoned || o.Stack[0].Abandoned {
		t.Errorf("abandoned: %+v", o.Stack)
	}
}

// TestInterval checks that a printed interval contains the exact one.
func TestInterval(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		lo, hi uint64
		want   string
	}{
		{16_210_000, 16_360_000, "16.2..16.4 ms"},
		{16_210_000, 16_240_000, "16.2 ms"},
		{12_502_200_000, 12_503_000_000, "12.5 s"},
		{9_000_000_000, 9_900_000_000, "9000..9900 ms"},
		{0, 0, "0 ns"},
		{999, 999, "999 ns"},
		{1, 1200, "0.00..1.20 us"},
		{130_000, 130_400, "0.130 ms"},
		{99_960_000, 99_999_999, "100.0 ms"},
		{0, 5_000_000, "0.00..5.00 ms"},
		{1, ^uint64(0), "0..18446744074 s"},
	} {
		if got := spikes.Interval(tracelog.Interval{Lo: test.lo, Hi: test.hi}); got != test.want {
			t.Errorf("%d..%d: %q, want %q", test.lo, test.hi, got, test.want)
		}
	}
	for ns, want := range map[uint64]string{10 * ms: "10 ms", 1_250_000: "1.25 ms", 0: "0 ns", 61_200 * ms: "61.2 s", 100 * ms: "100 ms"} {
		if got := spikes.Duration(ns); got != want {
			t.Errorf("%d: %q, want %q", ns, got, want)
		}
	}
	for ns, want := range map[uint64]string{16_600_000: "17", 1_250_000: "1.3", 99_900: "0.1", 7: "0.000008", 2_000 * ms: "2100"} {
		if got := spikes.Milliseconds(ns); got != want {
			t.Errorf("%d: %q, want %q", ns, got, want)
		}
	}
}

// TestOdd checks episodes without a stack and with absurd numbers.
func TestOdd(t *testing.T) {
	t.Parallel()
	s := spikes.New([]spikes.Log{{Header: tracelog.Header{Monotonic: 5}}}, address)
	most := ^uint64(0)
	for i, e := range []*tracelog.Episode{
		{},
		{Number: 1, Time: most, Peak: tracelog.Interval{Lo: most, Hi: most}, Blind: most, Parents: []tracelog.Parent{{Time: tracelog.Interval{Lo: most, Hi: most}}}},
		{Number: 2, Stack: []tracelog.Entry{{PC: most, Flags: tracelog.GapBefore | tracelog.NoStamp}, {}}, Children: []tracelog.Entry{{}}},
	} {
		s.Add(0, e)
		if g := s.GroupOf(0, e); g == nil {
			t.Errorf("%d has no group", i)
		}
	}
	s.Count(0, &tracelog.Seen{Count: most})
	s.Count(0, &tracelog.Seen{Count: most, PC: 1, Episode: 2})
	w := &spikes.Writer{Set: s, Name: name}
	page := &spikes.Page{Title: "most", Reach: s.Reach().Lines(), Suggestions: s.Suggest(name)}
	var b bytes.Buffer
	for _, g := range s.Ranked(spikes.ByTime) {
		if err := w.Spike(&b, g, g.Last); err != nil {
			t.Fatal(err)
		}
		page.Spikes = append(page.Spikes, w.Object(g, g.Last))
	}
	s.Rows(spikes.ByTime, name)
	if err := single.Spikes(&b, page); err != nil {
		t.Fatal(err)
	}
}

// TestSuggestGo checks that suggested marks are in the language of the program.
func TestSuggestGo(t *testing.T) {
	t.Parallel()
	inGo := func(a spikes.Address, call bool) spikes.Location {
		loc := name(a, call)
		for i := range loc.Places {
			loc.Places[i].File = strings.TrimSuffix(loc.Places[i].File, ".cc") + ".go"
		}
		return loc
	}
	var got []string
	for _, sug := range sample().Suggest(inGo) {
		got = append(got, sug.Markup)
	}
	if want := "p := mark.Pause(); ...; p.Resume()|s.Threshold(21 * time.Millisecond)"; strings.Join(got, "|") != want {
		t.Errorf("%q, want %q", got, want)
	}
}

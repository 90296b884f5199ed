package machinecode

import (
	"encoding/binary"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/objfile"
)

// TestFlow compares what must have run before an instruction with a search that may not pass
// it, in random functions.
func TestFlow(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(3, 9))
	for range 400 {
		s, jumps, cases := randomFunction(t, rnd)
		b := s.Binaries()[0]
		f := s.Flow(b, &b.Ranges()[0], cases)
		for at := b.First; at < b.End; at++ {
			before := f.Before(at)
			if before[0] != at {
				t.Fatalf("%d is not before itself: %v", at, before)
			}
			if !runs(jumps, b.First, b.End, at, None) {
				continue // in a circle that nothing leads to
			}
			for x := b.First; x < b.End; x++ {
				must := !runs(jumps, b.First, b.End, at, x)
				switch last := x+1 == b.End || s.Class(x) != controlflow.Other || slices.Contains(targets(jumps), x+1); {
				case slices.Contains(before, x) && !must:
					t.Fatalf("%v: %d runs without %d", jumps, at, x)
				case last && must && x != at && !slices.Contains(before, x):
					t.Fatalf("%v: %d does not run without %d, which is not among %v", jumps, at, x, before)
				}
			}
		}
	}
}

// randomFunction makes a function of jumps to its own instructions, nops, and
// returns. Cases are where jumps to computed addresses go.
func randomFunction(t *testing.T, rnd *rand.Rand) (s *Set, jumps, cases map[Ref][]Ref) {
	t.Helper()
	const size, text = 6, 0x401000 // of each instruction
	n := 2 + rnd.IntN(12)
	code := []byte{}
	jumps, cases = map[Ref][]Ref{}, map[Ref][]Ref{}
	for i := range n {
		at, to := firstRef+Ref(i), rnd.IntN(n)
		rel := binary.LittleEndian.AppendUint32(nil, uint32(int32((to-i-1)*size)))
		switch rnd.IntN(6) {
		case 0:
			code = append(append(code, 0x2e, 0xe9), rel...) // jmp, with a prefix
			jumps[at] = []Ref{firstRef + Ref(to)}
		case 1, 2:
			code = append(append(code, 0x0f, 0x84), rel...) // je
			jumps[at] = []Ref{at + 1, firstRef + Ref(to)}
		case 3:
			code = append(code, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0xc3) // ret
			jumps[at] = nil
		case 4:
			code = append(code, 0x2e, 0x2e, 0x2e, 0x2e, 0xff, 0xe0) // jmp *%rax
			for range rnd.IntN(4) {
				cases[at] = append(cases[at], firstRef+Ref(rnd.IntN(n)))
			}
			jumps[at] = cases[at]
		default:
			code = append(code, 0x66, 0x0f, 0x1f, 0x44, 0, 0) // nop
			jumps[at] = []Ref{at + 1}
		}
	}
	s, err := NewSet(&objfile.Program{
		Path: "prog", Segments: []objfile.Segment{{Addr: text, Size: uint64(len(code)), Offset: 0x1000, Exec: true}},
		Code:    []objfile.CodeSection{{Name: ".text", Index: 1, Addr: text, Data: code}},
		Symbols: []objfile.TableSymbol{{Symbol: objfile.Symbol{Name: "f", Addr: text, Size: uint64(len(code))}, Func: true, Section: 1}},
	})
	if err != nil || s.end() != firstRef+Ref(n) {
		t.Fatal(err, n, s.end())
	}
	return s, jumps, cases
}

// runs reports whether control comes to an instruction without passing some other one:
// from the first, or from one that nothing leads to, as exceptions do.
func runs(next map[Ref][]Ref, first, end, at, without Ref) bool {
	seen := map[Ref]bool{without: true}
	var queue []Ref
	for x := first; x < end; x++ {
		if x == first || !slices.ContainsFunc(slices.Collect(maps.Values(next)), func(to []Ref) bool { return slices.Contains(to, x) }) {
			queue = append(queue, x)
		}
	}
	for len(queue) > 0 {
		x := queue[0]
		queue = queue[1:]
		if seen[x] || x >= end {
			continue
		}
		if x == at {
			return true
		}
		seen[x] = true
		queue = append(queue, next[x]...)
	}
	return false
}

func targets(next map[Ref][]Ref) (out []Ref) {
	for at, to := range next {
		for _, x := range to {
			if x != at+1 || len(to) > 2 {
				out = append(out, x)
			}
		}
	}
	return out
}

package tailcall

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/samples/unwind"
)

// TestOnDemand checks for random code, of which functions may be far from each other, that stacks are restored as when all of
// it is known.
func TestOnDemand(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	restored, calls := 0, 0
	for range 60 {
		p := randomCalls(r)
		all, err := machinecode.NewSet(p)
		if err != nil {
			t.Fatal(err)
		}
		few, err := machinecode.NewLazySet(p)
		if err != nil {
			t.Fatal(err)
		}
		full := NewFull(NewGraph(all, nil), nil)
		full.Brief()
		var stacks, same []unwind.Moment
		b := all.Binaries()[0]
		var sites []ref
		for at := b.First; at < b.End; at++ {
			if all.Class(at).IsCall() {
				sites = append(sites, at)
			}
		}
		to := func(at ref) ref { return few.Binaries()[0].At(all.Address(at)) }
		for range 30 {
			var m, n unwind.Moment
			for range 1 + r.IntN(4) {
				at := sites[r.IntN(len(sites))]
				m.Frames, n.Frames = append(m.Frames, at), append(n.Frames, to(at))
			}
			m.Leaf = b.First + ref(r.IntN(int(b.End-b.First)))
			n.Leaf = to(m.Leaf)
			stacks, same = append(stacks, m), append(same, n)
		}
		demand := NewOnDemand(few, same)
		for i := range stacks {
			a, o := append(stacks[i].Frames, stacks[i].Leaf), append(same[i].Frames, same[i].Leaf)
			for k := range len(a) - 1 {
				jumps, rule, known := full.Infer(a, k)
				got, gotRule, gotKnown := demand.Infer(o, k)
				equal := slices.EqualFunc(jumps, got, func(x, y ref) bool { return to(x) == y })
				if !equal || known != gotKnown || len(jumps) > 0 && rule != gotRule {
					t.Fatalf("%d jumps (%s, %v), and when all is known %d (%s, %v)", len(got), gotRule, gotKnown, len(jumps), rule, known)
				}
				restored += len(jumps)
				calls++
			}
		}
	}
	if restored < calls/50 {
		t.Errorf("%d jumps were restored after %d calls: the code is not what is tested", restored, calls)
	}
}

// randomCalls returns a program of functions that call and jump, some of them through pointers.
func randomCalls(r *rand.Rand) *objfile.Program {
	const base, functions = 0x401000, 24
	size := []int{64, 1 << 15}[r.IntN(2)]
	text := slices.Repeat([]byte{0x90}, functions*size)
	p := &objfile.Program{Path: "prog", Segments: []objfile.Segment{{Addr: base, Size: uint64(len(text)), Offset: 0x1000, Exec: true}}}
	for f := range functions {
		at := f * size
		p.Symbols = append(p.Symbols, objfile.TableSymbol{Symbol: objfile.Symbol{Name: string(rune('A' + f)), Addr: base + uint64(at), Size: 64}, Func: true, Section: 1})
		emit := func(op byte) {
			text[at] = op
			binary.LittleEndian.PutUint32(text[at+1:], uint32(r.IntN(functions)*size-at-5))
			at += 5
		}
		emit(0xe8) // call
		if r.IntN(3) == 0 {
			at += copy(text[at:], "\xff\xd0") // call *%rax
		}
		if r.IntN(6) == 0 {
			at += copy(text[at:], "\x48\x8d\x05") // lea
			binary.LittleEndian.PutUint32(text[at:], uint32(r.IntN(functions)*size-at-4))
			at += 4
		}
		for range r.IntN(3) {
			emit(0xe9) // jmp
		}
		switch r.IntN(6) {
		case 0:
			copy(text[at:], "\x5d\xff\xe0") // pop %rbp; jmp *%rax
		case 1:
			copy(text[at:], "\xff\xe2") // jmp *%rdx
		}
		if r.IntN(5) == 0 {
			p.Pointers = append(p.Pointers, objfile.Pointer{At: 0x500000 + uint64(f)*8, To: base + uint64(f*size)})
		}
	}
	p.Code = []objfile.CodeSection{{Name: ".text", Index: 1, Addr: base, Data: text}}
	return p
}

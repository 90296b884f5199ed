package tailcall

import (
	"cmp"
	"encoding/binary"
	"math/rand/v2"
	"reflect"
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
	restored, calls, part := map[string]int{}, 0, 0
	for range 150 {
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
				restored[rule] += len(jumps)
				calls++
			}
		}
		if !demand.graph.known.modules[0] {
			part++
		}
		if again := NewGraph(few, nil); !reflect.DeepEqual(again.all.out, demand.graph.all.out) || !reflect.DeepEqual(again.all.in, demand.graph.all.in) ||
			!reflect.DeepEqual(again.computed, demand.graph.computed) {
			t.Fatal("edges that were added by and by are not those that are made at once")
		}
	}
	for rule, least := range map[string]int{RuleStatic: 200, RuleVirtual: 10, RuleAddress: 5} {
		if restored[rule] < least {
			t.Errorf("%d jumps were restored by %s: the code is not what is tested", restored[rule], rule)
		}
	}
	if part < 80 {
		t.Errorf("of %d programs a part was read, want more: virtual calls do not need all code", part)
	}
}

// TestConnect checks that edges are not made again when little code was read.
func TestConnect(t *testing.T) {
	p := randomCalls(rand.New(rand.NewPCG(1, 2)))
	code, err := machinecode.NewLazySet(p)
	if err != nil {
		t.Fatal(err)
	}
	g := NewOnDemand(code, nil).graph
	g.readModule(0)
	g.connect()
	edges := 0
	for _, out := range g.all.out {
		edges += len(out)
	}
	if allocs := testing.AllocsPerRun(10, g.connect); edges == 0 || allocs > 2 {
		t.Errorf("%d edges, and %v allocations to add none", edges, allocs)
	}
}

// randomCalls returns a program of functions that call and jump, some of them through pointers.
func randomCalls(r *rand.Rand) *objfile.Program {
	const base, functions = 0x401000, 12
	size := []int{64, 64, 1 << 15}[r.IntN(3)]
	pointers := r.IntN(2) == 0 // outside of virtual tables
	text := slices.Repeat([]byte{0x90}, functions*size)
	p := &objfile.Program{Path: "prog", Segments: []objfile.Segment{{Addr: base, Size: uint64(len(text)), Offset: 0x1000, Exec: true}}}
	for f := range functions {
		at := f * size
		p.Symbols = append(p.Symbols, objfile.TableSymbol{Symbol: objfile.Symbol{Name: functionName(r, f), Addr: base + uint64(at), Size: 64}, Func: true, Section: 1})
		emit := func(op byte) {
			text[at] = op
			binary.LittleEndian.PutUint32(text[at+1:], uint32(r.IntN(functions)*size-at-5))
			at += 5
		}
		emit(0xe8) // call
		if r.IntN(3) == 0 {
			at += copy(text[at:], "\xff\xd0") // call *%rax
		}
		if r.IntN(2) == 0 {
			at += copy(text[at:], "\x48\x8b\x07\xff\x50") // mov (%rdi),%rax; call *slot(%rax)
			text[at] = byte(r.IntN(slots) * 8)
			at++
		}
		if pointers && r.IntN(4) == 0 {
			at += copy(text[at:], "\x48\x8d\x05") // lea
			binary.LittleEndian.PutUint32(text[at:], uint32(r.IntN(functions)*size-at-4))
			at += 4
		}
		for range r.IntN(3) {
			emit(0xe9) // jmp
		}
		switch r.IntN(8) {
		case 6, 7:
			at += copy(text[at:], "\x48\x8b\x07\x5d\xff\x60") // mov (%rdi),%rax; pop %rbp; jmp *slot(%rax)
			text[at] = byte(r.IntN(slots) * 8)
		case 0:
			copy(text[at:], "\x5d\xff\xe0") // pop %rbp; jmp *%rax
		case 1:
			copy(text[at:], "\xff\xe2") // jmp *%rdx
		}
		if pointers && r.IntN(4) == 0 {
			p.Pointers = append(p.Pointers, objfile.Pointer{At: 0x500000 + uint64(f)*8, To: base + uint64(f*size)})
		}
	}
	addClasses(r, p, func() uint64 { return base + uint64(r.IntN(functions)*size) })
	p.Code = []objfile.CodeSection{{Name: ".text", Index: 1, Addr: base, Data: text}}
	return p
}

// slots is the number of virtual functions of a class.
const slots = 3

// addClasses adds virtual tables with functions.
func addClasses(r *rand.Rand, p *objfile.Program, fn func() uint64) {
	for class := range r.IntN(4) {
		name, table := "1"+string(rune('A'+class)), uint64(0x600000+class*0x100)
		info := table + 0x80
		for prefix, at := range map[string]uint64{"_ZTV": table, "_ZTI": info} {
			p.Symbols = append(p.Symbols, objfile.TableSymbol{Symbol: objfile.Symbol{Name: prefix + name, Addr: at, Size: 16 + slots*8}, Section: 2})
		}
		p.Pointers = append(p.Pointers, objfile.Pointer{At: table + 8, To: info})
		for slot := range uint64(slots) {
			p.Pointers = append(p.Pointers, objfile.Pointer{At: table + 16 + slot*8, To: fn()})
		}
		if class > 0 && r.IntN(2) == 0 {
			p.Pointers = append(p.Pointers, objfile.Pointer{At: info + 16, To: info - 0x100}) // derived from the class before
		}
	}
	slices.SortFunc(p.Symbols, func(a, b objfile.TableSymbol) int { return cmp.Compare(a.Addr, b.Addr) })
	slices.SortFunc(p.Pointers, func(a, b objfile.Pointer) int { return cmp.Compare(a.At, b.At) })
}

// functionName names a function, some as methods of the first classes.
func functionName(r *rand.Rand, f int) string {
	name := string(rune('a' + f))
	if r.IntN(3) > 0 {
		return name
	}
	return "_ZN1" + string(rune('A'+r.IntN(3))) + "1" + name + "Ev"
}

// TestSeveral has a virtual call of f, which jumps to g, and to m, which jumps to g: two jumps through pointers are no second way
// beside one without.
func TestSeveral(t *testing.T) {
	t.Parallel()
	const base, size = 0x401000, 64
	text := slices.Repeat([]byte{0x90}, 4*size)
	copy(text, "\x48\x8b\x07\xff\x10")                                        // caller: mov (%rdi),%rax; call *(%rax)
	copy(text[size:], "\x0f\x84\x7a\x00\x00\x00\x48\x8b\x07\x5d\xff\x60\x08") // f: je g; mov (%rdi),%rax; pop %rbp; jmp *8(%rax)
	copy(text[2*size:], "\x48\x8b\x07\x5d\xff\x60\x10")                       // m: jmp *16(%rax)
	p := &objfile.Program{Path: "prog", Segments: []objfile.Segment{{Addr: base, Size: uint64(len(text)), Offset: 0x1000, Exec: true}}}
	for i, name := range []string{"caller", "f", "m", "g"} {
		p.Symbols = append(p.Symbols, objfile.TableSymbol{Symbol: objfile.Symbol{Name: name, Addr: base + uint64(i)*size, Size: size}, Func: true, Section: 1})
	}
	const table, info = 0x600000, 0x600080
	for name, at := range map[string]uint64{"_ZTV1A": table, "_ZTI1A": info} {
		p.Symbols = append(p.Symbols, objfile.TableSymbol{Symbol: objfile.Symbol{Name: name, Addr: at, Size: 40}, Section: 2})
	}
	slices.SortFunc(p.Symbols, func(a, b objfile.TableSymbol) int { return cmp.Compare(a.Addr, b.Addr) })
	p.Pointers = append(p.Pointers, objfile.Pointer{At: table + 8, To: info})
	for slot := range uint64(slots) {
		p.Pointers = append(p.Pointers, objfile.Pointer{At: table + 16 + slot*8, To: base + (1+slot)*size})
	}
	p.Code = []objfile.CodeSection{{Name: ".text", Index: 1, Addr: base, Data: text}}
	for _, lazy := range []bool{false, true} {
		newSet := machinecode.NewSet
		if lazy {
			newSet = machinecode.NewLazySet
		}
		code, err := newSet(p)
		if err != nil {
			t.Fatal(err)
		}
		b := code.Binaries()[0]
		stack := []ref{b.At(base + 3), b.At(base + 3*size)}
		var jumps []ref
		var rule string
		if lazy {
			var m unwind.Moment
			m.Frames, m.Leaf = stack[:1], stack[1]
			jumps, rule, _ = NewOnDemand(code, []unwind.Moment{m}).Infer(stack, 0)
		} else {
			full := NewFull(NewGraph(code, nil), nil)
			full.Brief()
			jumps, rule, _ = full.Infer(stack, 0)
		}
		if len(jumps) != 1 || rule != RuleVirtual {
			t.Errorf("lazy %v: %d jumps (%s)", lazy, len(jumps), rule)
		}
	}
}

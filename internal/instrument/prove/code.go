package prove

import (
	"bytes"
	"slices"
	"sort"

	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/binary/x86"
)

// code is a pair of sections with instructions.
type code struct {
	a, b     int // numbers of the sections
	dataA    []byte
	dataB    []byte
	segments []segment
	// By offset in a: the offset in b of the instruction's twin, and of the probes and padding before it; both
	// plus 1, 0 for no instruction.
	twin, front []uint32
	kind        []kind          // of each offset in b
	stubs       map[int64]*stub // by their first byte
	tails       map[int64]bool  // padding of a between the end of a function and the next one
	edges       []edge          // ascending
	sunk        map[int64]int64 // by offset of b in a probe: how much lower the stack pointer is than without it
}

// kind classifies what begins at an offset of code with probes.
type kind uint8

const (
	inside    kind = iota // nothing: it is within an instruction
	twinned               // an instruction of the plain code
	padding               // a nop
	probed                // the first instruction of a probe
	probeRest             // a later one: nothing else leads here
	stubPart              // an instruction of a first-call path
)

// stub is the path that a probe takes on the first call of its function.
type stub struct {
	lo, hi int64 // in b
	back   int64 // where it continues
	at     int64 // the instruction of a that its probe precedes, -1 if it has none
}

// segment is the code from one symbol to the next.
type segment struct {
	name    string
	a, b    span
	redzone bool    // it may refer to memory below the stack pointer
	calls   bool    // it calls: then it keeps nothing below the stack pointer
	called  []int64 // probes with a call in them, in b
	taken   []int64 // see prover.addressTaken
}

type span struct{ lo, hi int64 }

// pairCode pairs the code sections and cuts them at symbols.
func (p *prover) pairCode() []*code {
	p.codes = map[int]*code{}
	var all []*code
	for i := range p.a.Sections {
		s := &p.a.Sections[i]
		if !s.Alloc || !s.Code || s.Data == nil {
			continue
		}
		c := &code{a: i, b: p.a.pair[i], dataA: s.Data, dataB: p.b.Sections[p.a.pair[i]].Data}
		c.twin, c.front = make([]uint32, len(c.dataA)+1), make([]uint32, len(c.dataA)+1)
		c.kind = make([]kind, len(c.dataB)+1)
		c.tails, c.sunk = map[int64]bool{}, map[int64]int64{}
		p.findStubs(c)
		p.codes[i] = c
		all = append(all, c)
	}
	type start struct {
		name string
		a, b int64
	}
	starts := map[*code][]start{}
	p.eachSymbol(func(a, b *objfile.ObjectSymbol) {
		if c := p.codes[a.Section]; c != nil && a.Section != 0 {
			starts[c] = append(starts[c], start{a.Name, int64(a.Value), int64(b.Value)})
		}
	})
	for _, c := range all {
		list := append([]start{{p.a.Sections[c.a].Name, 0, 0}}, starts[c]...)
		sort.SliceStable(list, func(i, k int) bool { return list[i].a < list[k].a || list[i].a == list[k].a && list[i].b < list[k].b })
		for i, s := range list {
			endA, endB := int64(len(c.dataA)), int64(len(c.dataB))
			if i+1 < len(list) {
				endA, endB = list[i+1].a, list[i+1].b
			}
			if s.a == endA && s.b == endB {
				continue // if a place has several names the last one counts, the section's the least
			}
			c.segments = append(c.segments, segment{name: s.name, a: span{s.a, endA}, b: span{s.b, endB}})
		}
	}
	return all
}

// leads reports whether control that goes to b in the code with probes corresponds to control that goes to a in
// the plain code: b is the twin of a, or padding or a whole probe before it.
func (c *code) leads(a, b int64) bool {
	if a == int64(len(c.dataA)) && b == int64(len(c.dataB)) {
		return true // the end of the section
	}
	if a < 0 || b < 0 || a >= int64(len(c.dataA)) || b >= int64(len(c.dataB)) || c.twin[a] == 0 {
		return false
	}
	switch c.kind[b] {
	case twinned, padding, probed:
	case stubPart:
		// Jump tables have the end of the function in entries that are never used.
		return c.tails[a] && int64(c.front[a])-1 == b
	default:
		return false
	}
	return int64(c.front[a])-1 <= b && b <= int64(c.twin[a])-1
}

// isEmpty reports whether a function at a, which is at b with probes, has no code, as the compiler proved that
// it is never called. Where the next function begins in the plain code, its first-call path begins in the code
// with probes.
func (c *code) isEmpty(a, b int64) bool {
	return c != nil && slices.ContainsFunc(c.segments, func(s segment) bool { return s.a == span{a, a} && s.b.lo == b })
}

// at returns the segment that an offset of a is in, nil if there is none.
func (c *code) at(off int64) *segment {
	i := sort.Search(len(c.segments), func(i int) bool { return c.segments[i].a.hi > off })
	if i == len(c.segments) || off < c.segments[i].a.lo {
		return nil
	}
	return &c.segments[i]
}

// works reports whether an instruction of the plain code is at an offset, other than
// padding.
func (c *code) works(at int64) bool {
	if c.twin[at] == 0 {
		return false
	}
	in, err := x86.Decode(c.dataA[at:])
	return err == nil && in.Class != controlflow.Nop
}

// walk pairs the instructions of a segment, one by one.
func (p *prover) walk(c *code, s *segment) {
	if s.a.hi < s.a.lo || s.b.hi < s.b.lo || s.b.hi > int64(len(c.dataB)) || s.a.hi > int64(len(c.dataA)) {
		p.differ(s, "it has another position in the symbol table")
		return
	}
	w := walker{prover: p, code: c, s: s, a: s.a.lo, b: s.b.lo, front: s.b.lo}
	for w.step() {
	}
	for _, at := range s.called {
		if s.redzone && !s.calls && w.branched[at] {
			p.unknown(s, "a branch leads to the probe at %#x, which may call, and the function uses memory below the stack pointer", at)
		}
	}
}

// walker is the state of walk.
type walker struct {
	*prover
	*code
	s        *segment
	a, b     int64 // the next instructions
	front    int64 // after the last twin
	last     x86.Inst
	edged    int64   // bytes of b after the next twin that are the block of an edge
	waiting  []int64 // padding in a before the next twin
	branched map[int64]bool
}

// step passes one instruction of the plain code and the insertions before its twin. It returns false at the
// end, or at a difference.
func (w *walker) step() bool {
	w.skipPlain()
	if !w.skipProbed() {
		return false
	}
	switch endA, endB := w.a >= w.s.a.hi, w.b >= w.s.b.hi; {
	case endA && endB:
		for _, at := range w.waiting {
			w.settle(at)
			w.tails[at] = w.last.Class.Ends()
		}
		return false
	case endA:
		w.differ(w.s, "additional code at %#x", w.b)
		return false
	case endB:
		w.differ(w.s, "the instruction at %#x and what follows is missing", w.a)
		return false
	}
	in, err := x86.Decode(w.dataA[w.a:w.s.a.hi])
	if err != nil {
		w.unknown(w.s, "unknown instruction at %#x", w.a)
		return false
	}
	tin, err := x86.Decode(w.dataB[w.b:w.s.b.hi])
	if err != nil {
		w.differ(w.s, "the instruction at %#x has no twin at %#x", w.a, w.b)
		return false
	}
	if !w.same(in, tin) {
		return false
	}
	w.kind[w.b] = twinned
	for _, at := range w.waiting {
		w.settle(at)
	}
	w.waiting = w.waiting[:0]
	w.settle(w.a)
	w.insns++
	w.a, w.b, w.last = w.a+int64(in.Len), w.b+int64(tin.Len)+w.edged, in
	w.edged, w.front = 0, w.b
	return true
}

// settle makes the next instruction of b the twin of an offset of a.
func (w *walker) settle(at int64) {
	w.twin[at], w.code.front[at] = uint32(w.b)+1, uint32(w.front)+1
}

// skipPlain skips padding in a.
func (w *walker) skipPlain() {
	for w.a < w.s.a.hi {
		in, err := x86.Decode(w.dataA[w.a:w.s.a.hi])
		if err != nil || in.Class != controlflow.Nop {
			return
		}
		w.waiting = append(w.waiting, w.a)
		w.a += int64(in.Len)
	}
}

// skipProbed skips padding, probes and first-call paths in b.
func (w *walker) skipProbed() bool {
	for w.b < w.s.b.hi {
		in, err := x86.Decode(w.dataB[w.b:w.s.b.hi])
		if err != nil {
			return true
		}
		if in.Class == controlflow.Nop {
			w.kind[w.b] = padding
			w.b += int64(in.Len)
			continue
		}
		if st := w.stubs[w.b]; st != nil {
			if !w.last.Class.Ends() && w.a < w.s.a.hi {
				w.differ(w.s, "control can run into the first-call path at %#x", w.b)
				return false
			}
			w.b = st.hi
			continue
		}
		n, ok := w.probe(in, codePlace{w.code, w.a})
		if !ok {
			return false
		}
		if n == 0 {
			return true
		}
		w.probes++
		w.b += n
	}
	return true
}

// same compares the instructions at a and b, and records their targets.
func (w *walker) same(in, tin x86.Inst) bool {
	a, b := w.dataA[w.a:][:in.Len], w.dataB[w.b:][:tin.Len]
	if in.HasModRM && in.Mod() != 3 && in.Disp < 0 && (in.RM()&7 == 4 && in.SIB&7 == 4 || in.RM()&7 == 5 && in.Mod() != 0) {
		w.s.redzone = true
	}
	w.s.calls = w.s.calls || in.Class.IsCall()
	ra, rb := w.prover.a.within(w.code.a, w.a, in.Len), w.prover.b.within(w.code.b, w.b, tin.Len)
	if inverts(in, tin) && len(rb) == 0 {
		return w.edge(in, tin, ra)
	}
	if len(ra) != len(rb) {
		w.differ(w.s, "the instruction at %#x refers to something else at %#x", w.a, w.b)
		return false
	}
	if in.Relative() && len(ra) == 0 {
		if in.Class != tin.Class || in.Class == controlflow.Conditional && (in.IsLoop() != tin.IsLoop() || in.Opcode&0xf != tin.Opcode&0xf) {
			w.differ(w.s, "the branch at %#x is another one at %#x", w.a, w.b)
			return false
		}
		to := int64(tin.Target(uint64(w.b)))
		if in.Class != controlflow.Call {
			w.branch(to)
		}
		w.refer("the branch at %#x", w.a, int64(in.Target(uint64(w.a))), to)
		return true
	}
	if in.Len != tin.Len {
		w.differ(w.s, "the instruction at %#x is another one at %#x", w.a, w.b)
		return false
	}
	x, y := bytes.Clone(a), bytes.Clone(b)
	for i := range ra {
		off := int64(ra[i].Off) - w.a
		size := fieldSize(ra[i].Type)
		if off != int64(rb[i].Off)-w.b || off+size > int64(in.Len) {
			w.differ(w.s, "the instruction at %#x refers to something else at %#x", w.a, w.b)
			return false
		}
		clear(x[off : off+size])
		clear(y[off : off+size])
		if !w.sameReference(ra[i], rb[i], int64(in.Len)-off) {
			return false
		}
	}
	if in.RIP && len(ra) == 0 {
		clear(x[in.DispOff:][:in.DispSize])
		clear(y[in.DispOff:][:in.DispSize])
		w.refer("the address at %#x", w.a, int64(in.Memory(uint64(w.a))), int64(tin.Memory(uint64(w.b))))
	}
	if !bytes.Equal(x, y) {
		w.differ(w.s, "the instruction at %#x is another one at %#x", w.a, w.b)
		return false
	}
	return true
}

func (w *walker) branch(to int64) {
	if w.branched == nil {
		w.branched = map[int64]bool{}
	}
	w.branched[to] = true
}

// refer records a reference within the section.
func (w *walker) refer(format string, at, a, b int64) {
	w.later = append(w.later, reference{w.s, sprint(format, at), place{w.code.a, a}, place{w.code.b, b}})
}

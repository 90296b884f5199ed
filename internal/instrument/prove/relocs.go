package prove

import (
	"bytes"
	"fmt"
	"slices"
	"sort"
	"strings"

	kinds "github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/binary/objfile"
)

// Types of relocations, by the x86-64 ELF supplement.
const (
	relNone      = 0
	rel64        = 1
	relPC32      = 2
	relPLT32     = 4
	relGOTPCREL  = 9
	rel32        = 10
	rel32S       = 11
	relPC64      = 24
	relGOTPCRELX = 41
	relREXGOT    = 42
)

// Types of relocations, by the ELF for the Arm 64-bit Architecture. All are greater than those of x86-64.
const (
	relOldNone   = 256
	relAbs64     = 257
	relAbs16     = 259
	relPrel64    = 260
	relPrel32    = 261
	relPrel16    = 262
	relLiteral   = 273 // of a load
	relAdr       = 274
	relAddLow    = 277
	relTestBr    = 279
	relCondBr    = 280
	relJump26    = 282
	relCall26    = 283
	firstAArch64 = relOldNone
)

func sprint(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// fieldSize returns the bytes of the field of a relocation.
func fieldSize(kind uint32) int64 {
	switch kind {
	case relAbs16, relPrel16:
		return 2
	case relAbs64, relPrel64, rel64, relPC64, 16, 17, 18, 25, 27, 28, 29, 30, 31: // those of 8 bytes
		return 8
	}
	return 4
}

// sameKind reports whether two types are equivalent for a linker.
func sameKind(a, b uint32) bool {
	norm := func(k uint32) uint32 {
		switch k {
		case relPLT32:
			return relPC32
		case relGOTPCRELX, relREXGOT:
			return relGOTPCREL
		case relJump26:
			return relCall26
		}
		return k
	}
	return norm(a) == norm(b)
}

// relative reports whether a field holds the distance to its target.
func relative(kind uint32) bool {
	switch kind {
	case relPC32, relPLT32, relPC64, relPrel64, relPrel32, relPrel16, relLiteral, relAdr, relTestBr, relCondBr, relJump26, relCall26:
		return true
	}
	return false
}

// within returns the relocations in a range of a section.
func (o *object) within(section int, off int64, size uint8) []*objfile.Reloc {
	var out []*objfile.Reloc
	for i := range uint64(size) {
		if r := o.relocs[section][uint64(off)+i]; r != nil {
			out = append(out, r)
		}
	}
	return out
}

// target is the target of a relocation: a place in this object, or a name.
type target struct {
	name string // "" for a place
	place
}

// target resolves a relocation; adjust is the number of bytes between the field and the end of its instruction,
// if it is relative to that, as on x86-64.
func (o *object) target(r *objfile.Reloc, adjust int64) (target, bool) {
	if int64(r.Symbol) >= int64(len(o.Symbols)) {
		return target{}, false
	}
	s := &o.Symbols[r.Symbol]
	if s.Section == 0 || !s.Local {
		return target{name: s.Name, place: place{-1, r.Addend}}, true
	}
	off := int64(s.Value) + r.Addend
	if relative(r.Type) && r.Type < firstAArch64 {
		off += adjust
	}
	return target{place: place{s.Section, off}}, true
}

// describe returns a target in a form that is the same in both objects, if it is not in code: data sections
// keep their layout.
func (o *object) describe(t target) string {
	name := t.name
	if name == "" && t.section < len(o.Sections) {
		name = o.Sections[t.section].Name
	}
	return sprint("%s%+d", name, t.off)
}

// sameReference compares the targets of two instructions' relocations.
func (w *walker) sameReference(a, b *objfile.Reloc, adjust int64) bool {
	ta, okA := w.prover.a.target(a, adjust)
	tb, okB := w.prover.b.target(b, adjust)
	if !okA || !okB || !sameKind(a.Type, b.Type) || !w.sameTarget(w.s, sprint("the instruction at %#x", w.a), ta, tb) {
		w.differ(w.s, "the instruction at %#x refers to something else at %#x", w.a, w.b)
		return false
	}
	return true
}

// sameTarget compares two targets. Places in code are judged later.
func (p *prover) sameTarget(from *segment, what string, a, b target) bool {
	if a.name != b.name {
		return false
	}
	if a.name != "" {
		return a.off == b.off
	}
	if a.section >= len(p.a.Sections) || b.section >= len(p.b.Sections) {
		return false
	}
	if p.a.Sections[a.section].Code && p.b.Sections[b.section].Code {
		p.later = append(p.later, reference{from, what, a.place, b.place})
		return true
	}
	return p.a.pair[a.section] == b.section && a.off == b.off
}

// compareData compares all loaded sections except code and those that describe it.
func (p *prover) compareData() {
	for i := range p.a.Sections {
		s := &p.a.Sections[i]
		if !s.Alloc || s.Code || describes(s.Name) {
			continue
		}
		t := &p.b.Sections[p.a.pair[i]]
		if s.Size != t.Size || len(s.Relocs) != len(t.Relocs) {
			p.differ(nil, "section %s has another size", s.Name)
			continue
		}
		x, y := bytes.Clone(s.Data), bytes.Clone(t.Data)
		for k := range s.Relocs {
			a, b := &s.Relocs[k], &t.Relocs[k]
			end := a.Off + uint64(fieldSize(a.Type))
			if a.Off != b.Off || a.Type != b.Type || end > uint64(len(x)) {
				p.differ(nil, "section %s has another relocation at %#x", s.Name, a.Off)
				break
			}
			clear(x[a.Off:end])
			clear(y[a.Off:end])
			p.comparePointer(i, a, b)
		}
		switch {
		case bytes.Equal(x, y):
		case p.uneven != nil:
			p.uneven(i, x, y)
		default:
			p.differ(nil, "section %s has other contents", s.Name)
		}
	}
}

// describes reports whether a section describes code and has addresses of it in its own format.
func describes(name string) bool {
	return name == ".eh_frame" || len(name) >= 17 && name[:17] == ".gcc_except_table"
}

// comparePointer compares a pointer in data.
func (p *prover) comparePointer(section int, a, b *objfile.Reloc) {
	name := p.a.Sections[section].Name
	ta, okA := p.a.target(a, 0)
	tb, okB := p.b.target(b, 0)
	if !okA || !okB {
		p.differ(nil, "section %s has a relocation of no symbol at %#x", name, a.Off)
		return
	}
	what := sprint("the pointer at %#x of section %s", a.Off, name)
	if shift := p.tableOffset(section, a, ta); shift != 0 {
		ta.off -= shift
		tb.off -= shift
	}
	if !p.sameTarget(nil, what, ta, tb) {
		p.differ(nil, "%s leads elsewhere", what)
	}
}

// tableOffset returns the offset in a jump table of the pointer of a, 0 if it is in none. Such tables have
// distances from their start, to which code refers, and the assembler has added the entry's offset in the
// table.
func (p *prover) tableOffset(section int, r *objfile.Reloc, t target) int64 {
	if t.name != "" || !relative(r.Type) || t.section >= len(p.a.Sections) || !p.a.Sections[t.section].Code {
		return 0
	}
	bases := p.bases[section]
	i := sort.Search(len(bases), func(i int) bool { return bases[i] > int64(r.Off) })
	if i == 0 {
		return 0
	}
	return int64(r.Off) - bases[i-1]
}

// findBases returns the places in data sections whose address code takes.
func (p *prover) findBases() map[int][]int64 {
	out := map[int][]int64{}
	for _, c := range p.order {
		for i := range p.a.Sections[c.a].Relocs {
			r := &p.a.Sections[c.a].Relocs[i]
			if !p.a.takesAddress(c.dataA, r) {
				continue
			}
			t, ok := p.a.target(r, 4)
			if ok && t.name == "" && t.section < len(p.a.Sections) && !p.a.Sections[t.section].Code {
				out[t.section] = append(out[t.section], t.off)
			}
		}
	}
	return sorted(out)
}

// takesAddress reports whether the instruction of a relocation computes an address. A load from a fixed place in a table, as of
// its first entry, does not begin a table.
func (o *object) takesAddress(code []byte, r *objfile.Reloc) bool {
	if o.Machine == kinds.AArch64 {
		return r.Type == relAddLow || r.Type == relAdr
	}
	const lea = 0x8d // before its ModRM byte and the field
	return r.Off >= 2 && r.Off <= uint64(len(code)) && code[r.Off-2] == lea
}

// findInterior returns the places in code that data sections refer to, for jumps; the room for patching before
// functions is no target.
func (p *prover) findInterior() map[int][]int64 {
	out := map[int][]int64{}
	for i := range p.a.Sections {
		s := &p.a.Sections[i]
		if !s.Alloc || s.Code || describes(s.Name) || s.Name == "__patchable_function_entries" {
			continue
		}
		for k := range s.Relocs {
			t, ok := p.a.target(&s.Relocs[k], 0)
			if ok && t.name == "" {
				out[t.section] = append(out[t.section], t.off-p.tableOffset(i, &s.Relocs[k], t))
			}
		}
	}
	return sorted(out)
}

func sorted(m map[int][]int64) map[int][]int64 {
	for i := range m {
		slices.Sort(m[i])
	}
	return m
}

// addressed returns the places within the span of a section of a, except its start, that data refers to.
func (p *prover) addressed(section int, s span) []int64 {
	list := p.interior[section]
	i := sort.Search(len(list), func(i int) bool { return list[i] > s.lo })
	k := sort.Search(len(list), func(i int) bool { return list[i] >= s.hi })
	return list[i:max(i, k)]
}

// eachSymbol calls visit with the symbols of a and their twins, in order, up to the shorter list.
func (p *prover) eachSymbol(visit func(a, b *objfile.ObjectSymbol)) {
	a, b := named(p.a), named(p.b)
	for i := range min(len(a), len(b)) {
		visit(a[i], b[i])
	}
}

// named returns the symbols that do not belong to probes, without those of sections.
func named(o *object) []*objfile.ObjectSymbol {
	var out []*objfile.ObjectSymbol
	for i := range o.Symbols {
		s := &o.Symbols[i]
		mapping := o.Machine == kinds.AArch64 && strings.HasPrefix(s.Name, "$") // says what is code
		if i > 0 && !s.Names && !mapping && !strings.HasPrefix(s.Name, "__cairn_") {
			out = append(out, s)
		}
	}
	return out
}

// compareSymbols compares the symbols of both objects.
func (p *prover) compareSymbols() {
	a, b := named(p.a), named(p.b)
	if len(a) != len(b) {
		p.differ(nil, "there are %d symbols, %d with probes", len(a), len(b))
		return
	}
	for i := range a {
		x, y := a[i], b[i]
		if x.Name != y.Name || x.Func != y.Func || x.Local != y.Local || x.Section != 0 && p.a.pair[x.Section] != y.Section && p.a.Sections[x.Section].Alloc {
			p.differ(nil, "symbol %s is another one", x.Name)
			return
		}
		switch {
		case x.Section == 0 || !p.a.Sections[x.Section].Alloc || describes(p.a.Sections[x.Section].Name):
		case p.a.Sections[x.Section].Code && x.Func && p.codes[x.Section].isEmpty(int64(x.Value), int64(y.Value)):
		case p.a.Sections[x.Section].Code:
			p.later = append(p.later, reference{nil, "symbol " + x.Name, place{x.Section, int64(x.Value)}, place{y.Section, int64(y.Value)}})
		case x.Value != y.Value || x.Size != y.Size:
			p.differ(nil, "symbol %s stands for something else", x.Name)
		}
	}
}

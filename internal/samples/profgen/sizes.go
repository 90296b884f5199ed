package profgen

import (
	"cmp"

	"github.com/cairnprof/cairn/format/pseudoprobe"
	"github.com/cairnprof/cairn/format/sampleprof"
	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/samples/unwind"
)

// Sizes has the sizes of machine code, in bytes, of functions and of their inlined copies by
// calling context.
type Sizes struct {
	root sizeNode
}

// sizeNode is a function; next has the functions that it was inlined into. Contexts are looked
// up from their innermost functions outwards, as far as there is code.
type sizeNode struct {
	known bool
	bytes int
	next  map[frame]*sizeNode
	least *sizeNode // of next, see first
}

func (n *sizeNode) get(f frame) *sizeNode {
	if next := n.next[f]; next != nil {
		return next
	}
	if n.next == nil {
		n.next = map[frame]*sizeNode{}
	}
	next := &sizeNode{}
	n.next[f] = next
	return next
}

func (n *sizeNode) add(bytes int) {
	n.known = true
	n.bytes += bytes
}

// NewSizes measures the functions of binaries that have an instruction in the result. Inlined
// copies are those of the scopes in debug information, parallel to the binaries; functions
// without scopes have no sizes. If p is not nil, calls have the numbers of pseudo probes, and
// a copy of which only probes remain has size 0.
func NewSizes(code *machinecode.Set, scopes []*objfile.ScopeTable, p *Probes, r *unwind.Result) *Sizes {
	z := &Sizes{}
	// LLVM has no addresses of callers if contexts are keyed by lines.
	met := metFunctions(code, r, p != nil)
	for i, b := range code.Binaries() {
		if scopes[i] != nil {
			z.measure(code, b, scopes[i], met[b], p != nil)
		}
		if p != nil {
			z.markProbed(b, &p.of[i], met[b])
		}
	}
	return z
}

// measure adds the instructions of functions.
func (z *Sizes) measure(code *machinecode.Set, b *machinecode.Binary, scopes *objfile.ScopeTable, met map[int]bool, byProbes bool) {
	ranges := b.Ranges()
	for i := range ranges {
		fr := &ranges[i]
		if !met[fr.Function] {
			continue
		}
		r := b.From(fr.Lo)
		for piece, stack := range scopes.Pieces(fr.Lo, fr.Hi) {
			bytes := 0
			end := b.From(piece[1])
			for ; r < end; r++ {
				bytes += int(code.Size(r))
			}
			if bytes > 0 && len(stack) > 0 {
				z.scope(stack, byProbes).add(bytes)
			}
		}
	}
}

// scope returns the node of the innermost of some scopes.
func (z *Sizes) scope(stack []objfile.Scope, byProbes bool) *sizeNode {
	n := &z.root
	var call sampleprof.Place
	for i := len(stack) - 1; i >= 0; i-- {
		n = n.get(frame{call, machinecode.CanonicalName(stack[i].Name)})
		if i == 0 {
			break
		}
		if d := stack[i].CallDiscriminator; byProbes {
			call = sampleprof.Place{Offset: sampleprof.ProbeOf(d)}
		} else {
			call = sampleprof.Place{
				Offset:        uint32(uint16(stack[i].CallLine - stack[i-1].Line)),
				Discriminator: d,
			}
		}
	}
	return n
}

// markProbed records sizes for copies that have probes.
func (z *Sizes) markProbed(b *machinecode.Binary, in *binaryProbes, met map[int]bool) {
	last := map[uint64]uint32{} // the last record of each function is used
	for i, f := range b.Functions() {
		if met[i] {
			last[pseudoprobe.GUID(f.Name)] = pseudoprobe.TopLevel
		}
	}
	copies := in.table.Copies
	for i := range copies {
		if _, ok := last[copies[i].GUID]; ok && !copies[i].Inlined() {
			last[copies[i].GUID] = uint32(i)
		}
	}
	top := uint32(0)
	for i := range copies {
		if !copies[i].Inlined() {
			top = uint32(i)
		}
		if record, ok := last[copies[top].GUID]; ok && record == top && copies[i].Count > 0 {
			z.copy(in, &copies[i]).known = true
		}
	}
}

// copy returns the node of a copy.
func (z *Sizes) copy(in *binaryProbes, c *pseudoprobe.Copy) *sizeNode {
	n := &z.root
	for call := (sampleprof.Place{}); ; {
		n = n.get(frame{call, in.funcs.Name(c.GUID)})
		if !c.Inlined() {
			return n
		}
		call = sampleprof.Place{Offset: c.Site}
		c = &in.table.Copies[c.Parent]
	}
}

// of returns the size of a context: that of the code with the most of its callers, or else
// that of any inlined copy. As in LLVM, a function without code has the size of another one.
func (z *Sizes) of(n *node) int {
	at, before := &z.root, &z.root
	known, bytes := false, 0
	for call := (sampleprof.Place{}); at != nil && n.parent != nil; n = n.parent {
		before = at
		at = at.next[frame{call, n.frame.name}]
		if at != nil && at.known {
			known, bytes = true, at.bytes
		}
		call = n.frame.call
	}
	if at == nil {
		at = before
	}
	for !known && len(at.next) > 0 {
		at = at.first()
		known, bytes = at.known, at.bytes
	}
	return bytes
}

// first returns the first of the nodes below n in LLVM's order. It is cached, because all
// functions are below the root.
func (n *sizeNode) first() *sizeNode {
	if n.least != nil {
		return n.least
	}
	var name string
	var hash uint64
	for f, below := range n.next {
		h := f.hash()
		if n.least == nil || cmp.Or(cmp.Compare(h, hash), cmp.Compare(f.name, name)) < 0 {
			n.least, hash, name = below, h, f.name
		}
	}
	return n.least
}

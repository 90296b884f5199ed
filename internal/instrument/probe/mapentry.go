package probe

import (
	"fmt"
	"strconv"

	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/prof"
)

// mapBlocks is what the map says of the blocks of a function.
type mapBlocks struct {
	labels  [][]int // the numbers of their labels, by fragment
	implied [][]int // the blocks whose sum each block without a probe is
	flow    []prof.Flow
}

// mapEntry appends the map record of function n; package wire documents it. The record is in a section that is linked to the function's, and in its group if it has
// one, so that the linker drops both or neither.
func (r *Rewriter) mapEntry(fn *asm.Function, n int, rec position, blocks mapBlocks) {
	var calls []prof.Call
	if r.Opts.Mode == prof.ModeFull || r.Opts.Mode.HasEdges() {
		calls = directCalls(fn, blocks.labels)
	}
	source := r.Opts.SourceFor(fn.Name, r.Source)
	here := r.object().base()
	t := r.object().appendMap(r, r.Tail, fn, n, rec)
	t = fmt.Appendf(t, "\t.long\t%d\n\t.byte\t%d, %d\n\t.2byte\t%d\n%s\t.long\t%d\n",
		mapLength(fn.Name, source, &blocks, calls), wire.MapVersion, r.mapMode(), len(fn.Frags),
		machines[r.Unit.Kind].syntax().quad(rec.String()+here), fn.Signature())
	t = r.appendBlocks(t, n, blocks.labels, here)
	t = appendFlow(appendImplied(t, blocks.implied), blocks.flow)
	t = fmt.Appendf(t, "\t.long\t%d\n", len(calls))
	for _, c := range calls {
		t = fmt.Appendf(t, "\t.long\t%d\n\t.asciz\t%s\n", c.Block, asmQuote(c.Callee))
	}
	r.Tail = fmt.Appendf(t, "\t.asciz\t%s\n\t.asciz\t%s\n", asmQuote(fn.Name), asmQuote(source))
}

// mapLength returns the length of a record, without the field that holds it.
func mapLength(name, source string, blocks *mapBlocks, calls []prof.Call) int {
	length := 4 + 1 + 1 + 2 + 8 + 4 + 4 + 4 + len(name) + 1 + len(source) + 1 + flowLength(blocks.flow)
	for _, l := range blocks.labels {
		length += 16 + 4*len(l)
	}
	for _, by := range blocks.implied {
		if by != nil {
			length += 8 + 4*len(by)
		}
	}
	for _, c := range calls {
		length += 4 + len(c.Callee) + 1
	}
	return length
}

// appendBlocks appends the fragments of function n: address, size, and where its blocks begin.
func (r *Rewriter) appendBlocks(t []byte, n int, labels [][]int, here string) []byte {
	quad := machines[r.Unit.Kind].syntax().quad
	for i, l := range labels {
		f := fragmentLabel(n, i)
		t = fmt.Appendf(t, "%s\t.long\t.Lcairn_e%s-.Lcairn_f%s, %d\n", quad(".Lcairn_f"+f+here), f, f, len(l))
		for _, b := range l {
			t = append(t, "\t.long\t.Lcairn_b"...)
			t = strconv.AppendInt(t, int64(b), 10)
			t = append(t, "-.Lcairn_f"...)
			t = append(t, f...)
			t = append(t, '\n')
		}
	}
	return t
}

// appendImplied appends the blocks without a probe of their own, and those that prove that they ran.
func appendImplied(t []byte, implied [][]int) []byte {
	bare := 0
	for _, by := range implied {
		if by != nil {
			bare++
		}
	}
	t = fmt.Appendf(t, "\t.long\t%d\n", bare)
	for b, by := range implied {
		if by == nil {
			continue
		}
		t = fmt.Appendf(t, "\t.long\t%d, %d", b, len(by))
		for _, e := range by {
			t = fmt.Appendf(t, ", %d", e)
		}
		t = append(t, '\n')
	}
	return t
}

// mapMode returns the mode as stored in the map.
func (r *Rewriter) mapMode() int {
	mode := int(r.Opts.Mode) | r.object().mapFlags()
	if r.Opts.Atomic && r.Opts.Mode.HasCalls() {
		mode |= wire.MapAtomic
	}
	if r.Unit.Plain {
		mode |= wire.MapPlain
	}
	return mode
}

// directCalls lists the calls with block numbers that count through all fragments. It leaves out calls in
// blocks without probes, whose coverage is unknown.
func directCalls(f *asm.Function, labels [][]int) []prof.Call {
	var out []prof.Call
	first := 0
	for i, fr := range f.Frags {
		for _, c := range fr.Calls {
			if len(labels[i]) > 0 || i == 0 && c.Block == 0 {
				out = append(out, prof.Call{Block: uint32(first + c.Block), Callee: c.Callee})
			}
		}
		first += len(fr.Blocks)
	}
	return out
}

// asmQuote quotes a string for .asciz.
func asmQuote(s string) string {
	b := make([]byte, 0, len(s)+2)
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ' || c == 0x7f:
			b = fmt.Appendf(b, "\\%03o", c)
		default:
			b = append(b, c)
		}
	}
	return string(append(b, '"'))
}

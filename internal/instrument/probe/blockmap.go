package probe

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/prof"
)

// A plain build has no probes, and a map of its blocks is to be beside it (cairn build --map). What the compiler wrote is
// assembled as it is, and then again into an object that is thrown away, with a label at each block of mode edge and a
// section that has their distances from the beginning of their fragments. Labels change no code. Blocks of edges, which
// mode edge puts into the code, have no bytes here: they are where the jump of the edge ends.

// BlockSection has the numbers of a BlockMap, 32 bits each: for each fragment its size, then the offset of each block.
const BlockSection = ".debug.cairn.blocks"

// MappedFunc is a function of a plain object. Fragments have sizes and blocks, but no addresses.
type MappedFunc struct {
	prof.Func
	Symbols []string // of the fragments
}

// BlockMap returns the text of u with labels, and the functions that ReadBlockMap completes.
func BlockMap(u *asm.Unit, opts Options) (text []byte, funcs []MappedFunc) {
	opts.Mode = prof.ModeEdge
	r := &Rewriter{
		Opts: opts, Unit: u,
		byKey: map[string]*area{}, anchor: map[*asm.Section]int{}, spans: map[*asm.Fragment]int{}, why: map[*asm.Function]string{},
		Source: opts.UnitSource(u),
	}
	r.Tail = fmt.Appendf(nil, "\t.section\t%s,\"\",%sprogbits\n", BlockSection, machines[u.Kind].syntax().mark)
	for _, fn := range u.Funcs {
		source := opts.SourceFor(fn.Name, r.Source)
		if opts.Reason(fn, source) != "" {
			continue
		}
		c := machines[u.Kind].count(r, fn)
		f := prof.Func{
			Name: fn.Name, File: source, Mode: prof.ModeSampled, Plain: u.Plain,
			Signature: c.fn.Signature(), Flow: c.flow, Fragments: make([]prof.Fragment, len(c.fn.Frags)),
		}
		for b, by := range c.implied {
			if by != nil {
				f.Implied = append(f.Implied, prof.Implied{Block: uint32(b)})
			}
		}
		m := MappedFunc{Func: f}
		for i, fr := range c.fn.Frags {
			m.Symbols = append(m.Symbols, fr.Name)
			m.Fragments[i].Blocks = make([]uint32, r.labelBlocks(fr, len(funcs), i, c.implied != nil))
		}
		funcs = append(funcs, m)
	}
	text = append(r.renderEdits(), r.Tail...)
	return text, funcs
}

// labelBlocks adds the labels of fragment i of function n and their distances, and returns the number of its blocks, without the entry.
func (r *Rewriter) labelBlocks(fr *asm.Fragment, n, i int, blocks bool) (count int) {
	base := fragmentLabel(n, i)
	r.Insert(fr.Label, ".Lcairn_f", base, ":\n")
	r.Insert(fr.End, ".Lcairn_e", base, ":\n")
	r.Tail = fmt.Appendf(r.Tail, "\t.long\t.Lcairn_e%s-.Lcairn_f%s\n", base, base)
	for k := range fr.Blocks {
		if !blocks || i == 0 && k == 0 {
			continue
		}
		r.label++
		count++
		label, at := ".Lcairn_b"+strconv.Itoa(r.label), fr.Blocks[k].Probe
		if w := fr.Blocks[k].Way; w != nil {
			at = w.At()
		}
		r.Insert(at, label, ":\n")
		r.Tail = fmt.Appendf(r.Tail, "\t.long\t%s-.Lcairn_f%s\n", label, base)
	}
	return count
}

// ReadBlockMap sets the sizes and blocks of functions from the section BlockSection of the object that was assembled from the
// text of BlockMap.
func ReadBlockMap(data []byte, funcs []MappedFunc) error {
	next := func() (n uint32, ok bool) {
		if len(data) < 4 {
			return 0, false
		}
		n, data = binary.LittleEndian.Uint32(data), data[4:]
		return n, true
	}
	for i := range funcs {
		for k := range funcs[i].Fragments {
			fr, ok := &funcs[i].Fragments[k], false
			if fr.Size, ok = next(); !ok {
				return fmt.Errorf("%s is too short", BlockSection)
			}
			for b := range fr.Blocks {
				if fr.Blocks[b], ok = next(); !ok {
					return fmt.Errorf("%s is too short", BlockSection)
				}
			}
		}
	}
	if len(data) > 0 {
		return fmt.Errorf("%s has %d bytes too many", BlockSection, len(data))
	}
	return nil
}

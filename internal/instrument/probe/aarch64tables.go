package probe

import (
	"bytes"
	"slices"

	"github.com/cairnprof/cairn/internal/instrument/asm"
)

// dispatch is the code that uses a jump table of bytes.
type dispatch struct {
	load, add *asm.CodeLine // the load of the entry, and the addition of the base
	gcc       bool          // the entries are signed
}

// reachTables makes the edits that keep the targets of the compressed jump tables of f in reach, or returns
// false.
func (r *Rewriter) reachTables(f *asm.Fragment, l *layout, labels map[string]int) (out []Edit, ok bool) {
	for i := range r.Unit.Tables {
		t := &r.Unit.Tables[i]
		base, here := labels[t.Base]
		if !here {
			continue
		}
		farthest := 0
		for _, e := range t.Entries {
			to, here := labels[e.Target]
			if !here {
				return nil, false
			}
			farthest = max(farthest, l.distance(base, to)/4)
		}
		switch {
		case t.Width == 1 && farthest <= 127 || t.Width == 2 && farthest <= 32767:
		case t.Width == 1 && farthest <= 32767:
			edits, ok := r.widen(f, t)
			if !ok {
				return nil, false
			}
			out = append(out, edits...)
		default:
			return nil, false
		}
	}
	return out, true
}

// widen turns a table of bytes into one of halfwords.
func (r *Rewriter) widen(f *asm.Fragment, t *asm.JumpTable) (out []Edit, ok bool) {
	d, ok := r.dispatchOf(f, t)
	if !ok {
		return nil, false
	}
	load := asm.InsnOperands(r.Unit.ParseLine(r.Unit.Src[d.load.At:d.load.Next]).Rest)
	index := bytes.TrimSuffix(load[1], []byte("]"))
	shift := ", lsl #1]\n"
	if bytes.Contains(index, []byte("uxtw")) {
		shift = " #1]\n"
	}
	out = append(out, Edit{
		at: int(d.load.At), drop: int(d.load.Next - d.load.At),
		text: slices.Concat([]byte("\tldrh\t"), load[0], []byte(", "), index, []byte(shift)),
	})
	if d.gcc {
		text := bytes.Replace(r.Unit.Src[d.add.At:d.add.Next], []byte("sxtb"), []byte("sxth"), 1)
		out = append(out, Edit{at: int(d.add.At), drop: int(d.add.Next - d.add.At), text: text})
	}
	for _, e := range t.Entries {
		text := bytes.Replace(r.Unit.Src[e.At:e.Next], []byte(".byte"), []byte(".2byte"), 1)
		out = append(out, Edit{at: e.At, drop: e.Next - e.At, text: text})
	}
	return out, true
}

// dispatchOf finds the code that uses a table: gcc's
//
//	ldrb w1, [x1,w0,uxtw]; adr x0, .Lrtx4; add x1, x0, w1, sxtb #2; br x1
//
// or clang's, whose last instruction may follow later:
//
//	adr x10, .LBB4_4; ldrb w11, [x9, x8]; add x10, x10, x11, lsl #2
func (r *Rewriter) dispatchOf(f *asm.Fragment, t *asm.JumpTable) (d dispatch, ok bool) {
	found := 0
	for i := range f.Lines {
		s := r.codeStatement(f, i)
		ops := asm.InsnOperands(s.Rest)
		if string(s.Word) != "adr" || len(ops) != 2 || string(ops[1]) != t.Base {
			continue
		}
		found++
		before, after, last := r.codeStatement(f, i-1), r.codeStatement(f, i+1), r.codeStatement(f, i+2)
		switch {
		case string(before.Word) == "ldrb" && string(after.Word) == "add" && bytes.Contains(after.Rest, []byte("sxtb #2")) && string(last.Word) == "br":
			d = dispatch{load: &f.Lines[i-1], add: &f.Lines[i+1], gcc: true}
		case string(after.Word) == "ldrb" && string(last.Word) == "add" && bytes.Contains(last.Rest, []byte("lsl #2")) && r.onlyTable(t):
			d = dispatch{load: &f.Lines[i+1]}
		default:
			return d, false
		}
	}
	return d, found == 1
}

// onlyTable reports whether no other table has the base of t.
func (r *Rewriter) onlyTable(t *asm.JumpTable) bool {
	for i := range r.Unit.Tables {
		if o := &r.Unit.Tables[i]; o != t && o.Base == t.Base {
			return false
		}
	}
	return true
}

// codeStatement returns line i of f's code; nothing if there is none.
func (r *Rewriter) codeStatement(f *asm.Fragment, i int) asm.Statement {
	if i < 0 || i >= len(f.Lines) || f.Lines[i].App {
		return asm.Statement{}
	}
	return r.Unit.ParseLine(r.Unit.Src[f.Lines[i].At:f.Lines[i].Next])
}

package native

import (
	"bytes"
	"slices"
)

// dispatch is the code that uses a jump table of bytes.
type dispatch struct {
	load, add *codeLine // the load of the entry, and the addition of the base
	gcc       bool      // the entries are signed
}

// reachTables makes the edits that keep the targets of the compressed jump tables of f in reach, or returns
// false.
func (r *rewriter) reachTables(f *fragment, l *layout, labels map[string]int) (out []edit, ok bool) {
	for i := range r.unit.tables {
		t := &r.unit.tables[i]
		base, here := labels[t.base]
		if !here {
			continue
		}
		farthest := 0
		for _, e := range t.entries {
			to, here := labels[e.target]
			if !here {
				return nil, false
			}
			farthest = max(farthest, l.distance(base, to)/4)
		}
		switch {
		case t.width == 1 && farthest <= 127 || t.width == 2 && farthest <= 32767:
		case t.width == 1 && farthest <= 32767:
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
func (r *rewriter) widen(f *fragment, t *jumpTable) (out []edit, ok bool) {
	d, ok := r.dispatchOf(f, t)
	if !ok {
		return nil, false
	}
	load := aarch64Operands(r.unit.parseLine(r.unit.Src[d.load.at:d.load.next]).rest)
	index := bytes.TrimSuffix(load[1], []byte("]"))
	shift := ", lsl #1]\n"
	if bytes.Contains(index, []byte("uxtw")) {
		shift = " #1]\n"
	}
	out = append(out, edit{
		at: int(d.load.at), drop: int(d.load.next - d.load.at),
		text: slices.Concat([]byte("\tldrh\t"), load[0], []byte(", "), index, []byte(shift)),
	})
	if d.gcc {
		text := bytes.Replace(r.unit.Src[d.add.at:d.add.next], []byte("sxtb"), []byte("sxth"), 1)
		out = append(out, edit{at: int(d.add.at), drop: int(d.add.next - d.add.at), text: text})
	}
	for _, e := range t.entries {
		text := bytes.Replace(r.unit.Src[e.at:e.next], []byte(".byte"), []byte(".2byte"), 1)
		out = append(out, edit{at: e.at, drop: e.next - e.at, text: text})
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
func (r *rewriter) dispatchOf(f *fragment, t *jumpTable) (d dispatch, ok bool) {
	found := 0
	for i := range f.lines {
		s := r.codeStatement(f, i)
		ops := aarch64Operands(s.rest)
		if string(s.word) != "adr" || len(ops) != 2 || string(ops[1]) != t.base {
			continue
		}
		found++
		before, after, last := r.codeStatement(f, i-1), r.codeStatement(f, i+1), r.codeStatement(f, i+2)
		switch {
		case string(before.word) == "ldrb" && string(after.word) == "add" && bytes.Contains(after.rest, []byte("sxtb #2")) && string(last.word) == "br":
			d = dispatch{load: &f.lines[i-1], add: &f.lines[i+1], gcc: true}
		case string(after.word) == "ldrb" && string(last.word) == "add" && bytes.Contains(last.rest, []byte("lsl #2")) && r.onlyTable(t):
			d = dispatch{load: &f.lines[i+1]}
		default:
			return d, false
		}
	}
	return d, found == 1
}

// onlyTable reports whether no other table has the base of t.
func (r *rewriter) onlyTable(t *jumpTable) bool {
	for i := range r.unit.tables {
		if o := &r.unit.tables[i]; o != t && o.base == t.base {
			return false
		}
	}
	return true
}

// codeStatement returns line i of f's code; nothing if there is none.
func (r *rewriter) codeStatement(f *fragment, i int) statement {
	if i < 0 || i >= len(f.lines) || f.lines[i].app {
		return statement{}
	}
	return r.unit.parseLine(r.unit.Src[f.lines[i].at:f.lines[i].next])
}

package probe

import (
	"bytes"
	"sort"
	"strings"

	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/isa/aarch64"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// Problem: instructions have limited reach: tbz 32 KiB, cbz and b.eq 1 MiB, and an entry of a compressed jump
// table, a byte, 127 instructions. No assembler corrects that, and probes between the two ends increase the
// distance.
//
// Choice: all instructions have 4 bytes, so the greatest distance in the new text is known. A branch out of
// reach becomes its opposite over a jump:
//
//	tbz w0, 3, L      ->      tbnz w0, 3, 1f; b L; 1:
//
// and a table of bytes becomes one of halfwords, with its load and sign extension. A function with another form
// of table, or with code of unknown size, gets only the entry probe if something might be out of reach.

// aarch64EntryProbe is the most that the probe of an entry takes.
const aarch64EntryProbe = 44

// layout returns upper bounds of the distances between places of a fragment in the new text.
type layout struct {
	at   []int // offsets in the source, ascending
	size []int // size of the text there
	sum  []int // sums of the sizes up to there
	odd  bool  // something is of unknown size
}

func (l *layout) add(at, size int) {
	if size < 0 {
		l.odd, size = true, 0
	}
	l.at, l.size = append(l.at, at), append(l.size, size)
}

// settle sorts the additions. Those at one offset stay in the order in which they were added.
func (l *layout) settle() {
	order := make([]int, len(l.at))
	for i := range order {
		order[i] = i
	}
	stablesort.Func(order, func(a, b int) int { return l.at[a] - l.at[b] })
	at, size := make([]int, len(order)), make([]int, len(order))
	for i, k := range order {
		at[i], size[i] = l.at[k], l.size[k]
	}
	l.at, l.size, l.sum = at, size, make([]int, len(order)+1)
	for i, n := range size {
		l.sum[i+1] = l.sum[i] + n
	}
}

// before returns the most bytes from the beginning of the fragment to an offset, without the text at the
// offset.
func (l *layout) before(at int) int { return l.sum[sort.SearchInts(l.at, at)] }

func (l *layout) distance(a, b int) int {
	d := l.before(b) - l.before(a)
	return max(d, -d)
}

// layoutOf returns the layout of a fragment with its insertions; grown are the branches that become longer.
func layoutOf(f *asm.Fragment, inserted []asm.Pad, grown map[int]bool) *layout {
	l := &layout{}
	for _, p := range inserted {
		l.add(p.At, p.Size)
	}
	for i := range f.Lines {
		switch line := &f.Lines[i]; {
		case line.App:
			l.add(int(line.At), -1)
		case grown[int(line.At)]:
			l.add(int(line.At), 8)
		default:
			l.add(int(line.At), 4)
		}
	}
	for _, p := range f.Pads {
		l.add(p.At, p.Size)
	}
	l.settle()
	return l
}

// reachBlocks makes the edits that keep all targets of branches and tables of fn in reach, given the sizes of probes, or
// returns false.
func (r *Rewriter) reachBlocks(fn *asm.Function, implied [][]int, size func(block int) int) bool {
	return r.reachFragments(fn, implied, aarch64EntryProbe, size, func(f *asm.Fragment, inserted []asm.Pad) ([]Edit, bool) {
		edits, _, ok := r.ReachFragment(f, inserted)
		return edits, ok
	})
}

// reachFragments makes the edits that reach returns for each fragment of fn with its probes: one of entry bytes
// at its beginning and one of size(i) bytes at block i if nothing implies that. It returns false, and makes no
// edit, if reach returns false for a fragment.
func (r *Rewriter) reachFragments(fn *asm.Function, implied [][]int, entry int, size func(block int) int, reach func(*asm.Fragment, []asm.Pad) ([]Edit, bool)) bool {
	var edits []Edit
	first := 0
	for _, f := range fn.Frags {
		inserted := []asm.Pad{{At: f.Probe, Size: entry}}
		for i := range f.Blocks {
			if implied[first+i] != nil {
				continue
			}
			pad := asm.Pad{At: f.Blocks[i].Probe, Size: size(first + i)}
			if w := f.Blocks[i].Way; w != nil {
				const nop, jump = 4, 4
				if pad.Size += nop; w.Taken {
					pad.At, pad.Size = int(w.Jump.At), pad.Size+jump
				}
			}
			inserted = append(inserted, pad)
		}
		more, ok := reach(f, inserted)
		if !ok {
			return false
		}
		edits = append(edits, more...)
		first += len(f.Blocks)
	}
	r.Edits = append(r.Edits, edits...)
	return true
}

// ReachFragment returns the edits for a fragment with its insertions, and its maximum size then. Branches that
// become longer can move others out of reach.
func (r *Rewriter) ReachFragment(f *asm.Fragment, inserted []asm.Pad) (edits []Edit, size int, ok bool) {
	labels := map[string]int{} // -> offset of its block
	for _, l := range f.Labels {
		if l.Block < len(f.Blocks) {
			labels[string(l.Name)] = f.Blocks[l.Block].Probe
		}
	}
	grown := map[int]bool{}
	over := map[int]bool{} // branches over the block of their edge, which reach
	for i := range f.Blocks {
		if w := f.Blocks[i].Way; w != nil && w.Taken {
			over[int(w.Jump.At)] = true
		}
	}
	for {
		l := layoutOf(f, inserted, grown)
		more := false
		for i := range f.Lines {
			line := &f.Lines[i]
			if line.App || grown[int(line.At)] || over[int(line.At)] {
				continue
			}
			reach, target := r.branchReach(line)
			to, here := labels[target]
			if reach == 0 || !here || l.distance(int(line.At), to) <= reach {
				continue
			}
			grown[int(line.At)], more = true, true
		}
		if more {
			continue
		}
		tables, ok := r.reachTables(f, l, labels)
		if !ok || l.odd && (len(grown) > 0 || l.sum[len(l.size)] > aarch64.ReachBit/2 || len(tables) > 0) {
			return nil, 0, false
		}
		return append(tables, r.invert(f, grown)...), l.sum[len(l.size)], true
	}
}

// branchReach returns the reach of a line's branch and its target; the reach is 0 if it is no branch or has no
// limit.
func (r *Rewriter) branchReach(line *asm.CodeLine) (int, string) {
	text := r.Unit.Src[line.At:line.Next]
	c := bytes.TrimLeft(text, " \t")
	if len(c) == 0 || c[0] != 'b' && c[0] != 'c' && c[0] != 't' {
		return 0, ""
	}
	s := r.Unit.ParseLine(text)
	kind, target := r.Unit.Machine.Classify(s.Word, s.Rest)
	if kind != asm.FlowBranch {
		return 0, ""
	}
	if s.Word[0] == 't' {
		return aarch64.ReachBit, string(target)
	}
	return aarch64.ReachFlags, string(target)
}

// invert makes the edits for branches that are out of reach.
func (r *Rewriter) invert(f *asm.Fragment, grown map[int]bool) (out []Edit) {
	for i := range f.Lines {
		line := &f.Lines[i]
		if !grown[int(line.At)] {
			continue
		}
		s := r.Unit.ParseLine(r.Unit.Src[line.At:line.Next])
		ops := asm.InsnOperands(s.Rest)
		var text strings.Builder
		label := r.NewLabel()
		text.WriteString("\t" + aarch64.Opposite(string(s.Word)) + "\t")
		for _, op := range ops[:len(ops)-1] {
			text.Write(op)
			text.WriteString(", ")
		}
		text.WriteString(label + "\n\tb\t" + string(ops[len(ops)-1]) + "\n" + label + ":\n")
		out = append(out, Edit{at: int(line.At), text: []byte(text.String()), drop: int(line.Next - line.At)})
	}
	return out
}

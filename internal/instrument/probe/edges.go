package probe

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/instrument/asm"
)

// Blocks do not tell which way a branch went where it leads to code to which other code leads as well: the edge between
// them is critical. Compilers lead branches past jumps also without optimisation, so that an edge may be all that is left
// of a statement such as break. In code that was compiled without optimisation each critical edge of a conditional jump
// has a block of its own, behind the jump, where the unwind state and the line are those of the jump:
//
//		jcc  L                      j!cc .Lcairn_w1
//	                              .Lcairn_b7: nop; probe     the edge to L
//	                                    jmp  L
//	                              .Lcairn_w1:
//	                              .Lcairn_b8: nop; probe     the edge to the next block
//	  .L5:                        .L5:
//
// The nop marks these blocks: in all others the probe is first. Probes that set a byte change neither flags nor registers on
// x86-64, so this is right wherever the jump is. On other machines only mode edge has blocks for edges.

// branching is how a machine writes the jumps to which blocks for edges belong.
type branching struct {
	jump string // not conditional, to a label
	// opposite returns the text of the opposite of the conditional jump that a line has, up to where it leads; ok is
	// false if the line has none to the label, or something else.
	opposite func(line, label []byte) (text string, ok bool)
	// jumps reports whether a line is a jump to a label, and nothing else.
	jumps func(line, label []byte) bool
}

var branchings = map[machine.Kind]*branching{machine.X86_64: &x86Branches, machine.AArch64: &aarch64Branches}

// WithEdges returns a copy of f that has a block for each critical edge, or f if it has none.
func WithEdges(f *asm.Function, u *asm.Unit) *asm.Function {
	if !u.Plain || u.Kind != machine.X86_64 || u.Object != asm.ELF {
		return f
	}
	g := f.FlowGraph(u.Taken, u.Returns)
	split := &asm.Function{Name: f.Name, Orphan: f.Orphan}
	first, changed := asm.Nodes, false
	for _, fr := range f.Frags {
		ways := criticalEdges(fr, u, g, first)
		first += len(fr.Blocks)
		if len(ways) > 0 && !fr.Short {
			fr = withWays(fr, ways)
			changed = true
		}
		split.Frags = append(split.Frags, fr)
	}
	if !changed {
		return f
	}
	return split
}

// criticalEdges returns the critical edges of the conditional jumps of fr, of which the first block is node first of g.
func criticalEdges(fr *asm.Fragment, u *asm.Unit, g *asm.Graph, first int) (ways []asm.Way) {
	last := lastLines(fr)
	for i := range fr.Blocks {
		b := &fr.Blocks[i]
		if b.Last != asm.FlowBranch || i+1 == len(fr.Blocks) || last[i].App {
			continue
		}
		to, known := labelled(fr, b.Target)
		word, ok := branchings[u.Kind].opposite(u.Src[last[i].At:last[i].Next], b.Target)
		if !known || !ok || to == i+1 {
			continue
		}
		for _, taken := range []bool{true, false} {
			way := asm.Way{Block: i, Taken: taken, Jump: last[i], Word: word}
			if node := first + map[bool]int{true: to, false: i + 1}[way.Taken]; len(g.Preds[node]) > 1 {
				ways = append(ways, way)
			}
		}
	}
	return ways
}

// lastLines returns the last line of each block.
func lastLines(fr *asm.Fragment) []asm.CodeLine {
	last := make([]asm.CodeLine, len(fr.Blocks))
	for _, l := range fr.Lines {
		if l.Block >= 0 {
			last[l.Block] = l
		}
	}
	return last
}

// labelled returns the index of the block of a label.
func labelled(fr *asm.Fragment, label []byte) (block int, ok bool) {
	for _, l := range fr.Labels {
		if l.Block < len(fr.Blocks) && bytes.Equal(l.Name, label) {
			return l.Block, true
		}
	}
	return 0, false
}

// withWays returns a copy of fr with blocks for edges, which are in the order of its blocks, the one of the jump before
// that to the next block.
func withWays(fr *asm.Fragment, ways []asm.Way) *asm.Fragment {
	split := *fr
	split.Blocks, split.Labels, split.Calls, split.Lines = nil, slices.Clone(fr.Labels), slices.Clone(fr.Calls), slices.Clone(fr.Lines)
	index := make([]int, len(fr.Blocks)+1) // of each block among the new ones
	for i := range fr.Blocks {
		index[i] = len(split.Blocks)
		split.Blocks = append(split.Blocks, fr.Blocks[i])
		for ; len(ways) > 0 && ways[0].Block == i; ways = ways[1:] {
			w := &ways[0]
			edge := asm.Block{Probe: w.At(), Used: true, Way: w, Last: asm.FlowNext}
			if w.Before {
				from := &split.Blocks[index[i]]
				edge.Last, edge.Target = asm.FlowJump, from.Target
				from.Last, from.Target = asm.FlowNext, nil
			}
			if w.Taken {
				// The jump leads behind the block, which goes on to where the jump led.
				over := []byte(".Lcairn_w" + strconv.Itoa(int(w.Jump.At)))
				from := &split.Blocks[index[i]]
				edge.Last, edge.Target, from.Target = asm.FlowJump, from.Target, over
				split.Labels = append(split.Labels, asm.BlockLabel{Name: over, Block: len(split.Blocks) + 1})
				edge.Over = string(over)
			}
			split.Blocks = append(split.Blocks, edge)
		}
	}
	index[len(fr.Blocks)] = len(split.Blocks)
	for i := range fr.Labels {
		split.Labels[i].Block = index[min(fr.Labels[i].Block, len(fr.Blocks))]
	}
	for i := range split.Calls {
		split.Calls[i].Block = index[split.Calls[i].Block]
	}
	for i := range split.Lines {
		if b := split.Lines[i].Block; b >= 0 {
			split.Lines[i].Block = int32(index[b])
		}
	}
	return &split
}

// own makes the blocks of edges have probes of their own, also where other blocks imply them: they are code.
func own(f *asm.Function, implied [][]int) {
	first := 0
	for _, fr := range f.Frags {
		for k := range fr.Blocks {
			if fr.Blocks[k].Way != nil {
				implied[first+k] = nil
			}
		}
		first += len(fr.Blocks)
	}
}

// edge inserts the block of an edge: the label of the block, and its probe.
func (r *Rewriter) edge(b *asm.Block, label, probe string) {
	w, probe := b.Way, "\tnop\n"+probe
	if !w.Taken {
		r.Insert(b.Probe, label, probe)
		return
	}
	r.Edits = append(r.Edits, Edit{
		at: int(w.Jump.At), drop: int(w.Jump.Next - w.Jump.At),
		text: []byte("\t" + w.Word + b.Over + "\n" + label + probe + "\t" + branchings[r.Unit.Kind].jump + "\t" + string(b.Target) + "\n" + b.Over + ":\n"),
	})
}

// WithoutEdges returns what is known of blocks, without those of edges.
func WithoutEdges(f *asm.Function, blocks []bool) []bool {
	var out []bool
	for _, fr := range f.Frags {
		for k := range fr.Blocks {
			if fr.Blocks[k].Way == nil {
				out = append(out, blocks[k])
			}
		}
		blocks = blocks[len(fr.Blocks):]
	}
	return out
}

package native

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/cairnprof/cairn/internal/binary/machine"
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
// The nop marks these blocks: in all others the probe is first. Probes change neither flags nor registers, so this is right wherever the jump is. Only x86-64 has such probes; on other
// machines there are no blocks for edges.

// withEdges returns a copy of f that has a block for each critical edge, or f if it has none.
func (f *function) withEdges(u *Unit) *function {
	if !u.plain || u.Kind != machine.X86_64 || u.object != ELF {
		return f
	}
	g := f.flowGraph(u.taken, u.returns)
	split := &function{name: f.name, orphan: f.orphan}
	first, changed := nodes, false
	for _, fr := range f.frags {
		ways := fr.criticalEdges(u, g, first)
		first += len(fr.blocks)
		if len(ways) > 0 && !fr.short {
			fr = fr.withWays(ways)
			changed = true
		}
		split.frags = append(split.frags, fr)
	}
	if !changed {
		return f
	}
	return split
}

// criticalEdges returns the critical edges of the conditional jumps of fr, of which the first block is node first of g.
func (fr *fragment) criticalEdges(u *Unit, g *graph, first int) (ways []way) {
	last := make([]codeLine, len(fr.blocks)) // the last line of each block
	for _, l := range fr.lines {
		if l.block >= 0 {
			last[l.block] = l
		}
	}
	for i := range fr.blocks {
		b := &fr.blocks[i]
		if b.last != flowBranch || i+1 == len(fr.blocks) || last[i].app {
			continue
		}
		to, known := fr.labelled(b.target)
		word, ok := conditional(u.Src[last[i].at:last[i].next], b.target)
		if !known || !ok || to == i+1 {
			continue
		}
		for _, way := range []way{{i, true, last[i], word}, {i, false, last[i], word}} {
			if node := first + map[bool]int{true: to, false: i + 1}[way.taken]; len(g.preds[node]) > 1 {
				ways = append(ways, way)
			}
		}
	}
	return ways
}

// labelled returns the index of the block of a label.
func (fr *fragment) labelled(label []byte) (block int, ok bool) {
	for _, l := range fr.labels {
		if l.block < len(fr.blocks) && bytes.Equal(l.name, label) {
			return l.block, true
		}
	}
	return 0, false
}

// conditional returns the opposite of the jump that a line has, if it has one to a label, and nothing else.
func conditional(line, label []byte) (opposite string, ok bool) {
	code, _, _ := bytes.Cut(line, []byte("#"))
	words := bytes.Fields(code)
	if len(words) != 2 || !bytes.Equal(words[1], label) {
		return "", false
	}
	opposite, ok = inverse[string(words[0])]
	return opposite, ok
}

// withWays returns a copy of fr with blocks for edges, which are in the order of its blocks, the one of the jump before
// that to the next block.
func (fr *fragment) withWays(ways []way) *fragment {
	split := *fr
	split.blocks, split.labels, split.calls, split.lines = nil, slices.Clone(fr.labels), slices.Clone(fr.calls), slices.Clone(fr.lines)
	index := make([]int, len(fr.blocks)+1) // of each block among the new ones
	for i := range fr.blocks {
		index[i] = len(split.blocks)
		split.blocks = append(split.blocks, fr.blocks[i])
		for ; len(ways) > 0 && ways[0].block == i; ways = ways[1:] {
			w := &ways[0]
			edge := block{probe: int(w.jump.next), used: true, way: w, last: flowNext}
			if w.taken {
				// The jump leads behind the block, which goes on to where the jump led.
				over := []byte(".Lcairn_w" + strconv.Itoa(int(w.jump.at)))
				from := &split.blocks[index[i]]
				edge.last, edge.target, from.target = flowJump, from.target, over
				split.labels = append(split.labels, blockLabel{over, len(split.blocks) + 1})
				edge.over = string(over)
			}
			split.blocks = append(split.blocks, edge)
		}
	}
	index[len(fr.blocks)] = len(split.blocks)
	for i := range fr.labels {
		split.labels[i].block = index[min(fr.labels[i].block, len(fr.blocks))]
	}
	for i := range split.calls {
		split.calls[i].block = index[split.calls[i].block]
	}
	for i := range split.lines {
		if b := split.lines[i].block; b >= 0 {
			split.lines[i].block = int32(index[b])
		}
	}
	return &split
}

// own makes the blocks of edges have probes of their own, also where other blocks imply them: they are code.
func (f *function) own(implied [][]int) {
	first := 0
	for _, fr := range f.frags {
		for k := range fr.blocks {
			if fr.blocks[k].way != nil {
				implied[first+k] = nil
			}
		}
		first += len(fr.blocks)
	}
}

// edge inserts the block of an edge: the label of the block, and its probe.
func (r *rewriter) edge(b *block, label, probe string) {
	w, probe := b.way, "\tnop\n"+probe
	if !w.taken {
		r.insert(b.probe, label, probe)
		return
	}
	r.edits = append(r.edits, edit{
		at: int(w.jump.at), drop: int(w.jump.next - w.jump.at),
		text: []byte("\t" + w.word + "\t" + b.over + "\n" + label + probe + "\tjmp\t" + string(b.target) + "\n" + b.over + ":\n"),
	})
}

// withoutEdges returns what is known of blocks, without those of edges.
func (f *function) withoutEdges(blocks []bool) []bool {
	var out []bool
	for _, fr := range f.frags {
		for k := range fr.blocks {
			if fr.blocks[k].way == nil {
				out = append(out, blocks[k])
			}
		}
		blocks = blocks[len(fr.blocks):]
	}
	return out
}

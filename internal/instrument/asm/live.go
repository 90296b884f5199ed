package asm

// Registers is a set of registers: bit n is register n.
type Registers interface{ ~uint16 | ~uint32 }

// Liveness is what is live at the beginning of each node of a function's flow graph.
type Liveness[S Registers] struct {
	In       []S
	succs    [][]int
	anywhere []bool // it may go to any block that node 0 leads to
}

// Out returns what is live at the end of a node.
func (l *Liveness[S]) Out(node int) (out S) {
	for _, s := range l.succs[node] {
		out |= l.In[s]
	}
	if l.anywhere[node] {
		out |= l.In[NodeIn]
	}
	return out
}

// LivenessOf solves the backward data flow of a function. effect returns the registers that a line reads, and those
// that it overwrites without reading them; atEnd are those that are live where the function is left.
func LivenessOf[S Registers](u *Unit, fn *Function, effect func(line []byte, app bool) (use, kill S), atEnd S) *Liveness[S] {
	g := fn.FlowGraph(u.Taken, u.Returns)
	n := len(g.Succs)
	l := &Liveness[S]{In: make([]S, n), succs: g.Succs, anywhere: make([]bool, n)}
	gen, kill := make([]S, n), make([]S, n)
	node := Nodes
	for _, f := range fn.Frags {
		for i := len(f.Lines) - 1; i >= 0; i-- {
			line := &f.Lines[i]
			if line.Block < 0 {
				continue
			}
			k := node + int(line.Block)
			use, dead := effect(u.View(u.Src[line.At:line.Next]), line.App)
			gen[k] = gen[k]&^dead | use
			kill[k] |= dead
			l.anywhere[k] = l.anywhere[k] || line.App
		}
		for i := range f.Blocks {
			b := &f.Blocks[i]
			l.anywhere[node+i] = l.anywhere[node+i] || b.Last == FlowJump && b.Target == nil
		}
		node += len(f.Blocks)
	}
	l.In[NodeOut] = atEnd
	for changed := true; changed; {
		changed = false
		for k := n - 1; k >= Nodes; k-- {
			if now := gen[k] | l.Out(k)&^kill[k]; now != l.In[k] {
				l.In[k], changed = now, true
			}
		}
		for _, s := range g.Succs[NodeIn] {
			l.In[NodeIn] |= l.In[s]
		}
	}
	return l
}

package unwind

import "slices"

// Problem: a function that ended with a jump to another one is on no stack. But
// where the jump is among the branches of the sample, it was seen.
//
// Choice: the branches are replayed once from the oldest to the newest, to find what
// tail calls each open call had made by then. They become frames of their own, after
// the call. A call that was seen to be made is marked as known: nothing is missing
// between it and the frame that follows. Of a call from before the first branch only
// the last tail calls are known, and what is missing before them can be inferred.

// known marks a call in the trie after which no tail call is missing. Refs have
// no use of the bit.
const known ref = 1 << 31

// chains are the tail calls of functions that are running: lists that share their
// beginnings. Of a function that was called before the first branch the list begins
// with unseen, of others with seen.
type chains struct {
	links []chainLink
	open  []openCall // calls within the branches, outermost first
	now   chain      // of the function that runs

	jumps []ref // for reading a chain
}

type chain int32

const (
	unseen chain = iota
	seen
)

type chainLink struct {
	before chain
	jump   ref
}

type openCall struct {
	call   ref
	caller chain // of the function that made it
}

// follow replays the branches that move tell of, which are newest first. Of returns it
// says what the functions had made that they leave.
func (c *chains) follow(branches []taken, moves []int) {
	c.links, c.open = append(c.links[:0], chainLink{}, chainLink{}), c.open[:0]
	now := unseen
	for i := len(moves) - 1; i >= 0; i-- {
		t := &branches[moves[i]]
		switch t.does {
		case calls:
			c.open = append(c.open, openCall{t.from, now})
			now = seen
		case returns:
			t.made = now
			now = unseen
			if n := len(c.open); n > 0 {
				now = c.open[n-1].caller
				c.open = c.open[:n-1]
			}
		case departs:
			c.links = append(c.links, chainLink{now, t.from})
			now = chain(len(c.links) - 1)
		}
	}
	c.now = now
}

// called returns the node of a function that was called by a call of the function
// of node, and has made the tail calls of a chain since.
func (u *Unwinder) called(node uint32, call ref, made chain) uint32 {
	switch made {
	case unseen:
		return u.frames.child(node, call)
	case seen:
		return u.frames.child(node, call|known)
	}
	c := &u.chains
	c.jumps = c.jumps[:0]
	for made > seen {
		c.jumps = append(c.jumps, c.links[made].jump)
		made = c.links[made].before
	}
	node = u.called(node, call, made)
	for _, jump := range slices.Backward(c.jumps) {
		node = u.frames.child(node, jump)
	}
	return node
}

// start returns the node of the sample's stack.
func (u *Unwinder) start() uint32 {
	u.chains.follow(u.taken, u.moves)
	calls, open := u.stack[1:], u.chains.open
	// What the branches opened are the innermost calls of the stack, if it is whole.
	n := 0
	for n < len(calls) && n < len(open) && open[len(open)-1-n].call == calls[n] {
		n++
	}
	node := uint32(root)
	for i := len(calls) - 1; i >= 0; i-- {
		made := unseen
		switch {
		case i > n, i == n && n < len(open):
		case i == 0:
			made = u.chains.now
		default:
			made = open[len(open)-i].caller
		}
		node = u.called(node, calls[i], made)
	}
	return node
}

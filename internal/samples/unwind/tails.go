package unwind

import "slices"

// Problem: a function that ended with a jump to another one is on no stack. But if the jump is
// among the branches of the sample, it was observed.
//
// Choice: the branches are replayed once from the oldest to the newest, to find the tail calls
// that each open call had made. They become separate frames, after the call. An observed call
// is marked as known: nothing is missing between it and the next frame. For a call before the
// first branch only the last tail calls are known, and those before them can be inferred.

// known marks a call in the trie after which no tail call is missing. Refs do not use this
// bit.
const known ref = 1 << 31

// chains are the tail calls of running functions: lists with shared beginnings. The list of a
// function that was called before the first branch begins with unseen, that of others with
// seen.
type chains struct {
	links []chainLink
	open  []openCall // calls among the branches, outermost first
	now   chain      // of the running function

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
	caller chain // of the calling function
}

// follow replays the branches with the indexes moves, which are newest first. For returns it
// stores the tail calls of the function that returns.
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

// called returns the node of a function that was called by call in the function of node, and
// has since made the tail calls of a chain.
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
	// The calls among the branches are the innermost calls of the stack, if it is complete.
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

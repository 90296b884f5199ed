package account

import (
	"context"
	"math"
	"sort"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
	"github.com/cairnprof/cairn/internal/callstack"
)

// A segment consists of parts of a thread that are replayed without knowing the stack that they begin with, and
// the result: chunks.
type segment struct {
	from, to int // parts
	chunks   []*chunk
	budget   int  // pieces that it may still have
	cut      bool // it is not whole: the chunks end before the parts do
	damage   []*calllog.Damage
	err      error
}

// A chunk is a run of events that are replayed from an unknown stack.
//
// Calls from that stack go to a piece, a separate trie. An exit when all calls of the chunk have ended is an
// underflow: it ends a frame of the unknown stack, or is an orphan, and the next call is on another level in
// any case; so it ends the piece. Later, when the stack is known, stitch hangs the pieces below its nodes and
// handles the underflows one by one, with the same functions that replay events.
//
// An exit that matches nothing within the chunk while calls of the chunk are open may also be either, and the
// following events depend on which. There the chunk ends, and the next begins with that exit, which then is an
// underflow.
type chunk struct {
	of     *segment
	r      *replayer
	pieces []piece
	begin  uint64 // time of the first event
	ended  bool   // the next event does not belong to the chunk
	// follows: the next event is the first one, or directly follows an underflow. A function entered then may
	// be the target of a jump by a frame of the unknown stack.
	follows bool
}

// A segment is cut if it has too many pieces, of which a chunk counts as some, or too many nodes. The rest is
// replayed when the stack is known.
const (
	maxPieces     = 1 << 14
	chunkPieces   = 16
	maxChunkNodes = 1 << 18
)

// piece holds the calls from one level of the unknown stack.
type piece struct {
	root  calltrie.NodeID
	child uint64 // time of the ended calls from that level
	depth int    // frames of its deepest stack
	// The underflow that ended it; the last piece has none.
	fn     calllog.FuncID
	how    End
	at     uint64 // its time
	before uint64 // time of the event before it
	first  bool   // it is the first event of the chunk
	enters uint64 // enters of the chunk before it
	border int    // that of the replayer's stack: settled, inherited or 0
	// following: the piece is one call, of the function follower, with its callees: c.follows was set when it
	// was entered. Resumed: it has ended at time at, and the next call is made from the level of the unknown
	// stack.
	following, resumed bool
	follower           calllog.FuncID
	since              uint64
}

// replaySegment replays a stretch of a thread from an unknown stack.
func replaySegment(ctx context.Context, of stretch, opt Options) *segment {
	s := &segment{from: of.from, to: of.to}
	c := newChunk(s, newReplayer(of.log, of.thread, opt))
	s.budget = c.r.opt.pieces
	nodes := 0
	again := func() *replayer {
		r := newReplayer(of.log, of.thread, opt)
		if r.tails != nil {
			r.tails.cache = c.r.tails.cache
		}
		return r
	}
	s.err = of.each(ctx, &s.damage, func(b *calllog.Batch) bool {
		for at := 0; ; {
			before := c.r.stats.Events
			if before == 0 && at < len(b.Events) {
				c.begin = c.r.clock.time(b.Events[at].Time)
			}
			c.r.batch(b, at)
			if !c.ended {
				break
			}
			at += int(c.r.stats.Events - before)
			nodes += c.r.trie.Len()
			if s.budget -= chunkPieces; s.budget < 0 {
				s.cut = true
				return false
			}
			c.end()
			c = newChunk(s, again())
		}
		s.cut = nodes+c.r.trie.Len() > c.r.opt.nodes
		return !s.cut
	})
	c.end()
	return s
}

// newChunk begins a chunk.
func newChunk(s *segment, r *replayer) *chunk {
	c := &chunk{of: s, r: r}
	r.trie = calltrie.New() // without a limit
	r.room = math.MaxInt
	r.chunk, r.stack.Unknown = c, true
	r.stack.SetBorder(callstack.Inherited)
	c.follows = r.tails != nil
	s.chunks = append(s.chunks, c)
	c.next()
	return c
}

// next begins a piece.
func (c *chunk) next() {
	c.r.base = c.r.trie.NewRoot()
	c.r.at = calltrie.First(c.r.base)
	c.pieces = append(c.pieces, piece{root: c.r.base})
}

// end ends the piece that was begun last and returns it.
func (c *chunk) end() *piece {
	p := &c.pieces[len(c.pieces)-1]
	p.child, c.r.busy = c.r.busy, 0
	p.depth, c.r.stats.MaxDepth = c.r.stats.MaxDepth, 0
	return p
}

// below handles an exit of a function that was not entered within the chunk.
func (c *chunk) below(r *replayer, fn calllog.FuncID, t uint64, how End) {
	if len(r.stack.Frames) > 0 || c.of.budget == 0 && r.stats.Events > 1 {
		c.leave(r, t)
		switch how {
		case Tail:
			r.stats.TailExits--
		case Returned:
			r.stats.Exits--
		}
		return
	}
	c.of.budget = max(0, c.of.budget-1)
	p := c.end()
	p.fn, p.how, p.at, p.before = fn, how, t, r.last
	p.first = r.stats.Events == 1
	p.enters, p.border = r.stats.Enters, r.stack.Border()
	r.stack.SetBorder(callstack.Inherited)
	c.follows = r.tails != nil && r.tails.holds(how)
	c.next()
}

// leave ends the chunk before the event of time t, as if that had not been there.
func (c *chunk) leave(r *replayer, t uint64) {
	c.ended, r.stopped = true, true
	r.stats.Events--
	if t < r.last {
		r.stats.Backwards--
	}
}

// continues reports whether the open call may be the target of a jump by a frame of the unknown stack.
func (c *chunk) continues() bool { return c.pieces[len(c.pieces)-1].following }

// resume ends a piece that is a single call.
func (c *chunk) resume(at uint64, how End) {
	p := c.end()
	p.resumed, p.at, p.how = true, at, how
	p.enters = c.r.stats.Enters
	c.next()
}

// fits reports whether the chunk can be put on the stack of r: not if that would be too deep, which the chunk
// cannot know.
func (c *chunk) fits(r *replayer) bool {
	deepest := 0
	for i := range c.pieces {
		deepest = max(deepest, c.pieces[i].depth)
	}
	return r.stacks == nil && r.stack.Over == 0 && c.r.stats.TooDeep == 0 && len(r.stack.Frames)+deepest <= r.stack.Limit
}

// stitch applies a chunk to the stack of r, with which the chunk began.
func (r *replayer) stitch(c *chunk) {
	l := c.r
	if l.stats.Events == 0 {
		if !c.follows {
			r.settle()
		}
		r.applyBorder(l.stack.Border())
		return
	}
	if r.stats.Events > 0 && c.begin < r.last {
		r.turn(c.begin)
	}
	enters := r.stats.Enters // before the chunk
	where, level, depth := r.addPieces(c)
	r.stats.add(&l.stats)
	r.first, r.most, r.last = min(r.first, l.first), max(r.most, l.most), l.last
	r.applyBorder(l.stack.Border())
	r.addSlowest(c, where, level, depth, enters)
	r.addFrames(l, where, enters)
	if r.trie.Len() >= r.room {
		r.fold()
	}
}

// addPieces adds the trees of the pieces of a chunk. It returns where the chunk's nodes are in the trie of r, and
// the callers of the pieces, with their depth.
func (r *replayer) addPieces(c *chunk) (where []calltrie.NodeID, level []openCall, depth []int) {
	l := c.r
	where = make([]calltrie.NodeID, l.trie.Len())
	level, depth = make([]openCall, len(c.pieces)), make([]int, len(c.pieces))
	enters := r.stats.Enters // before the chunk
	for i := range c.pieces {
		p := &c.pieces[i]
		end := calltrie.NodeID(l.trie.Len())
		last := i == len(c.pieces)-1
		if !last {
			end = c.pieces[i+1].root
		}
		inferred := r.arrive(c, p, last)
		n := len(r.stack.Frames)
		level[i], depth[i] = openCall{node: r.base}, n
		if n > 0 {
			r.stack.Frames[n-1].Data.child += p.child
			level[i] = r.stack.Frames[n-1].Data
		} else {
			r.busy += p.child
		}
		r.trie.MergeFrom(level[i].node, l.trie, p.root, end, where)
		r.stats.MaxDepth = max(r.stats.MaxDepth, n+p.depth)
		if inferred && !p.resumed {
			l.stack.Frames[0].Data.inferred = true
		}
		if last {
			break
		}
		r.stats.Enters = enters + p.enters
		if p.resumed {
			if inferred {
				r.trie.Node(where[p.root+1]).Inferred++
				r.release(p.at, p.how)
			}
			continue
		}
		if !p.first {
			r.last = p.before
		}
		r.applyBorder(p.border)
		if r.tails != nil {
			r.tailedExit(p.fn, p.at, p.how)
		} else {
			r.exit(p.fn, p.at, p.how)
		}
	}
	r.stats.Enters = enters
	return where, level, depth
}

// arrive restores the stack that a piece is called from. It reports whether its top frame had ended by a jump
// to the piece.
func (r *replayer) arrive(c *chunk, p *piece, last bool) (inferred bool) {
	switch {
	case p.following && r.tails.held:
		inferred, _ = r.follow(p.follower, p.since)
	case !last || !c.follows:
		r.settle()
	}
	return inferred
}

// applyBorder applies the chunk's state of the border, before its frames are added.
func (r *replayer) applyBorder(border int) {
	if border >= 0 {
		border += len(r.stack.Frames)
	}
	if border != callstack.Inherited {
		r.stack.SetBorder(border)
	}
}

// addSlowest adds the slowest calls of a chunk, whose nodes, callers, depths and numbers are its own.
func (r *replayer) addSlowest(c *chunk, where []calltrie.NodeID, level []openCall, depth []int, enters uint64) {
	for _, call := range c.r.slow.calls {
		i := sort.Search(len(c.pieces), func(i int) bool { return c.pieces[i].root > call.Node }) - 1
		call.Node = where[call.Node]
		call.ID += enters
		call.Depth += depth[i]
		if call.Parent > 0 {
			call.Parent += enters
		} else {
			call.Parent = level[i].id
		}
		if r.slow.wants(call.Duration) {
			r.slow.add(call)
		}
	}
}

// addFrames adds the calls that are open at the end of a chunk.
func (r *replayer) addFrames(l *replayer, where []calltrie.NodeID, enters uint64) {
	for _, f := range l.stack.Frames {
		f.Data.id += enters
		f.Data.node = where[f.Data.node]
		f.Data.at = f.Data.at.Moved(where[f.Data.at.Node()])
		f.Data.args += uint32(len(r.args))
		if r.stack.Tight() {
			r.stack.Ready(f.Func)
		}
		r.stack.Push(f.Func).Data = f.Data
		if f.Jumped {
			r.stack.Jump(len(r.stack.Frames) - 1)
		}
	}
	r.args = append(r.args, l.args...)
	if l.tails != nil && l.tails.held {
		r.hold(l.tails.at, l.tails.how)
	}
}

// rest replays the events of a segment after the first `after` ones.
func (r *replayer) rest(ctx context.Context, log calllog.Log, s *segment, after uint64) error {
	return stretch{log, r.thread, s.from, s.to}.each(ctx, &r.damage, func(b *calllog.Batch) bool {
		n := uint64(len(b.Events))
		if after > 0 && after >= n {
			after -= n
			return true
		}
		r.batch(b, int(after))
		after = 0
		return true
	})
}

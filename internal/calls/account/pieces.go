package account

import (
	"context"
	"iter"
	"math"
	"slices"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
	"github.com/cairnprof/cairn/internal/callstack"
)

// Pieces is a thread that can be replayed from several places, so that a few of its calls are found without
// reading all of it. It has the stack at each place, and the calls that were open there, each once; all others
// are within a piece.
type Pieces struct {
	log    calllog.Log
	thread int
	opt    Options
	flat   bool
	pieces []Piece
	long   []Call
	stacks *calltrie.Trie // of the long calls
}

// Piece holds the calls that begin and end between two places.
type Piece struct {
	// First and Last are the least and the greatest number of a call that begins in the
	// piece; First is greater if there is none.
	First, Last uint64
	// Begin and End are the least and the greatest time of its calls.
	Begin, End uint64
	from, to   int // parts of the thread
	state      *replayState
}

// replayState is the state of a replayer at a place.
type replayState struct {
	stack callstack.Stack[calllog.FuncID, openCall]
	args  []uint64
	last  uint64
	stats Stats
}

// Bounds of the memory of Pieces: frames of all stacks, and places.
const (
	maxPieceFrames = 1 << 20
	maxPlaces      = 4096
)

// pieceBytes is the minimum size of a piece in a log: some ten thousand events.
const pieceBytes = 128 << 10

// Numbers of nodes of the tries for replays without sums.
const (
	placeNodes = 1 << 12
	pieceNodes = 1 << 20
)

// NewPieces replays a thread once. With Options.TailCalls it makes one piece: the places of such calls depend
// on more than the stack. Damage is skipped.
func NewPieces(ctx context.Context, log calllog.Log, thread int, opt Options) (*Pieces, error) {
	return newPieces(ctx, log, thread, opt, pieceParts(log.Threads()[thread], opt))
}

func newPieces(ctx context.Context, log calllog.Log, thread int, opt Options, step int) (*Pieces, error) {
	opt.Slowest, opt.MaxNodes, opt.CallsOnly = 0, placeNodes, true
	r := newReplayer(log, thread, opt)
	if err := r.prescan(ctx, log); err != nil {
		return nil, err
	}
	opt.MaxNodes = pieceNodes
	p := &Pieces{log: log, thread: thread, opt: opt, flat: r.flat, stacks: calltrie.New()}
	cur := Piece{First: 1, Begin: math.MaxUint64}
	long := make(map[uint64]calltrie.NodeID) // open at some place, by number
	r.emit = func(c *Call) bool {
		if c.ID >= cur.First {
			cur.Begin, cur.End = min(cur.Begin, c.Start), max(cur.End, c.Start+c.Duration+c.Away)
			return true
		}
		kept := *c
		kept.Args, kept.Node = slices.Clone(c.Args), long[c.ID]
		p.long = append(p.long, kept)
		delete(long, c.ID)
		return true
	}
	parts, frames := log.Threads()[thread].Parts, 0
	for at := 0; at < parts; at += step {
		if depth := len(r.stack.Frames); at > 0 && r.stacks == nil && frames+depth <= maxPieceFrames {
			frames += depth
			node := calltrie.Root
			for _, f := range r.stack.Frames {
				node = p.stacks.Child(node, f.Func)
				long[f.Data.id] = node
			}
			p.end(&cur, at, r.stats.Enters)
			cur.state = r.state()
		}
		r.damage = r.damage[:0]
		if err := r.run(ctx, stretch{log, thread, at, min(at+step, parts)}); err != nil {
			return nil, err
		}
	}
	r.finish()
	p.end(&cur, parts, r.stats.Enters)
	return p, nil
}

// pieceParts returns how many parts of a thread a piece has.
func pieceParts(t calllog.Thread, opt Options) int {
	if opt.TailCalls != nil || t.Bytes <= 0 {
		return max(1, t.Parts)
	}
	return max(1, t.Parts/maxPlaces, int(pieceBytes*int64(t.Parts)/t.Bytes))
}

// end ends a piece at a part, after that many enters of the thread, and begins the next.
func (p *Pieces) end(cur *Piece, at int, enters uint64) {
	cur.to, cur.Last = at, enters
	p.pieces = append(p.pieces, *cur)
	*cur = Piece{First: enters + 1, Begin: math.MaxUint64, from: at}
}

// state returns a copy of the replayer's state.
func (r *replayer) state() *replayState {
	s := &replayState{r.stack.Clone(), slices.Clone(r.args), r.last, r.stats}
	s.stats.OrphansByFunc = nil
	return s
}

// resume makes a new replayer continue from a place.
func (r *replayer) resume(s *replayState) {
	r.stack, r.args = s.stack.Clone(), slices.Clone(s.args)
	r.last, r.stats = s.last, s.stats
	node := calltrie.Root
	for i := range r.stack.Frames {
		f := &r.stack.Frames[i]
		node = r.trie.Child(node, f.Func)
		f.Data.node, f.Data.at = node, calltrie.First(node)
	}
}

// Calls yields calls of the thread: those of several pieces first, and then those of each piece for which wants
// returns true, when they end. Their nodes are those of the trie last passed to begin. A call's memory is
// reused for the next.
func (p *Pieces) Calls(ctx context.Context, wants func(*Piece) bool, begin func(*calltrie.Trie)) iter.Seq2[*Call, error] {
	return func(yield func(*Call, error) bool) {
		begin(p.stacks)
		for i := range p.long {
			c := p.long[i]
			if !yield(&c, nil) {
				return
			}
		}
		for i := range p.pieces {
			if x := &p.pieces[i]; x.First <= x.Last && wants(x) && !p.replay(ctx, x, i == len(p.pieces)-1, begin, yield) {
				return
			}
		}
	}
}

// replay yields the calls of a piece. It reports whether to continue.
func (p *Pieces) replay(ctx context.Context, x *Piece, last bool, begin func(*calltrie.Trie), yield func(*Call, error) bool) bool {
	r := newReplayer(p.log, p.thread, p.opt)
	r.flat = p.flat
	if x.state != nil {
		r.resume(x.state)
	}
	begin(r.trie)
	more := true
	r.emit = func(c *Call) bool {
		if c.ID >= x.First {
			more = yield(c, nil)
		}
		return more
	}
	err := stretch{p.log, p.thread, x.from, x.to}.each(ctx, &r.damage, func(b *calllog.Batch) bool {
		r.batch(b, 0)
		return more
	})
	if err != nil && more {
		yield(nil, err)
		return false
	}
	if last && more {
		r.finish()
	}
	return more
}

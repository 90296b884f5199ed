package account

import (
	"context"
	"iter"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
)

// Replay yields the calls of one thread one by one, in memory that depends only on the depth of its stack and
// on the number of its stacks.
type Replay struct {
	log calllog.Log
	r   *replayer
}

// NewReplay prepares a replay of a thread. Options are as for Run, except those that only Run uses.
func NewReplay(log calllog.Log, thread int, opt Options) *Replay {
	opt.Slowest = 0
	if opt.Memory > 0 {
		opt.room = max(minRoom, int(opt.Memory/calltrie.NodeBytes))
	}
	return &Replay{log, newReplayer(log, thread, opt)}
}

// All yields every call when it ends, so callees before their callers, and open ones at the end. The memory of
// a call and of its arguments is reused for the next. Damage is yielded with a nil call, and calls follow; any
// other error is the last value. All can be ranged over once.
func (p *Replay) All(ctx context.Context) iter.Seq2[*Call, error] {
	return func(yield func(*Call, error) bool) {
		p.r.emit = func(c *Call) bool { return yield(c, nil) }
		if err := p.run(ctx, yield); err != nil && !p.r.stopped {
			yield(nil, err)
			return
		}
		if !p.r.stopped {
			p.r.finish()
		}
	}
}

func (p *Replay) run(ctx context.Context, yield func(*Call, error) bool) error {
	r := p.r
	if err := r.prescan(ctx, p.log); err != nil {
		return err
	}
	damaged := func() {
		for _, d := range r.damage {
			r.stopped = r.stopped || !yield(nil, d)
		}
		r.damage = r.damage[:0]
	}
	defer damaged()
	return wholeThread(p.log, r.thread).each(ctx, &r.damage, func(b *calllog.Batch) bool {
		damaged()
		r.batch(b, 0)
		return !r.stopped
	})
}

// Trie returns the trie that the nodes of calls are in. It has the calls that
// were yielded so far, and with Options.Memory it may forget stacks that have ended: see
// calltrie.Trie.Folds.
func (p *Replay) Trie() *calltrie.Trie { return p.r.trie }

// Thread returns what Run would, for the calls yielded so far.
func (p *Replay) Thread() Thread { return p.r.result(p.log.Threads()[p.r.thread]) }

// Calls yields the calls of a thread, see Replay.All. The nodes are those that
// Run gives, unless it folds stacks.
func Calls(ctx context.Context, log calllog.Log, thread int, opt Options) iter.Seq2[*Call, error] {
	return NewReplay(log, thread, opt).All(ctx)
}

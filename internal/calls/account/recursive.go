package account

import (
	"context"
	"errors"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
)

// RunRecursive is Run for recursive calls only: those within a call of the same function, and those that
// contain such calls. A trie has one node for the outer calls of each function, and one below for the calls
// within them. The statistics cover all calls.
func RunRecursive(ctx context.Context, log calllog.Log, opt Options) (*Result, error) {
	res := &Result{}
	done := int64(0)
	for i, about := range log.Threads() {
		r := NewReplay(log, i, opt)
		kept := calltrie.New()
		kept.SetLimit(r.r.opt.MaxNodes)
		outer := &outermost{trie: r.Trie()}
		within := make(map[calllog.FuncID]bool) // functions that were called within a call that is open
		busy := uint64(0)
		for c, err := range r.All(ctx) {
			if damage := (*calllog.Damage)(nil); errors.As(err, &damage) {
				res.Damage = append(res.Damage, damage)
				continue
			}
			if err != nil {
				return nil, err
			}
			node := calltrie.Root
			switch is := outer.is(c.Node); {
			case !is:
				within[c.Func] = true
				node = kept.Child(kept.Child(calltrie.Root, c.Func), c.Func)
			case within[c.Func]:
				delete(within, c.Func)
				node = kept.Child(calltrie.Root, c.Func)
				busy += c.Duration
			default:
				continue
			}
			n := kept.Node(node)
			n.Add(c.Duration, c.Self)
			switch c.End {
			case Deduced:
				n.Deduced++
			case Open:
				n.Open++
			}
		}
		th := r.Thread()
		th.Trie, th.Busy = kept, busy
		res.Threads = append(res.Threads, th)
		if done += about.Bytes; opt.Progress != nil {
			opt.Progress(done)
		}
	}
	res.Damage = res.Damage[:min(len(res.Damage), maxDamage)]
	return res, nil
}

// outermost reports which nodes of a growing trie have functions that are not among their callers.
type outermost struct {
	trie  *calltrie.Trie
	folds int
	known []int8 // by node: 0 is not known
}

func (o *outermost) is(id calltrie.NodeID) bool {
	if n := o.trie.Folds(); n != o.folds {
		o.folds, o.known = n, o.known[:0]
	}
	for len(o.known) <= int(id) {
		o.known = append(o.known, 0)
	}
	if o.known[id] == 0 {
		o.known[id] = 1
		fn := o.trie.Node(id).Func
		for up := o.trie.Node(id).Parent; up != calltrie.Root; up = o.trie.Node(up).Parent {
			if o.trie.Node(up).Func == fn {
				o.known[id] = -1
				break
			}
		}
	}
	return o.known[id] > 0
}

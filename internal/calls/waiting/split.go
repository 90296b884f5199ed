package waiting

import (
	"github.com/cairnprof/cairn/internal/calls/calltrie"
	"github.com/cairnprof/cairn/internal/calls/quantile"
)

// Part is one of the parts of the time of a trie.
type Part uint8

// The parts.
const (
	Processor Part = iota // functions, without their waits
	Waiting               // waits that are not idle
	Idle                  // waits for work
	parts
)

// PartNames are the names of the parts, as options have them.
var PartNames = [parts]string{"processor", "waiting", "idle"}

func (p Part) String() string {
	return [parts]string{"on a processor", "waiting", "waiting for work, with nothing begun"}[p]
}

// Time returns the time of a part.
func (d *Division) Time(p Part) uint64 {
	switch p {
	case Waiting:
		return d.Waiting()
	case Idle:
		return d.Idle()
	}
	return d.Processor
}

// All returns the time of all parts.
func (d *Division) All() uint64 { return d.Processor + d.Waiting() + d.Idle() }

// Split returns a trie of a part. In that of Processor, the totals of functions lack their waits. In the others
// the function that stands for the wait is the outermost, and below it are the functions that waited, with the
// number of their waits in place of calls.
func (d *Division) Split(p Part) *calltrie.Trie {
	if p == Processor {
		return d.processor()
	}
	out := calltrie.New()
	for id, n := range d.Trie.Nodes() {
		time := n.Idle
		if p == Waiting {
			time = n.Self - min(n.Idle, n.Self)
		}
		if d.of[id] == 0 || time == 0 {
			continue
		}
		wait := id // the node that stands for the wait: a function in it may be known, too
		for d.of[d.Trie.Node(wait).Parent] == d.of[id] {
			wait = d.Trie.Node(wait).Parent
		}
		stack := d.Trie.Stack(d.Trie.Node(wait).Parent)
		inner := d.Trie.Stack(id)[len(stack)+1:]
		at := out.Child(calltrie.Root, d.Trie.Node(wait).Func)
		add := func() {
			s := &out.Node(at).Stats
			s.Calls += n.Calls
			s.Total += time
		}
		add()
		for _, fn := range append(stack, inner...) {
			at = out.Child(at, fn)
			add()
		}
		out.Node(at).Self += time
	}
	return out
}

// processor returns the trie without waits.
func (d *Division) processor() *calltrie.Trie {
	out := calltrie.New()
	where := make([]calltrie.NodeID, d.Trie.Len())
	for id, n := range d.Trie.Nodes() {
		if d.of[id] != 0 {
			continue
		}
		where[id] = out.Child(where[n.Parent], n.Func)
		into := &out.Node(where[id]).Stats
		into.Merge(&n.Stats)
		if waits := min(d.below[id], into.Total); waits > 0 {
			// How long single calls took on a processor is not known.
			into.Total -= waits
			into.Min, into.Max, into.Latency = 0, 0, quantile.Sketch{}
		}
	}
	return out
}

// Package waiting divides the time of a trie of calls in two: time on a processor, and waits by what was waited
// for. Logs of Go programs have waits as functions below the functions that waited (calllog.Func.Wait). Ranked
// together with functions they come first in nearly every program, as most goroutines wait most of the time.
//
// # Idle waits
//
// A part of the waits is idle: the thread waited for work, with nothing begun. A log does not say which these
// are. MarkIdle takes a wait for idle if it is for a channel, the network, a signal, a connection, a condition or an
// event without a name, and directly in the first function of its thread, and if that is a loop that serves: none of its
// calls has returned, and each waited eight times or more. In main these may be fewer, but not those for connections
// and conditions of native programs. All other waits are not idle: in doubt, a wait is ranked.
//
// A wait for other threads, as that of main for its workers, is explained by what these do, and comes behind other waits.
package waiting

import (
	"cmp"
	"slices"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// Of returns what a function waits for, "" for those that do not stand for a wait.
type Of func(calllog.FuncID) string

// Sum is the waits for one thing.
type Sum struct {
	For   string
	Count uint64
	Time  uint64 // in the unit of the trie
	Idle  uint64 // part of Time
	// Most is the function that waited longest, without idle waits, and MostTime how long.
	Most     calllog.FuncID
	MostTime uint64
}

// Division is the time of a trie in parts.
type Division struct {
	Trie      *calltrie.Trie
	Processor uint64 // time outside of waits
	Sums      []Sum  // most time first, waits for other threads behind

	of    []int32  // by node: 1 + index into Sums, 0 outside of waits
	below []uint64 // by node: waits in its calls
}

// Divide divides the time of a trie, or returns nil if nothing in it waits.
func Divide(t *calltrie.Trie, wait Of) *Division {
	d := &Division{Trie: t, of: make([]int32, t.Len()), below: make([]uint64, t.Len())}
	index := make(map[string]int32)
	waited := make(map[int32]map[calllog.FuncID]uint64)
	for id, n := range t.Nodes() {
		at := d.of[n.Parent]
		what := wait(n.Func)
		if what != "" {
			var known bool
			if at, known = index[what]; !known {
				d.Sums = append(d.Sums, Sum{For: what})
				at = int32(len(d.Sums))
				index[what], waited[at] = at, make(map[calllog.FuncID]uint64)
			}
			d.Sums[at-1].Count += n.Calls
		}
		d.of[id] = at
		if at == 0 {
			d.Processor += n.Self
			continue
		}
		s := &d.Sums[at-1]
		s.Time += n.Self
		s.Idle += n.Idle
		d.below[id] += n.Self
		by := n.Func
		if what != "" {
			by = t.Node(n.Parent).Func // 0 for the root
		}
		waited[at][by] += n.Self - min(n.Idle, n.Self)
	}
	if len(d.Sums) == 0 {
		return nil
	}
	for id := calltrie.NodeID(t.Len() - 1); id > calltrie.Root; id-- {
		if parent := t.Node(id).Parent; parent != calltrie.Root {
			d.below[parent] += d.below[id]
		}
	}
	d.finish(waited)
	return d
}

// finish finds who waited longest, and sorts the sums.
func (d *Division) finish(waited map[int32]map[calllog.FuncID]uint64) {
	for at, by := range waited {
		s := &d.Sums[at-1]
		for fn, time := range by {
			if time > s.MostTime || time == s.MostTime && time > 0 && fn < s.Most {
				s.Most, s.MostTime = fn, time
			}
		}
	}
	order := make([]int32, len(d.Sums)) // of old indexes
	for i := range order {
		order[i] = int32(i)
	}
	stablesort.Func(order, func(a, b int32) int {
		x, y := &d.Sums[a], &d.Sums[b]
		return cmp.Or(cmp.Compare(rank(x.For), rank(y.For)), cmp.Compare(y.Time-y.Idle, x.Time-x.Idle), cmp.Compare(y.Time, x.Time), cmp.Compare(x.For, y.For))
	})
	sums, where := make([]Sum, len(order)), make([]int32, len(order)+1)
	for to, from := range order {
		sums[to], where[from+1] = d.Sums[from], int32(to)+1
	}
	d.Sums = sums
	for i := range d.of {
		d.of[i] = where[d.of[i]]
	}
}

// ForThreads reports whether a wait is one for other threads of the program.
func ForThreads(what string) bool {
	return what == calllog.WaitGroup || what == calllog.WaitThreads || what == calllog.WaitProcesses
}

// rank is 1 for waits that come behind others.
func rank(what string) int {
	if ForThreads(what) {
		return 1
	}
	return 0
}

// For returns what the calls of a node are waits for, "" for those of functions.
func (d *Division) For(id calltrie.NodeID) string {
	if at := d.of[id]; at > 0 {
		return d.Sums[at-1].For
	}
	return ""
}

// Waits returns how much of the total of a node was in waits.
func (d *Division) Waits(id calltrie.NodeID) uint64 { return d.below[id] }

// FunctionWaits is the waits of a function.
type FunctionWaits struct {
	Total uint64 // part of its total that was in waits, where calls below calls of the same function count once
	// Self and Calls are the parts of its self time and calls below functions that stand for waits. Execution
	// traces of Go have the function that waits there.
	Self, Calls uint64
	Idle        uint64 // of a function that stands for a wait, see calltrie.Stats
}

// ByFunction returns the waits of each function. d may be nil.
func (d *Division) ByFunction() map[calllog.FuncID]FunctionWaits {
	return d.ByFunctionOf(func(fn calllog.FuncID) calllog.FuncID { return fn })
}

// ByFunctionOf is ByFunction where several ids stand for one function of the source: one returns the id for all.
func (d *Division) ByFunctionOf(one func(calllog.FuncID) calllog.FuncID) map[calllog.FuncID]FunctionWaits {
	waits := make(map[calllog.FuncID]FunctionWaits)
	if d == nil {
		return waits
	}
	outer := d.Trie.Outermost()
	for id, n := range d.Trie.Nodes() {
		fn := one(n.Func)
		w := waits[fn]
		within := n.Parent != calltrie.Root && d.Trie.Node(n.Parent).Func != n.Func && one(d.Trie.Node(n.Parent).Func) == fn
		if outer[id] && !within {
			w.Total += d.below[id]
		}
		if d.of[id] != 0 {
			w.Self += n.Self
			w.Calls += n.Calls
		}
		w.Idle += n.Idle
		waits[fn] = w
	}
	return waits
}

// Waiting returns the time of all waits that are not idle, and Idle that of the others.
func (d *Division) Waiting() (time uint64) {
	for i := range d.Sums {
		time += d.Sums[i].Time - d.Sums[i].Idle
	}
	return time
}

// Idle returns the time of all idle waits.
func (d *Division) Idle() (time uint64) {
	for i := range d.Sums {
		time += d.Sums[i].Idle
	}
	return time
}

// idleFor are what threads wait for that have nothing to do. Locks and sleeps are in the way of work that was
// begun, or were intended: neither can be told from the log.
var idleFor = []string{calllog.WaitChannel, calllog.WaitNetwork, calllog.WaitOther, calllog.WaitSignal, calllog.WaitEvent, calllog.WaitCondition}

// served are what main also waits for when it asks, and not only when it serves.
var served = []string{calllog.WaitEvent, calllog.WaitCondition}

// leastWaits is how often each call of a loop that serves has waited.
const leastWaits = 8

// MarkIdle sets Stats.Idle in the trie of one thread, see the package. Outermost nodes without calls are those of
// functions that started the thread. main reports whether a function is main.
func MarkIdle(t *calltrie.Trie, wait Of, main func(calllog.FuncID) bool) {
	for _, n := range t.Nodes() {
		if n.Self == 0 || n.Parent == calltrie.Root || !slices.Contains(idleFor, wait(n.Func)) {
			continue
		}
		first := t.Node(n.Parent)
		outermost := first.Calls > 0 && wait(first.Func) == ""
		for at := first.Parent; at != calltrie.Root && outermost; at = t.Node(at).Parent {
			outermost = t.Node(at).Calls == 0
		}
		serves := first.Open == first.Calls && n.Calls >= leastWaits*first.Calls
		if outermost && (serves || main(first.Func) && !slices.Contains(served, wait(n.Func))) {
			n.Idle = n.Self
		}
	}
}

package calldb

import (
	"fmt"
	"math"
	"slices"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/calls"
	"github.com/cairnprof/cairn/internal/calls/account"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
)

// Source is a log and what its threads did.
type Source struct {
	Log    calllog.Log
	Result *account.Result // of account.Run
	// SumsOnly says that the log has no single calls.
	SumsOnly bool
}

// Data is what a database is made of.
type Data struct {
	Sources []Source // of one program; all clocks tell nanoseconds, or none does
	Funcs   calllog.Funcs
	Show    func(symbol string) string // the name for people, demangled
	// Replay, if not nil, is how single calls are read from the logs for queries. The
	// logs must stay open then for as long as the database is.
	Replay *account.Options
}

// index gives what is in sources the numbers that both halves know it by.
type index struct {
	unit    string
	threads []thread // of all logs
	// stacks is the trie of all threads; its nodes are the ids of stacks.
	stacks *calltrie.Trie
}

// A thread is one of account's with what to translate its numbers by.
type thread struct {
	*account.Thread
	log    int   // index into the sources,
	index  int   // and into the log's threads
	id     int64 // from 1
	number int64 // to add to the number of a call to make it unique
	start  uint64
	stack  []calltrie.NodeID // id of the stack, by the thread's node
}

func newIndex(sources []Source) (*index, error) {
	x := &index{stacks: calltrie.New()}
	number := int64(0)
	for i, s := range sources {
		info := s.Log.Info()
		unit := info.Clock.Unit()
		if x.unit != "" && unit != x.unit {
			return nil, fmt.Errorf("%s has times in %s, but %s in %s: they cannot be in one database (give the rate of the clock, or one log at a time)",
				sources[0].Log.Info().File, x.unit, info.File, unit)
		}
		x.unit = unit
		for k := range s.Result.Threads {
			t := thread{
				Thread: &s.Result.Threads[k], log: i, index: k, id: int64(len(x.threads) + 1), number: number,
				start: info.Clock.Nanoseconds(info.Clock.Start),
			}
			t.stack = x.stacks.Merge(calltrie.Root, t.Trie, nil)
			number += integer(t.Stats.Enters)
			x.threads = append(x.threads, t)
		}
	}
	return x, nil
}

// of returns the thread of a log.
func (x *index) of(log, k int) *thread {
	i := slices.IndexFunc(x.threads, func(t thread) bool { return t.log == log && t.index == k })
	return &x.threads[i]
}

// call returns the number of a call of the thread, 0 for none.
func (t *thread) call(id uint64) int64 {
	if id == 0 {
		return 0
	}
	return t.number + integer(id)
}

// since returns a time relative to the log's start. A clock that went back can
// make it negative.
func (t *thread) since(time uint64) int64 { return int64(time - t.start) }

// integer returns n as SQL has it. What does not fit, 292 years, is as much as
// fits.
func integer(n uint64) int64 { return int64(min(n, math.MaxInt64)) }

// otherStacks is what the function of calltrie.Other is called.
const otherStacks = "(other stacks)"

// name returns the symbol of a function and what it is called.
func (d *Data) name(fn calllog.FuncID) (symbol, shown string) {
	if fn == calltrie.Other {
		return otherStacks, otherStacks
	}
	symbol = d.Funcs.Name(fn)
	return symbol, d.Show(symbol)
}

// endings are the words for how a call ended.
var endings = [...]string{
	account.Returned: calls.Exit, account.Tail: calls.TailExit, account.Deduced: calls.Deduced, account.Open: calls.StillOpen,
}

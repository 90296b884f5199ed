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

// Source is a log and the results of its threads.
type Source struct {
	Log    calllog.Log
	Result *account.Result // of account.Run
	// SumsOnly says that the log has no single calls.
	SumsOnly bool
}

// Data is the input of a database.
type Data struct {
	Sources []Source // of one program; all clocks have nanoseconds, or none
	Funcs   calllog.Funcs
	Show    func(symbol string) string // the demangled name
	// Replay, if not nil, are the options for reading single calls from the logs for queries. The logs must
	// stay open as long as the database.
	Replay *account.Options
}

// index assigns the numbers that both halves of the database use.
type index struct {
	unit    string
	threads []thread // of all logs
	// stacks is the trie of all threads; its nodes are the ids of stacks.
	stacks *calltrie.Trie
}

// A thread is one of account's, with the translation of its numbers.
type thread struct {
	*account.Thread
	log    int   // index into the sources,
	index  int   // and into the log's threads
	id     int64 // from 1
	number int64 // offset that makes the numbers of calls unique
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
			t.stack = t.MergeInto(x.stacks)
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

// since returns a time relative to the log's start. It can be negative if the clock went back.
func (t *thread) since(time uint64) int64 { return int64(time - t.start) }

// integer returns n as SQL's type, at most 292 years.
func integer(n uint64) int64 { return int64(min(n, math.MaxInt64)) }

// otherStacks is the name of the function calltrie.Other.
const otherStacks = "(other stacks)"

// name returns the symbol of a function and its displayed name.
func (d *Data) name(fn calllog.FuncID) (symbol, shown string) {
	if fn == calltrie.Other {
		return otherStacks, otherStacks
	}
	symbol = d.Funcs.Name(fn)
	return symbol, d.Show(symbol)
}

// endings are the names of the ways a call ended.
var endings = [...]string{
	account.Returned: calls.Exit, account.Tail: calls.TailExit, account.Deduced: calls.Deduced, account.Open: calls.StillOpen,
}

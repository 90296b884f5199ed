package calldb

import (
	"database/sql/driver"
	"encoding/json"
	"errors"
	"iter"
	"slices"

	"modernc.org/sqlite/vtab"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/account"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
)

// The columns of calls, as live.sql has them.
const (
	callID = iota
	callParent
	callLog
	callThread
	callFunc
	callFunction
	callStack
	callDepth
	callBegin
	callEnd
	callDuration
	callSelf
	callEnded
	callCPU
	callArgs
)

// callRow is a call of a thread.
type callRow struct {
	account.Call
	thread *thread
	stack  calltrie.NodeID
}

func (l *live) callsTable() *virtual[callRow] {
	return &virtual[callRow]{
		live: l, schema: declared("calls"), name: callFunction,
		numbers: []int{callID, callParent, callLog, callThread, callFunc, callDepth, callBegin, callEnd, callDuration, callSelf},
		cost:    l.callsCost, scan: l.scanCalls, number: callNumber, value: l.callValue,
		rowid: func(r *callRow) int64 { return callNumber(r, callID) },
	}
}

// callsCost estimates a scan by its calls. Examining a call costs a fraction of making a row of it.
func (l *live) callsCost(info *vtab.IndexInfo, p *plan) {
	look := 1.0
	for i := range l.x.threads {
		look += float64(l.x.threads[i].Stats.Enters)
	}
	all := look
	if p.equal[callThread] {
		look /= float64(len(l.x.threads))
	}
	rows := look
	for _, c := range []int{callBegin, callEnd} {
		if p.below[c] || p.above[c] {
			look, rows = look/4, rows/4
		}
	}
	if p.equal[callFunction] || p.equal[callFunc] {
		rows /= 20
	}
	if p.equal[callParent] {
		look, rows = look/2, min(rows, 10)
	}
	if p.equal[callID] {
		info.IdxFlags |= vtab.IndexScanUnique
		look, rows = min(look, 1e4), 1
	}
	info.EstimatedCost = 1000 + look + 4*rows
	info.EstimatedRows = int64(max(1, min(rows, all)))
}

// scanCalls yields the calls of the wanted threads.
func (l *live) scanCalls(w *want, row func(*callRow) bool) error {
	functions := make(map[calllog.FuncID]bool)
	if w.name != nil {
		for fn := range l.functions() {
			functions[fn] = folded(l.name(fn)) == *w.name
		}
	}
	for i := range l.x.threads {
		th := &l.x.threads[i]
		if !th.mayHave(w) {
			continue
		}
		if err := l.hasCalls(th); err != nil {
			return err
		}
		stack := &stackFinder{all: l.x.stacks, root: th.stack[calltrie.Root]}
		r := callRow{thread: th}
		list, err := l.callsOf(i, w, stack.begin)
		if err != nil {
			return err
		}
		for c, err := range list {
			if c == nil {
				if damage := (*calllog.Damage)(nil); errors.As(err, &damage) {
					continue // it was reported at the first reading of the log
				}
				return err
			}
			if w.name != nil && !functions[c.Func] {
				continue
			}
			r.Call, r.stack = *c, stack.find(c.Node).NodeID
			r.Args = slices.Clone(c.Args)
			if !row(&r) {
				return nil
			}
		}
	}
	return nil
}

// functions yields the functions that calls may have.
func (l *live) functions() iter.Seq[calllog.FuncID] {
	return func(yield func(calllog.FuncID) bool) {
		for fn := range l.data.Funcs {
			if !yield(fn) {
				return
			}
		}
		for _, n := range l.x.stacks.Nodes() {
			if !yield(n.Func) {
				return
			}
		}
	}
}

// mayHave reports whether the thread may have wanted calls.
func (t *thread) mayHave(w *want) bool {
	log, id := int64(t.log+1), t.id
	lo, hi := w.of(callLog)
	if log < lo || log > hi {
		return false
	}
	if lo, hi = w.of(callThread); id < lo || id > hi {
		return false
	}
	first, last := t.number+1, t.number+integer(t.Stats.Enters)
	if lo, hi = w.of(callID); last < lo || first > hi {
		return false
	}
	// A call's caller is in the same thread, and was entered before.
	if lo, hi = w.of(callParent); hi < 0 || lo > 0 && (last < lo || first > hi) {
		return false
	}
	begin, end := t.since(t.First), t.since(t.Last)
	if lo, _ = w.of(callEnd); end < lo {
		return false
	}
	_, hi = w.of(callBegin)
	return begin <= hi && t.Stats.Enters > 0
}

// callsOf yields the calls of a thread, only of the wanted pieces if there are conditions on their position.
func (l *live) callsOf(i int, w *want, begin func(*calltrie.Trie)) (iter.Seq2[*account.Call, error], error) {
	th := &l.x.threads[i]
	if !w.bounded(callID, callParent, callBegin, callEnd) {
		r := account.NewReplay(l.data.Sources[th.log].Log, th.index, l.opt)
		begin(r.Trie())
		return r.All(l.ctx), nil
	}
	p, err := l.piecesOf(i)
	if err != nil {
		return nil, err
	}
	return p.Calls(l.ctx, func(x *account.Piece) bool { return th.pieceMayHave(x, w) }, begin), nil
}

func (t *thread) pieceMayHave(x *account.Piece, w *want) bool {
	first, last := t.call(x.First), t.call(x.Last)
	begin, end := t.since(x.Begin), t.since(x.End)
	lo, hi := w.of(callID)
	if last < lo || first > hi {
		return false
	}
	if lo, _ = w.of(callParent); last < lo {
		return false
	}
	if lo, hi = w.of(callBegin); end < lo || begin > hi {
		return false
	}
	lo, hi = w.of(callEnd)
	return end >= lo && begin <= hi
}

func callNumber(r *callRow, column int) int64 {
	t := r.thread
	switch column {
	case callID:
		return t.call(r.ID)
	case callParent:
		return t.call(r.Parent)
	case callLog:
		return int64(t.log + 1)
	case callThread:
		return t.id
	case callFunc:
		return int64(r.Func)
	case callDepth:
		return int64(r.Depth)
	case callBegin:
		return t.since(r.Start)
	case callEnd:
		return t.since(r.Start + r.Duration)
	case callDuration:
		return integer(r.Duration)
	case callSelf:
		return integer(r.Self)
	}
	return int64(r.CPU)
}

func (l *live) callValue(r *callRow, column int) driver.Value {
	switch column {
	case callFunction:
		return l.name(r.Func)
	case callStack:
		if r.stack == calltrie.Root {
			return nil
		}
		return int64(r.stack)
	case callEnded:
		return endings[r.End]
	case callArgs:
		if r.Args == nil {
			return nil
		}
		text, err := json.Marshal(r.Args)
		if err != nil {
			return nil
		}
		return string(text)
	}
	return callNumber(r, column)
}

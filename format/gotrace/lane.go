package gotrace

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/cairnprof/cairn/calllog"
)

const (
	chunkSize   = 16 << 10 // about
	maxBuffered = 16 << 20 // of all threads
	maxNested   = 64       // regions and ranges of a goroutine
)

// lane is a thread under construction.
type lane struct {
	b       *builder
	tid     uint32
	stackNo uint32
	name    string
	root    string // first function of its goroutines
	others  int    // goroutines that it has besides the first

	nested  []calllog.FuncID // regions and ranges that it is in
	current calllog.FuncID   // state, 0: none
	where   calllog.FuncID   // what waits in it, 0: nothing

	buf    []byte
	began  uint64 // time of the first event in buf
	last   uint64 // of the last one
	chunks []chunk
	bytes  int64
	view   bool // goroutines have its time as well
}

// thread returns the description of the thread.
func (l *lane) thread() calllog.Thread {
	t := calllog.Thread{TID: l.tid, Stack: l.stackNo, Parts: len(l.chunks), Bytes: l.bytes, Name: l.name, View: l.view}
	if l.others > 0 {
		t.Name += fmt.Sprintf(" and %d others", l.others)
	}
	if l.root != "" {
		t.Name += " (" + l.root + ")"
	}
	return t
}

// state changes the state of the thread; 0 is none.
func (l *lane) state(now uint64, state, where calllog.FuncID) {
	if l.current == state && l.where == where {
		return
	}
	l.leave(now)
	l.current, l.where = state, where
	l.resume(now)
}

func (l *lane) leave(now uint64) {
	if l.where != 0 {
		l.add(now, exit, l.where)
	}
	if l.current != 0 {
		l.add(now, exit, l.current)
	}
}

func (l *lane) resume(now uint64) {
	if l.current != 0 {
		l.add(now, enter, l.current)
	}
	if l.where != 0 {
		l.add(now, enter, l.where)
	}
}

// push begins a region or range, in which the state continues.
func (l *lane) push(now uint64, fn calllog.FuncID) {
	if len(l.nested) == maxNested {
		return
	}
	l.leave(now)
	l.nested = append(l.nested, fn)
	l.add(now, enter, fn)
	l.resume(now)
}

// pop ends the innermost region or range of that name. Inner ones continue.
func (l *lane) pop(now uint64, fn calllog.FuncID) {
	at := -1
	for i, x := range l.nested {
		if x == fn {
			at = i
		}
	}
	if at < 0 {
		return // it began before the trace
	}
	l.leave(now)
	for i := len(l.nested) - 1; i >= at; i-- {
		l.add(now, exit, l.nested[i])
	}
	l.nested = slices.Delete(l.nested, at, at+1)
	for _, x := range l.nested[at:] {
		l.add(now, enter, x)
	}
	l.resume(now)
}

// closeAll ends everything that is open in the thread.
func (l *lane) closeAll(now uint64) {
	l.state(now, 0, 0)
	for i := len(l.nested) - 1; i >= 0; i-- {
		l.add(now, exit, l.nested[i])
	}
	l.nested = l.nested[:0]
}

// add adds an event.
func (l *lane) add(now uint64, kind uint64, fn calllog.FuncID) {
	before := len(l.buf)
	if before == 0 {
		l.began, l.last = now, now
	}
	l.buf = binary.AppendUvarint(l.buf, now-l.last)
	l.buf = binary.AppendUvarint(l.buf, uint64(fn.Index())<<2|kind)
	l.last = now
	l.b.buffered += len(l.buf) - before
	switch {
	case len(l.buf) >= chunkSize:
		l.flush()
	case l.b.buffered >= maxBuffered:
		l.b.flushAll()
	}
}

// flush writes the buffer to the spool.
func (l *lane) flush() {
	if len(l.buf) == 0 {
		return
	}
	b := l.b
	if n, err := b.spool.Write(l.buf); err != nil && b.err == nil {
		b.err = err
	} else if b.err == nil {
		l.chunks = append(l.chunks, chunk{b.written, n, l.began})
		l.bytes += int64(n)
		b.written += int64(n)
	}
	b.buffered -= len(l.buf)
	l.buf = nil
}

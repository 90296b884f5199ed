// Package gotrace reads the files that package runtime/trace of Go writes, as logs of calls: the states of
// goroutines, what each processor ran, and when the garbage collector worked or the world was stopped.
//
// A goroutine is a thread. Its outermost calls are the regions and ranges that it is in (trace.WithRegion, "GC
// mark assist"); in them is its state, such as "running" or "waiting: chan receive"; in a wait is the function
// that waits. Texts of trace.Log are custom events. A processor is a stack of thread 0, in which the calls are
// the goroutines that ran, by the function that each began with. Thread 0 itself has the phases of the garbage
// collector and the times in which the world was stopped.
//
// Goroutines beyond the first ones share threads, so that there are no more threads than concurrent goroutines.
package gotrace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"

	"golang.org/x/exp/trace"

	"github.com/cairnprof/cairn/calllog"
)

// Detect reports whether a file that begins with head was written by runtime/trace.
func Detect(head []byte) bool {
	const size = 16
	return len(head) >= size && bytes.HasPrefix(head, []byte("go 1.")) && bytes.Contains(head[:size], []byte(" trace\x00"))
}

// Object is the number of the object that the functions of these logs are in. No program has
// so many objects.
const Object = 254

// maxNames bounds the functions: further ones get the name of the last.
const maxNames = 1 << 20

// Names numbers the functions of logs by name. The zero value is empty. Its methods may be called from several
// goroutines.
type Names struct {
	mu      sync.Mutex
	numbers map[string]uint32
	list    []string
}

func (n *Names) number(name string) calllog.FuncID {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.numbers == nil {
		n.numbers = make(map[string]uint32)
	}
	number, ok := n.numbers[name]
	if !ok {
		if len(n.list) == maxNames {
			name = "(other)"
		}
		n.list = append(n.list, name)
		number = uint32(len(n.list))
		n.numbers[name] = number
	}
	return calllog.MakeFuncID(Object, number)
}

func (n *Names) name(id calllog.FuncID) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if i := int(id.Index()); i > 0 && i <= len(n.list) {
		return n.list[i-1]
	}
	return ""
}

// Add adds the functions to funcs.
func (n *Names) Add(funcs calllog.Funcs) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i, name := range n.list {
		funcs[calllog.MakeFuncID(Object, uint32(i+1))] = calllog.Func{Name: name, Wait: waitOf(name)}
	}
}

// waitOf returns what a goroutine in a state waits for, "" if it does not wait.
func waitOf(state string) string {
	switch reason, waits := strings.CutPrefix(state, "waiting: "); {
	case waits:
		return reason
	case state == "waiting":
		return calllog.WaitOther
	case state == "runnable":
		return calllog.WaitProcessor
	case state == "in a system call":
		return calllog.WaitSystem
	}
	return ""
}

// Spool stores the events of a log by thread.
type Spool interface {
	io.Writer
	io.ReaderAt
}

// chunk is events of a thread in the spool.
type chunk struct {
	offset int64
	size   int
	first  uint64 // time of the first event
}

// Log is an open trace. It implements calllog.Log.
type Log struct {
	info    calllog.Info
	names   *Names
	spool   io.ReaderAt
	threads []calllog.Thread
	chunks  [][]chunk // by thread
}

// Open reads a trace of size bytes. Messages call it name. names numbers its functions, and
// its events go to spool.
func Open(r io.ReaderAt, size int64, name string, names *Names, spool Spool) (*Log, error) {
	in := &counter{r: io.NewSectionReader(r, 0, size)}
	l := &Log{names: names, spool: spool, info: calllog.Info{File: name, Format: "Go execution trace", Size: size, Clock: calllog.Clock{Hz: 1e9}}}
	b := newBuilder(names, spool)
	err := b.all(in)
	if err == nil && b.events == 0 {
		err = errors.New("it has no events")
	}
	if b.events == 0 || b.err != nil {
		return nil, fmt.Errorf("%s: not a readable trace of runtime/trace: %w", name, errors.Join(b.err, err))
	}
	if err != nil {
		l.info.Damage = append(l.info.Damage, &calllog.Damage{File: name, Offset: in.n, Size: size - in.n, What: err.Error()})
	}
	if err := b.finish(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for _, x := range b.sorted() {
		l.threads, l.chunks = append(l.threads, x.thread()), append(l.chunks, x.chunks)
	}
	l.info.Clock.Start = b.first
	if b.mono {
		l.info.Clock.Mono, l.info.Clock.Boot = true, b.boot
	} else {
		l.info.Notes = append(l.info.Notes, "it has no time of the system's clock, as Go 1.25 and later write: its times cannot be compared with those of other logs")
	}
	if b.shared > 0 {
		l.info.Notes = append(l.info.Notes, fmt.Sprintf("%d goroutines are in threads of others that had ended before and began with the same function", b.shared))
	}
	return l, nil
}

// counter counts the bytes that were read.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// Info implements calllog.Log.
func (l *Log) Info() *calllog.Info { return &l.info }

// Threads implements calllog.Log.
func (l *Log) Threads() []calllog.Thread { return slices.Clone(l.threads) }

// PartTime returns when a part begins.
func (l *Log) PartTime(thread, part int) (ticks uint64, ok bool) {
	return l.chunks[thread][part].first, true
}

// Kinds of events in the spool.
const (
	enter = iota
	exit
	text
)

// Batches implements calllog.Log.
func (l *Log) Batches(thread, from, to int) iter.Seq2[*calllog.Batch, error] {
	return func(yield func(*calllog.Batch, error) bool) {
		var batch calllog.Batch
		var buf []byte
		for _, c := range l.chunks[thread][from:to] {
			buf = slices.Grow(buf[:0], c.size)[:c.size]
			if _, err := l.spool.ReadAt(buf, c.offset); err != nil && !errors.Is(err, io.EOF) {
				yield(nil, fmt.Errorf("%s: reading back its events: %w", l.info.File, err))
				return
			}
			batch.Events, batch.Payloads = batch.Events[:0], batch.Payloads[:0]
			l.decode(&batch, buf, c.first)
			if !yield(&batch, nil) {
				return
			}
		}
	}
}

// decode adds the events of a chunk to a batch.
func (l *Log) decode(batch *calllog.Batch, buf []byte, now uint64) {
	for len(buf) > 0 {
		since, n := binary.Uvarint(buf)
		what, m := binary.Uvarint(buf[n:])
		buf = buf[n+m:]
		now += since
		e := calllog.Event{Time: now, Func: calllog.MakeFuncID(Object, uint32(what>>2))}
		switch what & 3 {
		case exit:
			e.Kind = calllog.Exit
		case text:
			batch.Payloads = append(batch.Payloads, calllog.Payload{Data: []byte(l.names.name(e.Func))})
			e.Kind, e.Func, e.Payload = calllog.Custom, 0, uint32(len(batch.Payloads))
		}
		batch.Events = append(batch.Events, e)
	}
}

var _ calllog.Log = (*Log)(nil)

// read reads events to the end of a trace. The reader's checks may panic for forged files.
func read(r io.Reader, take func(*trace.Event)) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("inconsistent events: %v", p)
		}
	}()
	in, err := trace.NewReader(r)
	if err != nil {
		return err
	}
	for {
		e, err := in.ReadEvent()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		take(&e)
	}
}

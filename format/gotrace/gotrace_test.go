package gotrace

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/trace"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	trace2 "golang.org/x/exp/trace"

	"github.com/cairnprof/cairn/calllog"
)

// spool is a spool in memory.
type spool struct{ bytes.Buffer }

func (s *spool) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(s.Bytes()).ReadAt(p, off)
}

func open(data []byte) (*Log, calllog.Funcs, error) {
	var names Names
	l, err := Open(bytes.NewReader(data), int64(len(data)), "trace.out", &names, &spool{})
	funcs := calllog.Funcs{}
	names.Add(funcs)
	return l, funcs, err
}

// call is a call of a log.
type call struct {
	name     string
	from, to uint64
	depth    int
}

// calls returns the calls of a thread, in the order of their ends, and its texts. It fails if an exit is not that of the
// innermost call.
func calls(t *testing.T, l *Log, funcs calllog.Funcs, thread int) (list []call, texts []string) {
	t.Helper()
	var stack []call
	last := uint64(0)
	for b, err := range l.Batches(thread, 0, l.Threads()[thread].Parts) {
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range b.Events {
			if e.Time < last {
				t.Fatalf("%d follows %d", e.Time, last)
			}
			last = e.Time
			switch {
			case e.Kind.IsEnter():
				stack = append(stack, call{name: funcs[e.Func].Name, from: e.Time, depth: len(stack)})
			case e.Kind.IsExit():
				c := stack[len(stack)-1]
				if c.name != funcs[e.Func].Name {
					t.Fatalf("%s ends in %s", funcs[e.Func].Name, c.name)
				}
				c.to = e.Time
				stack, list = stack[:len(stack)-1], append(list, c)
			default:
				texts = append(texts, string(b.Payloads[e.Payload-1].Data))
			}
		}
	}
	return list, texts
}

//go:noinline
func receive(c chan int) int { return <-c }

// measured is what a goroutine of the test measures itself.
type measured struct {
	id     int
	region time.Duration
	waited time.Duration
}

// record returns a trace of goroutines that wait in regions, and what they measure.
func record(t testing.TB) ([]byte, []measured) {
	t.Helper()
	var out bytes.Buffer
	if err := trace.Start(&out); err != nil {
		t.Skip(err) // another test or go test -trace has it
	}
	var wg sync.WaitGroup
	list := make([]measured, 4)
	c := make(chan int)
	for i := range list {
		wg.Go(func() {
			began := time.Now()
			trace.WithRegion(context.Background(), "handle", func() {
				trace.Log(context.Background(), "number", fmt.Sprint(i))
				before := time.Now()
				receive(c)
				list[i] = measured{id: i, waited: time.Since(before)}
			})
			list[i].region = time.Since(began)
		})
	}
	for range list {
		time.Sleep(5 * time.Millisecond)
		c <- 1
	}
	wg.Wait()
	runtime.GC()
	trace.Stop()
	return out.Bytes(), list
}

func TestLog(t *testing.T) {
	before := time.Now()
	data, want := record(t)
	if !Detect(data) {
		t.Fatalf("%q is not detected", data[:16])
	}
	l, funcs, err := open(data)
	if err != nil {
		t.Fatal(err)
	}
	clock := l.Info().Clock
	if !clock.Mono || clock.Boot+int64(clock.Start) < before.UnixNano()-int64(time.Minute) {
		t.Errorf("clock %+v", clock)
	}
	found, collected, stopped := 0, 0, 0
	for i, th := range l.Threads() {
		list, texts := calls(t, l, funcs, i)
		for _, c := range list {
			if th.TID == 0 && th.Stack == 0 {
				switch {
				case c.name == "GC concurrent mark phase":
					collected++
				case strings.HasPrefix(c.name, "stop-the-world (GC"):
					stopped++
				default:
					if !strings.HasPrefix(c.name, "stop-the-world") {
						t.Errorf("%s in %s", c.name, th.Name)
					}
				}
			}
		}
		if len(texts) != 1 {
			continue
		}
		found++
		var id int
		if _, err := fmt.Sscanf(texts[0], "number: %d", &id); err != nil {
			t.Fatal(err)
		}
		check(t, th.Name, list, want[id])
	}
	if found != len(want) || collected == 0 || stopped == 0 {
		t.Errorf("%d goroutines, %d collections, %d stops", found, collected, stopped)
	}
}

// check compares what a trace says of a goroutine with what it measured.
func check(t *testing.T, thread string, list []call, want measured) {
	t.Helper()
	var region, waited, waits time.Duration
	for _, c := range list {
		took := time.Duration(c.to - c.from)
		switch {
		case c.name == "region handle" && c.depth == 0:
			region += took
		case c.name == "waiting: chan receive" && c.depth == 1:
			waited += took
		case strings.HasSuffix(c.name, "gotrace.receive") && c.depth == 2:
			waits += took
		case c.name != "running" && c.name != "runnable" && !strings.HasPrefix(c.name, "waiting") && c.depth < 2:
			t.Errorf("%s: %s at depth %d", thread, c.name, c.depth)
		}
	}
	if region > want.region || region < want.waited || waited > want.waited || waited != waits || waited == 0 {
		t.Errorf("%s: region %v, waited %v, %v of it in receive; measured %+v", thread, region, waited, waits, want)
	}
	if !strings.HasPrefix(thread, "goroutine ") {
		t.Errorf("thread %q", thread)
	}
}

// TestCut reads beginnings of a trace, and one with wrong bytes.
func TestCut(t *testing.T) {
	data, _ := record(t)
	for n := 0; n < len(data); n += 1 + len(data)/60 {
		if l, funcs, err := open(data[:n]); err == nil {
			for i := range l.Threads() {
				calls(t, l, funcs, i)
			}
		}
	}
	if _, _, err := open([]byte("go 1.26 trace\x00\x00\x00")); err == nil {
		t.Error("an empty trace was opened")
	}
}

// TestShared gives goroutines the threads of goroutines that have ended.
func TestShared(t *testing.T) {
	var out bytes.Buffer
	if err := trace.Start(&out); err != nil {
		t.Skip(err)
	}
	for range 3 * maxOwn {
		done := make(chan bool)
		go func() { close(done) }()
		<-done
	}
	trace.Stop()
	l, funcs, err := open(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if n := len(l.Threads()); n < maxOwn || n > 2*maxOwn {
		t.Errorf("%d threads", n)
	}
	for i := range l.Threads() {
		calls(t, l, funcs, i)
	}
	if len(l.Info().Notes) == 0 {
		t.Error("nothing is said of shared threads")
	}
}

func FuzzOpen(f *testing.F) {
	files, err := filepath.Glob("testdata/*.trace")
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l, _, err := open(data)
		if err != nil {
			return
		}
		for i, th := range l.Threads() {
			last := uint64(0)
			for b, err := range l.Batches(i, 0, th.Parts) {
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range b.Events {
					if e.Time < last || e.Kind.IsEnter() && e.Func.Index() == 0 {
						t.Fatalf("%+v after %d", e, last)
					}
					last = e.Time
				}
			}
		}
	})
}

func BenchmarkOpen(b *testing.B) {
	data, _ := record(b)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, _, err := open(data); err != nil {
			b.Fatal(err)
		}
	}
}

// TestActive checks a range of which later parts of a trace repeat that it is active.
func TestActive(t *testing.T) {
	t.Parallel()
	var names Names
	var s spool
	b := newBuilder(&names, &s)
	for i, kind := range []trace2.EventKind{trace2.EventRangeBegin, trace2.EventRangeActive, trace2.EventRangeEnd, trace2.EventRangeActive, trace2.EventRangeEnd} {
		e, err := trace2.MakeEvent(trace2.EventConfig[trace2.Range]{
			Time: trace2.Time(1000 * (i + 1)), Kind: kind, Goroutine: trace2.NoGoroutine, Proc: trace2.NoProc, Thread: trace2.NoThread,
			Details: trace2.Range{Name: "GC concurrent mark phase"},
		})
		if err != nil {
			t.Fatal(err)
		}
		b.event(&e)
	}
	if err := b.finish(); err != nil {
		t.Fatal(err)
	}
	l := &Log{names: &names, spool: &s}
	for _, x := range b.sorted() {
		l.threads, l.chunks = append(l.threads, x.thread()), append(l.chunks, x.chunks)
	}
	funcs := calllog.Funcs{}
	names.Add(funcs)
	list, _ := calls(t, l, funcs, 0)
	const name = "GC concurrent mark phase"
	if want := []call{{name, 1000, 3000, 0}, {name, 4000, 5000, 0}}; !slices.Equal(list, want) {
		t.Errorf("got %v, want %v", list, want)
	}
}

package gotrace

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"golang.org/x/exp/trace"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// maxOwn is the number of goroutines with their own thread. Further goroutines get the thread of an ended one
// that began with the same function.
const maxOwn = 1000

// builder makes the threads of a trace.
type builder struct {
	names *Names
	spool io.Writer
	err   error // of the spool

	world      *lane
	procs      map[trace.ProcID]*lane
	goroutines map[trace.GoID]*goroutine
	lanes      []*lane
	free       map[string][]*lane // of goroutines that have ended, by their first function
	own        int
	shared     int

	written  int64 // bytes in the spool
	buffered int   // bytes in buffers of lanes
	events   uint64
	first    uint64
	last     uint64
	offset   uint64 // offset from times of the trace to those of the system
	mono     bool
	boot     int64
}

// goroutine is a live goroutine.
type goroutine struct {
	lane *lane
	proc *lane  // that it runs on, nil if it does not run
	root string // its first function, "" if not known
}

func newBuilder(names *Names, spool io.Writer) *builder {
	b := &builder{names: names, spool: spool, procs: map[trace.ProcID]*lane{}, goroutines: map[trace.GoID]*goroutine{}, free: map[string][]*lane{}}
	b.world = b.newLane(0, 0, "garbage collector and stops of the world")
	return b
}

func (b *builder) newLane(tid, stack uint32, name string) *lane {
	l := &lane{b: b, tid: tid, stackNo: stack, name: name}
	b.lanes = append(b.lanes, l)
	return l
}

// all reads a trace.
func (b *builder) all(r io.Reader) error { return read(r, b.event) }

// event handles an event.
func (b *builder) event(e *trace.Event) {
	now := uint64(e.Time()) + b.offset
	if e.Kind() == trace.EventSync {
		if s := e.Sync().ClockSnapshot; s != nil {
			b.offset = s.Mono - uint64(s.Trace)
			b.mono, b.boot = true, s.Wall.UnixNano()-int64(s.Mono)
		}
		return
	}
	if b.events == 0 {
		b.first, b.last = now, now
	}
	b.events++
	now = max(now, b.last) // clocks of processors may differ a little
	b.last = now
	switch e.Kind() {
	case trace.EventStateTransition:
		b.transition(now, e)
	case trace.EventRangeBegin:
		b.rangeOf(e, func(l *lane, fn calllog.FuncID) { l.push(now, fn) })
	case trace.EventRangeActive: // it began before the trace, or each part of the trace says so again
		b.rangeOf(e, func(l *lane, fn calllog.FuncID) {
			if !slices.Contains(l.nested, fn) {
				l.push(now, fn)
			}
		})
	case trace.EventRangeEnd:
		b.rangeOf(e, func(l *lane, fn calllog.FuncID) { l.pop(now, fn) })
	case trace.EventRegionBegin:
		b.goroutine(e.Goroutine()).lane.push(now, b.names.number("region "+cut(e.Region().Type)))
	case trace.EventRegionEnd:
		b.goroutine(e.Goroutine()).lane.pop(now, b.names.number("region "+cut(e.Region().Type)))
	case trace.EventLog:
		log := e.Log()
		message := log.Message
		if log.Category != "" {
			message = log.Category + ": " + message
		}
		b.goroutine(e.Goroutine()).lane.add(now, text, b.names.number(cut(message)))
	}
}

// cut bounds a text.
func cut(s string) string { return s[:min(len(s), 200)] }

// rangeOf calls do for the threads in which a range is shown.
func (b *builder) rangeOf(e *trace.Event, do func(*lane, calllog.FuncID)) {
	r := e.Range()
	fn := b.names.number(cut(r.Name))
	switch r.Scope.Kind {
	case trace.ResourceNone:
		do(b.world, fn)
	case trace.ResourceProc:
		do(b.proc(r.Scope.Proc()), fn)
	case trace.ResourceGoroutine:
		do(b.goroutine(r.Scope.Goroutine()).lane, fn)
		if strings.HasPrefix(r.Name, "stop-the-world") {
			do(b.world, fn)
		}
	}
}

func (b *builder) proc(id trace.ProcID) *lane {
	l := b.procs[id]
	if l == nil {
		l = b.newLane(0, uint32(id)+1, fmt.Sprintf("processor %d", id))
		l.view = true
		b.procs[id] = l
	}
	return l
}

// goroutine returns a goroutine, creating it if it is new.
func (b *builder) goroutine(id trace.GoID) *goroutine {
	g := b.goroutines[id]
	if g == nil {
		g = b.begin(id, "")
	}
	return g
}

// begin gives a goroutine a thread.
func (b *builder) begin(id trace.GoID, root string) *goroutine {
	g := &goroutine{root: root}
	if list := b.free[root]; len(list) > 0 && b.own >= maxOwn {
		g.lane = list[len(list)-1]
		b.free[root] = list[:len(list)-1]
		g.lane.others++
		b.shared++
	} else {
		b.own++
		g.lane = b.newLane(uint32(id), 0, fmt.Sprintf("goroutine %d", id))
	}
	g.lane.root = cmp.Or(root, g.lane.root)
	b.goroutines[id] = g
	return g
}

// end removes a goroutine.
func (b *builder) end(id trace.GoID, g *goroutine) {
	delete(b.goroutines, id)
	if len(b.free) < maxOwn || b.free[g.root] != nil {
		b.free[g.root] = append(b.free[g.root], g.lane)
	}
}

// transition handles a change of a goroutine's state.
func (b *builder) transition(now uint64, e *trace.Event) {
	s := e.StateTransition()
	if s.Resource.Kind != trace.ResourceGoroutine {
		return
	}
	id := s.Resource.Goroutine()
	from, to := s.Goroutine()
	if from == to && b.goroutines[id] != nil {
		return // each part of the trace says it again
	}
	if from == trace.GoNotExist {
		b.begin(id, rootOf(s.Stack))
	}
	g := b.goroutine(id)
	if g.root == "" {
		g.root = rootOf(s.Stack) // of a goroutine older than the trace
		g.lane.root = cmp.Or(g.lane.root, g.root)
	}
	if g.proc != nil {
		g.proc.state(now, 0, 0)
		g.proc = nil
	}
	var state, where calllog.FuncID
	switch to {
	case trace.GoRunning:
		state = b.names.number("running")
		if p := e.Proc(); p != trace.NoProc {
			g.proc = b.proc(p)
			g.proc.state(now, b.names.number("runs "+cmp.Or(g.root, "a goroutine")), 0)
		}
	case trace.GoRunnable:
		state = b.names.number("runnable")
	case trace.GoSyscall:
		state, where = b.names.number("in a system call"), b.place(s.Stack)
	case trace.GoWaiting:
		reason := "waiting"
		if s.Reason != "" {
			reason += ": " + cut(s.Reason)
		}
		state, where = b.names.number(reason), b.place(s.Stack)
	}
	g.lane.state(now, state, where)
	if to == trace.GoNotExist {
		g.lane.closeAll(now)
		b.end(id, g)
	}
}

// rootOf returns the outermost function of a stack.
func rootOf(s trace.Stack) (name string) {
	for f := range s.Frames() {
		name = f.Func
	}
	return cut(name)
}

// place returns the function of the program that waits: the innermost outside the runtime and the packages that
// synchronize and read for others; 0 if there is none.
func (b *builder) place(s trace.Stack) calllog.FuncID {
	for f := range s.Frames() {
		pkg := f.Func
		if slash := strings.LastIndexByte(pkg, '/'); slash >= 0 {
			pkg = pkg[:slash] // internal/poll, runtime/trace
		} else if dot := strings.IndexByte(pkg, '.'); dot >= 0 {
			pkg = pkg[:dot]
		}
		switch first, _, _ := strings.Cut(pkg, "/"); first {
		case "runtime", "sync", "syscall", "internal", "time", "":
		default:
			return b.names.number(cut(f.Func))
		}
	}
	return 0
}

// finish ends everything that is open, and writes the buffers.
func (b *builder) finish() error {
	for _, l := range b.lanes {
		l.state(b.last, 0, 0)
		l.flush()
	}
	return b.err
}

// sorted returns the threads that have events, in the order of calllog.
func (b *builder) sorted() []*lane {
	list := slices.DeleteFunc(b.lanes, func(l *lane) bool { return len(l.chunks) == 0 })
	stablesort.Func(list, func(x, y *lane) int {
		return cmp.Or(cmp.Compare(x.tid, y.tid), cmp.Compare(x.stackNo, y.stackNo))
	})
	return list
}

// flushAll writes all buffers when their total is too large.
func (b *builder) flushAll() {
	for _, l := range b.lanes {
		l.flush()
	}
	for _, root := range slices.Collect(maps.Keys(b.free)) {
		if len(b.free[root]) == 0 {
			delete(b.free, root)
		}
	}
}

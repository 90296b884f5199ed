// Package firefoxprofile writes the "processed profile" format of the Firefox Profiler
// (https://profiler.firefox.com). It is pure.
//
// The format is described by the types of the viewer's source
// (https://github.com/firefox-devtools/profiler/blob/main/src/types/profile.ts) and the changes between its
// versions (docs-developer/CHANGELOG-formats.md there). Files have version 57, which the viewer converts to its
// own.
//
// All tables are objects with a list for each column, and refer to each other by index:
//
//	{"meta":{"preprocessedProfileVersion":57,...},"libs":[],"threads":[
//	{"name":"thread 7","pid":"7","tid":7,...,
//	"samples":{"stack":[0,1],"time":[0,0.5],"weight":[0.5,2],"weightType":"tracing-ms","length":2},
//	"stackTable":{"prefix":[null,0],"frame":[0,1],"length":2},
//	"frameTable":{"func":[0,1],...},"funcTable":{"name":[0,1],...},...}
//	],"shared":{"stringArray":["main","work"]}}
//
// A thread's data is a list of samples, one whenever its stack changes: the stack, the time, and as the weight
// the time until the next change. The sums of weights are thus exact. Times are milliseconds, with a fraction
// down to the nanosecond.
package firefoxprofile

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/internal/jsontext"
)

// MaxSamples is the maximum number of changes of a thread's stack. The columns of a thread are in memory while
// it is written, and the viewer cannot show more.
const MaxSamples = 20_000_000

const version = 57

// Function is a function.
type Function struct {
	Name string
	File string // "" if not known
	Line int    // 0 if not known
}

// Meta is the metadata of a file.
type Meta struct {
	Product string // what was recorded
	Program string // what writes the file
	Start   uint64 // in nanoseconds since 1970, 0 if not known
}

// Writer writes a file. It keeps the first error of the underlying writer, which Close returns.
type Writer struct {
	w       *bufio.Writer
	strings map[string]int
	order   []string
	funcs   []Function
	threads int
	t       *thread // nil between threads
}

// thread is the current thread.
type thread struct {
	name, process string
	pid, tid      uint32

	frames map[int]int    // of functions: the index in the tables of the thread
	funcs  []int          // of the tables
	stacks map[[2]int]int // of a prefix and a frame
	prefix []int
	frame  []int

	open []int  // stacks that are open, outermost first
	last uint64 // time of the last change
	any  bool   // there was a change
	bare bool   // the innermost call is in no sample

	samples              int
	stack, times, weight []byte // columns
	markers              int
	markName, markTime   []byte
}

// NewWriter begins a file.
func NewWriter(w io.Writer, m Meta) *Writer {
	x := &Writer{w: bufio.NewWriterSize(w, 64<<10), strings: map[string]int{}}
	x.w.WriteString(`{"meta":{"interval":1,"startTime":` + string(milliseconds(nil, m.Start)) + `,"processType":0,"product":`)
	x.w.Write(jsontext.Quote(m.Product))
	x.w.WriteString(`,"stackwalk":1,"debug":false,"version":31,"preprocessedProfileVersion":` + strconv.Itoa(version) +
		`,"symbolicated":true,"symbolicationNotSupported":true,"importedFrom":` + string(jsontext.Quote(m.Program)) + `,"usesOnlyOneStackType":true,"sourceCodeIsNotOnSearchfox":true,` +
		`"markerSchema":[],"categories":[{"name":"Other","color":"grey","subcategories":["Other"]}],` +
		`"sampleUnits":{"time":"ms","eventDelay":"ms","threadCPUDelta":"ns"}},"libs":[],"threads":[`)
	return x
}

// Function registers a function and returns its number.
func (x *Writer) Function(f Function) int {
	x.funcs = append(x.funcs, f)
	return len(x.funcs) - 1
}

// Thread begins a thread. Calls up to the next Thread belong to it.
func (x *Writer) Thread(pid, tid uint32, process, name string) error {
	x.endThread()
	x.t = &thread{name: name, process: process, pid: pid, tid: tid, frames: map[int]int{}, stacks: map[[2]int]int{}}
	return nil
}

// Begin begins a call. Times do not decrease within a thread.
func (x *Writer) Begin(at uint64, fn int) error {
	t := x.t
	err := t.change(at)
	f, ok := t.frames[fn]
	if !ok {
		f = len(t.funcs)
		t.frames[fn] = f
		t.funcs = append(t.funcs, fn)
	}
	parent := -1
	if n := len(t.open); n > 0 {
		parent = t.open[n-1]
	}
	key := [2]int{parent, f}
	s, ok := t.stacks[key]
	if !ok {
		s = len(t.prefix)
		t.stacks[key] = s
		t.prefix, t.frame = append(t.prefix, parent), append(t.frame, f)
	}
	t.open, t.bare = append(t.open, s), true
	return err
}

// End ends the innermost call, which must exist.
func (x *Writer) End(at uint64) error {
	t := x.t
	err := t.change(at)
	if t.bare && err == nil { // it took no time, but is shown
		err = t.sample(at, 0)
	}
	t.open, t.bare = t.open[:len(t.open)-1], false
	return err
}

// Marker writes an event without duration.
func (x *Writer) Marker(at uint64, name string) error {
	t := x.t
	if t.markers == MaxSamples {
		return tooMany("events")
	}
	t.markName = strconv.AppendInt(comma(t.markName), int64(x.string(name)), 10)
	t.markTime = milliseconds(comma(t.markTime), at)
	t.markers++
	return nil
}

func tooMany(what string) error {
	return fmt.Errorf("a thread has more than %d %s, which the Firefox Profiler cannot show: write a part, or another format", MaxSamples, what)
}

// change records the time until now for the stack so far.
func (t *thread) change(at uint64) error {
	from := t.last
	was := t.any
	t.last, t.any = max(at, t.last), true
	if !was || at <= from {
		return nil
	}
	t.bare = false
	return t.sample(from, at-from)
}

func (t *thread) sample(at, weight uint64) error {
	if t.samples == MaxSamples {
		return tooMany("changes of its stack")
	}
	t.samples++
	t.stack = comma(t.stack)
	if n := len(t.open); n > 0 {
		t.stack = strconv.AppendInt(t.stack, int64(t.open[n-1]), 10)
	} else {
		t.stack = append(t.stack, "null"...)
	}
	t.times = milliseconds(comma(t.times), at)
	t.weight = milliseconds(comma(t.weight), weight)
	return nil
}

func comma(b []byte) []byte {
	if len(b) > 0 {
		return append(b, ',')
	}
	return b
}

// milliseconds appends nanoseconds as milliseconds.
func milliseconds(b []byte, ns uint64) []byte {
	const per = 1_000_000
	b = strconv.AppendUint(b, ns/per, 10)
	if rest := ns % per; rest > 0 {
		b = append(b, '.')
		digits := strconv.FormatUint(per+rest, 10)[1:]
		b = append(b, strings.TrimRight(digits, "0")...)
	}
	return b
}

func (x *Writer) string(s string) int {
	n, ok := x.strings[s]
	if !ok {
		n = len(x.order)
		x.strings[s] = n
		x.order = append(x.order, s)
	}
	return n
}

// endThread writes the current thread.
func (x *Writer) endThread() {
	t := x.t
	if t == nil {
		return
	}
	x.t = nil
	if x.threads++; x.threads > 1 {
		x.w.WriteByte(',')
	}
	x.w.WriteString("\n" + `{"name":`)
	x.w.Write(jsontext.Quote(t.name))
	x.w.WriteString(`,"processName":`)
	x.w.Write(jsontext.Quote(t.process))
	fmt.Fprintf(x.w, `,"processType":"default","processStartupTime":0,"processShutdownTime":null,"registerTime":0,"unregisterTime":null,`+
		`"pausedRanges":[],"isMainThread":%t,"pid":"%d","tid":%d,`, t.pid == t.tid, t.pid, t.tid)
	x.table("samples", t.samples, column{"stack", t.stack}, column{"time", t.times}, column{"weight", t.weight})
	x.w.WriteString(`,"weightType":"tracing-ms"},`)
	x.table("markers", t.markers, column{"data", repeat("null", t.markers)}, column{"name", t.markName}, column{"startTime", t.markTime},
		column{"endTime", repeat("null", t.markers)}, column{"phase", repeat("0", t.markers)}, column{"category", repeat("0", t.markers)})
	x.w.WriteString("},")
	x.table("stackTable", len(t.prefix), column{"prefix", orNull(t.prefix, -1)}, column{"frame", orNull(t.frame, -1)})
	x.w.WriteString("},")
	x.functions(t)
	x.table("resourceTable", 0, column{"lib", nil}, column{"name", nil}, column{"host", nil}, column{"type", nil})
	x.w.WriteString("},")
	x.table("nativeSymbols", 0, column{"libIndex", nil}, column{"address", nil}, column{"name", nil}, column{"functionSize", nil})
	x.w.WriteString("}}")
}

// functions writes the tables of frames and functions, one frame for each function.
func (x *Writer) functions(t *thread) {
	n := len(t.funcs)
	var index, names, files, lines []int
	for i, fn := range t.funcs {
		f := &x.funcs[fn]
		index, names = append(index, i), append(names, x.string(f.Name))
		file := -1
		if f.File != "" {
			file = x.string(f.File)
		}
		files, lines = append(files, file), append(lines, f.Line)
	}
	null := repeat("null", n)
	x.table("frameTable", n, column{"address", repeat("-1", n)}, column{"inlineDepth", repeat("0", n)}, column{"category", repeat("0", n)}, column{"subcategory", repeat("0", n)},
		column{"func", orNull(index, -1)}, column{"nativeSymbol", null}, column{"innerWindowID", repeat("0", n)}, column{"line", orNull(lines, 0)}, column{"column", null})
	x.w.WriteString("},")
	no := repeat("false", n)
	x.table("funcTable", n, column{"name", orNull(names, -1)}, column{"isJS", no}, column{"relevantForJS", no}, column{"resource", repeat("-1", n)},
		column{"fileName", orNull(files, -1)}, column{"lineNumber", orNull(lines, 0)}, column{"columnNumber", null})
	x.w.WriteString("},")
}

// column is a column of a table: its values with commas between.
type column struct {
	name   string
	values []byte
}

// table writes a table without its end.
func (x *Writer) table(name string, length int, columns ...column) {
	x.w.WriteString(`"` + name + `":{"length":` + strconv.Itoa(length))
	for _, c := range columns {
		x.w.WriteString(`,"` + c.name + `":[`)
		x.w.Write(c.values)
		x.w.WriteByte(']')
	}
}

func repeat(value string, n int) []byte {
	if n == 0 {
		return nil
	}
	return []byte(strings.Repeat(","+value, n)[1:])
}

// orNull returns numbers, with null for none.
func orNull(list []int, none int) (b []byte) {
	for _, n := range list {
		b = comma(b)
		if n == none {
			b = append(b, "null"...)
		} else {
			b = strconv.AppendInt(b, int64(n), 10)
		}
	}
	return b
}

// Close ends the file. All calls must have ended.
func (x *Writer) Close() error {
	x.endThread()
	x.w.WriteString("\n" + `],"shared":{"stringArray":[`)
	for i, s := range x.order {
		if i > 0 {
			x.w.WriteByte(',')
		}
		x.w.WriteByte('\n')
		x.w.Write(jsontext.Quote(s))
	}
	x.w.WriteString("\n]}}\n")
	return x.w.Flush()
}

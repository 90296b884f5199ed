//go:build cairn

package mark

import (
	"runtime"
	"time"
)

// maxFrames bounds the stack of a spike.
const maxFrames = 128

// call is an entry of a stack and what the log needs of it.
type call struct {
	Call
	level   int  // of its span, -1: it has none
	inlined bool // inlined into the next entry
}

// resolve returns the function of a return address.
func resolve(pc uintptr) Call {
	f, _ := runtime.CallersFrames([]uintptr{pc}).Next()
	return Call{Name: f.Function, File: f.File, Line: f.Line, PC: pc}
}

// trail returns the stack of the goroutine from span i outwards. Spans are found on
// it by their functions.
func (st *stack) trail(i int, end int64) []call { return st.match(callers(), i, end, false) }

// callers returns the stack of the goroutine, ours first.
func callers() []call {
	var pcs [maxFrames]uintptr
	n := runtime.Callers(3, pcs[:])
	frames := make([]call, 0, n)
	walk := runtime.CallersFrames(pcs[:n])
	for k := range n {
		f, more := walk.Next()
		frames = append(frames, call{
			Call:  Call{Name: f.Function, File: f.File, Line: f.Line, PC: pcs[k]},
			level: -1, inlined: f.Func == nil,
		})
		if !more {
			break
		}
	}
	return frames
}

// match assigns the spans from i outwards to frames. The spans of one function are adjacent; a section becomes
// a separate entry, and so does a span whose function is not found. Frames before the first are ours, unless
// inner is set.
func (st *stack) match(frames []call, i int, end int64, inner bool) []call {
	var out []call
	at := 0
	for level := i; level >= 0; level-- {
		e := &st.spans[level]
		mine := resolve(e.pc)
		found := at
		for found < len(frames) && frames[found].Name != mine.Name {
			found++
		}
		if found == len(frames) && level < i {
			continue // its function has returned: it was never ended
		}
		if found < len(frames) {
			if level < i || inner {
				out = append(out, frames[at:found]...)
			}
			at = found
			mine = frames[found].Call
		}
		lo, hi := st.lasted(e, end)
		mine.Min, mine.Max = time.Duration(lo), time.Duration(hi)
		entry := call{Call: mine, level: level}
		if found < len(frames) {
			entry.inlined = frames[found].inlined
		}
		switch {
		case e.name != "":
			entry.Name, entry.Section, entry.inlined = e.name, true, false
		case found < len(frames):
			at = found + 1
		}
		out = append(out, entry)
	}
	return append(out, frames[min(at, len(frames)):]...)
}

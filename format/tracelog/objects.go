package tracelog

import (
	"math"
	"sync"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/tracelog/wire"
)

// windowShift is the size of what one object number stands for: 24 bits of
// functions, each aligned to 4 bytes.
const windowShift = 26

// noObject is the number for addresses in no known module, and for modules beyond the available numbers. The
// number one less is used by format/gotrace.
const noObject = 255

// Object is a piece of a program or shared object that has a number. It has the
// functions from address Low in its file to Low + 64 MiB.
type Object struct {
	Number  uint8
	Path    string
	BuildID string // its bytes, "" if it has none
	Low     uint64
}

// Function returns the number of the function at an address in the file, which
// must be in the object.
func (o *Object) Function(addr uint64) calllog.FuncID {
	return calllog.MakeFuncID(o.Number, uint32((addr-o.Low)>>2))
}

// Holds reports whether an address in the file is in the object.
func (o *Object) Holds(addr uint64) bool { return addr >= o.Low && addr-o.Low < 1<<windowShift }

// Objects numbers the modules of logs: a program in several logs has one number. The zero value is empty. Its
// methods may be called from several goroutines.
type Objects struct {
	mu   sync.Mutex
	list []Object
}

// List returns the objects, ascending by number.
func (o *Objects) List() []Object {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]Object(nil), o.list...)
}

// number returns the number of the piece of m that begins at low.
func (o *Objects) number(m *Module, low uint64) uint8 {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, x := range o.list {
		if x.Low == low && x.BuildID == string(m.BuildID) && (x.BuildID != "" || x.Path == m.Path) {
			return x.Number
		}
	}
	if len(o.list) == noObject-1 {
		return noObject
	}
	n := uint8(len(o.list))
	o.list = append(o.list, Object{n, m.Path, string(m.BuildID), low})
	return n
}

// span is a piece of a module by the low halves of its addresses in a process.
type span struct {
	low, size uint32
	object    uint8
	within    uint32 // offset of its start in the object
	path      string
	from, to  uint64 // in the clock of the events; to: 0 if it was never unloaded
}

func (s *span) function(low uint32) calllog.FuncID {
	return calllog.MakeFuncID(s.object, (low-s.low+s.within)>>2)
}

// maxSpans bounds the pieces of all modules of a log: 256 GiB of code.
const maxSpans = 1 << 12

// place cuts the modules into pieces that have numbers, the executable first.
func (e *Events) place(objects *Objects) {
	for _, main := range []bool{true, false} {
		for i := range e.Modules {
			if m := &e.Modules[i]; m.Main == main && m.Instrumented {
				e.placeModule(m, objects)
			}
		}
	}
}

func (e *Events) placeModule(m *Module, objects *Objects) {
	const window = 1 << windowShift
	from, to := e.ticksOf(m.Time), uint64(0)
	if m.Unloaded != 0 {
		to, e.reloads = e.ticksOf(m.Unloaded), true
	}
	for at := m.Start; at < m.End && len(e.spans) < maxSpans; {
		addr := at - m.Bias // in the file
		low := addr &^ (window - 1)
		size := min(m.End-at, low+window-addr)
		e.spans = append(e.spans, span{uint32(at), uint32(size), objects.number(m, low), uint32(addr - low), m.Path, from, to})
		at += size
	}
}

// ticksOf returns a time in the clock of the events.
func (e *Events) ticksOf(ns uint64) uint64 {
	if e.Header.Mode != wire.ModeTrace || ns == math.MaxUint64 {
		return ns
	}
	return (ns-min(ns, e.Header.Monotonic))/e.Header.clockUnit() + 1
}

// span returns the piece that the low half of an address was in at a time: the one that was loaded last, if several
// modules were there one after the other. If there is none, it returns a piece of the address alone, without an
// object.
func (e *Events) span(low uint32, now uint64) span {
	found := span{low: low, size: 1, object: noObject, within: low}
	for i := range e.spans {
		s := &e.spans[i]
		if low-s.low >= s.size {
			continue
		}
		if !e.reloads {
			return *s
		}
		if found.object == noObject || s.holds(now) && (!found.holds(now) || s.from > found.from) {
			found = *s
		}
	}
	return found
}

// holds reports whether the module was loaded at a time.
func (s *span) holds(now uint64) bool { return now >= s.from && (s.to == 0 || now <= s.to) }

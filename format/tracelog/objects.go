package tracelog

import (
	"sync"

	"github.com/cairnprof/cairn/calllog"
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
	for at := m.Start; at < m.End && len(e.spans) < maxSpans; {
		addr := at - m.Bias // in the file
		low := addr &^ (window - 1)
		size := min(m.End-at, low+window-addr)
		e.spans = append(e.spans, span{uint32(at), uint32(size), objects.number(m, low), uint32(addr - low), m.Path})
		at += size
	}
}

// span returns the piece that the low half of an address is in, or one of the
// address alone that has no object.
func (e *Events) span(low uint32) span {
	for i := range e.spans {
		if low-e.spans[i].low < e.spans[i].size {
			return e.spans[i]
		}
	}
	return span{low: low, size: 1, object: noObject, within: low}
}

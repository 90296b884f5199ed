package profgen

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cairnprof/cairn/format/sampleprof"
	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/binary/objfile"
)

// DebugInfo is the debug information of a binary.
type DebugInfo struct {
	Lines  *objfile.LineTable
	Scopes *objfile.ScopeTable
	// FS reports that discriminators are flow-sensitive. Either all binaries have them or
	// none.
	FS bool
}

// Lines has the source locations of the instructions of a run, with inlined functions. It is
// safe for concurrent use.
type Lines struct {
	code *machinecode.Set
	info []DebugInfo // parallel to the binaries
	fs   bool

	// stacks has, for each Ref, the number of its stack of inlined functions, one more than
	// Inlined returns; 0 is not computed yet.
	stacks []atomic.Uint32
	mu     sync.Mutex
	ids    map[inlinedCall]uint32
}

// inlinedCall is a stack of inlined functions: another stack and a call at its end.
type inlinedCall struct {
	stack  uint32
	caller string
	at     sampleprof.Place
}

const noInlining = 1 // the number of the stack without inlined functions

// NewLines returns the locations in debug information; info is parallel to the binaries of
// code.
func NewLines(code *machinecode.Set, info []DebugInfo) *Lines {
	fs := slices.ContainsFunc(info, func(d DebugInfo) bool { return d.FS })
	return &Lines{code: code, info: info, fs: fs, stacks: make([]atomic.Uint32, code.Len()), ids: map[inlinedCall]uint32{}}
}

// Inlined implements unwind.Inlining.
func (l *Lines) Inlined(r ref) uint32 {
	if !r.IsInstruction() {
		return 0
	}
	if id := l.stacks[r].Load(); id != 0 {
		return id - 1
	}
	frames := l.at(r)
	l.mu.Lock()
	defer l.mu.Unlock()
	id := uint32(0)
	if len(frames) > 0 {
		id = noInlining
		for _, f := range frames[:len(frames)-1] {
			key := inlinedCall{id, f.Func, f.Call}
			next, ok := l.ids[key]
			if !ok {
				next = noInlining + 1 + uint32(len(l.ids))
				l.ids[key] = next
			}
			id = next
		}
	}
	l.stacks[r].Store(id + 1)
	return id
}

// at returns the frames of an instruction, the function first, then inlined functions.
// Locations have DWARF's discriminators. The result is empty if nothing is known.
func (l *Lines) at(r ref) []sampleprof.Frame {
	info, addr := l.of(r), l.code.Address(r)
	if info.Scopes == nil || info.Lines == nil {
		return nil
	}
	var row objfile.Row
	for x := range info.Lines.Rows(addr, addr+1) {
		row = x
	}
	scopes := info.Scopes.At(addr)
	frames := make([]sampleprof.Frame, len(scopes))
	for i := range scopes {
		line, discriminator := row.Line, row.Discriminator
		if i+1 < len(scopes) {
			line, discriminator = scopes[i+1].CallLine, scopes[i+1].CallDiscriminator
		}
		frames[i] = sampleprof.Frame{
			Func: machinecode.CanonicalName(scopes[i].Name),
			Call: sampleprof.Place{Offset: uint32(uint16(line - scopes[i].Line)), Discriminator: discriminator},
		}
	}
	return frames
}

func (l *Lines) of(r ref) *DebugInfo {
	b := l.code.Binary(r)
	for i, x := range l.code.Binaries() {
		if x == b {
			return &l.info[i]
		}
	}
	return &DebugInfo{}
}

// base returns a location with its base discriminator, which distinguishes blocks of a line
// but not copies of a block. Flow-sensitive discriminators are not changed.
func (l *Lines) base(p sampleprof.Place) sampleprof.Place {
	if !l.fs {
		p.Discriminator = sampleprof.BaseDiscriminator(p.Discriminator)
	}
	return p
}

// copies returns the number of copies of the code at a location that are not distinguished.
func (l *Lines) copies(p sampleprof.Place) uint64 {
	if l.fs {
		return 1
	}
	return uint64(sampleprof.DuplicationFactor(p.Discriminator))
}

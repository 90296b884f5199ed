package profgen

import (
	"slices"

	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/binary/objfile"
)

// SourceFrame is a function at an instruction, or an inlined one.
type SourceFrame struct {
	Func string // linkage name, or else the name in the source
	// File and Line are the location of the instruction, or that of the call of the next
	// inlined function; "" and 0 if not known.
	File  string
	Line  int
	Start int // line of the definition, 0 if not known
}

// Source returns the lines and functions of instructions for people, with files. Profiles for
// compilers use Lines.
type Source struct {
	code  *machinecode.Set
	info  []DebugInfo // parallel to the binaries
	files []*objfile.SourceFiles
}

// NewSource returns the content of debug information; info is parallel to the binaries of
// code, and has nil fields for a binary without debug information.
func NewSource(code *machinecode.Set, info []DebugInfo, files []*objfile.SourceFiles) *Source {
	return &Source{code, info, files}
}

// HasLines reports whether the binary with this index has lines.
func (s *Source) HasLines(binary int) bool { return s != nil && s.info[binary].Lines != nil }

// Frames returns the function that contains an instruction and the functions inlined there,
// outermost first. Without line tables it is empty. Without inlining information it is one
// frame without a name.
func (s *Source) Frames(r ref) []SourceFrame {
	i := slices.Index(s.code.Binaries(), s.code.Binary(r))
	info := &s.info[i]
	if info.Lines == nil {
		return nil
	}
	addr := s.code.Address(r)
	last := SourceFrame{}
	last.File, last.Line, _ = info.Lines.Lookup(addr)
	if info.Scopes == nil {
		return []SourceFrame{last}
	}
	scopes := info.Scopes.At(addr)
	frames := make([]SourceFrame, len(scopes))
	for k := range scopes {
		f := &frames[k]
		if k+1 < len(scopes) {
			f.File, f.Line = s.files[i].Caller(&scopes[k+1]), scopes[k+1].CallLine
		} else {
			*f = last
		}
		f.Func, f.Start = scopes[k].Name, scopes[k].Line
	}
	return frames
}

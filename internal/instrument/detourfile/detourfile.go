// Package detourfile reads from a program's file the input of internal/instrument/detour.
package detourfile

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/ehframe"
	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/instrument/detour"
)

// Errors for programs that cannot be hooked at all. Read prepends the path.
var (
	ErrMachine = errors.New("not a program for x86-64")
	ErrStatic  = errors.New("a statically linked program cannot load the library that hooks functions: build it with cairn cc --mode spike")
	ErrGo      = errors.New("a Go program moves its stacks, which hooks do not support: use package mark")
)

// Read reads all that a plan needs of a module. Functions without a symbol have
// their extent from unwind tables, and no name.
func Read(f *objfile.File) (*detour.Module, error) {
	sections, err := f.Contents()
	if err != nil {
		return nil, err
	}
	if err := suitable(f, sections); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path(), err)
	}
	return readModule(f, sections)
}

// ReadLibrary is Read for a shared library.
func ReadLibrary(f *objfile.File) (*detour.Module, error) {
	sections, err := f.Contents()
	if err != nil {
		return nil, err
	}
	if f.Machine() != machine.X86_64 {
		return nil, fmt.Errorf("%s: %w, but for %v", f.Path(), ErrMachine, f.Machine())
	}
	return readModule(f, sections)
}

func readModule(f *objfile.File, sections []objfile.Contents) (*detour.Module, error) {
	m := &detour.Module{Entry: f.Entry()}
	for _, s := range f.LoadedSections() {
		m.End = max(m.End, s.Addr+s.Size)
	}
	var tables []objfile.Contents
	for _, s := range sections {
		m.Sections = append(m.Sections, detour.Section{
			Addr: s.Addr, Data: s.Data, Code: s.Code,
			Functions: s.Code && s.Name != ".init" && s.Name != ".fini" && !strings.HasPrefix(s.Name, ".plt"),
		})
		switch {
		case s.Name == ".eh_frame":
			// Frames after damage are unknown: functions there have none.
			m.Frames, _ = ehframe.Read(s.Data, s.Addr, f.Machine())
		case strings.HasPrefix(s.Name, ".gcc_except_table"):
			tables = append(tables, s)
		}
	}
	for i := range m.Frames {
		frame := &m.Frames[i]
		pads, err := landingPads(*frame, tables)
		if err != nil {
			frame.Called = false // its landing pads are not known: it is left alone
		}
		m.Pads = append(m.Pads, pads...)
	}
	return m, functions(f, m)
}

func suitable(f *objfile.File, sections []objfile.Contents) error {
	if f.Machine() != machine.X86_64 {
		return fmt.Errorf("%w, but for %v", ErrMachine, f.Machine())
	}
	for _, s := range sections { // before ErrStatic: most Go programs are linked statically, but need other advice
		if s.Name == ".gopclntab" || s.Name == ".data.rel.ro.gopclntab" {
			return ErrGo
		}
	}
	if !f.Interpreted() {
		return ErrStatic
	}
	return nil
}

func landingPads(frame ehframe.Frame, tables []objfile.Contents) ([]uint64, error) {
	for _, t := range tables {
		if off := frame.LSDA - t.Addr; frame.LSDA >= t.Addr && off < uint64(len(t.Data)) {
			return ehframe.LandingPads(t.Data[off:], frame.LSDA, frame.Lo)
		}
	}
	return nil, nil
}

// functions sets the functions of m: those that have symbols, then those that
// have only a frame.
func functions(f *objfile.File, m *detour.Module) error {
	symbols, err := f.FunctionSymbols()
	if err != nil {
		return err
	}
	named := make(map[uint64]bool, len(symbols))
	for _, s := range symbols {
		named[s.Addr] = true
		m.Functions = append(m.Functions, detour.Function{Name: s.Name, Addr: s.Addr, Size: s.Size, Resolver: s.Resolver})
	}
	for _, frame := range m.Frames {
		if !named[frame.Lo] {
			m.Functions = append(m.Functions, detour.Function{Addr: frame.Lo, Size: frame.Hi - frame.Lo})
		}
	}
	return nil
}

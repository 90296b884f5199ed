package detourfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cairnprof/cairn/internal/binary/ehframe"
	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/instrument/detour"
)

// Errors for programs for Windows that cannot be hooked at all.
var (
	ErrDLL     = errors.New("a DLL: give the program that loads it, and the DLL by --also")
	ErrManaged = errors.New("a program for .NET, whose functions are compiled when it runs")
	ErrProbes  = errors.New("it was built by cairn: it has a log without hooks")
	ErrUnwind  = errors.New("it has no table of functions (.pdata)")
)

// Bytes of a RUNTIME_FUNCTION, and the flag of unwind information that continues another's.
const (
	runtimeFunction = 12
	chained         = 4 << 3
	maxUnwind       = 4 + 2*255
)

// ReadImage is Read for a program for Windows. Its functions are those in its table for unwinders; names are those of its
// symbols, or of its PDB.
func ReadImage(f *objfile.File) (*detour.Module, error) {
	sections, err := f.Contents()
	if err != nil {
		return nil, err
	}
	w := f.Windows()
	if f.Machine() != machine.X86_64 {
		w = nil
	}
	if err := suitableImage(w, sections); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path(), err)
	}
	m := &detour.Module{Entry: f.Entry(), End: w.Base + uint64(w.Size), Referenced: true}
	for _, s := range sections {
		m.Sections = append(m.Sections, detour.Section{Addr: s.Addr, Data: s.Data, Code: s.Code, Functions: s.Code})
	}
	named, err := imageFunctions(f, w, m)
	if err != nil {
		return nil, err
	}
	m.Exports = exports(m, w)
	addGaps(m, named)
	return m, nil
}

func suitableImage(w *objfile.WindowsImage, sections []objfile.Contents) error {
	switch {
	case w == nil:
		return ErrMachine
	case w.Managed:
		return ErrManaged
	}
	for _, s := range sections {
		if s.Name == ".crnt" {
			return ErrProbes
		}
		if bytes.Contains(s.Data, []byte("\xff Go buildinf:")) {
			return ErrGo
		}
	}
	if w.Unwind[1] < runtimeFunction {
		return ErrUnwind
	}
	return nil
}

// imageFunctions sets those functions and frames of m that are in the table for unwinders, and returns the names of the others.
func imageFunctions(f *objfile.File, w *objfile.WindowsImage, m *detour.Module) (names map[uint64]string, err error) {
	names = map[uint64]string{}
	symbols, err := f.FunctionSymbols()
	if err != nil {
		return nil, err
	}
	for _, s := range symbols {
		names[s.Addr] = s.Name
	}
	le := binary.LittleEndian
	table := at(m, w.Base+uint64(w.Unwind[0]), int(w.Unwind[1]))
	for ; len(table) >= runtimeFunction; table = table[runtimeFunction:] {
		lo, hi, info := w.Base+uint64(le.Uint32(table)), w.Base+uint64(le.Uint32(table[4:])), le.Uint32(table[8:])
		if lo >= hi || info&1 != 0 {
			continue
		}
		data := at(m, w.Base+uint64(info), maxUnwind)
		head, err := detour.UnwindHead(data)
		called := err == nil && head[0]&chained == 0
		m.Frames = append(m.Frames, ehframe.Frame{Lo: lo, Hi: hi, Called: called})
		m.Functions = append(m.Functions, detour.Function{Name: names[lo], Addr: lo, Size: hi - lo, Unwind: head})
		delete(names, lo)
	}
	return names, nil
}

// at returns up to size bytes of a module.
func at(m *detour.Module, addr uint64, size int) []byte {
	for _, s := range m.Sections {
		if off := addr - s.Addr; addr >= s.Addr && off < uint64(len(s.Data)) {
			return s.Data[off:][:min(size, len(s.Data)-int(off))]
		}
	}
	return nil
}

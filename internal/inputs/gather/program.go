package gather

import (
	"errors"
	"fmt"

	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/layout/pages"
	"github.com/cairnprof/cairn/prof"
)

// Program is a binary and where the profile's functions are in it.
type Program struct {
	pages.Program
	Path string
	// All are the functions of the binary, with probes or without.
	All *pages.Layout
}

// OpenProgram reads the layout of a binary and finds the functions of m in it.
func OpenProgram(path string, m *prof.Module) (*Program, error) {
	bin, err := objfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer bin.Close()
	text, err := textSpan(bin)
	if err != nil {
		return nil, err
	}
	symbols, err := bin.FuncSymbols()
	if err != nil {
		return nil, err
	}
	id, err := bin.RecordedID()
	if err != nil && !errors.Is(err, objfile.ErrNoBuildID) {
		return nil, err
	}
	plain := make([]pages.Symbol, len(symbols))
	for i, sym := range symbols {
		plain[i] = pages.Symbol(sym)
	}
	p := &Program{Path: path, All: pages.FromSymbols(text, plain)}
	if id != "" && m.BuildID == id {
		p.Program = pages.Program{Layout: pages.FromMap(text, &m.Map), Match: pages.Same(&m.Map)}
		if len(p.All.Funcs) < len(m.Funcs) { // stripped
			p.All = p.Layout
		}
		return p, nil
	}
	if len(symbols) == 0 {
		return nil, fmt.Errorf("%s has no function symbols: give the unstripped binary", path)
	}
	p.Program = pages.Program{Layout: p.All, Match: pages.MatchNames(&m.Map, p.All)}
	return p, nil
}

// textSections are the sections in which linkers place functions; most create one of them.
var textSections = []string{".text", ".text.hot", ".text.startup", ".text.unlikely", ".text.exit", ".text.split"}

// maxText limits the text section: four times the reach of one instruction.
const maxText = 4 << 30

// textSpan returns the addresses from the first text section to the last.
func textSpan(bin *objfile.File) (pages.Span, error) {
	lo, hi := ^uint64(0), uint64(0)
	for _, name := range textSections {
		data, addr, _, ok, err := bin.Section(name)
		if err != nil {
			return pages.Span{}, err
		}
		if ok && len(data) > 0 && addr+uint64(len(data)) > addr {
			lo, hi = min(lo, addr), max(hi, addr+uint64(len(data)))
		}
	}
	if lo >= hi {
		return pages.Span{}, fmt.Errorf("%s: no section .text with code in it (a file of debug information only?)", bin.Path())
	}
	if hi-lo > maxText {
		return pages.Span{}, fmt.Errorf("%s: text from %#x to %#x exceeds %d bytes", bin.Path(), lo, hi, uint64(maxText))
	}
	return pages.Span{Addr: lo, Size: hi - lo}, nil
}

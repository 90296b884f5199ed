package toolchain

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/instrument/probe"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// MapExt is appended to the path of a program for the map of its blocks.
const MapExt = ".mipmap"

// mapSummary is the result of a build with --map.
type mapSummary struct {
	Programs []mappedProgram     `json:"programs"`
	Without  map[string][]string `json:"without_map"` // reason -> source files
}

// mappedProgram is a program of the build, or a library.
type mappedProgram struct {
	Path      string `json:"path"`
	Functions int    `json:"functions"`       // in the map
	Missing   int    `json:"missing"`         // functions of its symbol table that are not
	Bytes     uint64 `json:"bytes"`           // code of the former
	Left      uint64 `json:"missing_bytes"`   // code of the latter
	Example   string `json:"missing_example"` // one of the latter
	Ambiguous int    `json:"ambiguous"`       // of them, those that cannot be told from others of their names
	Why       string `json:"why,omitempty"`   // there is no map
	id        prof.BuildID
	machine   string
	symbols   []objfile.LinkSymbol
}

// WriteMaps writes the maps of the programs that a build with --map linked, from its log.
func WriteMaps(s *verb.Streams, log string) (*mapSummary, error) {
	sum := &mapSummary{Programs: []mappedProgram{}, Without: map[string][]string{}}
	wanted := map[string]bool{}
	seen := map[string]bool{}
	err := eachMapEvent(log, func(e *mapEvent) {
		if e.Source != "" && !slices.Contains(sum.Without[e.Why], e.Source) {
			sum.Without[e.Why] = append(sum.Without[e.Why], e.Source)
		}
		if e.Program == "" || seen[e.Program] {
			return
		}
		seen[e.Program] = true
		p := openMapped(e.Program)
		for i := range p.symbols {
			wanted[p.symbols[i].Name] = true
		}
		sum.Programs = append(sum.Programs, p)
	})
	if err != nil {
		return nil, err
	}
	byName := map[string][]probe.MappedFunc{}
	if err := eachMapEvent(log, func(e *mapEvent) {
		for i := range e.Funcs {
			if f := &e.Funcs[i]; wanted[f.Name] {
				byName[f.Name] = append(byName[f.Name], *f)
			}
		}
	}); err != nil {
		return nil, err
	}
	for i := range sum.Programs {
		if p := &sum.Programs[i]; p.Why == "" {
			if err := p.write(s, byName); err != nil {
				return nil, err
			}
		}
	}
	return sum, nil
}

// eachMapEvent calls f with the events of a log that are of maps.
func eachMapEvent(log string, f func(*mapEvent)) error {
	file, err := os.Open(log)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewReaderSize(file, 1<<16)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var e struct{ Map *mapEvent }
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("build: %s: %w", log, err)
		}
		if e.Map != nil {
			f(e.Map)
		}
	}
}

// openMapped reads the symbols of a program.
func openMapped(path string) mappedProgram {
	p := mappedProgram{Path: path}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		p.Why = "it was moved or removed before the build ended"
		return p
	case !info.Mode().IsRegular():
		p.Why = "it is no file"
		return p
	}
	bin, err := objfile.Open(path)
	if err != nil {
		p.Why = err.Error()
		return p
	}
	defer bin.Close()
	if p.id, err = bin.RecordedID(); err != nil {
		p.Why = "it has no build id, by which samples are attributed to it: link with -Wl,--build-id"
		return p
	}
	p.machine = bin.MachineName()
	if p.symbols, err = bin.LinkSymbols(); err != nil {
		p.Why = err.Error()
	} else if len(p.symbols) == 0 {
		p.Why = "it has no symbols: strip it after the build"
	}
	return p
}

// write writes the map of a program.
func (p *mappedProgram) write(s *verb.Streams, byName map[string][]probe.MappedFunc) error {
	m := &prof.Map{BuildID: p.id, Module: filepath.Base(p.Path), Machine: p.machine, Funcs: p.place(byName)}
	if len(m.Funcs) == 0 {
		p.Why = "this build has the blocks of none of its functions"
		return nil
	}
	m.RawSize = uint64(len(m.Funcs))
	for i := range m.Funcs {
		m.Funcs[i].Record = uint64(i)
	}
	return verb.WriteFile(s, p.Path+MapExt, func(w io.Writer) error { return mip.WriteMap(w, m) })
}

// place returns the functions of the program with their addresses, and counts those of which it has no blocks.
func (p *mappedProgram) place(byName map[string][]probe.MappedFunc) (funcs []prof.Func) {
	parts := map[string][]int{} // symbols by name
	for i := range p.symbols {
		parts[p.symbols[i].Name] = append(parts[p.symbols[i].Name], i)
	}
	covered := map[uint64]bool{} // addresses of symbols with blocks
	ambiguous := map[uint64]bool{}
	taken := map[uint64]bool{}
	for i := range p.symbols {
		sym := &p.symbols[i]
		f, ok, several := p.find(sym, byName[sym.Name], parts)
		switch {
		case several:
			ambiguous[sym.Addr] = true
		case ok && !taken[sym.Addr]:
			taken[sym.Addr] = true
			for k := range f.Fragments {
				covered[f.Fragments[k].Addr] = true
			}
			funcs = append(funcs, f)
		}
	}
	p.Functions = len(funcs)
	last := ^uint64(0)
	for i := range p.symbols {
		sym := &p.symbols[i]
		switch {
		case sym.Size == 0 || sym.Addr == last:
		case covered[sym.Addr]:
			p.Bytes += sym.Size
		default:
			p.Missing++
			p.Left += sym.Size
			p.Example = cmp.Or(p.Example, sym.Name)
			if ambiguous[sym.Addr] {
				p.Ambiguous++
			}
		}
		if sym.Size > 0 {
			last = sym.Addr
		}
	}
	stablesort.Func(funcs, func(a, b prof.Func) int { return cmp.Compare(a.Addr(), b.Addr()) })
	return funcs
}

// find returns the function at a symbol: of those of its name, the one with the sizes of the program's code. several
// reports that there are others which are not equal.
func (p *mappedProgram) find(sym *objfile.LinkSymbol, named []probe.MappedFunc, parts map[string][]int) (found prof.Func, ok, several bool) {
	for i := range named {
		f := &named[i]
		if f.Symbols[0] != sym.Name || !fits(f.Fragments[0].Size, sym.Size) || sym.File != "" && filepath.Base(f.File) != sym.File && len(named) > 1 {
			continue
		}
		placed, ok2 := p.parts(sym, f, parts)
		if !ok2 {
			continue
		}
		if ok && !sameBlocks(&found, &placed) {
			return found, false, true
		}
		switch {
		case !ok:
			found, ok = placed, true
		case found.File != placed.File: // the symbol does not tell which of them it is of
			found.File = filepath.Base(found.File)
		}
	}
	return found, ok, false
}

// fits reports whether code of a size is all of a symbol: behind it there may be padding and data.
func fits(size uint32, symbol uint64) bool {
	const behind = 16
	return uint64(size) <= symbol && symbol-uint64(size) < behind
}

// parts returns a function at a symbol with all its fragments.
func (p *mappedProgram) parts(sym *objfile.LinkSymbol, f *probe.MappedFunc, parts map[string][]int) (placed prof.Func, ok bool) {
	placed = f.Func
	placed.Fragments = slices.Clone(f.Fragments)
	placed.Fragments[0].Addr = sym.Addr
	for k := 1; k < len(placed.Fragments); k++ {
		fr, at := &placed.Fragments[k], -1
		for _, i := range parts[f.Symbols[k]] {
			other := &p.symbols[i]
			if !fits(fr.Size, other.Size) || other.File != "" && len(parts[f.Symbols[k]]) > 1 && other.File != filepath.Base(f.File) {
				continue
			}
			if at >= 0 {
				return placed, false // several parts of that name and size
			}
			at = i
		}
		if at < 0 {
			return placed, false
		}
		fr.Addr = p.symbols[at].Addr
	}
	return placed, true
}

// sameBlocks reports whether two functions of a name have the same blocks at the same addresses.
func sameBlocks(a, b *prof.Func) bool {
	return a.Signature == b.Signature && reflect.DeepEqual(a.Fragments, b.Fragments) && reflect.DeepEqual(a.Flow, b.Flow) && reflect.DeepEqual(a.Implied, b.Implied)
}

// Print writes the summary for a reader.
func (m *mapSummary) Print(s *verb.Streams) {
	for i := range m.Programs {
		p := &m.Programs[i]
		if p.Why != "" {
			fmt.Fprintf(s.Err, "cairn: build: no map of %s: %s\n", p.Path, p.Why)
			continue
		}
		fmt.Fprintf(s.Err, "cairn: build: %s: blocks of %s\n", p.Path+MapExt, report.Plural(p.Functions, "function"))
		if p.Missing > 0 {
			fmt.Fprintf(s.Err, "  no blocks: %s, %s%% of the code: compiled before this build, or not by it (%s%s)\n",
				report.Plural(p.Missing, "function"), report.Decimal(100*float64(p.Left)/float64(p.Left+p.Bytes)), p.Example, report.Either(uint64(p.Missing), "", ", ..."))
		}
		if p.Ambiguous > 0 {
			fmt.Fprintf(s.Err, "  of them: %s of which another one has the name, the file and the size\n", report.Plural(p.Ambiguous, "function"))
		}
	}
	for _, why := range slices.Sorted(maps.Keys(m.Without)) {
		fmt.Fprintf(s.Err, "  no blocks: %s, %s (%s)\n", report.Plural(len(m.Without[why]), "file"), why, firstNames(m.Without[why]))
	}
}

// Nothing is the error of a build that wrote no map.
func (m *mapSummary) Nothing() error {
	for i := range m.Programs {
		if m.Programs[i].Why == "" {
			return nil
		}
	}
	if len(m.Programs) > 0 {
		return errors.New("build: no map was written: the reasons are listed above")
	}
	return errors.New("build: no map was written: nothing was linked: " + cleanFirst)
}

// Package linkmap makes the map of a linked Go program: it finds the records and functions
// of the lists of probes in the symbol table, and writes the data that the runtime needs.
package linkmap

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/cairnprof/cairn/format/golines"
	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/internal/gobuild/functable"
	"github.com/cairnprof/cairn/internal/gobuild/image"
	"github.com/cairnprof/cairn/internal/gobuild/percpu"
	"github.com/cairnprof/cairn/internal/gobuild/rewrite"
	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/prof"
)

// Summary counts the functions of a program that have probes.
type Summary struct {
	Functions int // in the map
	Inlined   int // of these, everywhere: without code of their own
	Small     int // of timed modes, without probes
	// Dropped are functions that are not in the map: the linker found them unreachable.
	Dropped []string
	// Lost are packages whose records cannot be found, as the linker dropped the variable that
	// holds their address. Their functions are not in the map.
	Lost []string
}

// Linked is the data for a program.
type Linked struct {
	BuildID  prof.BuildID
	Sections []image.Addition
	Summary
}

// Names in package runtime; see package goruntime.
const (
	infoSymbol   = "runtime.cairnInfo"
	placesSymbol = "runtime.cairnPlaces"
	startSymbol  = "runtime.covctrs"
	frontSymbol  = "runtime.cairnFront"
	infoMagic    = "CAIRNGO1"
	infoSize     = 64
)

// ErrNeighbour is returned for a program whose records would share a page with a variable.
var ErrNeighbour = errors.New("a variable of more than 64 MB without pointers is beside the records")

var le = binary.LittleEndian

// Make makes the map of the program in a file, and writes the data that its runtime needs into
// the file in memory.
//
// In a library, whose callers may use segment gs, all processors share counters.
func Make(file image.Image, tables []*functable.Table, library bool) (*Linked, error) {
	p, err := newProgram(file)
	if err != nil {
		return nil, err
	}
	id, err := buildID(file)
	if err != nil {
		return nil, err
	}
	l := linking{program: p, contents: newContents(), linked: &Linked{BuildID: id}, prefix: percpu.Own}
	if library {
		l.prefix = percpu.Shared
	}
	for _, t := range tables {
		if err := l.add(t); err != nil {
			return nil, err
		}
	}
	l.linked.Functions = len(l.funcs)
	addCalls(file, l.funcs)
	stablesort.Func(p.wide, func(a, b percpu.Range) int { return cmp.Compare(a.From, b.From) })
	if err := percpu.Change(file, p.list, p.wide, l.prefix); err != nil {
		return nil, err
	}
	if err := p.writeInfo(id, l.slots, len(p.wide) > 0 && l.prefix == percpu.Own); err != nil {
		return nil, err
	}
	units, lines, err := l.contents.sections()
	if err != nil {
		return nil, err
	}
	l.linked.Sections = []image.Addition{
		{Name: wire.RawSection, Addr: p.start, Size: p.end - p.start},
		{Name: wire.MapSection, Data: mip.AppendMapSection([]byte{}, p.start, l.funcs)},
		{Name: golines.Section, Data: lines},
		{Name: wire.UnitSection, Data: units},
	}
	return l.linked, nil
}

// linking is a map that is being made.
type linking struct {
	program  *program
	contents *contents
	linked   *Linked
	funcs    []prof.Func
	slots    int           // of first executions
	prefix   percpu.Prefix // how records are addressed
}

// add adds the functions of a package.
func (l *linking) add(t *functable.Table) error {
	p, c := l.program, l.contents
	c.begin(t)
	for i := range t.Unprobed {
		// Without a probe, a function may leave no trace where it is inlined.
		c.unprobed(&t.Unprobed[i], t.Unprobed[i].Unprobed)
	}
	if len(t.Funcs) == 0 {
		return nil
	}
	counters, ok := p.pointer(symbolPath(t.Package)+"."+rewrite.Locator, 0)
	if !ok {
		l.linked.Lost = append(l.linked.Lost, t.Package)
		for i := range t.Funcs {
			c.unprobed(&t.Funcs[i], "the linker dropped the variable that says where the records of its package are")
		}
		return nil
	}
	end := counters + uint64(t.Elements*t.ElementSize)
	if counters < p.start || end > p.end {
		return fmt.Errorf("the records of %s are at %#x, outside of the others", t.Package, counters)
	}
	if t.ElementSize == percpu.RecordSize {
		p.wide = append(p.wide, percpu.Range{From: counters, To: end})
	} else {
		l.prefix = percpu.Shared
	}
	for i := range t.Funcs {
		fn := &t.Funcs[i]
		if !fn.Literal && !p.has(t, fn) {
			l.linked.Dropped = append(l.linked.Dropped, t.Package+"."+fn.Name)
			c.dropped(fn)
			continue
		}
		f := p.function(t, fn, counters)
		if f.Addr() == p.start+f.Record {
			l.linked.Inlined++
		}
		l.funcs = append(l.funcs, *f)
		c.linked(f, fn)
	}
	if t.Mode.HasSlots() {
		l.slots += len(t.Funcs)
	}
	return nil
}

// program is a linked program.
type program struct {
	file       image.Image
	start, end uint64 // of the records
	next       uint64 // address of the number of first executions
	list       []image.Symbol
	symbols    map[string]image.Symbol
	funcs      map[string][]image.Symbol // by name without type arguments
	inlined    map[string]bool           // names in the runtime's table of functions
	wide       []percpu.Range            // records whose counters can be those of the processor
}

func newProgram(file image.Image) (*program, error) {
	symbols, err := file.Symbols()
	if err != nil {
		return nil, err
	}
	p := &program{file: file, list: symbols, symbols: map[string]image.Symbol{}, funcs: map[string][]image.Symbol{}, inlined: map[string]bool{}}
	for _, s := range symbols {
		if s.Func && s.Size > 0 {
			name := withoutTypes(s.Name)
			p.funcs[name] = append(p.funcs[name], s)
		}
		p.symbols[s.Name] = s
	}
	p.start = p.symbols[startSymbol].Addr
	front := p.symbols[frontSymbol] // none where the runtime does not need it
	next, ok1 := p.pointer(placesSymbol, 0)
	end, ok2 := p.pointer(placesSymbol, 8)
	const (
		maxAlign = 64
		isolated = 1 << 20 // the runtime maps a file over the records
	)
	switch {
	case p.start == 0 || !ok1 || !ok2:
		return nil, errors.New("package runtime was not built with cairn's file: build with -a")
	case end < p.start || next < p.start || next >= end:
		return nil, fmt.Errorf("the records are not where they should be: %#x to %#x", p.start, end)
	case front.Size >= isolated && (p.start < front.Addr+front.Size || p.start > front.Addr+front.Size+maxAlign):
		return nil, ErrNeighbour
	}
	p.end, p.next = end, next
	return p, p.readNames()
}

// readNames reads the names of functions in the table for stacks (pclntab): those that have
// code, and those that were inlined.
func (p *program) readNames() error {
	const magic = 0xfffffff1 // since Go 1.20
	table := p.file.At(p.symbols["runtime.pclntab"].Addr)
	if len(table) < 72 || le.Uint32(table) != magic || table[7] != 8 {
		return errors.New("the table runtime.pclntab has a format that is not known")
	}
	from, to := le.Uint64(table[32:]), le.Uint64(table[40:])
	if from > to || to > uint64(len(table)) {
		return fmt.Errorf("runtime.pclntab: names at %#x to %#x of %#x bytes", from, to, len(table))
	}
	for name := range bytes.SplitSeq(table[from:to], []byte{0}) {
		p.inlined[withoutTypes(string(name))] = true
	}
	return nil
}

// pointer returns the address in memory at an offset from a symbol.
func (p *program) pointer(symbol string, off uint64) (uint64, bool) {
	s, ok := p.symbols[symbol]
	if !ok {
		return 0, false
	}
	return p.file.Pointer(s.Addr + off)
}

// has reports whether the linker kept a function, which may be inlined everywhere.
func (p *program) has(t *functable.Table, fn *rewrite.Func) bool {
	name := symbolName(t, fn)
	return len(p.funcs[name]) > 0 || p.inlined[name]
}

func symbolName(t *functable.Table, fn *rewrite.Func) string {
	return symbolPath(t.Package) + "." + fn.Name
}

// function returns a function for the map. A function without code of its own has its record for
// an address, and its flags for blocks.
func (p *program) function(t *functable.Table, fn *rewrite.Func, counters uint64) *prof.Func {
	name := symbolName(t, fn)
	record := counters + uint64(fn.Element*t.ElementSize)
	f := &prof.Func{
		Name: name, File: fn.File, Mode: t.Mode, Atomic: t.Atomic, Signature: fn.Signature, Record: record - p.start,
	}
	code := p.funcs[name]
	for _, s := range code {
		f.Fragments = append(f.Fragments, prof.Fragment{Addr: s.Addr, Size: uint32(s.Size)})
	}
	stablesort.Func(f.Fragments, func(a, b prof.Fragment) int { return int(int64(a.Addr) - int64(b.Addr)) })
	if n := len(fn.Blocks); len(code) == 0 {
		f.Fragments = []prof.Fragment{{Addr: record, Size: uint32(n)}}
	}
	addBlocks(f, len(fn.Blocks))
	return f
}

// addBlocks gives a function of mode block its blocks, evenly spread over its first code:
// those of the source have no addresses.
func addBlocks(f *prof.Func, n int) {
	if !f.Mode.HasBlocks() {
		return
	}
	first := &f.Fragments[0]
	for i := 1; i < n; i++ {
		first.Blocks = append(first.Blocks, uint32(uint64(first.Size)*uint64(i)/uint64(n)))
	}
}

// writeInfo writes to the runtime's variable the build id, the sizes, and whether each processor
// can have its own counters.
func (p *program) writeInfo(id prof.BuildID, slots int, own bool) error {
	info := p.file.At(p.symbols[infoSymbol].Addr)
	if len(info) < infoSize || string(info[:len(infoMagic)]) != infoMagic {
		return fmt.Errorf("no symbol %s", infoSymbol)
	}
	info[8] = byte(len(id))
	if own {
		info[9] = 1
	}
	copy(info[16:], id)
	le.PutUint64(info[40:], p.end-p.start)
	if slots > 0 {
		le.PutUint32(info[48:], uint32(min(max(slots, wire.MinSlots), wire.MaxSlots)))
		le.PutUint64(info[56:], p.next-p.start)
	}
	return nil
}

// buildID returns the build id, as much as raw files hold.
func buildID(file image.Image) (prof.BuildID, error) {
	id := file.BuildID()
	if id == nil {
		return "", errors.New("the program has no build id (on macOS no UUID), which identifies its raw files: do not link with -B none or -buildid=")
	}
	return prof.BuildID(id[:min(len(id), wire.MaxBuildID)]), nil
}

// withoutTypes returns the name of a function without type arguments.
func withoutTypes(name string) string {
	if !strings.Contains(name, "[") {
		return name
	}
	var b strings.Builder
	depth := 0
	for _, r := range name {
		switch {
		case r == '[':
			depth++
		case r == ']':
			depth--
		case depth == 0:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// symbolPath returns an import path in the form of symbol names: dots after the last slash and
// unusual characters are escaped.
func symbolPath(path string) string {
	slash := strings.LastIndexByte(path, '/')
	var b strings.Builder
	for i := range len(path) {
		c := path[i]
		if c <= ' ' || c >= 0x7f || c == '%' || c == '"' || c == '.' && i > slash {
			fmt.Fprintf(&b, "%%%02x", c)
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

// Tell writes the data that the runtime needs into a program of a timed mode, with the threshold
// in nanoseconds. Its functions are identified by their symbols.
func Tell(file image.Image, tables []*functable.Table, threshold int64) (*Linked, error) {
	symbols, err := file.Symbols()
	if err != nil {
		return nil, err
	}
	var text, at uint64
	for _, s := range symbols {
		switch s.Name {
		case "runtime.text":
			text = s.Addr
		case infoSymbol:
			at = s.Addr
		}
	}
	info := file.At(at)
	if at == 0 || text == 0 || len(info) < infoSize || string(info[:len(infoMagic)]) != infoMagic {
		return nil, errors.New("package runtime was not built with cairn's files: build with -a")
	}
	id, err := buildID(file)
	if err != nil {
		return nil, err
	}
	linked := &Linked{BuildID: id}
	for _, t := range tables {
		linked.Functions += len(t.Funcs) + t.Literals
		linked.Inlined += t.Inlinable
		linked.Small += t.Small
		le.PutUint64(info[40:], uint64(t.Mode))
	}
	info[8] = byte(len(id))
	copy(info[16:36], id)
	le.PutUint64(info[48:], uint64(threshold))
	le.PutUint64(info[56:], text)
	return linked, nil
}

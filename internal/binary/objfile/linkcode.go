package objfile

import (
	"bytes"
	"cmp"
	"debug/elf"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/bytecur"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// LinkCode is the machine code of an object of a link: its functions by symbols, their lines by debug information.
type LinkCode struct {
	Made  []string // by which compilers, as they say in .comment or else in debug information; may be empty
	Bytes uint64   // of code
	Funcs []CodeFunc
}

// CodeFunc is a function of an object.
type CodeFunc struct {
	Name string
	// File is the source file of its compilation, by debug information or the symbol table; "" if neither names it.
	File   string
	Shared bool // other objects may have the same function: it is weak or in a section group
	Rows   []Row
}

// maxCodeFuncs bounds the functions of an object, and maxMade what it says of compilers.
const (
	maxCodeFuncs = 1 << 20
	maxMade      = 4
)

// ErrNoCode reports an object of which linkers make the code later, from bitcode.
var ErrNoCode = fmt.Errorf("the object has no machine code")

// ReadLinkCode reads the functions of an object, an ELF file of any machine. Symbols without a type, as those of
// assembly, are functions if they are global. For other files the error is ErrNotELF, for objects for link-time
// optimisation ErrNoCode.
func ReadLinkCode(r *io.SectionReader) (*LinkCode, error) {
	var magic [4]byte
	if n, _ := r.ReadAt(magic[:], 0); n < len(magic) || string(magic[:]) != elf.ELFMAG {
		return nil, ErrNotELF
	}
	im, err := readImage("", r, uint64(r.Size()), nil)
	if err != nil {
		return nil, err
	}
	if !im.Relocatable() {
		return nil, ErrNotELF
	}
	if slices.ContainsFunc(im.sections, func(s imageSection) bool { return strings.HasPrefix(s.name, gccLTO) }) {
		return nil, ErrNoCode
	}
	funcs, err := im.codeSymbols()
	if err != nil {
		return nil, err
	}
	c := &LinkCode{Made: im.comments()}
	for _, s := range im.codeSpans() {
		c.Bytes += s.hi - s.lo
	}
	if len(funcs) == 0 {
		return c, nil
	}
	units := im.codeUnits()
	groups := im.groupSpans()
	for i := range funcs {
		fn := &funcs[i]
		end := sectionEnd(im.codeSpans(), fn.addr)
		if i+1 < len(funcs) {
			end = min(end, funcs[i+1].addr)
		}
		c.Funcs = append(c.Funcs, CodeFunc{
			Name: fn.name, File: cmp.Or(units.source(fn.addr), fn.file),
			Shared: fn.bind == elf.STB_WEAK || sectionEnd(groups, fn.addr) > 0,
			Rows:   slices.Collect(units.lines.Rows(fn.addr, end)),
		})
	}
	if len(c.Made) == 0 {
		c.Made = units.made
	}
	return c, nil
}

// codeSymbol is a symbol that names a function.
type codeSymbol struct {
	imageSymbol
	file string // by the table, "" if it does not say or names several
}

// codeSymbols returns the best symbol of each address in code, ascending by address.
func (im *Image) codeSymbols() ([]codeSymbol, error) {
	table := im.find(elf.SHT_SYMTAB)
	if table == 0 {
		return nil, nil
	}
	syms, err := im.symbolTable(table)
	if err != nil {
		return nil, err
	}
	var list []codeSymbol
	file, files := "", 0 // of the local symbols that follow
	for i := range syms {
		s := &syms[i]
		if s.kind == elf.STT_FILE {
			file = s.name
			files++
			continue
		}
		local := s.bind == elf.STB_LOCAL
		if !s.mayName() || s.kind == elf.STT_NOTYPE && local || !im.HasCode(s.addr) {
			continue
		}
		c := codeSymbol{imageSymbol: *s}
		if local || files == 1 {
			c.file = file
		}
		list = append(list, c)
	}
	stablesort.Func(list, func(a, b codeSymbol) int {
		return cmp.Or(cmp.Compare(a.addr, b.addr), compareNames(&a.imageSymbol, &b.imageSymbol))
	})
	list = slices.CompactFunc(list, func(a, b codeSymbol) bool { return a.addr == b.addr })
	if len(list) > maxCodeFuncs {
		return nil, fmt.Errorf("%d functions, at most %d are allowed", len(list), maxCodeFuncs)
	}
	return list, nil
}

// groupSpans returns the addresses of sections with code that are in groups, ascending.
func (im *Image) groupSpans() []span {
	var list []span
	for i := range im.sections {
		if s := &im.sections[i]; s.flags&(elf.SHF_GROUP|elf.SHF_EXECINSTR) == elf.SHF_GROUP|elf.SHF_EXECINSTR {
			list = append(list, span{s.addr, s.addr + s.size})
		}
	}
	stablesort.Func(list, func(a, b span) int { return cmp.Compare(a.lo, b.lo) })
	return list
}

// comments returns what compilers wrote into .comment.
func (im *Image) comments() []string {
	var list []string
	for i := range im.sections {
		if im.sections[i].name != ".comment" {
			continue
		}
		data, err := im.contents(&im.sections[i])
		if err != nil {
			continue
		}
		for text := range bytes.SplitSeq(data, []byte{0}) {
			if s := string(text); s != "" && len(list) < maxMade && !slices.Contains(list, s) {
				list = append(list, s)
			}
		}
	}
	return list
}

// codeUnits are the compilations of an object in its debug information.
type codeUnits struct {
	lines   *LineTable
	code    []unitCode // ascending
	sources []string
	made    []string
}

// unitCode is the code of a compilation.
type unitCode struct {
	span
	unit int
}

// codeUnits reads the debug information of an object. Damage costs what is after it.
func (im *Image) codeUnits() *codeUnits {
	b := &builder{code: im.codeSpans(), fileIDs: map[string]uint32{}}
	c := &codeUnits{lines: &b.table}
	var sections entrySections
	if _, err := im.debugSections(&sections); err != nil {
		return c
	}
	r, _ := newEntryReader(&sections)
	ran := map[uint64]bool{} // several units may name one line table
	for i := range r.units {
		u := &r.units[i]
		if u.kind == unitType || !u.hasLine || ran[u.line] || u.line >= uint64(len(r.lines.line)) {
			continue
		}
		ran[u.line] = true
		body, is64 := nextUnit(bytecur.New(r.lines.line[u.line:], int64(u.line)))
		table, err := r.lines.parseUnit(body, is64)
		if err != nil || table == nil {
			continue
		}
		table.compDir = u.compDir
		first := len(b.table.seqs)
		if table.run(b, body) != nil {
			continue
		}
		for _, s := range b.table.seqs[first:] {
			c.code = append(c.code, unitCode{span{s.lo, s.hi}, len(c.sources)})
		}
		source := ""
		if u.name != "" {
			source = table.path(entry{name: []byte(u.name)})
		}
		c.sources = append(c.sources, source)
		if made := shortProducer(u.producer); made != "" && len(c.made) < maxMade && !slices.Contains(c.made, made) {
			c.made = append(c.made, made)
		}
	}
	b.finish()
	stablesort.Func(c.code, func(a, b unitCode) int { return cmp.Compare(a.lo, b.lo) })
	return c
}

// source returns the source file of the compilation that made the code at an address: of the only one, or of that
// with lines there; "" if it is not known.
func (c *codeUnits) source(addr uint64) string {
	if len(c.sources) == 1 {
		return c.sources[0]
	}
	i, found := slices.BinarySearchFunc(c.code, addr, func(u unitCode, addr uint64) int { return cmp.Compare(u.lo, addr) })
	if !found {
		i--
	}
	if i < 0 || addr >= c.code[i].hi {
		return ""
	}
	return c.sources[c.code[i].unit]
}

// shortProducer returns a producer without its options.
func shortProducer(text string) string {
	name, _, _ := strings.Cut(text, " -")
	return name
}

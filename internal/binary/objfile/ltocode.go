package objfile

import (
	"bytes"
	"cmp"
	"debug/elf"
	"fmt"
	"io"
	"strings"

	"github.com/cairnprof/cairn/internal/bytecur"
)

// Objects of gcc -flto have the code of each function in a section with its name, a table of the names that other
// objects see (gcc's lto-streamer-out.cc), and the debug information of the source, under other names.

// LTOCode is what an object of gcc has for the compiler that the linker starts.
type LTOCode struct {
	Source string // of the compilation, by debug information; "" if that is not known
	Debug  bool   // it has debug information
	Funcs  []LTOFunc
}

// LTOFunc is a function of an object for link-time optimisation.
type LTOFunc struct {
	Name   string
	Shared bool // other objects may have the same function
	// Known reports that it is a function: constants have sections of the same kind.
	Known bool
	File  string // where it is defined; "" if that is not known
	Line  int
}

const (
	gccLTOSymbols = ".gnu.lto_.symtab."
	gccLTOTypes   = ".gnu.lto_.ext_symtab." // of the symbols, in the same order
	gccLTODebug   = ".gnu.debuglto_"
)

// Kinds of symbols in gcc's table, as in the linker's plugin interface.
const (
	ltoWeak      = 1
	ltoUndef     = 2
	ltoWeakUndef = 3
	ltoCommon    = 4
)

// ltoSymbol is an entry of gcc's table.
type ltoSymbol struct {
	name, group string
	kind        byte
}

func (s *ltoSymbol) defined() bool { return s.kind != ltoUndef && s.kind != ltoWeakUndef }

// ltoSymbols visits the names of gcc's intermediate code and reports whether there is such code.
func (im *Image) ltoSymbols(visit func(*ltoSymbol)) (is bool, err error) {
	for i := range im.sections {
		s := &im.sections[i]
		if !strings.HasPrefix(s.name, gccLTO) {
			continue
		}
		is = true
		if !strings.HasPrefix(s.name, gccLTOSymbols) {
			continue
		}
		data, err := im.contents(s)
		if err != nil {
			return true, fmt.Errorf("%s: section %s: %w", im.path, s.name, err)
		}
		for c := bytecur.New(data, int64(s.offset)); c.Len() > 0; {
			sym := ltoSymbol{name: string(c.CString("a symbol", maxSymbolName)), group: string(c.CString("a symbol's group", maxSymbolName))}
			sym.kind = c.U8()
			c.U8()  // visibility
			c.U64() // size of a common one
			c.U32() // slot
			if c.Err() != nil {
				break // another version of the table: only the kind of LTO is known
			}
			visit(&sym)
		}
	}
	return is, nil
}

// ReadLTOCode reads the functions of an object of gcc -flto, nil if r is none.
func ReadLTOCode(r *io.SectionReader) (*LTOCode, error) {
	var magic [4]byte
	if n, _ := r.ReadAt(magic[:], 0); n < len(magic) || string(magic[:]) != elf.ELFMAG {
		return nil, nil
	}
	im, err := readImage("", r, uint64(r.Size()), nil)
	if err != nil || !im.Relocatable() {
		return nil, err
	}
	public := map[string]*ltoSymbol{}
	var order []string
	is, err := im.ltoSymbols(func(s *ltoSymbol) {
		order = append(order, s.name)
		public[s.name] = s
	})
	if !is || err != nil {
		return nil, err
	}
	c := &LTOCode{}
	functions := im.ltoTypes(order)
	places := im.ltoDeclarations(c)
	for i := range im.sections {
		name, ok := ltoFunction(im.sections[i].name)
		if !ok {
			continue
		}
		f := LTOFunc{Name: name, Known: functions[name]}
		if s := public[name]; s != nil {
			f.Shared = s.group != "" || s.kind == ltoWeak
		}
		if d, ok := places[name]; ok {
			f.Known, f.File, f.Line = true, d.File, d.Line
		}
		if c.Funcs = append(c.Funcs, f); len(c.Funcs) > maxCodeFuncs {
			return nil, fmt.Errorf("more than %d functions", maxCodeFuncs)
		}
	}
	return c, nil
}

// ltoFunction returns the name of a function or constant that a section has: it is followed by a number, and by
// one that all sections of a compilation share.
func ltoFunction(section string) (name string, ok bool) {
	name, ok = strings.CutPrefix(section, gccLTO)
	i := strings.LastIndexByte(name, '.')
	if !ok || i <= 0 || name[0] == '.' {
		return "", false
	}
	name = name[:i]
	if i = strings.LastIndexByte(name, '.'); i > 0 && strings.Trim(name[i+1:], "0123456789") == "" {
		name = name[:i]
	}
	return name, name != ""
}

// ltoTypes returns which of the names are those of functions, in the order of the table.
func (im *Image) ltoTypes(names []string) map[string]bool {
	const (
		version  = 1
		function = 1
		perName  = 2 // bytes: the type, and a kind of section
	)
	found := map[string]bool{}
	for i := range im.sections {
		if !strings.HasPrefix(im.sections[i].name, gccLTOTypes) {
			continue
		}
		data, err := im.contents(&im.sections[i])
		if err != nil || len(data) != 1+perName*len(names) || data[0] != version {
			continue
		}
		for k, name := range names {
			found[name] = data[1+perName*k] == function
		}
	}
	return found
}

// ltoDeclarations returns where functions are defined, by their names, and sets what is known of the compilation.
func (im *Image) ltoDeclarations(c *LTOCode) map[string]Declaration {
	var sections entrySections
	if err := sections.read(func(name string) ([]byte, error) { return im.debugSection(gccLTODebug + name) }); err != nil || len(sections.info) == 0 {
		return nil
	}
	c.Debug = true
	r, _ := newEntryReader(&sections) // damage costs what is after it
	found := map[string]Declaration{}
	for i := range r.units {
		u := &r.units[i]
		if table := r.lineTable(u.line); u.hasLine && u.name != "" && table != nil {
			table.compDir = u.compDir
			c.Source = cmp.Or(c.Source, table.path(entry{name: []byte(u.name)}))
		}
		r.eachFunction(u, func(e *funcEntry) {
			d := r.declaration(u, e, maxOriginSteps)
			if _, seen := found[d.Name]; d.Line > 0 && (!seen || e.specification.form != 0) {
				found[d.Name] = d
			}
		})
	}
	return found
}

// eachFunction visits the entries of functions of a unit. It ends at the first invalid one.
func (r *entryReader) eachFunction(u *entryUnit, visit func(e *funcEntry)) {
	r.subprograms(u, func(a *abbrev, at uint64) {
		if e, ok := r.entry(u, a, at); ok {
			visit(&e)
		}
	})
}

// LinkNames are the names of an input of a link that decide which members of archives a linker takes.
type LinkNames struct {
	Defined, Needed []string
}

// ReadLinkNames reads the names of an object, with machine code or for gcc's link-time optimisation; nil if r is none.
func ReadLinkNames(r *io.SectionReader) (*LinkNames, error) {
	var magic [4]byte
	if n, _ := r.ReadAt(magic[:], 0); n < len(magic) || !bytes.Equal(magic[:], []byte(elf.ELFMAG)) {
		return nil, nil
	}
	im, err := readImage("", r, uint64(r.Size()), nil)
	if err != nil || !im.Relocatable() {
		return nil, err
	}
	n := &LinkNames{}
	if _, err := im.ltoSymbols(func(s *ltoSymbol) { n.add(s.name, s.defined(), s.kind == ltoWeakUndef) }); err != nil {
		return nil, err
	}
	table := im.find(elf.SHT_SYMTAB)
	if table == 0 {
		return n, nil
	}
	syms, err := im.symbolTable(table)
	if err != nil {
		return nil, err
	}
	for i := range syms {
		if s := &syms[i]; s.bind != elf.STB_LOCAL && s.name != "" {
			n.add(s.name, s.defined, s.bind == elf.STB_WEAK)
		}
	}
	return n, nil
}

func (n *LinkNames) add(name string, defined, weak bool) {
	switch {
	case defined:
		n.Defined = append(n.Defined, name)
	case !weak:
		n.Needed = append(n.Needed, name)
	}
}

package objfile

import (
	"debug/elf"
	"fmt"

	"github.com/cairnprof/cairn/internal/bytecur"
)

// lineSections are the sections of line tables.
type lineSections struct {
	line, lineStr, str []byte
}

// SetDebugRoot replaces DefaultDebugRoot as the directory in which separate debug files are
// searched. It must be called before Lines.
func (f *File) SetDebugRoot(dir string) { f.debugRoot = dir }

// Lines returns the module's line table. It is read from the module itself or, if it has none,
// from its separate debug file, which is found by build id or .gnu_debuglink and verified. If
// there is no line table, the error is ErrNoDebug, prefixed with the path. Split debug
// information (-gsplit-dwarf) leaves the line table in the module, so it needs no more files.
func (f *File) Lines() (*LineTable, error) { return f.lines() }

// withLines returns the file that has line tables: f, or its separate debug file, which the
// caller closes.
func (f *File) withLines() (*File, error) {
	switch {
	case f.pdb != "":
		return f, nil
	case f.damage != nil:
		return nil, fmt.Errorf("%w; %s: %w", f.damage, f.path, ErrNoDebug)
	}
	if s := f.elf.Section(".debug_line"); s == nil || s.FileSize == 0 || s.Type == elf.SHT_NOBITS {
		return f.openDebug()
	}
	return f, nil
}

func (f *File) loadLines() (t *LineTable, err error) {
	from, err := f.withLines()
	if err != nil {
		return nil, err
	}
	defer f.done(from)
	// The address ranges of code are those of the module: a debug file's section headers are
	// the same, but the module is what ran.
	t, err = from.parseLines(f.code())
	if err != nil {
		return nil, fmt.Errorf("%s: .debug_line: %w", from.path, err)
	}
	if len(t.seqs) == 0 {
		return nil, fmt.Errorf("%s: %w", f.path, ErrNoDebug)
	}
	return t, nil
}

// Columns returns a table like that of Lines that has columns in place of lines, 0 for none, and all rows. It is much
// larger: Lines leaves out rows with the line of the one before.
func (f *File) Columns() (*LineTable, error) { return f.table(&builder{columns: true}) }

// Statements returns a table like that of Lines that has only the rows where statements begin, all of them. It is nil if
// these are all rows: the compiler does not say where statements begin.
func (f *File) Statements() (*LineTable, error) {
	t, err := f.table(&builder{statements: true})
	if err != nil || !t.left {
		return nil, err
	}
	return t, nil
}

func (f *File) table(b *builder) (*LineTable, error) {
	from, err := f.withLines()
	if err != nil {
		return nil, err
	}
	defer f.done(from)
	b.code = f.code()
	t, err := from.parseTable(b)
	if err != nil {
		return nil, fmt.Errorf("%s: .debug_line: %w", from.path, err)
	}
	return t, nil
}

// ObjectLines returns the line table of an object file with one section of code, by offset in that section, and the
// size of the section.
func (f *File) ObjectLines() (t *LineTable, size uint64, err error) {
	for _, s := range f.elf.Sections {
		if s.Flags&elf.SHF_EXECINSTR != 0 {
			size = max(size, s.Size)
		}
	}
	if t, err = f.parseLines([]span{{0, size}}); err != nil {
		err = fmt.Errorf("%s: .debug_line: %w", f.path, err)
	}
	return t, size, err
}

func (f *File) parseLines(code []span) (*LineTable, error) { return f.parseTable(&builder{code: code}) }

// parseTable runs the line-number programs of all units.
func (f *File) parseTable(b *builder) (*LineTable, error) {
	b.fileIDs = map[string]uint32{}
	if f.pdb != "" {
		return f.pdbTable(b)
	}
	err := f.eachLineUnit(func(_ int64, u *unit, program *bytecur.Cursor) error { return u.run(b, program) })
	if err != nil {
		return nil, err
	}
	return b.finish(), nil
}

// eachLineUnit calls visit for each unit of .debug_line, with its offset, its header, and its
// line-number program.
func (f *File) eachLineUnit(visit func(off int64, u *unit, program *bytecur.Cursor) error) error {
	var l lineSections
	for name, data := range map[string]*[]byte{".debug_line": &l.line, ".debug_line_str": &l.lineStr, ".debug_str": &l.str} {
		var err error
		if *data, _, _, _, err = f.Section(name); err != nil {
			return err
		}
	}
	var dirs map[uint64]string // by offset in .debug_line
	for c := bytecur.New(l.line, 0); c.Len() > 0; {
		off := c.Off()
		rest, is64 := nextUnit(c)
		u, err := l.parseUnit(rest, is64)
		if err != nil {
			return err
		}
		if u == nil {
			continue
		}
		if u.version < 5 && dirs == nil {
			dirs = f.compDirs(&l)
		}
		u.compDir = dirs[uint64(off)]
		if err := visit(off, u, rest); err != nil {
			return err
		}
	}
	return nil
}

// compDirs returns the readable compilation directories of the units, by the offset of their
// line tables.
func (f *File) compDirs(l *lineSections) map[uint64]string {
	d := dirReader{str: l.str, lineStr: l.lineStr}
	var err error
	if d.info, _, _, _, err = f.Section(".debug_info"); err != nil {
		return map[uint64]string{}
	}
	if d.abbrev, _, _, _, err = f.Section(".debug_abbrev"); err != nil {
		return map[uint64]string{}
	}
	return d.compDirs()
}

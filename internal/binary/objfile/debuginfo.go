package objfile

import (
	"debug/elf"
	"fmt"

	"github.com/cairnprof/cairn/internal/bytecur"
)

// lineSections are the sections that line tables are made of.
type lineSections struct {
	line, lineStr, str []byte
}

// SetDebugRoot replaces DefaultDebugRoot as the directory in which separate
// debug files are looked for. It must be called before Lines.
func (f *File) SetDebugRoot(dir string) { f.debugRoot = dir }

// Lines returns the module's line table. It is taken from the module itself or
// else from its separate debug file, found by build id or by .gnu_debuglink and
// verified. Where there is none the error is ErrNoDebug, with the path in
// front. Split debug information (-gsplit-dwarf) leaves the line table in the
// module, so it needs no more files.
func (f *File) Lines() (*LineTable, error) { return f.lines() }

// withLines returns the file that has line tables: f, or its separate debug file, which
// the caller closes.
func (f *File) withLines() (*File, error) {
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
	// Which addresses hold code is asked of the module: a debug file's section
	// headers say the same, but the module's are the ones that ran.
	t, err = from.parseLines(f.code())
	if err != nil {
		return nil, fmt.Errorf("%s: .debug_line: %w", from.path, err)
	}
	if len(t.seqs) == 0 {
		return nil, fmt.Errorf("%s: %w", f.path, ErrNoDebug)
	}
	return t, nil
}

// parseLines runs the line-number programs of all units.
func (f *File) parseLines(code []span) (*LineTable, error) {
	b := &builder{code: code, fileIDs: map[string]uint32{}}
	err := f.eachLineUnit(func(_ int64, u *unit, program *bytecur.Cursor) error { return u.run(b, program) })
	if err != nil {
		return nil, err
	}
	return b.finish(), nil
}

// eachLineUnit calls visit with the units of .debug_line, one after another: where each
// begins, its header, and its line-number program.
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

// compDirs returns the compilation directories of the units, by the offset of
// their line tables, as far as they can be read.
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

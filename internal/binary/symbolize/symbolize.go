// Package symbolize resolves the function numbers in logs to names. It joins the
// instrumentation map of a program (format/xraymap) with its symbols and debug
// information (internal/binary/objfile).
//
// A log refers to a main program, object 0, and to shared objects by the order in which they
// registered; it does not name them. The user specifies the file of each object, as Specs.
package symbolize

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/xraymap"
	"github.com/cairnprof/cairn/internal/binary/objfile"
)

// ErrNoMap reports that a program has no instrumentation map.
var ErrNoMap = errors.New("no instrumentation map (" + xraymap.SectionName + "): it was not built with -fxray-instrument")

// maxText limits the size of a YAML map or of a list of objects: 16 million functions with
// three sleds each would have some 8 GB, real programs have a hundredth of that.
const maxText = 1 << 30

// Object is a program or shared object and its functions.
type Object struct {
	Path   string
	Number uint8 // 0 for the main program
	Map    *xraymap.Map
	// Funcs has the functions by their ids in logs, which include the object's number.
	Funcs calllog.Funcs
	// Notes are messages for the user, without the path.
	Notes []string
}

func (o *Object) notef(format string, args ...any) {
	o.Notes = append(o.Notes, fmt.Sprintf(format, args...))
}

// Load reads the map of the ELF or Mach-O file, or the YAML that llvm-xray extract prints, at
// path, and names its functions. Names are symbols, mangled, or if there is no symbol the
// names in debug information; those of a YAML map are taken from it. Lines are those of the
// declarations or, if debug information has none, of the first instruction with a line.
// Unknown fields are empty. For a program without a map the error is ErrNoMap. Errors are
// prefixed with the path.
func Load(path string, object uint8) (*Object, error) {
	head, err := readHead(path)
	if err != nil {
		return nil, err
	}
	o := &Object{Path: path, Number: object}
	if looksLikeYAML(head) {
		err = o.loadYAML()
	} else {
		err = o.loadProgram()
	}
	if err != nil {
		return nil, err
	}
	return o, nil
}

// Holds reports whether the file at path is or contains an instrumentation map, so that Load
// may succeed. For a file that cannot be read it returns false.
func Holds(path string) bool {
	head, err := readHead(path)
	if err != nil {
		return false
	}
	if looksLikeYAML(head) {
		return true
	}
	im, err := objfile.OpenImage(path)
	if err != nil {
		return false
	}
	defer im.Close()
	return im.Has(xraymap.SectionName)
}

// looksLikeYAML reports whether a file with this beginning is a map in YAML.
func looksLikeYAML(head []byte) bool {
	for len(head) > 0 {
		line, rest, _ := bytes.Cut(head, []byte{'\n'})
		line = bytes.TrimRight(line, "\r \t")
		switch {
		case len(line) == 0 || line[0] == '#':
			head = rest
		default:
			return bytes.HasPrefix(line, []byte("---")) || bytes.HasPrefix(line, []byte("%YAML")) ||
				string(line) == "-" || bytes.HasPrefix(line, []byte("- "))
		}
	}
	return false
}

// readHead returns the first bytes of a file.
func readHead(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, 4096)
	n, err := io.ReadFull(f, head)
	if err != nil && err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	return head[:n], nil
}

// readText reads a text file.
func readText(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxText+1))
	if err == nil && len(data) > maxText {
		return nil, fmt.Errorf("%s: more than %d bytes", path, maxText)
	}
	return data, err
}

func (o *Object) loadYAML() error {
	data, err := readText(o.Path)
	if err != nil {
		return err
	}
	if o.Map, err = xraymap.ReadYAML(data); err != nil {
		return fmt.Errorf("%s: %w", o.Path, err)
	}
	o.Notes = append(o.Notes, o.Map.Notes...)
	funcs := o.Map.Functions()
	o.Funcs = make(calllog.Funcs, len(funcs))
	for _, f := range funcs {
		if f.ID > xraymap.MaxFunctions {
			return fmt.Errorf("%s: function %d: function ids within an object go up to %d", o.Path, f.ID, xraymap.MaxFunctions)
		}
		o.Funcs[calllog.MakeFuncID(o.Number, f.ID)] = calllog.Func{Name: f.Name, Addr: f.Address, Object: filepath.Base(o.Path)}
	}
	return nil
}

func (o *Object) loadProgram() error {
	im, err := objfile.OpenImage(o.Path)
	if errors.Is(err, objfile.ErrNotELF) {
		return fmt.Errorf("%w nor Mach-O, nor an instrumentation map in YAML", err)
	} else if err != nil {
		return err
	}
	defer im.Close()
	if err := o.readMap(im); err != nil {
		return err
	}
	o.Notes = append(o.Notes, o.Map.Notes...)
	if im.Relocatable() {
		o.notef("an unlinked object: function ids and addresses differ from those of a program that it is linked into")
	}
	return o.name(im)
}

// readMap reads the sections of the map.
func (o *Object) readMap(im *objfile.Image) error {
	tables, err := im.Tables(xraymap.SectionName)
	switch {
	case errors.Is(err, objfile.ErrNoContents):
		return fmt.Errorf("%w: this is a debug file; give the program itself, which finds its debug file", err)
	case err != nil:
		return err
	case len(tables) == 0:
		return fmt.Errorf("%s: %w", o.Path, ErrNoMap)
	}
	sections := make([]xraymap.Section, len(tables))
	for i, t := range tables {
		sections[i] = section(im, t)
	}
	if o.Map, err = xraymap.Read(sections...); err != nil {
		return fmt.Errorf("%s: %w", o.Path, err)
	}
	// Objects have an index for each of their tables, which is not used.
	if len(sections) == 1 {
		index, err := im.Tables(xraymap.IndexName)
		if err == nil && len(index) == 1 {
			o.Map.CheckIndex(sections[0], section(im, index[0]))
		}
	}
	return nil
}

func section(im *objfile.Image, t objfile.Table) xraymap.Section {
	return xraymap.Section{Data: t.Data, Addr: t.Addr, Offset: t.Offset, Word: t.Word, BigEndian: t.BigEndian, Code: im.HasCode}
}

// name finds the names and lines of the map's functions.
func (o *Object) name(im *objfile.Image) error {
	funcs := o.Map.Functions()
	addrs := make([]uint64, len(funcs))
	for i, f := range funcs {
		addrs[i] = f.Address
	}
	symbols, err := im.FunctionNames(addrs)
	if err != nil {
		o.notef("symbols: %v", err)
		symbols = make(map[uint64]string, len(addrs))
		for _, a := range addrs {
			symbols[a] = ""
		}
	}
	declared, err := im.Declarations(symbols)
	if err != nil && !errors.Is(err, objfile.ErrNoScopes) {
		o.notef("debug information: %v", err)
	}
	base := filepath.Base(o.Path)
	o.Funcs = make(calllog.Funcs, len(funcs))
	unnamed, unplaced := 0, 0
	for _, f := range funcs {
		d := declared[f.Address]
		fn := calllog.Func{Name: cmp.Or(symbols[f.Address], d.Name), File: d.File, Line: d.Line, Addr: f.Address, Object: base}
		if fn.Name == "" {
			unnamed++
		}
		if fn.Line == 0 {
			unplaced++
		}
		o.Funcs[calllog.MakeFuncID(o.Number, f.ID)] = fn
	}
	if unplaced > 0 && !im.Relocatable() {
		o.placeByLines()
	}
	if unnamed > 0 {
		o.notef("%d of %d functions have no name; if the binary is stripped, put its debug file beside it", unnamed, len(funcs))
	}
	return nil
}

// Place sets the files and lines where functions are declared: those whose object is the base name of the program at
// path, and whose names are symbols of it, perhaps with suffixes. Functions without an address stay as they are. Without
// debug information, and if the program cannot be read, nothing is set.
func Place(path string, funcs calllog.Funcs) {
	o := &Object{Path: path, Funcs: calllog.Funcs{}}
	symbols := map[uint64]string{}
	for id, f := range funcs {
		if f.Object == filepath.Base(path) && f.Addr != 0 {
			o.Funcs[id] = f
			name, _, _ := strings.Cut(f.Name, " [")
			symbols[f.Addr] = name
		}
	}
	if len(symbols) == 0 {
		return
	}
	im, err := objfile.OpenImage(path)
	if err != nil {
		return
	}
	defer im.Close()
	declared, _ := im.Declarations(symbols)
	for id, f := range o.Funcs {
		d := declared[f.Addr]
		f.File, f.Line = d.File, d.Line
		o.Funcs[id] = f
	}
	o.placeByLines()
	maps.Copy(funcs, o.Funcs)
}

// placeByLines sets missing lines of functions from the line table, which exists without other
// debug information with -gline-tables-only, or with -gsplit-dwarf.
func (o *Object) placeByLines() {
	f, err := objfile.Open(o.Path)
	if err != nil {
		return // for a machine whose line tables are not supported
	}
	defer f.Close()
	lines, err := f.Lines()
	if err != nil {
		if !errors.Is(err, objfile.ErrNoDebug) {
			o.notef("line table: %v", err)
		}
		return
	}
	for id, fn := range o.Funcs {
		if fn.Line == 0 {
			if file, line, ok := lines.Entry(fn.Addr); ok {
				fn.File, fn.Line = file, line
				o.Funcs[id] = fn
			}
		}
	}
}

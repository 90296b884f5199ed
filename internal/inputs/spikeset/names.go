package spikeset

import (
	"errors"
	"fmt"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/internal/binary/ehframe"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/spikes"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// Names names the addresses of logs of spikes by the files of the programs
// that wrote them. A file is opened when an address in it is to be named, and
// only taken if its build id is that of the log.
type Names struct {
	streams *verb.Streams
	names   *report.Names
	inlined bool
	debug   map[prof.BuildID]*objfile.File // given files, by build id
	dirs    []string                       // given directories
	below   map[prof.BuildID]string        // the binaries below them, nil before they are needed
	modules []*namedModule
	known   map[string]int // by build id and path
	shown   map[shownAddress]spikes.Location
}

type shownAddress struct {
	spikes.Address
	call bool
}

// namedModule is a program or shared object of one or several logs.
type namedModule struct {
	path    string
	beside  string // directory of the log
	id      prof.BuildID
	opened  bool
	file    *objfile.File // nil if there is none
	given   bool          // by the user: closed elsewhere
	funcs   []prof.Func   // ascending
	lines   *objfile.LineTable
	scopes  *objfile.ScopeTable
	openers map[string]uint64 // addresses of functions by name
	frames  []ehframe.Frame   // of functions with and without names, ascending; read for the first one without
	told    bool              // that functions have no names
}

// NewNames returns names by the given binaries and those below given directories, where the files that logs name are missing.
// With inlined, functions that were inlined are named as well.
func NewNames(s *verb.Streams, names *report.Names, debug []string, inlined bool) (*Names, error) {
	n := &Names{
		streams: s, names: names, inlined: inlined, known: make(map[string]int),
		debug: make(map[prof.BuildID]*objfile.File), shown: make(map[shownAddress]spikes.Location),
	}
	for _, path := range debug {
		if verb.IsDir(path) {
			n.dirs = append(n.dirs, path)
			continue
		}
		f, err := objfile.Open(path)
		if err != nil {
			n.Close()
			return nil, err
		}
		id, _, err := f.LogID()
		if err != nil {
			f.Close()
			n.Close()
			return nil, fmt.Errorf("%w: cannot check whether it is the program that wrote the log", err)
		}
		if n.debug[id] != nil {
			f.Close()
			continue
		}
		n.debug[id] = f
	}
	return n, nil
}

// findBelow opens the file of a build in the given directories.
func (n *Names) findBelow(id prof.BuildID) *objfile.File {
	if n.below == nil {
		n.below = make(map[prof.BuildID]string)
		for _, dir := range n.dirs {
			failed := func(path string, err error) { verb.Note(n.streams, "%s: %v", path, err) }
			for _, path := range verb.Binaries(dir, failed) {
				if f, err := objfile.Open(path); err == nil {
					if id, _, err := f.LogID(); err == nil && n.below[id] == "" {
						n.below[id] = path
					}
					f.Close()
				}
			}
		}
	}
	path := n.below[id]
	if id == "" || path == "" {
		return nil
	}
	f, err := objfile.Open(path)
	if err != nil {
		return nil
	}
	return f
}

// Close closes the files.
func (n *Names) Close() {
	for _, f := range n.debug {
		f.Close()
	}
	for _, m := range n.modules {
		if m.file != nil && !m.given {
			m.file.Close()
		}
	}
}

// Module returns the number of a log's module.
func (n *Names) Module(m *tracelog.Module, log string) int {
	key := string(m.BuildID) + "\x00" + m.Path
	i, ok := n.known[key]
	if !ok {
		i = len(n.modules)
		n.known[key] = i
		n.modules = append(n.modules, &namedModule{path: m.Path, id: prof.BuildID(m.BuildID), beside: filepath.Dir(log)})
	}
	return i
}

// Name is a spikes.Namer.
func (n *Names) Name(a spikes.Address, call bool) spikes.Location {
	key := shownAddress{a, call}
	loc, ok := n.shown[key]
	if !ok {
		loc = n.locate(a, call)
		n.shown[key] = loc
	}
	return loc
}

func (n *Names) locate(a spikes.Address, call bool) spikes.Location {
	if a.Module < 0 {
		return spikes.Location{Places: []spikes.Place{{Function: "0x" + strconv.FormatUint(a.Offset, 16)}}}
	}
	m := n.modules[a.Module]
	loc := spikes.Location{Module: m.path}
	n.open(m)
	addr := a.Offset
	if call && addr > 0 {
		addr-- // of the call itself: a return address may be another function's first
	}
	fn := m.function(addr)
	if fn == nil {
		text := n.unnamed(m, a.Offset, addr)
		loc.Places = []spikes.Place{{Function: report.Printable(text)}}
		return loc
	}
	loc.Places = n.places(m, fn, addr)
	return loc
}

// places returns the function at addr and the functions inlined there.
func (n *Names) places(m *namedModule, fn *prof.Func, addr uint64) []spikes.Place {
	symbol, start := fn.Name, fn.Fragments[0].Addr
	if whole, ok := strings.CutSuffix(symbol, ".cold"); ok { // gcc's name of the other half
		symbol = whole
		if at, ok := m.openers[whole]; ok {
			start = at
		}
	}
	p := spikes.Place{Symbol: symbol, Function: n.names.Show(verb.Unversioned(symbol))}
	if m.lines == nil {
		return []spikes.Place{p}
	}
	if file, line, ok := m.lines.Entry(start); ok && verb.Written(file) {
		p.File, p.Opening = file, line
	}
	file, line, found := m.lines.Lookup(addr)
	found = found && verb.Written(file)
	var scopes []objfile.Scope
	if m.scopes != nil {
		scopes = m.scopes.At(addr)
	}
	if len(scopes) < 2 {
		if found && line > 0 {
			p.File, p.Line = file, line
		}
		return []spikes.Place{p}
	}
	p.Line = scopes[1].CallLine
	list := []spikes.Place{p}
	for i, s := range scopes[1:] {
		if strings.HasPrefix(s.Name, "cairn_") && strings.HasSuffix(s.Name, "_") {
			break // a mark of cairn.h
		}
		in := spikes.Place{Symbol: s.Name, Function: n.names.Show(s.Name), Opening: s.Line}
		if i+2 < len(scopes) {
			in.Line = scopes[i+2].CallLine // its file is not known, so it is not shown
		} else if found {
			in.File, in.Line = file, line
		}
		list = append(list, in)
	}
	return list
}

// function returns the function that contains addr, or nil if there is none.
func (m *namedModule) function(addr uint64) *prof.Func {
	i := sort.Search(len(m.funcs), func(i int) bool { return m.funcs[i].Fragments[0].Addr > addr }) - 1
	if i < 0 {
		return nil
	}
	f := &m.funcs[i]
	if part := f.Fragments[0]; addr-part.Addr >= uint64(part.Size) {
		return nil
	}
	return f
}

// open finds the file of a module and reads its names. Errors are reported once.
func (n *Names) open(m *namedModule) {
	if m.opened {
		return
	}
	m.opened = true
	if m.path == "" || m.path[0] == '[' || strings.HasPrefix(m.path, "linux-vdso") || isOfWindows(m.path) { // of the kernel
		return
	}
	if m.file = n.debug[m.id]; m.file != nil {
		m.given = true
	} else if m.file = n.findBelow(m.id); m.file != nil {
		// closed with the module
	} else if m.file = n.find(m); m.file == nil {
		return
	}
	table, _, err := m.file.IdentifiedMap()
	if err != nil {
		verb.Note(n.streams, "%v", err)
		return
	}
	m.funcs = table.Funcs
	m.openers = make(map[string]uint64, len(m.funcs))
	for i := range m.funcs {
		m.openers[m.funcs[i].Name] = m.funcs[i].Fragments[0].Addr
	}
	// A library without debug information is normal.
	if m.lines, err = m.file.Lines(); err != nil && !errors.Is(err, objfile.ErrNoDebug) {
		verb.Note(n.streams, "%v", err)
	}
	if n.inlined && m.lines != nil {
		if m.scopes, err = m.file.Scopes(); err != nil && !errors.Is(err, objfile.ErrNoScopes) {
			verb.Note(n.streams, "%v", err)
		} else if s := m.file.MissingSplit(); s.Units > 0 {
			verb.Note(n.streams, "%s: %s: what was inlined there is part of the functions that contain it", m.file.Path(), s)
		}
	}
}

// isOfWindows reports whether a module is a part of Windows, of which functions have names only in Microsoft's files.
func isOfWindows(path string) bool {
	return len(path) > 2 && strings.HasPrefix(strings.ToLower(path[1:]), ":/windows/")
}

// find opens the file that a log names, or one of that build beside the log.
func (n *Names) find(m *namedModule) *objfile.File {
	var why []string
	for path := range verb.ProgramFiles(m.path, string(m.id), []string{m.beside}) {
		f, err := objfile.Open(path)
		if err != nil {
			why = append(why, err.Error())
			continue
		}
		id, _, err := f.LogID()
		switch {
		case m.id == "":
			if err == nil { // Go programs do not know theirs, and have one
				verb.Note(n.streams, "%s is assumed to be the build that wrote the log, which has no build id", path)
			}
			return f
		case err == nil && id == m.id:
			return f
		case err != nil:
			why = append(why, err.Error())
		default:
			why = append(why, fmt.Sprintf("%s is another build, %s", path, id.Short()))
		}
		f.Close()
	}
	build := "without a build id"
	if m.id != "" {
		build = "of build " + m.id.Short()
	}
	verb.Note(n.streams, "no function names for %s %s: %s; give the program or its debug file as an argument", m.path, build, why[0])
	return nil
}

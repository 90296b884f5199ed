package logset

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/gotrace"
	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/binary/symbolize"
	"github.com/cairnprof/cairn/internal/profile/sourcefunc"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// LoadFuncs returns the functions of the logs. Those of mode trace contain the paths of their
// programs; --map replaces a file.
func (t *Set) LoadFuncs(maps []string) (calllog.Funcs, error) {
	own := 0
	for _, log := range t.Logs {
		if isOwn(log) {
			own++
		}
	}
	switch own {
	case 0:
		p, err := LoadMaps(t.Streams, maps)
		if err != nil {
			return nil, err
		}
		for _, o := range p.Objects {
			t.programs = append(t.programs, codeFile{o.Path, o.Funcs})
		}
		return t.withOwnNames(p.Funcs), nil
	case len(t.Logs):
		return t.OwnFuncs(maps)
	}
	return nil, errors.New("logs of XRay and of others have different function ids: read them separately")
}

// withOwnNames adds the names that logs themselves have, of functions that --map does not name.
func (t *Set) withOwnNames(funcs calllog.Funcs) calllog.Funcs {
	for _, log := range t.Logs {
		named, ok := log.(interface {
			Names() map[calllog.FuncID]string
		})
		for l, wraps := log.(interface{ Unwrap() calllog.Log }); !ok && wraps; l, wraps = log.(interface{ Unwrap() calllog.Log }) {
			log = l.Unwrap()
			named, ok = log.(interface {
				Names() map[calllog.FuncID]string
			})
		}
		if !ok {
			continue
		}
		for id, name := range named.Names() {
			if funcs == nil {
				funcs = make(calllog.Funcs)
			}
			if fn := funcs[id]; fn.Name == "" {
				fn.Name = name
				funcs[id] = fn
			}
		}
	}
	return funcs
}

// isOwn reports whether a log is one of cairn or of Go.
func isOwn(log calllog.Log) bool {
	for {
		switch l := log.(type) {
		case *tracelog.Events, *tracelog.Stacks, *tracelog.Windows, *gotrace.Log:
			return true
		case interface{ Unwrap() calllog.Log }:
			log = l.Unwrap()
		default:
			return false
		}
	}
}

// OwnFuncs names the functions of logs of mode trace by the symbols of their
// programs.
func (t *Set) OwnFuncs(maps []string) (calllog.Funcs, error) {
	objects := t.Objects.List()
	instead := make(map[string]string) // path in the log -> file from --map
	for _, text := range maps {
		if verb.IsDir(text) {
			if err := t.insteadBelow(text, objects, instead); err != nil {
				return nil, err
			}
			continue
		}
		spec, err := symbolize.ParseSpec(text)
		switch {
		case err != nil:
			return nil, verb.Usagef("%s: %w", text, err)
		case !spec.Numbered && insteadByID(spec.Path, objects, instead):
			continue
		case int(spec.Object) >= len(objects):
			return nil, verb.Usagef("%s: the logs have %s", text, report.Plural(len(objects), "object"))
		}
		instead[objects[spec.Object].Path] = spec.Path
	}
	funcs := make(calllog.Funcs)
	var beside []string
	for _, f := range t.Files {
		if dir := filepath.Dir(f.Name); !slices.Contains(beside, dir) {
			beside = append(beside, dir)
		}
	}
	done := make(map[string]bool)
	for _, o := range objects {
		key := o.Path + "\x00" + o.BuildID
		if done[key] {
			continue
		}
		done[key] = true
		path, given := instead[o.Path]
		if !given {
			if path = findProgram(o.Path, o.BuildID, beside); path == "" {
				verb.Note(t.Streams, "%s, which wrote the log, no longer exists or is another build: name its functions by %d=FILE among the arguments", o.Path, o.Number)
				continue
			}
		}
		if err := t.addFuncs(funcs, objects, key, path, given); err != nil {
			return nil, err
		}
	}
	t.addUncertain(funcs)
	t.goNames.Add(funcs)
	return funcs, nil
}

// insteadByID adds a binary for the objects that have its build id, and reports whether there are any. The program of
// some of several logs, and a library, need no number.
func insteadByID(path string, objects []tracelog.Object, instead map[string]string) (any bool) {
	f, err := objfile.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	id, err := f.RecordedID()
	for _, o := range objects {
		if err == nil && o.BuildID != "" && o.BuildID == string(id) {
			instead[o.Path], any = path, true
		}
	}
	return any
}

// insteadBelow adds the binaries below a directory that have the build ids of objects.
func (t *Set) insteadBelow(dir string, objects []tracelog.Object, instead map[string]string) error {
	found := binariesBelow(t.Streams, dir, func(f *objfile.File) (string, bool) {
		id, err := f.RecordedID()
		return string(id), err == nil
	})
	any := false
	for _, o := range objects {
		if path := found[o.BuildID]; o.BuildID != "" && path != "" {
			instead[o.Path], any = path, true
		}
	}
	if !any {
		return fmt.Errorf("%s: contains no program or library that wrote the logs", dir)
	}
	return nil
}

// binariesBelow returns the binaries below a directory that have a key, of each key the first of those that tell most of
// names and lines: a copy may be stripped.
func binariesBelow(s *verb.Streams, dir string, keyOf func(*objfile.File) (string, bool)) map[string]string {
	found, best := make(map[string]string), make(map[string]int)
	failed := func(path string, err error) { verb.Note(s, "%s: %v", path, err) }
	for _, path := range verb.Binaries(dir, failed) {
		f, err := objfile.Open(path)
		if err != nil {
			continue
		}
		key, ok := keyOf(f)
		tells := 1
		for _, section := range []string{".symtab", ".debug_line"} {
			if _, _, _, has, err := f.Section(section); has && err == nil {
				tells++
			}
		}
		f.Close()
		if ok && tells > best[key] {
			found[key], best[key] = path, tells
		}
	}
	return found
}

// withPrograms returns arguments of --map for logs of XRay, with the program in place of each
// directory: these logs do not say which build wrote them.
func withPrograms(s *verb.Streams, texts []string) (out []string, err error) {
	for _, text := range texts {
		if !verb.IsDir(text) {
			out = append(out, text)
			continue
		}
		found := slices.Sorted(maps.Values(binariesBelow(s, text, func(f *objfile.File) (string, bool) {
			id, err := f.RecordedID()
			if err != nil {
				return f.Path(), f.Has(sledSection)
			}
			return string(id), f.Has(sledSection)
		})))
		switch len(found) {
		case 0:
			return nil, fmt.Errorf("%s: contains no program that was built with -fxray-instrument", text)
		case 1:
			out = append(out, found[0])
		default:
			return nil, fmt.Errorf("%s: contains %d programs that were built with -fxray-instrument: name the one that wrote the logs (%s)", text, len(found), report.First(found, 3))
		}
	}
	return out, nil
}

// sledSection is the section of the sleds of programs built with -fxray-instrument.
const sledSection = "xray_instr_map"

// findProgram returns the file that a log names, or one in the directories beside, if it has the
// build id in the log.
func findProgram(path, id string, beside []string) string {
	for p := range verb.ProgramFiles(path, id, beside) {
		f, err := objfile.Open(p)
		if err != nil {
			continue
		}
		got, err := f.RecordedID()
		f.Close()
		if id == "" || err == nil && string(got) == id {
			return p
		}
	}
	return ""
}

// setWait says that a function stands for a wait, if it does. A function of the program with the name of a common one of
// the C library does not wait.
func (t *Set) setWait(fn *calllog.Func, table *prof.Map) {
	callee, native := strings.CutPrefix(fn.Name, tracelog.WaitSymbol)
	if fn.Wait = tracelog.WaitOf(fn.Name); native {
		fn.Name = callee
		t.native = true
	}
	common := slices.Contains([]string{"accept", "pause", "poll", "select", "sleep", "wait"}, callee)
	if native && common && slices.ContainsFunc(table.Funcs, func(f prof.Func) bool { return f.Name == callee }) {
		fn.Wait = ""
	}
}

// addFuncs adds the functions of the file at path, which is all objects with the
// path and build id of key.
func (t *Set) addFuncs(funcs calllog.Funcs, objects []tracelog.Object, key, path string, given bool) error {
	f, err := objfile.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	table, _, err := f.IdentifiedMap()
	if err != nil {
		verb.Note(t.Streams, "%v", err)
		return nil
	}
	lines, err := f.Lines()
	if err != nil && !errors.Is(err, objfile.ErrNoDebug) {
		verb.Note(t.Streams, "%v", err)
	}
	base := filepath.Base(path)
	own := make(calllog.Funcs)
	defer func() { t.programs = append(t.programs, codeFile{path, own}) }()
	for _, o := range objects {
		if o.Path+"\x00"+o.BuildID != key {
			continue
		}
		if id := table.BuildID; given && o.BuildID != "" && string(id) != o.BuildID {
			verb.Note(t.Streams, "%s is not the build that wrote the log (its build id is %x, not %x): names may be wrong", path, string(id), o.BuildID)
		}
		for i := range table.Funcs {
			addr := table.Funcs[i].Fragments[0].Addr
			if !o.Holds(addr) {
				continue
			}
			fn := calllog.Func{Name: verb.Unversioned(table.Funcs[i].Name), Addr: addr, Object: base}
			t.setWait(&fn, table)
			if lines != nil && fn.Wait == "" {
				if file, line, ok := lines.Entry(addr); ok && verb.Written(file) {
					fn.File, fn.Line = file, line
				}
			}
			funcs[o.Function(addr)], own[o.Function(addr)] = fn, fn
		}
	}
	return nil
}

// uncertainSuffix marks a function below one that may not have called it.
const uncertainSuffix = " [uncertain]"

// addUncertain names the functions of calls in windows whose caller is not certain: they have
// other numbers, so that every view of functions shows the mark.
func (t *Set) addUncertain(funcs calllog.Funcs) {
	marked := make(calllog.Funcs)
	for _, log := range t.Logs {
		if !isWindows(log) {
			continue
		}
		for id, fn := range funcs {
			if twin, ok := tracelog.Uncertain(id); ok {
				t.Shown[twin] = t.Names.Show(funcs.Name(id)) + uncertainSuffix
				t.Unmarked[twin] = id
				fn.Name += uncertainSuffix
				marked[twin] = fn
			}
		}
		break
	}
	for id, fn := range marked {
		funcs[id] = fn
	}
}

// isWindows reports whether a log has the calls around spikes.
func isWindows(log calllog.Log) bool {
	for {
		switch l := log.(type) {
		case *tracelog.Windows:
			return true
		case interface{ Unwrap() calllog.Log }:
			log = l.Unwrap()
		default:
			return false
		}
	}
}

// unsuffixed is the symbol of a function whose caller may not be certain.
func unsuffixed(symbol string) string { return strings.TrimSuffix(symbol, uncertainSuffix) }

// OneBody returns the function that finds one id for all bodies of a constructor or destructor of the source.
func (t *Set) OneBody() func(calllog.FuncID) calllog.FuncID {
	type definition struct {
		name, file, object string
		line               int
	}
	first, of := map[definition]calllog.FuncID{}, map[calllog.FuncID]calllog.FuncID{}
	for _, id := range slices.Sorted(maps.Keys(t.Funcs)) {
		fn := t.Funcs[id]
		symbol := t.Symbol(id)
		name := sourcefunc.OneBody(symbol)
		if name == symbol {
			continue
		}
		at := definition{name, fn.File, fn.Object, fn.Line}
		if _, ok := first[at]; !ok {
			first[at] = id
		}
		of[id] = first[at]
	}
	return func(id calllog.FuncID) calllog.FuncID {
		if to, ok := of[id]; ok {
			return to
		}
		return id
	}
}

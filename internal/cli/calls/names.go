package calls

import (
	"errors"
	"path/filepath"
	"slices"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/gotrace"
	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/binary/symbolize"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
)

// LoadFuncs returns the functions of the logs. Those of mode trace contain the paths of their
// programs; --map replaces a file.
func (t *LogSet) LoadFuncs(maps []string) (calllog.Funcs, error) {
	own := 0
	for _, log := range t.Logs {
		if isOwn(log) {
			own++
		}
	}
	switch own {
	case 0:
		p, err := loadMaps(t.Streams, maps)
		if err != nil {
			return nil, err
		}
		for _, o := range p.Objects {
			t.programs = append(t.programs, codeFile{o.Path, o.Funcs})
		}
		return p.Funcs, nil
	case len(t.Logs):
		return t.ownFuncs(maps)
	}
	return nil, errors.New("logs of XRay and of others have different function ids: read them separately")
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

// ownFuncs names the functions of logs of mode trace by the symbols of their
// programs.
func (t *LogSet) ownFuncs(maps []string) (calllog.Funcs, error) {
	objects := t.Objects.List()
	instead := make(map[string]string) // path in the log -> file from --map
	for _, text := range maps {
		spec, err := symbolize.ParseSpec(text)
		switch {
		case err != nil:
			return nil, verb.Usagef("--map %s: %w", text, err)
		case int(spec.Object) >= len(objects):
			return nil, verb.Usagef("--map %s: the logs have %s", text, report.Plural(len(objects), "object"))
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
				verb.Note(t.Streams, "%s, which wrote the log, no longer exists or is another build: name its functions with --map %d=FILE", o.Path, o.Number)
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

// findProgram returns the file that a log names, or one in the directories beside, if it has the
// build id in the log.
func findProgram(path, id string, beside []string) string {
	for _, p := range verb.ProgramFiles(path, id, beside) {
		f, err := objfile.Open(p)
		if err != nil {
			continue
		}
		got, err := f.BuildID()
		f.Close()
		if id == "" || err == nil && string(got) == id {
			return p
		}
	}
	return ""
}

// addFuncs adds the functions of the file at path, which is all objects with the
// path and build id of key.
func (t *LogSet) addFuncs(funcs calllog.Funcs, objects []tracelog.Object, key, path string, given bool) error {
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
			if lines != nil {
				if file, line, ok := lines.Entry(addr); ok {
					fn.File, fn.Line = file, line
				}
			}
			funcs[o.Function(addr)], own[o.Function(addr)] = fn, fn
		}
	}
	return nil
}

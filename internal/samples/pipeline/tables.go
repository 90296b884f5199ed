package pipeline

import (
	"sync"

	"github.com/cairnprof/cairn/internal/binary/ehframe"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/samples/mapped"
	"github.com/cairnprof/cairn/internal/samples/stackcopy"
	"github.com/cairnprof/cairn/sample"
)

// Tables has the unwind tables of mapped files. It is safe for concurrent use.
type Tables struct {
	// find returns the path and the required build id of the file of a mapping, "" for any.
	find func(m *sample.Mapping) (path, id string)

	mu      sync.Mutex
	known   map[string]*unwindTable   // by path and build id of mappings
	missing []string                  // the first few files that are not here
	ehFrame map[string]*ehframe.Table // by path on this machine, of files that were read
}

type unwindTable struct {
	segments []objfile.Segment
	rules    *stackcopy.Rules
}

// maxUnwindTables is the number of files that are read: samples can name any number.
const maxUnwindTables = 1 << 10

// NewTables returns tables of the files that find returns: their path, and the build id that is
// required, "" for any.
func NewTables(find func(m *sample.Mapping) (path, id string)) *Tables {
	return &Tables{find: find, known: map[string]*unwindTable{}, ehFrame: map[string]*ehframe.Table{}}
}

// unwindTables returns the tables of the binaries, and of the files at the paths of mappings on
// this machine, if they are of the same build.
func (b *binaries) unwindTables() *Tables {
	var list []mapped.Module
	for _, x := range b.code.Binaries() {
		list = append(list, mapped.Module{Names: []string{x.Name}, BuildID: x.BuildID})
	}
	files := mapped.New(list, b.files().Same)
	t := NewTables(func(m *sample.Mapping) (path, id string) {
		if i, _ := files.Match(m); i >= 0 {
			return b.programs[i].Path, ""
		}
		return mapped.Parse(m.Path).Path, m.BuildID
	})
	for _, p := range b.programs {
		t.ehFrame[p.Path] = p.Unwind
	}
	return t
}

// ofFile returns the table of .eh_frame of a file that was read, nil if it was not. t may be nil.
func (t *Tables) ofFile(path string) *ehframe.Table {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ehFrame[path]
}

// Of returns the table of the file of a mapping, nil if there is none.
func (t *Tables) Of(m *sample.Mapping) *stackcopy.Table {
	t.mu.Lock()
	defer t.mu.Unlock()
	if mapped.Anonymous(m) || m.Path[0] == '[' {
		return nil
	}
	key := m.Path + "\x00" + m.BuildID
	x, ok := t.known[key]
	if !ok && len(t.known) < maxUnwindTables {
		x = t.read(m)
		t.known[key] = x
	}
	if x == nil {
		return nil
	}
	link, ok := mapped.Link(x.segments, m)
	if !ok {
		return nil
	}
	return &stackcopy.Table{Rules: x.rules, Bias: m.Start - link}
}

func (t *Tables) read(m *sample.Mapping) *unwindTable {
	path, id := t.find(m)
	u, ok := objfile.ReadUnwinding(path, id, t.ehFrame[path])
	if ok {
		t.ehFrame[path] = u.EHFrame
	}
	const most = 4
	if !ok && len(t.missing) < most {
		t.missing = append(t.missing, m.Path)
	}
	rules := stackcopy.LazyRules(u.EHFrame)
	if u.Rows != nil {
		rules = stackcopy.NewRules(u.Rows)
	}
	return &unwindTable{u.Segments, rules}
}

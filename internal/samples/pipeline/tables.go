package pipeline

import (
	"sync"

	"github.com/cairnprof/cairn/internal/binary/ehframe"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/samples/mapped"
	"github.com/cairnprof/cairn/internal/samples/stackcopy"
	"github.com/cairnprof/cairn/sample"
)

// unwindTables has the unwind tables of mapped files: those of the binaries, and of the files
// at the paths of mappings on this machine, if they are of the same build.
type unwindTables struct {
	files    *mapped.Modules
	programs []*objfile.Program

	mu      sync.Mutex
	known   map[string]*unwindTable // by path and build id
	missing []string                // the first few files that are not here
}

type unwindTable struct {
	segments []objfile.Segment
	rows     []ehframe.Row
}

// maxUnwindTables is the number of files that are read: samples can name any number.
const maxUnwindTables = 1 << 10

func (b *binaries) unwindTables() *unwindTables {
	var list []mapped.Module
	for _, x := range b.code.Binaries() {
		list = append(list, mapped.Module{Names: []string{x.Name}, BuildID: x.BuildID})
	}
	return &unwindTables{files: mapped.New(list, b.files().Same), programs: b.programs, known: map[string]*unwindTable{}}
}

// table returns the table of the file of a mapping, nil if there is none.
func (t *unwindTables) table(m *sample.Mapping) *stackcopy.Table {
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
	return &stackcopy.Table{Rows: x.rows, Bias: m.Start - link}
}

func (t *unwindTables) read(m *sample.Mapping) *unwindTable {
	if i, _ := t.files.Match(m); i >= 0 {
		rows, segments, _ := objfile.UnwindTable(t.programs[i].Path, "")
		return &unwindTable{segments, rows}
	}
	rows, segments, ok := objfile.UnwindTable(mapped.Parse(m.Path).Path, m.BuildID)
	const most = 4
	if !ok && len(t.missing) < most {
		t.missing = append(t.missing, m.Path)
	}
	return &unwindTable{segments, rows}
}

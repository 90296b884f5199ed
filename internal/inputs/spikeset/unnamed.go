package spikeset

import (
	"cmp"
	"fmt"
	"path/filepath"
	"sort"

	"github.com/cairnprof/cairn/internal/binary/ehframe"
	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/internal/verb"
)

// unnamed returns what stands for the name of a function that the symbols of a module do not have, as those of a
// stripped program do not have static functions: its start, by the unwind tables, and the last function before it that
// has a name. offset is the address in the frame, and addr the one to look up. All frames of the function get the same
// text.
func (n *Names) unnamed(m *namedModule, offset, addr uint64) string {
	base := filepath.Base(m.path)
	if m.file == nil {
		return fmt.Sprintf("%s+%#x", base, offset)
	}
	if !m.told {
		m.told = true
		m.readFrames()
		if damage := m.file.DamagedPDB(); damage != nil {
			verb.Note(n.streams, "%s: its functions have no names: %v", m.path, damage)
		} else if pdb := m.file.MissingPDB(); pdb != "" {
			verb.Note(n.streams, "%s: its functions have no names without %s: put that beside it", m.path, pdb)
		} else if _, _, _, whole, err := m.file.Section(".symtab"); err == nil && !whole {
			verb.Note(n.streams, "%s is stripped: functions that it does not export have no names; its debug file has them, "+
				"of a package -dbg or -dbgsym, or by debuginfod-find debuginfo %x: give it as an argument", m.path, string(m.id))
		}
	}
	i := sort.Search(len(m.frames), func(i int) bool { return m.frames[i].Lo > addr }) - 1
	if i < 0 || addr >= m.frames[i].Hi {
		return fmt.Sprintf("%s+%#x (unnamed)", base, offset)
	}
	start := m.frames[i].Lo
	before := sort.Search(len(m.funcs), func(i int) bool { return m.funcs[i].Fragments[0].Addr > start }) - 1
	if before < 0 {
		return fmt.Sprintf("%s+%#x (unnamed)", base, start)
	}
	return fmt.Sprintf("%s+%#x (unnamed, after %s)", base, start, n.names.Show(verb.Unversioned(m.funcs[before].Name)))
}

// readFrames reads the unwind tables; without, no start is known.
func (m *namedModule) readFrames() {
	data, addr, _, _, err := m.file.Section(".eh_frame")
	if err != nil {
		return
	}
	frames, err := ehframe.Read(data, addr, m.file.Machine())
	if err != nil {
		return
	}
	stablesort.Func(frames, func(a, b ehframe.Frame) int { return cmp.Compare(a.Lo, b.Lo) })
	m.frames = frames
}

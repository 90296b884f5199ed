package unwind

import (
	"slices"

	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/samples/mapped"
	"github.com/cairnprof/cairn/sample"
)

// places finds the instructions of addresses in processes.
type places struct {
	code  *machinecode.Set
	files *mapped.Processes
	// layouts are computed on demand and dropped when a mapping changes.
	layouts map[int32]layout // by process
	made    uint32           // number of layouts so far

	pid int32 // of the current layout
	layout
}

// layout has the mappings of the binaries in a process. Its id is unique and not 0.
type layout struct {
	id      uint32
	windows []window
}

// window is the mapping of a part of a binary.
type window struct {
	start, size uint64
	link        uint64 // link-time address of start
	binary      *machinecode.Binary
}

// Files say which files are the binaries, apart from their names and build ids.
type Files struct {
	// Aliases are further base names under which each binary may have run.
	Aliases [][]string
	// Same reports whether the file at a path of this machine is the binary with an index. It
	// is called by several goroutines, and may be nil.
	Same func(path string, binary int) bool
}

func newPlaces(code *machinecode.Set, files Files) *places {
	var list []mapped.Module
	for i, b := range code.Binaries() {
		m := mapped.Module{Names: []string{b.Name}, BuildID: b.BuildID, Segments: b.Segments()}
		if i < len(files.Aliases) {
			m.Names = append(m.Names, files.Aliases[i]...)
		}
		list = append(list, m)
	}
	return &places{code: code, files: mapped.NewProcesses(mapped.New(list, files.Same))}
}

// apply applies events.
func (p *places) apply(events []sample.Event) {
	if len(events) == 0 {
		return
	}
	p.files.Apply(events)
	p.layouts, p.layout = nil, layout{}
}

// enter sets the process for ref.
func (p *places) enter(pid int32) {
	if p.layouts == nil {
		p.layouts = map[int32]layout{}
	} else if pid == p.pid && p.id != 0 {
		return
	}
	l, ok := p.layouts[pid]
	if !ok {
		p.made++
		l = layout{p.made, p.find(pid)}
		p.layouts[pid] = l
	}
	p.pid, p.layout = pid, l
}

// find returns the mappings of the binaries in a process. If none was seen, the binaries are
// assumed to be at their link-time addresses, which is correct for programs that are not
// position-independent. Where addresses have build ids before them, those of the program itself have none.
func (p *places) find(pid int32) []window {
	var found []window
	if !p.files.Seen {
		for _, b := range p.code.Binaries() {
			found = append(found, window{0, ^uint64(0), 0, b})
		}
		return found
	}
	for _, w := range p.files.Windows(pid) {
		found = append(found, window{w.Start, w.Size, w.Link, p.code.Binaries()[w.Module]})
	}
	if !p.files.Linked {
		return found
	}
	for _, b := range p.code.Binaries() {
		if !slices.ContainsFunc(found, func(w window) bool { return w.binary == b }) {
			found = append(found, window{0, ^uint64(0), 0, b})
		}
	}
	return found
}

// nowhere reports whether the mappings of the process are known, and an address is in none.
func (p *places) nowhere(addr uint64) bool {
	spaces := &p.files.Spaces
	return len(spaces.Mappings(p.pid)) > 0 && spaces.Lookup(p.pid, addr) == nil
}

// ref returns the instruction at an address of the process.
func (p *places) ref(addr uint64) ref {
	for i := range p.windows {
		w := &p.windows[i]
		if off := addr - w.start; off < w.size {
			if r := w.binary.At(off + w.link); r != machinecode.External {
				return r
			}
		}
	}
	return machinecode.External
}

package mapped

import (
	"slices"

	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/sample"
)

// Window is a part of the address space of a process that has code of a module.
type Window struct {
	Start, Size uint64
	Link        uint64 // link-time address of Start
	Module      int
}

// Processes finds modules in processes. Apply must not run concurrently with other methods.
type Processes struct {
	*Modules

	Spaces sample.Spaces
	// loads has where modules are or were in a process, also where anonymous memory has
	// replaced all of the code since.
	loads map[int32][]load
	// Seen reports that a mapping of a module was executable.
	Seen bool
	// Linked reports that some addresses are those of files, not of a process (sample.Mapping).
	Linked bool
	// Replaced reports that anonymous memory has code of a module.
	Replaced bool
	// Others are the first files that are none of the modules; the program itself is
	// mapped first. OtherBuilds are those with the name of a module and another build id.
	Others, OtherBuilds []string
}

// load is a module at an address. bias is what is added to its link-time addresses.
type load struct {
	module int
	bias   uint64
}

const (
	maxLoads     = 256     // in a process
	maxProcesses = 1 << 14 // with loads
	// MaxOthers is how many paths Others and OtherBuilds have at most.
	MaxOthers = 64
)

// NewProcesses returns an empty set of processes.
func NewProcesses(m *Modules) *Processes {
	return &Processes{Modules: m, loads: map[int32][]load{}}
}

// Apply applies the events of a batch.
func (p *Processes) Apply(events []sample.Event) {
	for i := range events {
		switch e := &events[i]; e.Kind {
		case sample.Map:
			p.mapping(e)
		case sample.Fork:
			if e.PID != e.Parent {
				delete(p.loads, e.PID) // of an earlier process with this number
				p.remember(e.PID, p.loads[e.Parent]...)
			}
		case sample.Exec:
			delete(p.loads, e.PID)
		case sample.Exit, sample.Comm:
		}
	}
	p.Spaces.Apply(events)
}

func (p *Processes) mapping(e *sample.Event) {
	m := &e.Mapping
	p.Linked = p.Linked || m.Linked
	module, how := p.Match(m)
	if module >= 0 {
		if link, ok := p.link(e.PID, m, module); ok {
			p.remember(e.PID, load{module, m.Start - link})
			p.remember(sample.UnknownPID, load{module, m.Start - link})
		}
	}
	if !m.Exec {
		return
	}
	switch {
	case module >= 0:
		p.Seen = true
	case how == OtherBuild:
		add(&p.OtherBuilds, m.Path)
	case !Anonymous(m) && (m.Path[0] == '/' || m.Linked):
		add(&p.Others, m.Path)
	}
}

// link returns the link-time address of the start of a mapping of a module.
func (p *Processes) link(pid int32, m *sample.Mapping, module int) (uint64, bool) {
	return p.list[module].link(m, func(bias uint64) bool { return slices.Contains(p.loads[pid], load{module, bias}) })
}

func add(to *[]string, path string) {
	if len(*to) < MaxOthers && !slices.Contains(*to, path) {
		*to = append(*to, path)
	}
}

func (p *Processes) remember(pid int32, loads ...load) {
	has, known := p.loads[pid]
	if !known && len(p.loads) >= maxProcesses {
		return
	}
	for _, l := range loads {
		if len(has) < maxLoads && !slices.Contains(has, l) {
			has = append(has, l)
		}
	}
	p.loads[pid] = slices.Clip(has)
}

// Windows returns the code of the modules in a process.
func (p *Processes) Windows(pid int32) []Window {
	var out []Window
	for _, m := range p.Spaces.Mappings(pid) {
		if w, ok := p.window(pid, m); ok {
			out = append(out, w)
		}
	}
	return out
}

// window returns the code that a mapping of a process has.
func (p *Processes) window(pid int32, m *sample.Mapping) (Window, bool) {
	if !m.Exec {
		return Window{}, false
	}
	if module, _ := p.Match(m); module >= 0 {
		link, ok := p.link(pid, m, module)
		return Window{m.Start, m.Size, link, module}, ok
	}
	if !Anonymous(m) {
		return Window{}, false
	}
	for _, l := range slices.Backward(p.loads[pid]) {
		if p.list[l.module].covers(m.Start, l.bias, m.Size) {
			p.Replaced = true
			return Window{m.Start, m.Size, m.Start - l.bias, l.module}, true
		}
	}
	return Window{}, false
}

// covers reports whether a range of addresses is inside of the pages of an executable segment,
// huge pages if the range consists of these.
func (m *Module) covers(start, bias, size uint64) bool {
	const small, huge = 1 << 12, 1 << 21
	page := uint64(small)
	if (start|size)%huge == 0 {
		page = huge
	}
	addr := start - bias
	return slices.ContainsFunc(m.Segments, func(s objfile.Segment) bool {
		lo := (s.Addr+bias)&^(page-1) - bias
		hi := (s.Addr+bias+s.Size+page-1)&^(page-1) - bias
		return s.Exec && addr >= lo && addr < hi && size <= hi-addr
	})
}

// Module returns the index of the module whose code is in a mapping of a process, or -1. For
// modules without segments it is that of Match.
func (p *Processes) Module(pid int32, m *sample.Mapping) int {
	if module, _ := p.Match(m); module >= 0 {
		return module
	}
	if w, ok := p.window(pid, m); ok {
		return w.Module
	}
	return -1
}

package unwind

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/sample"
)

// places finds the instructions of addresses in processes.
type places struct {
	code   *machinecode.Set
	spaces sample.Spaces
	// layouts are computed on demand and dropped when a mapping changes.
	layouts map[int32]layout // by process
	made    uint32           // number of layouts so far
	mapped  bool             // a mapping of a binary was seen
	strange map[string]bool
	others  []string // Stats.OtherFiles

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

func newPlaces(code *machinecode.Set) *places {
	return &places{code: code, strange: map[string]bool{}}
}

// apply applies events.
func (p *places) apply(events []sample.Event) {
	if len(events) == 0 {
		return
	}
	p.spaces.Apply(events)
	p.layouts, p.layout = nil, layout{}
	for i := range events {
		e := &events[i]
		if e.Kind != sample.Map || !e.Mapping.Exec {
			continue
		}
		if p.binary(&e.Mapping) != nil {
			p.mapped = true
		} else {
			p.other(e.Mapping.Path)
		}
	}
}

// other records a file that is not one of the binaries. The program itself is mapped first.
func (p *places) other(path string) {
	const most = 4
	if len(p.others) < most && filepath.IsAbs(path) && !strings.HasPrefix(path, "//") && !slices.Contains(p.others, path) {
		p.others = append(p.others, path)
	}
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
// position-independent.
func (p *places) find(pid int32) []window {
	var found []window
	if !p.mapped {
		for _, b := range p.code.Binaries() {
			found = append(found, window{0, ^uint64(0), 0, b})
		}
		return found
	}
	for _, m := range p.spaces.Mappings(pid) {
		if b := p.binary(m); b != nil {
			if link, ok := b.LinkAddress(m.Offset); ok {
				found = append(found, window{m.Start, m.Size, link, b})
			}
		}
	}
	return found
}

// binary returns the mapped binary, or nil if it is another file. The directory is ignored,
// because binaries may have been moved since the run. Build ids are compared.
func (p *places) binary(m *sample.Mapping) *machinecode.Binary {
	if !m.Exec {
		return nil
	}
	name := filepath.Base(m.Path)
	for _, b := range p.code.Binaries() {
		if b.Name != name {
			continue
		}
		if !sameBuild(m.BuildID, b.BuildID) {
			p.strange[m.Path] = true
			continue
		}
		return b
	}
	return nil
}

// sameBuild reports whether build ids may belong to one build: one is unknown, or truncated to
// 20 bytes by the kernel.
func sameBuild(a, b string) bool { return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) }

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

package sample

import (
	"cmp"
	"slices"
)

// Spaces are the address spaces of processes: their mappings after the events so far. The zero value has none.
//
// Apply must not run concurrently with other methods; lookups may run concurrently.
type Spaces struct {
	processes map[int32]*space
	ended     []ended // that are still known, in the order of their ends
	// anywhere has all mappings of any process. It is used for samples that do not name their process.
	anywhere  space
	conflicts int
	named     bool
}

const (
	// maxEnded is the number of processes that are kept after their end: samples of them may come later, as the
	// buffers of several processors are not synchronized.
	maxEnded = 1 << 12
	// maxAnywhere bounds the mappings kept for all processes together.
	maxAnywhere = 1 << 14
)

// ended is a process that ended. Its id may have been reused since.
type ended struct {
	pid   int32
	space *space
}

// space has mappings that do not overlap, ascending.
type space struct {
	mappings []*Mapping
}

// Named says that all samples name their process: mappings of any process are not kept then. It must be
// called before Apply.
func (s *Spaces) Named() { s.named = true }

// Apply applies the events of a batch.
func (s *Spaces) Apply(events []Event) {
	for i := range events {
		s.apply(&events[i])
	}
}

func (s *Spaces) apply(e *Event) {
	switch e.Kind {
	case Map:
		m := e.Mapping
		m.Size = min(m.Size, ^uint64(0)-m.Start) // its end is an address, too
		if m.Size == 0 {
			return
		}
		s.process(e.PID).insert(&m)
		if !s.named {
			s.mapAnywhere(&m)
		}
	case Fork:
		if e.PID == e.Parent {
			return // a thread
		}
		s.begin(e.PID, slices.Clone(s.process(e.Parent).mappings))
	case Exec:
		s.begin(e.PID, nil)
	case Exit:
		if e.PID == e.TID { // not only a thread
			s.end(e.PID)
		}
	case Comm:
	}
}

// begin gives a process a new address space.
func (s *Spaces) begin(pid int32, mappings []*Mapping) {
	s.process(pid) // so that there is a map
	s.processes[pid] = &space{mappings}
}

// end makes a process be forgotten when many others have ended after it.
func (s *Spaces) end(pid int32) {
	p := s.processes[pid]
	if p == nil {
		return
	}
	s.ended = append(s.ended, ended{pid, p})
	if len(s.ended) <= maxEnded {
		return
	}
	first := s.ended[0]
	s.ended = s.ended[1:]
	if s.processes[first.pid] == first.space {
		delete(s.processes, first.pid)
	}
}

func (s *Spaces) process(pid int32) *space {
	if p := s.processes[pid]; p != nil {
		return p
	}
	if s.processes == nil {
		s.processes = make(map[int32]*space)
	}
	p := new(space)
	s.processes[pid] = p
	return p
}

// mapAnywhere records a mapping of some process, and whether it conflicts with one of another.
func (s *Spaces) mapAnywhere(m *Mapping) {
	over := s.anywhere.overlapping(m)
	for _, old := range over {
		if old.Path != m.Path || old.Start-old.Offset != m.Start-m.Offset {
			s.conflicts++
			break
		}
	}
	if len(over) > 0 || len(s.anywhere.mappings) < maxAnywhere {
		s.anywhere.insert(m)
	}
}

// Conflicts returns how often something was mapped over a different mapping, of the same process or of another.
// Samples without a process at such addresses are attributed to the latest mapping.
func (s *Spaces) Conflicts() int { return s.conflicts }

// Lookup returns the mapping of a process at an address, nil if none is known. Equal pointers mean the same
// mapping. For UnknownPID it is the mapping of any process.
func (s *Spaces) Lookup(pid int32, addr uint64) *Mapping {
	if pid == UnknownPID {
		return s.anywhere.lookup(addr)
	}
	if p := s.processes[pid]; p != nil {
		if m := p.lookup(addr); m != nil {
			return m
		}
	}
	if kernel := s.processes[UnknownPID]; kernel != nil {
		return kernel.lookup(addr)
	}
	return nil
}

// Mappings returns the mappings of a process, ascending by address; for UnknownPID those of all processes.
func (s *Spaces) Mappings(pid int32) []*Mapping {
	if pid == UnknownPID {
		return s.anywhere.mappings
	}
	if p := s.processes[pid]; p != nil {
		return p.mappings
	}
	return nil
}

func (p *space) lookup(addr uint64) *Mapping {
	i, found := slices.BinarySearchFunc(p.mappings, addr, func(m *Mapping, addr uint64) int { return cmp.Compare(m.Start, addr) })
	if !found {
		i--
	}
	if i >= 0 && p.mappings[i].Contains(addr) {
		return p.mappings[i]
	}
	return nil
}

// bounds returns the indexes of the mappings that overlap m.
func (p *space) bounds(m *Mapping) (from, to int) {
	from, _ = slices.BinarySearchFunc(p.mappings, m.Start, func(old *Mapping, start uint64) int {
		if old.End() > start {
			return 1
		}
		return -1
	})
	to = from
	for to < len(p.mappings) && p.mappings[to].Start < m.End() {
		to++
	}
	return from, to
}

func (p *space) overlapping(m *Mapping) []*Mapping {
	from, to := p.bounds(m)
	return p.mappings[from:to]
}

// insert adds m, and keeps only the parts of existing mappings that it does not cover.
func (p *space) insert(m *Mapping) {
	from, to := p.bounds(m)
	pieces := []*Mapping{m}
	if from < to {
		if first := p.mappings[from]; first.Start < m.Start {
			before := *first
			before.Size = m.Start - first.Start
			pieces = []*Mapping{&before, m}
		}
		if last := p.mappings[to-1]; last.End() > m.End() {
			after := *last
			after.Start, after.Offset = m.End(), last.FileOffset(m.End())
			after.Size = last.End() - m.End()
			pieces = append(pieces, &after)
		}
	}
	p.mappings = slices.Replace(p.mappings, from, to, pieces...)
}

package unwind

import (
	"github.com/cairnprof/cairn/internal/samples/stackcopy"
	"github.com/cairnprof/cairn/sample"
)

// Tables returns the unwind table of the file of a mapping, nil if there is none. It is called
// by several goroutines.
type Tables func(m *sample.Mapping) *stackcopy.Table

// maxTables limits the tables by mapping that are kept.
const maxTables = 1 << 12

// walkCopy returns the stack of a sample of which registers and a copy of the stack were
// recorded, and whether it is whole. What the kernel did comes first.
func (u *Unwinder) walkCopy(s *sample.Sample) (stack []uint64, whole bool) {
	if s.User.Unwound > 0 {
		end := stackcopy.End(s.User.Unwound - 1)
		u.stats.Copies[end] += s.Count
		return s.Stack, end == stackcopy.Whole
	}
	u.addrs = u.addrs[:0]
	for _, addr := range s.Stack {
		if addr < kernelSpace {
			break
		}
		u.addrs = append(u.addrs, addr)
	}
	var end stackcopy.End
	u.addrs, end = stackcopy.Walk(u.addrs, s.User, u.code.Machine(), u.table)
	u.stats.Copies[end] += s.Count
	return u.addrs, end == stackcopy.Whole
}

// table returns the unwind table for an address of the current process.
func (u *Unwinder) table(pc uint64) *stackcopy.Table {
	if t := u.lastTable; t.mapping != nil && t.pid == u.places.pid && t.mapping.Contains(pc) {
		return t.table
	}
	m := u.places.files.Spaces.Lookup(u.places.pid, pc)
	if m == nil || !m.Exec {
		return nil
	}
	t, ok := u.tables[m]
	if !ok {
		t = u.opt.Tables(m)
		if u.tables == nil || len(u.tables) >= maxTables {
			u.tables = map[*sample.Mapping]*stackcopy.Table{}
		}
		u.tables[m] = t
	}
	u.lastTable = mappedTable{m, u.places.pid, t}
	return t
}

// mappedTable is the table of a mapping of a process.
type mappedTable struct {
	mapping *sample.Mapping
	pid     int32
	table   *stackcopy.Table
}

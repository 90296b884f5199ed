package detourfile

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/ehframe"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/binary/x86"
	"github.com/cairnprof/cairn/internal/instrument/detour"
)

// exports returns the addresses of code that a program for Windows exports.
func exports(m *detour.Module, w *objfile.WindowsImage) (addrs []uint64) {
	const directory, count, table = 40, 20, 28
	le := binary.LittleEndian
	head := at(m, w.Base+uint64(w.Exports[0]), directory)
	if w.Exports[1] == 0 || len(head) < directory {
		return nil
	}
	n := min(uint64(le.Uint32(head[count:])), uint64(w.Size)/4)
	for list := at(m, w.Base+uint64(le.Uint32(head[table:])), int(4*n)); len(list) >= 4; list = list[4:] {
		addrs = append(addrs, w.Base+uint64(le.Uint32(list)))
	}
	return addrs
}

// gaps are what is between the functions in the table for unwinders: functions that need no entry there, such as those of clang that
// call nothing, and what is none.
type gaps struct {
	m      *detour.Module
	names  map[uint64]string
	starts []uint64 // where functions may begin, ascending
}

// addGaps adds the code that is in no function, but for padding: functions without unwind information, and what may jump to others.
func addGaps(m *detour.Module, names map[uint64]string) {
	slices.SortFunc(m.Functions, func(a, b detour.Function) int {
		return cmp.Or(cmp.Compare(a.Addr, b.Addr), cmp.Compare(b.Size, a.Size))
	})
	g := gaps{m: m, names: names, starts: gapStarts(m, names)}
	known := m.Functions
	for _, s := range m.Sections {
		if !s.Code {
			continue
		}
		from, end := s.Addr, s.Addr+uint64(len(s.Data))
		for _, f := range known {
			if f.Addr >= from && f.Addr < end {
				g.add(s, from, f.Addr)
			}
			if f.Addr >= s.Addr && f.Addr < end {
				from = max(from, f.Addr+f.Size)
			}
		}
		g.add(s, from, end)
	}
}

// gapStarts returns, ascending, where functions may begin that are not in the table: what has a name, what is exported, and what is
// called. What only data refers to may be data.
func gapStarts(m *detour.Module, names map[uint64]string) []uint64 {
	starts := map[uint64]bool{}
	for addr := range names {
		starts[addr] = true
	}
	for _, addr := range m.Exports {
		starts[addr] = true
	}
	for _, f := range m.Functions {
		code := at(m, f.Addr, int(f.Size))
		for addr := f.Addr; len(code) > 0; {
			i, err := x86.Decode(code)
			if err != nil {
				break
			}
			if i.Class == controlflow.Call {
				starts[i.Target(addr)] = true
			}
			code, addr = code[i.Len:], addr+uint64(i.Len)
		}
	}
	return slices.Sorted(maps.Keys(starts))
}

// add adds what is in [from, to), which is in no known function.
func (g *gaps) add(s detour.Section, from, to uint64) {
	for from < to {
		k, _ := slices.BinarySearch(g.starts, from+1)
		end := to
		if k < len(g.starts) {
			end = min(end, g.starts[k])
		}
		g.piece(s, from, end)
		from = end
	}
}

// piece adds what is in [from, to), in which no function begins but at from.
func (g *gaps) piece(s detour.Section, from, to uint64) {
	if _, begins := slices.BinarySearch(g.starts, from); begins {
		code := s.Data[from-s.Addr : to-s.Addr]
		size := uint64(detour.Leaf(code, from))
		if size == 0 && detour.Raises(g.names[from]) && detour.BeginsAsLeaf(code) {
			size = to - from
		}
		if size > 0 {
			g.m.Frames = append(g.m.Frames, ehframe.Frame{Lo: from, Hi: from + size, Called: true})
			g.m.Functions = append(g.m.Functions, detour.Function{Name: g.names[from], Addr: from, Size: size, Unwind: detour.LeafUnwind})
			from += size
		}
	}
	for from < to {
		code := s.Data[from-s.Addr : to-s.Addr]
		i, err := x86.Decode(code)
		padding := err == nil && (i.Class == controlflow.Nop || i.Class == controlflow.Trap && i.Opcode == 0xcc)
		if !padding && code[0] != 0 || g.names[from] != "" {
			g.m.Functions = append(g.m.Functions, detour.Function{Name: g.names[from], Addr: from, Size: to - from})
			return
		}
		from += uint64(max(i.Len, 1))
	}
}

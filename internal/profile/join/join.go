// Package join joins several builds of the same program into one module, matching functions by
// name and not by build id: variants that have probes in different groups of functions, or
// builds in which most functions did not change. It is pure.
//
// A function is identified by its symbol name, its source file and the signature of its
// control flow; if a module has several such functions, they are matched in order of address.
// The result has the version of a function in the first module that has it: a function with
// the same name and file and another signature is another version, and is omitted.
//
// The result has new addresses, as no binary has all functions: they are placed one after the
// other. Callers are found by the function that contains them; a caller without probes in its
// build is in no map, so it is unknown.
package join

import (
	"cmp"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/internal/profile/absent"
	"github.com/cairnprof/cairn/internal/profile/merge"
	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/prof"
)

// base is the address of the first function, of which none may be 0.
const base = 0x1000

// align is that of functions.
const align = 16

// Result is the joined module, and what was omitted.
type Result struct {
	Module  prof.Module
	Changed int // functions that an earlier module has in another shape
	Unknown int // first callers whose function has no probes
}

// identity identifies a function across builds.
type identity struct {
	name, file string
	signature  uint32
	nth        int // among equal ones in one module
}

// version is a function in any shape.
type version struct{ name, file string }

// joiner is the state of a join.
type joiner struct {
	res     Result
	index   map[identity]int   // into the result's functions
	shape   map[version]uint32 // the signature that counts
	numbers [][]int            // by module and function: its number in the result, or -1
}

// Modules joins modules. If versions of a function differ, that of the first module is used.
func Modules(modules []prof.Module) (*Result, error) {
	if len(modules) == 0 {
		return nil, fmt.Errorf("no modules to join")
	}
	j := &joiner{index: map[identity]int{}, shape: map[version]uint32{}}
	j.res.Module.Module = modules[0].Module
	j.res.Module.Machine = (&prof.Profile{Modules: modules}).Machine()
	for i := range modules {
		if err := j.functions(&modules[i]); err != nil {
			return nil, err
		}
	}
	addrs, err := j.layOut()
	if err != nil {
		return nil, err
	}
	parts, maps := make([]prof.Module, len(modules)), make([]*prof.Map, len(modules))
	for i := range modules {
		maps[i] = &modules[i].Map
		parts[i] = j.translate(&modules[i], j.numbers[i], addrs)
	}
	j.res.Module = parts[0]
	for i := range parts[1:] {
		if err := merge.Modules(&j.res.Module, &parts[i+1]); err != nil {
			return nil, err
		}
	}
	j.res.Module.Absent = absent.Missing(append(maps, &prof.Map{Funcs: j.res.Module.Funcs}))
	return &j.res, nil
}

// functions adds the functions of m that are not there yet.
func (j *joiner) functions(m *prof.Module) error {
	all := &j.res.Module.Funcs
	seen := map[identity]int{}
	numbers := make([]int, len(m.Funcs))
	for i := range m.Funcs {
		f := &m.Funcs[i]
		id := identity{f.Name, f.File, f.Signature, 0}
		id.nth = seen[id]
		seen[identity{f.Name, f.File, f.Signature, 0}]++
		v := version{f.Name, f.File}
		k, ok := j.index[id]
		switch shape, known := j.shape[v]; {
		case ok && !fits(&(*all)[k], f):
			return fmt.Errorf("%s has mode %s in one build (%s) and mode %s in another, or their probes differ: join builds of one mode and one compiler", f.Name, f.Mode, m.BuildID.Short(), (*all)[k].Mode)
		case ok:
			numbers[i] = k
		case known && shape != f.Signature && !slices.ContainsFunc(m.Funcs, func(g prof.Func) bool { return g.Name == f.Name && g.File == f.File && g.Signature == shape }):
			numbers[i] = -1
			j.res.Changed++
		default:
			if !known {
				j.shape[v] = f.Signature
			}
			numbers[i] = len(*all)
			j.index[id] = numbers[i]
			*all = append(*all, *f)
		}
	}
	j.numbers = append(j.numbers, numbers)
	return nil
}

// fits reports whether two functions with the same signature have the same records.
func fits(f, g *prof.Func) bool {
	return f.Mode == g.Mode && f.Atomic == g.Atomic && f.NumBlocks() == g.NumBlocks() && len(f.Fragments) == len(g.Fragments) &&
		slices.EqualFunc(f.Implied, g.Implied, func(p, q prof.Implied) bool {
			return p.Block == q.Block && slices.Equal(p.By, q.By)
		})
}

// layOut sorts the functions by their identities alone, and assigns addresses and records. It returns their new
// numbers.
func (j *joiner) layOut() (renumbered []int, err error) {
	m := &j.res.Module
	order := make([]int, len(m.Funcs))
	for i := range order {
		order[i] = i
	}
	stablesort.Func(order, func(a, b int) int {
		f, g := &m.Funcs[a], &m.Funcs[b]
		return cmp.Or(cmp.Compare(f.File, g.File), cmp.Compare(f.Name, g.Name), cmp.Compare(f.Signature, g.Signature))
	})
	funcs := make([]prof.Func, len(order))
	renumbered = make([]int, len(order))
	addr, record := uint64(base), uint64(0)
	digest := sha1.New()
	for i, k := range order {
		f := m.Funcs[k]
		renumbered[k] = i
		f.Fragments = slices.Clone(f.Fragments)
		for n := range f.Fragments {
			fr := &f.Fragments[n]
			fr.Addr = addr
			addr += (uint64(fr.Size) + align) &^ (align - 1)
			fmt.Fprintf(digest, "%d %d\n", fr.Size, fr.Blocks)
		}
		f.Record = record
		record += mip.RecordSize(&f)
		record = (record + wire.RecordAlign - 1) &^ (wire.RecordAlign - 1)
		fmt.Fprintf(digest, "%q %q %d %t %#x %v %v\n", f.Name, f.File, f.Mode, f.Atomic, f.Signature, f.Implied, f.Calls)
		if f.Mode.HasEdges() {
			fmt.Fprintf(digest, "%v\n", f.Flow)
		}
		funcs[i] = f
	}
	if record > math.MaxUint32 {
		return nil, fmt.Errorf("records of %d bytes are too large to join", record)
	}
	var word [8]byte
	binary.LittleEndian.PutUint64(word[:], addr)
	digest.Write(word[:])
	m.BuildID = prof.BuildID(digest.Sum(nil))
	m.RawAddr, m.RawSize, m.Funcs = addr, record, funcs
	return renumbered, nil
}

// translate returns the counts of m for the functions of the result.
func (j *joiner) translate(m *prof.Module, numbers, renumbered []int) prof.Module {
	all := &j.res.Module
	part := prof.Module{Map: all.Map, Raws: m.Raws, TracesSeen: m.TracesSeen, Held: m.Held, Counts: make([]prof.Counts, len(all.Funcs))}
	number := func(i int) int {
		if numbers[i] < 0 {
			return -1
		}
		return renumbered[numbers[i]]
	}
	for i := range part.Counts {
		part.Counts[i].Unprobed = m.Raws // except for those in m
		if f := &all.Funcs[i]; f.Mode.HasBlocks() && f.NumBlocks() > 1 {
			part.Counts[i].Blocks = make([]uint64, f.NumBlocks()-1)
			if f.Mode.HasEdges() {
				part.Counts[i].Times = make([]uint64, f.NumBlocks()-1)
			}
		}
	}
	code := newCode(m.Funcs)
	for i := range m.Counts {
		k := number(i)
		if k < 0 {
			continue
		}
		c := m.Counts[i]
		c.Blocks = slices.Clone(c.Blocks)
		if c.Blocks == nil {
			c.Blocks = part.Counts[k].Blocks
		}
		c.Times = slices.Clone(c.Times)
		if c.Times == nil {
			c.Times = part.Counts[k].Times
		}
		c.Callers = j.callers(m, c.Callers, code, number)
		part.Counts[k] = c
	}
	for _, t := range m.Traces {
		funcs := make([]uint32, 0, len(t.Funcs))
		for _, fn := range t.Funcs {
			if k := number(int(fn)); k >= 0 {
				funcs = append(funcs, uint32(k))
			}
		}
		if t.Funcs = funcs; len(funcs) > 0 {
			part.Traces = append(part.Traces, t)
		}
	}
	return part
}

// callers translates return addresses. Those in functions without probes become the one that
// is outside.
func (j *joiner) callers(m *prof.Module, sites []prof.Site, code []piece, number func(int) int) []prof.Site {
	runs := map[uint64]uint64{}
	for _, s := range sites {
		addr := uint64(0)
		if p, ok := find(code, s.Addr); ok && s.Addr != 0 {
			if k := number(p.fn); k >= 0 {
				from, to := &m.Funcs[p.fn].Fragments[p.fragment], &j.res.Module.Funcs[k].Fragments[p.fragment]
				addr = to.Addr + min(s.Addr-from.Addr, uint64(to.Size))
			}
		}
		if addr == 0 && s.Addr != 0 {
			j.res.Unknown++
		}
		runs[addr] = min(runs[addr]+s.Runs, m.Raws)
	}
	out := make([]prof.Site, 0, len(runs))
	for addr, n := range runs {
		out = append(out, prof.Site{Addr: addr, Runs: n})
	}
	stablesort.Func(out, func(a, b prof.Site) int { return cmp.Compare(a.Addr, b.Addr) })
	return slices.Clip(out)
}

// piece is a fragment of code.
type piece struct {
	lo, hi       uint64
	fn, fragment int
}

func newCode(funcs []prof.Func) []piece {
	var code []piece
	for i := range funcs {
		for k, fr := range funcs[i].Fragments {
			code = append(code, piece{fr.Addr, fr.Addr + uint64(fr.Size), i, k})
		}
	}
	stablesort.Func(code, func(a, b piece) int { return cmp.Compare(a.lo, b.lo) })
	return code
}

// find returns the piece that contains the call which returns to addr.
func find(code []piece, addr uint64) (piece, bool) {
	i, _ := slices.BinarySearchFunc(code, addr, func(p piece, addr uint64) int {
		if p.lo < addr {
			return -1
		}
		return 1
	})
	if i == 0 || addr > code[i-1].hi {
		return piece{}, false
	}
	return code[i-1], true
}

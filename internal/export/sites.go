package export

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/cairnprof/cairn/internal/profile/callgraph"
	"github.com/cairnprof/cairn/internal/profile/coverage"
	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/prof"
)

// Site is a place that calls a function of the module, and did.
type Site struct {
	Caller, Block int    // function and its block
	Addr          uint64 // link-time address of the call or jump instruction
	Callee        int
	Indirect      bool
	Count         uint64 // share of the callee's calls; the package comment describes the derivation
	// Only is set if no other place is known to call the callee.
	Only bool
}

// Sites returns the call sites of functions of m, ascending by address, then by callee.
// Instructions determine the position of a call in a block; without code there are no sites.
func Sites(m *prof.Module, code Code) []Site {
	if code == nil {
		return nil
	}
	s := &siteFinder{m: m, code: code, index: callgraph.NewCodeIndex(m.Funcs), entries: map[uint64]int{}}
	for i := range m.Funcs {
		// Of functions that the linker folded into one, the first that ran.
		if _, taken := s.entries[m.Funcs[i].Addr()]; !taken && ran(m, i) {
			s.entries[m.Funcs[i].Addr()] = i
		}
	}
	for i := range m.Funcs {
		s.direct(i)
	}
	for i := range m.Counts {
		s.observed(i)
	}
	stablesort.Func(s.sites, func(a, b Site) int {
		return cmp.Or(cmp.Compare(a.Addr, b.Addr), cmp.Compare(a.Callee, b.Callee))
	})
	s.sites = slices.CompactFunc(s.sites, func(a, b Site) bool { return a.Addr == b.Addr && a.Callee == b.Callee })
	// First by the counts of the callers, then by the resulting counts of blocks.
	s.share(func(site *Site) uint64 { return weight(m, site.Caller) })
	counts := blockCounts(m, s.sites)
	s.share(func(site *Site) uint64 { return counts[site.Caller][site.Block] })
	return s.sites
}

type siteFinder struct {
	m       *prof.Module
	code    Code
	index   *callgraph.CodeIndex
	entries map[uint64]int // functions that ran, by address
	sites   []Site
}

// direct adds the direct calls in the blocks of function i that ran and that, according to the
// map, contain some.
func (s *siteFinder) direct(i int) {
	f, c := &s.m.Funcs[i], &s.m.Counts[i]
	holds := map[int]bool{}
	for _, call := range f.Calls {
		holds[int(call.Block)] = c.Covered(int(call.Block))
	}
	if f.Mode.HasEdges() { // its map has no calls
		for b := range f.NumBlocks() {
			holds[b] = c.Covered(b)
		}
	}
	for b := range coverage.Blocks(f) {
		if holds[b.Index] {
			s.scan(i, b)
		}
	}
}

// scan finds calls and tail calls in a block by their target addresses. It does not decode the
// other instructions: four bytes that are the distance to a function, after the opcode of a
// call, are hardly anything else.
func (s *siteFinder) scan(caller int, b coverage.Block) {
	code := s.code.Bytes(b.Lo, b.Hi)
	if s.m.Machine == aarch64 {
		s.scanAArch64(caller, b.Index, b.Lo, code)
		return
	}
	for i := range code {
		n := 0
		switch rest := code[i:]; {
		case len(rest) >= 5 && (rest[0] == 0xe8 || rest[0] == 0xe9):
			n = 5
		case len(rest) >= 6 && rest[0] == 0x0f && rest[1]&0xf0 == 0x80:
			n = 6
		default:
			continue
		}
		target := b.Lo + uint64(i+n) + uint64(int64(int32(binary.LittleEndian.Uint32(code[i+n-4:]))))
		callee, ok := s.entries[target]
		// A jump to its own entry is a loop.
		if ok && (callee != caller || code[i] == 0xe8) {
			s.sites = append(s.sites, Site{Caller: caller, Block: b.Index, Addr: b.Lo + uint64(i), Callee: callee})
		}
	}
}

// observed adds the places that runs saw call function i first.
func (s *siteFinder) observed(i int) {
	for _, from := range s.m.Counts[i].Callers {
		if from.Addr == 0 {
			continue
		}
		caller, block, ok := s.index.Find(from.Addr - 1)
		if !ok {
			continue
		}
		before := callBefore
		if s.m.Machine == aarch64 {
			before = callBeforeAArch64
		}
		call := before(s.code, from.Addr)
		switch {
		case call.addr == 0:
		case call.indirect:
			s.sites = append(s.sites, Site{Caller: caller, Block: block, Addr: call.addr, Callee: i, Indirect: true})
		case call.target == s.m.Funcs[i].Addr():
			s.sites = append(s.sites, Site{Caller: caller, Block: block, Addr: call.addr, Callee: s.entries[call.target]})
		}
		// Any other direct call is one of a function that jumped on to this one.
	}
}

type call struct {
	addr, target uint64 // addr is 0 if there is no call
	indirect     bool
}

// maxIndirectCall is the length of the longest indirect call without a segment
// prefix: REX, opcode, ModR/M, SIB, 32-bit displacement.
const maxIndirectCall = 8

// callBefore returns the call instruction that ends at address ret.
func callBefore(code Code, ret uint64) call {
	if b := code.Bytes(ret-5, ret); b != nil && b[0] == 0xe8 {
		return call{addr: ret - 5, target: ret + uint64(int64(int32(binary.LittleEndian.Uint32(b[1:]))))}
	}
	// The longest form is tried first: without its REX prefix it would also be a call. A byte
	// that looks like a prefix may be the end of another instruction, but rarely one that this
	// call could have.
	for n := uint64(maxIndirectCall); n >= 2; n-- {
		if b := code.Bytes(ret-n, ret); b != nil && isIndirectCall(b) {
			return call{addr: ret - n, indirect: true}
		}
	}
	return call{}
}

// isIndirectCall reports whether b is one instruction, call r/m64 (Intel SDM,
// opcode FF /2), with a REX prefix only if that extends a register.
func isIndirectCall(b []byte) bool {
	rex := byte(0)
	if b[0]&0xf0 == 0x40 {
		if rex, b = b[0]&0xf, b[1:]; rex == 0 {
			return false
		}
	}
	if len(b) < 2 || b[0] != 0xff || b[1]>>3&7 != 2 {
		return false
	}
	mod, rm := b[1]>>6, b[1]&7
	n, extends := 2, byte(1) // the base register
	if mod != 3 && rm == 4 {
		if len(b) < 3 {
			return false
		}
		n, extends = 3, 3 // and the index register
		if mod == 0 && b[2]&7 == 5 {
			n, extends = 7, 2 // no base
		}
	}
	switch {
	case mod == 1:
		n++
	case mod == 2:
		n += 4
	case mod == 0 && rm == 5:
		n, extends = 6, 0 // relative to the instruction pointer
	}
	return len(b) == n && rex&^extends == 0
}

// share distributes the callee's calls to its sites, in proportion to how often each site ran.
func (s *siteFinder) share(ran func(*Site) uint64) {
	byCallee := map[int][]int{}
	for i := range s.sites {
		byCallee[s.sites[i].Callee] = append(byCallee[s.sites[i].Callee], i)
	}
	for callee, sites := range byCallee {
		var outside uint64
		for _, from := range s.m.Counts[callee].Callers {
			if _, _, ok := s.index.Find(from.Addr - 1); from.Addr == 0 || !ok {
				outside += from.Runs
			}
		}
		total := weight(s.m, callee)
		sites = slices.DeleteFunc(sites, func(i int) bool {
			times, exact := s.exact(&s.sites[i])
			if exact {
				s.sites[i].Count, s.sites[i].Only = times, false
				total -= min(total, times)
			}
			return exact
		})
		if len(sites) == 0 {
			continue
		}
		weights := make([]uint64, len(sites), len(sites)+1)
		for k, i := range sites {
			weights[k] = max(ran(&s.sites[i]), 1)
		}
		if outside > 0 {
			weights = append(weights, outside)
		}
		shares := apportion(total, weights)
		for k, i := range sites {
			s.sites[i].Count, s.sites[i].Only = shares[k], len(weights) == 1
		}
	}
}

// exact returns how often a direct call or jump was executed, if that is known.
func (s *siteFinder) exact(site *Site) (times uint64, known bool) {
	f := &s.m.Funcs[site.Caller]
	if !f.Mode.HasEdges() || site.Indirect {
		return 0, false
	}
	return f.Executions(&s.m.Counts[site.Caller])[site.Block], true
}

// apportion divides total in proportion to weights, which are not all zero. The sum of the
// parts is total; the remainder of rounding is added to the first parts, one each.
func apportion(total uint64, weights []uint64) []uint64 {
	// Halve until the sum fits.
	shift := 0
	for sum := uint64(0); ; shift++ {
		carry := uint64(0)
		sum = 0
		for _, w := range weights {
			var c uint64
			sum, c = bits.Add64(sum, max(w>>shift, 1), 0)
			carry |= c
		}
		if carry != 0 {
			continue
		}
		parts := make([]uint64, len(weights))
		left := total
		for i, w := range weights {
			hi, lo := bits.Mul64(total, max(w>>shift, 1))
			parts[i], _ = bits.Div64(hi, lo, sum)
			left -= parts[i]
		}
		for i := range left {
			parts[i]++
		}
		return parts
	}
}

package mip

import (
	"fmt"
	"math"
	"strings"

	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/prof"
)

// Readers return and writers accept only values that satisfy the rules below, so that code which works with a
// map or a profile need not check again.

// checkModule reports the first rule that a map's head breaks.
func checkModule(m *prof.Map) error {
	switch {
	case len(m.BuildID) == 0 || len(m.BuildID) > wire.MaxBuildID:
		return fmt.Errorf("build id of %d bytes, 1 to %d are allowed", len(m.BuildID), wire.MaxBuildID)
	case m.RawSize > MaxRawSize:
		return fmt.Errorf("raw section of %d bytes, at most %d are allowed", m.RawSize, uint64(MaxRawSize))
	case m.RawAddr > math.MaxUint64-m.RawSize:
		return fmt.Errorf("raw section of %d bytes at %#x exceeds the address space", m.RawSize, m.RawAddr)
	case len(m.Funcs) > MaxFuncs:
		return fmt.Errorf("%d functions, at most %d are allowed", len(m.Funcs), MaxFuncs)
	}
	if err := checkMachine(m.Machine); err != nil {
		return err
	}
	return checkName("module name", m.Module)
}

// checkMachine returns what is wrong with the name of a machine, which is used in messages.
func checkMachine(name string) error {
	if len(name) > MaxMachine {
		return fmt.Errorf("machine of %d bytes, at most %d are allowed", len(name), MaxMachine)
	}
	if strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return fmt.Errorf("machine %q is not a printable word", name)
	}
	return nil
}

// checkFunc reports the first rule that function f of a map with a raw section
// of rawSize bytes breaks.
func checkFunc(f *prof.Func, rawSize uint64) error {
	if !f.Mode.Valid() {
		return fmt.Errorf("mode %d is unknown", f.Mode)
	}
	if f.Mode.Timed() {
		return fmt.Errorf("mode %s has no records: it writes a log instead", f.Mode)
	}
	if f.Atomic && !f.Mode.HasCalls() {
		return fmt.Errorf("mode %s does not count, with or without locked instructions", f.Mode)
	}
	if len(f.Fragments) == 0 || len(f.Fragments) > MaxFragments {
		return fmt.Errorf("%d code fragments, 1 to %d are allowed", len(f.Fragments), MaxFragments)
	}
	for i := range f.Fragments {
		if err := checkFragment(&f.Fragments[i], f.Mode); err != nil {
			return err
		}
	}
	blocks := f.NumBlocks()
	if blocks > MaxBlocks {
		return fmt.Errorf("%d blocks, at most %d are allowed", blocks, MaxBlocks)
	}
	if err := checkImplied(f, blocks); err != nil {
		return err
	}
	if err := checkFlow(f, blocks); err != nil {
		return err
	}
	if size := RecordSize(f); size > rawSize || f.Record > rawSize-size {
		return fmt.Errorf("a record of %d bytes at %#x exceeds the raw section of %d bytes", size, f.Record, rawSize)
	}
	if len(f.Calls) > MaxCalls {
		return fmt.Errorf("%d calls, at most %d are allowed", len(f.Calls), MaxCalls)
	}
	for i := range f.Calls {
		if int64(f.Calls[i].Block) >= int64(blocks) {
			return fmt.Errorf("a call in block %d of %d", f.Calls[i].Block, blocks)
		}
		if err := checkName("callee", f.Calls[i].Callee); err != nil {
			return err
		}
	}
	if err := checkName("source file", f.File); err != nil {
		return err
	}
	return checkName("function name", f.Name)
}

// checkImplied reports the first rule that the blocks without probes break.
func checkImplied(f *prof.Func, blocks int) error {
	if len(f.Implied) > 0 && !f.Mode.HasBlocks() {
		return fmt.Errorf("blocks in mode %s", f.Mode)
	}
	if len(f.Implied) == 0 {
		return nil
	}
	bare := make(map[uint32]bool, len(f.Implied))
	for i := range f.Implied {
		b := f.Implied[i].Block
		if b == 0 || int64(b) >= int64(blocks) || i > 0 && b <= f.Implied[i-1].Block {
			return fmt.Errorf("block %d of %d without a probe: out of range or order", b, blocks)
		}
		bare[b] = true
	}
	for i := range f.Implied {
		im := &f.Implied[i]
		if f.Mode.HasEdges() {
			if len(im.By) > 0 {
				return fmt.Errorf("block %d is implied by others in mode %s", im.Block, f.Mode)
			}
			continue
		}
		if len(im.By) == 0 || len(im.By) > MaxEvidence {
			return fmt.Errorf("block %d is implied by %d others, 1 to %d are allowed", im.Block, len(im.By), MaxEvidence)
		}
		for k, by := range im.By {
			if int64(by) >= int64(blocks) || bare[by] || k > 0 && by <= im.By[k-1] {
				return fmt.Errorf("block %d is implied by block %d, which has no probe or is out of range or order", im.Block, by)
			}
		}
	}
	return nil
}

func checkFragment(fr *prof.Fragment, mode prof.Mode) error {
	switch {
	case fr.Addr == 0:
		return fmt.Errorf("a code fragment at address 0")
	case fr.Addr > math.MaxUint64-uint64(fr.Size):
		return fmt.Errorf("a code fragment of %d bytes at %#x exceeds the address space", fr.Size, fr.Addr)
	case len(fr.Blocks) > 0 && !mode.HasBlocks():
		return fmt.Errorf("blocks in mode %s", mode)
	}
	last := uint32(0)
	for _, off := range fr.Blocks {
		// A block of no bytes may share its offset with its neighbour or be at the end.
		if off < last || off > fr.Size {
			return fmt.Errorf("a block at %#x, after %#x in %d bytes of code", off, last, fr.Size)
		}
		last = off
	}
	return nil
}

func checkName(what, s string) error {
	if len(s) > MaxName {
		return fmt.Errorf("%s of %d bytes, at most %d are allowed", what, len(s), MaxName)
	}
	if strings.IndexByte(s, 0) >= 0 {
		return fmt.Errorf("%s %q contains a zero byte", what, s)
	}
	return nil
}

// less is the order of functions in a map.
func less(a, b *prof.Func) bool {
	if a.Addr() != b.Addr() {
		return a.Addr() < b.Addr()
	}
	return a.Record < b.Record
}

// checkMap reports the first rule that m breaks.
func checkMap(m *prof.Map) error {
	if err := checkModule(m); err != nil {
		return err
	}
	for i := range m.Funcs {
		f := &m.Funcs[i]
		if err := checkFunc(f, m.RawSize); err != nil {
			return fmt.Errorf("function %q: %w", f.Name, err)
		}
		if i > 0 && !less(&m.Funcs[i-1], f) {
			return fmt.Errorf("function %q: out of order", f.Name)
		}
	}
	return checkMapAbsent(m)
}

// checkCounts reports the first rule that c breaks as counts of f in a module with raws raw files.
func checkCounts(c *prof.Counts, f *prof.Func, raws uint64) error {
	want, times := 0, 0
	if f.Mode.HasBlocks() {
		want = f.NumBlocks() - 1
	}
	if f.Mode.HasEdges() {
		times = want
	}
	switch {
	case len(c.Times) != times:
		return fmt.Errorf("executions of %d blocks, the map has %d", len(c.Times), times)
	case len(c.Blocks) != want:
		return fmt.Errorf("counts of %d blocks, the map has %d", len(c.Blocks), want)
	case c.Runs > raws:
		return fmt.Errorf("%d runs in %d raw files", c.Runs, raws)
	case c.Unprobed > raws:
		return fmt.Errorf("%d of %d raw files are of builds without its probe", c.Unprobed, raws)
	case !f.Mode.HasCalls() && (c.Calls != 0 || c.Inexact):
		return fmt.Errorf("calls in mode %s", f.Mode)
	case !f.Mode.HasOrder() && (c.OrderSum != 0 || len(c.Callers) != 0):
		return fmt.Errorf("first calls in mode %s", f.Mode)
	case len(c.Callers) > MaxSites:
		return fmt.Errorf("%d callers, at most %d are allowed", len(c.Callers), MaxSites)
	}
	for i, n := range c.Blocks {
		if n > raws {
			return fmt.Errorf("block %d ran %d times in %d raw files", i+1, n, raws)
		}
	}
	for i, s := range c.Callers {
		if i > 0 && s.Addr <= c.Callers[i-1].Addr {
			return fmt.Errorf("caller %#x: out of order", s.Addr)
		}
		if s.Runs > raws {
			return fmt.Errorf("caller %#x in %d of %d raw files", s.Addr, s.Runs, raws)
		}
	}
	return nil
}

// checkProfile reports the first rule that p breaks.
func checkProfile(p *prof.Profile) error {
	if len(p.Modules) > MaxModules {
		return fmt.Errorf("%d modules, at most %d are allowed", len(p.Modules), MaxModules)
	}
	for i := range p.Modules {
		m := &p.Modules[i]
		if err := checkMap(&m.Map); err != nil {
			return fmt.Errorf("module %q: %w", m.Module, err)
		}
		if len(m.Counts) != len(m.Funcs) {
			return fmt.Errorf("module %q: counts of %d functions, the map has %d", m.Module, len(m.Counts), len(m.Funcs))
		}
		for k := range m.Counts {
			if err := checkCounts(&m.Counts[k], &m.Funcs[k], m.Raws); err != nil {
				return fmt.Errorf("module %q, function %q: %w", m.Module, m.Funcs[k].Name, err)
			}
		}
		if err := checkTraces(m); err != nil {
			return fmt.Errorf("module %q: %w", m.Module, err)
		}
		if err := checkRuns(m); err != nil {
			return fmt.Errorf("module %q: %w", m.Module, err)
		}
	}
	return checkOrder(p)
}

// checkOrder reports modules that are out of order or of the same build.
func checkOrder(p *prof.Profile) error {
	seen := make(map[prof.BuildID]bool, len(p.Modules))
	for i := range p.Modules {
		m := &p.Modules[i]
		if seen[m.BuildID] {
			return fmt.Errorf("module %q: build %s occurs twice", m.Module, m.BuildID)
		}
		seen[m.BuildID] = true
		if i > 0 && !moduleLess(&p.Modules[i-1], m) {
			return fmt.Errorf("module %q: out of order", m.Module)
		}
	}
	return nil
}

// moduleLess is the order of modules in a profile.
func moduleLess(a, b *prof.Module) bool {
	if a.Module != b.Module {
		return a.Module < b.Module
	}
	return a.BuildID < b.BuildID
}

// RecordSize returns the size in bytes of the record of f in the raw section.
func RecordSize(f *prof.Func) uint64 {
	if f.Mode.Estimated() {
		return 0
	}
	return wire.RecordSize(f.Mode.HasCalls(), f.Mode.HasBlocks(), f.Mode.HasEdges(), f.NumProbes())
}

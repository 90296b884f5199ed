package mip

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/cairnprof/cairn/internal/bytecur"
	"github.com/cairnprof/cairn/prof"
)

// A function's counts start with a byte that says which of them follow; those
// that do not are zero.
const (
	countRuns = 1 << iota
	countCalls
	countOrder
	countBlocks
	countCallers
	countInexact
	countUnprobed
	countTimes
)

// WriteProfile writes p as a .mip file. Equal profiles give equal bytes.
func WriteProfile(w io.Writer, p *prof.Profile) error {
	if err := checkProfile(p); err != nil {
		return fmt.Errorf("writing a profile: %w", err)
	}
	b := binary.AppendUvarint(nil, uint64(len(p.Modules)))
	for i := range p.Modules {
		m := &p.Modules[i]
		var err error
		if b, err = appendMap(b, &m.Map); err != nil {
			return fmt.Errorf("writing a profile: %w", err)
		}
		b = binary.AppendUvarint(b, m.Raws)
		for k := range m.Counts {
			b = appendCounts(b, &m.Counts[k], &m.Funcs[k], m.Raws)
		}
		b = appendTraces(b, m)
	}
	for i := range p.Modules {
		b = appendRuns(b, &p.Modules[i].Held)
	}
	for i := range p.Modules {
		b = appendString(b, p.Modules[i].Machine)
	}
	for i := range p.Modules {
		var err error
		if b, err = appendAbsent(b, p.Modules[i].Absent); err != nil {
			return fmt.Errorf("writing a profile: %w", err)
		}
	}
	for i := range p.Modules {
		b = appendPlain(b, p.Modules[i].Funcs)
	}
	return writeContainer(w, ProfileMagic, b)
}

// ReadProfile reads a .mip file.
func ReadProfile(data []byte) (*prof.Profile, error) {
	c, err := openContainer(data, ProfileMagic, "profile")
	if err != nil {
		return nil, err
	}
	start := c.Off()
	n := c.Count("modules", MaxModules, minModule)
	p := new(prof.Profile)
	for range n {
		var m prof.Module
		readModule(c, &m)
		if c.Err() != nil {
			break
		}
		p.Modules = append(p.Modules, m)
	}
	if containerMinor(data) >= runsMinor {
		for i := range p.Modules {
			readRuns(c, &p.Modules[i])
		}
	}
	if containerMinor(data) >= profileMachineMinor {
		for i := range p.Modules {
			readMachine(c, &p.Modules[i].Map)
		}
	}
	if containerMinor(data) >= profileMinor {
		for i := range p.Modules {
			readMapAbsent(c, &p.Modules[i].Map)
		}
		for i := range p.Modules {
			readPlain(c, p.Modules[i].Funcs)
		}
	}
	if c.Err() == nil {
		if err := checkOrder(p); err != nil {
			c.FailAt(start, "%v", err)
		}
	}
	if err := closeContainer(data, c, "profile"); err != nil {
		return nil, err
	}
	return p, nil
}

func readModule(c *bytecur.Cursor, m *prof.Module) {
	readMapBody(c, &m.Map)
	m.Raws = c.Uvarint()
	if c.Err() != nil || len(m.Funcs) > c.Len() {
		c.Failf("truncated: counts of %d functions in %d bytes", len(m.Funcs), c.Len())
		return
	}
	m.Counts = make([]prof.Counts, len(m.Funcs))
	for i := range m.Counts {
		off := c.Off()
		readCounts(c, &m.Counts[i], &m.Funcs[i], m.Raws)
		if c.Err() != nil {
			return
		}
		if err := checkCounts(&m.Counts[i], &m.Funcs[i], m.Raws); err != nil {
			c.FailAt(off, "function %q: %v", m.Funcs[i].Name, err)
			return
		}
	}
	readTraces(c, m)
}

func appendCounts(b []byte, n *prof.Counts, f *prof.Func, raws uint64) []byte {
	at := len(b)
	b = append(b, 0)
	put := func(bit byte, v uint64) {
		if v != 0 {
			b[at] |= bit
			b = binary.AppendUvarint(b, v)
		}
	}
	put(countRuns, share(n.Runs, raws))
	put(countCalls, n.Calls)
	put(countOrder, n.OrderSum)
	if anyCount(n.Blocks) {
		b[at] |= countBlocks
		for _, v := range n.Blocks {
			b = binary.AppendUvarint(b, share(v, raws))
		}
	}
	if len(n.Callers) > 0 {
		b[at] |= countCallers
		b = appendSites(b, n.Callers, f.Addr(), raws)
	}
	if n.Inexact {
		b[at] |= countInexact
	}
	put(countUnprobed, n.Unprobed)
	if anyCount(n.Times) {
		b[at] |= countTimes
		for _, v := range n.Times {
			b = binary.AppendUvarint(b, v)
		}
	}
	return b
}

func readCounts(c *bytecur.Cursor, n *prof.Counts, f *prof.Func, raws uint64) {
	bits := c.U8()
	get := func(bit byte) uint64 {
		if bits&bit == 0 {
			return 0
		}
		return c.Uvarint()
	}
	n.Runs = unshare(get(countRuns), raws)
	n.Calls = get(countCalls)
	n.OrderSum = get(countOrder)
	if blocks := f.NumBlocks() - 1; blocks > 0 && f.Mode.HasBlocks() {
		n.Blocks = make([]uint64, blocks)
		if f.Mode.HasEdges() {
			n.Times = make([]uint64, blocks)
		}
	}
	if bits&countBlocks != 0 {
		for i := range n.Blocks {
			n.Blocks[i] = unshare(c.Uvarint(), raws)
		}
	}
	if bits&countCallers != 0 {
		n.Callers = readSites(c, f.Addr(), raws)
	}
	n.Inexact = bits&countInexact != 0
	n.Unprobed = get(countUnprobed)
	if bits&countTimes != 0 {
		if n.Times == nil {
			c.Failf("executions of blocks in mode %s", f.Mode)
		}
		for i := range n.Times {
			n.Times[i] = c.Uvarint()
		}
	}
}

// appendSites writes callers as differences from one to the next, the first from the function itself: most
// callers are near. The caller outside the module is a bit in the count of the others.
func appendSites(b []byte, sites []prof.Site, addr, raws uint64) []byte {
	outside := sites[0].Addr == 0
	rest := sites
	if outside {
		rest = sites[1:]
	}
	head := uint64(len(rest)) << 1
	if outside {
		head |= 1
	}
	b = binary.AppendUvarint(b, head)
	if outside {
		b = binary.AppendUvarint(b, share(sites[0].Runs, raws))
	}
	for _, s := range rest {
		b = appendDelta(b, s.Addr, addr)
		b = binary.AppendUvarint(b, share(s.Runs, raws))
		addr = s.Addr
	}
	return b
}

func readSites(c *bytecur.Cursor, addr, raws uint64) []prof.Site {
	off := c.Off()
	head := c.Uvarint()
	var sites []prof.Site
	if head&1 != 0 {
		sites = append(sites, prof.Site{Runs: unshare(c.Uvarint(), raws)})
	}
	for range c.CheckCount(off, head>>1, "callers", MaxSites, 2) {
		addr = readDelta(c, addr)
		sites = append(sites, prof.Site{Addr: addr, Runs: unshare(c.Uvarint(), raws)})
	}
	return sites
}

// share encodes a number of raw files: most functions and blocks ran in none or in all of them, so all is 1 and
// numbers in between increase by one.
func share(v, raws uint64) uint64 {
	switch v {
	case 0:
		return 0
	case raws:
		return 1
	}
	return v + 1
}

func unshare(v, raws uint64) uint64 {
	switch v {
	case 0:
		return 0
	case 1:
		return raws
	}
	return v - 1
}

func anyCount(counts []uint64) bool {
	for _, v := range counts {
		if v != 0 {
			return true
		}
	}
	return false
}

package detour

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/ehframe"
	"github.com/cairnprof/cairn/internal/binary/x86"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// function is a function with the results of the scan.
type function struct {
	Function
	at    uint64 // where the jump would be
	code  []byte // from Addr on, to its end
	insns int    // except for padding

	loops      bool // its control flow has a cycle
	unreadable bool
	entered    bool // something leads into the bytes of the jump
	looped     bool // a branch of its own leads to the first instruction
	jumpedTo   bool // a conditional branch of another function leads to its start
	referenced bool // it is called, or its address is somewhere
	intimate   bool // it uses its return address before it changes the stack pointer
}

// scan finds everything in a module that leads into the first bytes of a function.
type scan struct {
	module *Module
	funcs  []function // ascending, one for each address
	frames map[uint64]ehframe.Frame
	tables []uint64 // addresses of data in the code of computed jumps
}

func newScan(m *Module) *scan {
	s := &scan{module: m, frames: make(map[uint64]ehframe.Frame, len(m.Frames))}
	for _, f := range m.Frames {
		s.frames[f.Lo] = f
	}
	list := stablesort.Sorted(slices.Values(m.Functions), func(a, b Function) int {
		return cmp.Or(cmp.Compare(a.Addr, b.Addr), cmp.Compare(b.Size, a.Size), cmp.Compare(a.Name, b.Name))
	})
	for _, f := range list {
		if n := len(s.funcs); n > 0 && s.funcs[n-1].Addr == f.Addr {
			s.funcs[n-1].Resolver = s.funcs[n-1].Resolver || f.Resolver
			continue
		}
		if code := m.codeAt(f.Addr, f.Size); code != nil {
			s.funcs = append(s.funcs, function{Function: f, at: f.Addr + endbr(code), code: code})
		}
	}
	return s
}

// endbr returns the length of the endbr64 that code starts with, or 0. A target of computed calls must keep it.
func endbr(code []byte) uint64 {
	if i, err := x86.Decode(code); err == nil && i.Class == controlflow.Landing {
		return uint64(i.Len)
	}
	return 0
}

// codeAt returns the instructions at addr where functions may be, or nil.
func (m *Module) codeAt(addr, size uint64) []byte {
	for _, s := range m.Sections {
		if off := addr - s.Addr; s.Functions && addr >= s.Addr && off < uint64(len(s.Data)) && size <= uint64(len(s.Data))-off && size > 0 {
			return s.Data[off : off+size : off+size]
		}
	}
	return nil
}

// near returns the function with addr among its first bytes: from its start to the end of the jump.
func (s *scan) near(addr uint64) *function {
	i, found := slices.BinarySearchFunc(s.funcs, addr, func(f function, addr uint64) int { return cmp.Compare(f.Addr, addr) })
	if !found {
		i--
	}
	if i < 0 || addr >= s.funcs[i].at+patchSize {
		return nil
	}
	return &s.funcs[i]
}

// note records that something leads to addr. References to the start of a function are permitted, and to the
// address after its endbr64, though none is known.
func (s *scan) note(addr uint64) {
	f := s.near(addr)
	switch {
	case f == nil:
	case addr > f.at:
		f.entered = true
	case addr == f.Addr:
		f.referenced = true
	}
}

// readFunctions decodes all functions, and records the targets of their branches.
func (s *scan) readFunctions() {
	for i := range s.funcs {
		f := &s.funcs[i]
		if i > 0 {
			before := &s.funcs[i-1]
			before.entered = before.entered || f.Addr < min(before.at+patchSize, before.Addr+before.Size)
		}
		s.readFunction(f)
	}
	for _, pad := range s.module.Pads {
		if f := s.near(pad); f != nil {
			f.entered = true
		}
	}
	s.readTables()
}

// readFunction decodes f.
func (s *scan) readFunction(f *function) {
	flow := flow{function: f}
	var loaded []uint64
	start := true // the stack pointer is that of the entry
	for off := 0; off < len(f.code); {
		i, err := x86.Decode(f.code[off:])
		if err != nil {
			f.unreadable = true
			break
		}
		addr := f.Addr + uint64(off)
		if i.Relative() {
			s.branch(f, addr, i)
		}
		if i.RIP {
			loaded = append(loaded, i.Memory(addr))
			s.note(i.Memory(addr))
		}
		if i.Class != controlflow.Nop && i.Class != controlflow.Landing {
			f.insns++
		}
		flow.add(addr, i)
		start = start && !i.Class.IsCall() && !i.Relative() && !changesStack(i)
		f.intimate = f.intimate || start && usesReturn(i)
		off += int(i.Len)
	}
	if flow.computed {
		s.tables = append(s.tables, loaded...)
		for _, t := range loaded {
			flow.tables = append(flow.tables, s.tableTargets(t, ^uint64(0))...)
		}
	}
	f.loops = flow.cyclic()
}

// branch records a branch of f.
func (s *scan) branch(f *function, addr uint64, i x86.Inst) {
	to := i.Target(addr)
	if i.Class == controlflow.Call {
		s.note(to)
	} else if g := s.near(to); g != nil && (to > g.at || i.Class == controlflow.Jump && g != f && g.Name != "") {
		s.note(to)
	}
	own := to >= f.Addr && to <= f.at
	if own && i.Class != controlflow.Call {
		f.looped = true
	}
	if !own && i.Class == controlflow.Conditional {
		if g := s.near(to); g != nil && g != f && to <= g.at {
			g.jumpedTo = true
		}
	}
}

// probed reports whether f begins with a probe of the modes that record first calls: an access to
// the record, and a conditional jump to a stub, which calls the runtime and jumps back. The
// runtime finds the record by reading the probe, which a jump would overwrite.
func (s *scan) probed(f *function) bool {
	code := f.code[f.at-f.Addr:]
	access, err := x86.Decode(code)
	if err != nil || !access.RIP {
		return false
	}
	jump, err := x86.Decode(code[access.Len:])
	if err != nil || jump.Class != controlflow.Conditional {
		return false
	}
	at := f.at + uint64(access.Len)
	stub, back := jump.Target(at), at+uint64(jump.Len)
	const callSize, jumpSize = 5, 2
	text := s.module.codeAt(stub, callSize+jumpSize)
	if text == nil {
		return false
	}
	call, err := x86.Decode(text)
	if err != nil || call.Class != controlflow.Call || call.Len != callSize {
		return false
	}
	if text[callSize] == 0xe9 { // jmp rel32
		text = s.module.codeAt(stub, callSize+5)
	}
	if text == nil {
		return false
	}
	home, err := x86.Decode(text[callSize:])
	return err == nil && home.Class == controlflow.Jump && home.Target(stub+callSize) == back
}

// maxTable is the maximum size of a jump table.
const maxTable = 1 << 14

// tableTargets returns the places in code to which a table of distances from itself leads; compilers write
// switches in position-independent code that way. The table ends at end or before.
func (s *scan) tableTargets(at, end uint64) []uint64 {
	data := s.module.dataAt(at)
	data = data[:min(uint64(len(data)), end-at)]
	var targets []uint64
	for ; len(data) >= 4 && len(targets) < maxTable; data = data[4:] {
		to := at + uint64(int64(int32(binary.LittleEndian.Uint32(data))))
		if !s.module.inCode(to) {
			break
		}
		targets = append(targets, to)
	}
	return targets
}

// readTables records the targets of tables. The length of a table is not known, but it ends where the next one
// begins, whose distances have another base.
func (s *scan) readTables() {
	slices.Sort(s.tables)
	s.tables = slices.Compact(s.tables)
	for i, t := range s.tables {
		end := ^uint64(0)
		if i+1 < len(s.tables) {
			end = s.tables[i+1]
		}
		for _, to := range s.tableTargets(t, end) {
			s.note(to)
		}
	}
}

// dataAt returns the data from addr on to the end of its section, nil in code.
func (m *Module) dataAt(addr uint64) []byte {
	for _, s := range m.Sections {
		if off := addr - s.Addr; !s.Code && addr >= s.Addr && off < uint64(len(s.Data)) {
			return s.Data[off:]
		}
	}
	return nil
}

func (m *Module) inCode(addr uint64) bool {
	return slices.ContainsFunc(m.Sections, func(s Section) bool {
		return s.Code && addr-s.Addr < uint64(len(s.Data)) && addr >= s.Addr
	})
}

// readData records every word of data that could be an address: pointers, jump tables of addresses, and words
// that relocations will turn into addresses.
func (s *scan) readData() {
	if len(s.funcs) == 0 {
		return
	}
	for _, addr := range s.module.Exports {
		s.note(addr)
	}
	lo, hi := s.funcs[0].Addr, s.funcs[len(s.funcs)-1].at+patchSize
	for _, sec := range s.module.Sections {
		if sec.Code {
			continue
		}
		skip := min(-sec.Addr&7, uint64(len(sec.Data)))
		for data := sec.Data[skip:]; len(data) >= 8; data = data[8:] {
			if v := binary.LittleEndian.Uint64(data); v >= lo && v < hi {
				s.note(v)
			}
		}
	}
}

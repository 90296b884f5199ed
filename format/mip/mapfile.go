package mip

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/cairnprof/cairn/internal/bytecur"
	"github.com/cairnprof/cairn/prof"
)

// The low bits of a function's first byte are its mode.
const (
	funcModeMask  = 7
	funcFragments = 1 << 3 // it has more than one fragment
	funcCalls     = 1 << 4 // it has calls
	funcImplied   = 1 << 5 // it has blocks without a probe
	funcAtomic    = 1 << 6 // its calls are counted by locked instructions
	funcBits      = funcModeMask | funcFragments | funcCalls | funcImplied | funcAtomic

	minFunc   = 1 + 1 + 1 + 4 + 1 + 1 + 1 // bytes of a function in a map
	minModule = 2 + 1 + 1 + 1 + 1 + 1 + 1 // bytes of a module in a profile
)

// WriteMap writes m as a .mipmap file. Equal maps give equal bytes.
func WriteMap(w io.Writer, m *prof.Map) error {
	if err := checkMap(m); err != nil {
		return fmt.Errorf("writing a map: %w", err)
	}
	body, err := appendMap(nil, m)
	if err != nil {
		return fmt.Errorf("writing a map: %w", err)
	}
	if body, err = appendAbsent(appendString(body, m.Machine), m.Absent); err != nil {
		return fmt.Errorf("writing a map: %w", err)
	}
	return writeContainer(w, MapMagic, appendPlain(body, m.Funcs))
}

// ReadMap reads a .mipmap file.
func ReadMap(data []byte) (*prof.Map, error) {
	c, err := openContainer(data, MapMagic, "map")
	if err != nil {
		return nil, err
	}
	m := new(prof.Map)
	readMapBody(c, m)
	if containerMinor(data) >= mapMachineMinor {
		readMachine(c, m)
	}
	if containerMinor(data) >= mapMinor {
		readMapAbsent(c, m)
		readPlain(c, m.Funcs)
	}
	if err := closeContainer(data, c, "map"); err != nil {
		return nil, err
	}
	return m, nil
}

// deltas are predictions of the next function's numbers: numbers in a map are written as the difference from
// their prediction, which is mostly small or zero, because the linker lays out code and records in the same
// order.
type deltas struct {
	file   uint64
	record uint64 // end of the previous function's record
	addr   uint64 // end of the previous function's first fragment
}

func (d *deltas) next(f *prof.Func, file uint64) {
	d.file = file
	d.record = f.Record + RecordSize(f)
	d.addr = f.Addr() + uint64(f.Fragments[0].Size)
}

func appendMap(b []byte, m *prof.Map) ([]byte, error) {
	b = appendString(b, string(m.BuildID))
	b = appendString(b, m.Module)
	b = binary.AppendUvarint(b, m.RawAddr)
	b = binary.AppendUvarint(b, m.RawSize)
	table, index := tableOf(m)
	b, err := appendTable(b, table)
	if err != nil {
		return nil, err
	}
	b = binary.AppendUvarint(b, uint64(len(m.Funcs)))
	d := deltas{addr: m.RawAddr}
	for i := range m.Funcs {
		f := &m.Funcs[i]
		b = appendFunc(b, f, index, &d)
		d.next(f, index[f.File])
	}
	return b, nil
}

func appendFunc(b []byte, f *prof.Func, index map[string]uint64, d *deltas) []byte {
	bits := fileMode(f.Mode)
	if len(f.Fragments) > 1 {
		bits |= funcFragments
	}
	if len(f.Calls) > 0 {
		bits |= funcCalls
	}
	if len(f.Implied) > 0 {
		bits |= funcImplied
	}
	if f.Atomic {
		bits |= funcAtomic
	}
	b = append(b, bits)
	b = binary.AppendUvarint(b, index[f.Name])
	b = appendDelta(b, index[f.File], d.file)
	b = binary.LittleEndian.AppendUint32(b, f.Signature)
	b = appendDelta(b, f.Record, d.record)
	if len(f.Fragments) > 1 {
		b = binary.AppendUvarint(b, uint64(len(f.Fragments)))
	}
	addr := d.addr
	for i := range f.Fragments {
		fr := &f.Fragments[i]
		b = appendDelta(b, fr.Addr, addr)
		b = binary.AppendUvarint(b, uint64(fr.Size))
		addr = fr.Addr + uint64(fr.Size)
		if !f.Mode.HasBlocks() {
			continue
		}
		b = binary.AppendUvarint(b, uint64(len(fr.Blocks)))
		last := uint32(0)
		for _, off := range fr.Blocks {
			b = binary.AppendUvarint(b, uint64(off-last))
			last = off
		}
	}
	if len(f.Implied) > 0 {
		b = appendImplied(b, f.Implied)
	}
	b = appendFlow(b, f.Flow)
	if len(f.Calls) == 0 {
		return b
	}
	b = binary.AppendUvarint(b, uint64(len(f.Calls)))
	last := uint32(0)
	for i := range f.Calls {
		b = appendDelta(b, uint64(f.Calls[i].Block), uint64(last))
		b = binary.AppendUvarint(b, index[f.Calls[i].Callee])
		last = f.Calls[i].Block
	}
	return b
}

// appendDelta writes the signed difference of v from its prediction.
func appendDelta(b []byte, v, predicted uint64) []byte {
	return binary.AppendVarint(b, int64(v-predicted))
}

func readDelta(c *bytecur.Cursor, predicted uint64) uint64 {
	return predicted + uint64(c.Varint())
}

// readMachine reads the name of the machine of m.
func readMachine(c *bytecur.Cursor, m *prof.Map) {
	off := c.Off()
	m.Machine = string(c.String("machine", MaxMachine))
	if err := checkMachine(m.Machine); c.Err() == nil && err != nil {
		c.FailAt(off, "%v", err)
	}
}

// readMapBody reads into m what appendMap wrote; the content is invalid if c fails.
func readMapBody(c *bytecur.Cursor, m *prof.Map) {
	start := c.Off()
	m.BuildID = prof.BuildID(c.String("build id", MaxName))
	m.Module = string(c.String("module name", MaxName))
	m.RawAddr = c.Uvarint()
	m.RawSize = c.Uvarint()
	if err := checkModule(m); err != nil {
		c.FailAt(start, "%v", err)
	}
	table := readTable(c)
	n := c.Count("functions", MaxFuncs, minFunc)
	if n > 0 {
		m.Funcs = make([]prof.Func, 0, n)
	}
	d := deltas{addr: m.RawAddr}
	for i := range n {
		off := c.Off()
		f, file := readFunc(c, table, &d)
		if c.Err() != nil {
			return
		}
		if err := checkFunc(&f, m.RawSize); err != nil {
			c.FailAt(off, "function %q: %v", f.Name, err)
			return
		}
		if i > 0 && !less(&m.Funcs[i-1], &f) {
			c.FailAt(off, "function %q: out of order", f.Name)
			return
		}
		m.Funcs = append(m.Funcs, f)
		d.next(&f, file)
	}
}

func readFunc(c *bytecur.Cursor, table []string, d *deltas) (f prof.Func, file uint64) {
	bits := c.U8()
	if bits&^funcBits != 0 {
		c.Failf("a function with unknown bits %#02x", bits)
	}
	f.Mode, f.Atomic = modeOf(bits), bits&funcAtomic != 0
	f.Name = lookup(c, table, c.Uvarint())
	file = readDelta(c, d.file)
	f.File = lookup(c, table, file)
	f.Signature = c.U32()
	f.Record = readDelta(c, d.record)
	fragments := 1
	if bits&funcFragments != 0 {
		fragments = c.Count("code fragments", MaxFragments, 2)
	}
	f.Fragments = make([]prof.Fragment, fragments)
	addr := d.addr
	for i := range f.Fragments {
		fr := &f.Fragments[i]
		fr.Addr = readDelta(c, addr)
		fr.Size = readU32(c, "fragment size")
		addr = fr.Addr + uint64(fr.Size)
		if f.Mode.HasBlocks() {
			fr.Blocks = readBlocks(c)
		}
	}
	if bits&funcImplied != 0 {
		f.Implied = readImplied(c)
	}
	if f.Mode.HasEdges() && c.Err() == nil {
		f.Flow = readFlow(c, f.NumBlocks())
	}
	if bits&funcCalls != 0 {
		f.Calls = readCalls(c, table)
	}
	return f, file
}

func readBlocks(c *bytecur.Cursor) []uint32 {
	n := c.Count("blocks", MaxBlocks, 1)
	if n == 0 {
		return nil
	}
	blocks := make([]uint32, n)
	last := uint32(0)
	for i := range blocks {
		off := c.Off()
		v := uint64(last) + uint64(readU32(c, "block offset"))
		if v != uint64(uint32(v)) {
			c.FailAt(off, "a block at %#x", v)
		}
		last = uint32(v)
		blocks[i] = last
	}
	return blocks
}

func readCalls(c *bytecur.Cursor, table []string) []prof.Call {
	n := c.Count("calls", MaxCalls, 2)
	if n == 0 {
		return nil
	}
	calls := make([]prof.Call, n)
	last := uint64(0)
	for i := range calls {
		off := c.Off()
		last = readDelta(c, last)
		if last != uint64(uint32(last)) {
			c.FailAt(off, "a call in block %d", last)
		}
		calls[i] = prof.Call{Block: uint32(last), Callee: lookup(c, table, c.Uvarint())}
	}
	return calls
}

func readU32(c *bytecur.Cursor, what string) uint32 {
	off := c.Off()
	v := c.Uvarint()
	if v != uint64(uint32(v)) {
		c.FailAt(off, "%s %d does not fit into 32 bits", what, v)
	}
	return uint32(v)
}

func lookup(c *bytecur.Cursor, table []string, i uint64) string {
	if i >= uint64(len(table)) {
		c.Failf("string %d of %d", i, len(table))
		return ""
	}
	return table[i]
}

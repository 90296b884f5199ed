package ehframe

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/bytecur"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// CFA is the rule for the canonical frame address: the value of the stack pointer before the
// call.
type CFA uint8

// The rules that compilers and linkers emit.
const (
	CFAUnknown CFA = iota
	CFAStack       // the stack pointer plus Offset
	CFAFrame       // the frame pointer plus Offset
	CFAAtFrame     // in the word at the frame pointer plus Offset
	CFAPLT         // the stack pointer plus 8, plus another 8 from byte Offset of each 16-byte stub
	CFASignal      // the return from a signal handler: the kernel saved all registers
)

// FramePointer is the rule for the caller's frame pointer.
type FramePointer uint8

// The rules.
const (
	FrameSame    FramePointer = iota
	FrameAtCFA                // in the word at the canonical frame address plus FrameOffset
	FrameAtFrame              // in the word at the frame pointer plus FrameOffset
)

// Return is the rule for the return address.
type Return uint8

// The rules.
const (
	ReturnPlain    Return = iota // before the canonical frame address
	ReturnNone                   // there is no caller
	ReturnComputed               // by an expression
	ReturnRegister               // in the link register, on machines that have one
	ReturnAtCFA                  // in the word at the canonical frame address plus ReturnOffset, on such machines
)

// Row has the unwind rules from an address up to that of the next row.
type Row struct {
	PC          uint64
	CFA         CFA
	Frame       FramePointer
	Return      Return
	Signed      bool // the return address is signed by pointer authentication
	Offset      int32
	FrameOffset int16
	// ReturnOffset is where the link register is saved.
	ReturnOffset int16
}

// Rows reads .eh_frame, which is at addr, of a program for a machine as rows in ascending
// order of addresses. Code without an FDE, or with an unsupported one, has rows with
// CFAUnknown. If there is an error, the rows of the entries before it are valid.
func Rows(section []byte, addr uint64, of machine.Kind) ([]Row, error) {
	return readRows(section, addr, of, false)
}

// DebugRows is Rows for .debug_frame, which compilers write with debug information where they
// write no .eh_frame.
func DebugRows(section []byte, of machine.Kind) ([]Row, error) { return readRows(section, 0, of, true) }

func readRows(section []byte, addr uint64, of machine.Kind, debug bool) ([]Row, error) {
	const perRow = 6 // bytes of a section for each row, or more
	t := &table{of: registersOf(of), shared: map[uint64]*cie{}, rows: make([]Row, 0, len(section)/perRow)}
	err := entries(section, addr, debug, func(at uint64, c *bytecur.Cursor) {
		t.shared[at] = readStart(c, t.of)
	}, func(_, of uint64, c *bytecur.Cursor) {
		if common := t.shared[of]; common != nil {
			t.frame(c, common)
		}
	})
	return compact(t.sorted()), err
}

// sorted returns the rows in ascending order. Linkers write entries in nearly any order, whose rows are sorted already: entries
// are fewer. Only if they overlap, which damaged ones do, rows are sorted.
func (t *table) sorted() []Row {
	byPC := func(a, b Row) int { return cmp.Compare(a.PC, b.PC) }
	if slices.IsSortedFunc(t.rows, byPC) {
		return t.rows
	}
	order := slices.Clone(t.entries)
	stablesort.Func(order, func(a, b entryRows) int { return cmp.Or(cmp.Compare(a.pc, b.pc), cmp.Compare(a.from, b.from)) })
	rows := make([]Row, 0, len(t.rows))
	for _, e := range order {
		rows = append(rows, t.rows[e.from:e.to]...)
	}
	if !slices.IsSortedFunc(rows, byPC) {
		stablesort.Func(t.rows, byPC)
		return t.rows
	}
	return rows
}

// Merge returns the rows of two tables of one module, which may have the same functions.
func Merge(a, b []Row) []Row {
	all := slices.Concat(a, b)
	stablesort.Func(all, func(a, b Row) int { return cmp.Compare(a.PC, b.PC) })
	return compact(all)
}

// compact removes rows that are equal to their predecessor. Of several rows at one address the
// last one with a rule is used: the start of a frame overrides the end of the previous one.
func compact(rows []Row) []Row {
	out := rows[:0]
	for i := 0; i < len(rows); {
		r := rows[i]
		for i++; i < len(rows) && rows[i].PC == r.PC; i++ {
			if rows[i].CFA != CFAUnknown {
				r = rows[i]
			}
		}
		if n := len(out); n > 0 {
			same := out[n-1]
			same.PC = r.PC
			if same == r {
				continue
			}
		}
		out = append(out, r)
	}
	return out
}

type table struct {
	of      registers
	shared  map[uint64]*cie
	rows    []Row
	entries []entryRows
}

// entryRows are the rows [from, to) of an entry that begins at pc.
type entryRows struct {
	pc       uint64
	from, to int
}

// readStart is readCIE with the initial state of its frames.
func readStart(c *bytecur.Cursor, of registers) *cie {
	out, ok := readHead(c)
	if !ok {
		return nil
	}
	m := unwinder{of: of, cie: &out, state: state{ret: of.initial}}
	m.run(c, nil)
	out.start = m.state
	return &out
}

// readRange reads an FDE up to its instructions. ok is false for code that the linker discarded.
func readRange(c *bytecur.Cursor, common *cie) (lo, hi uint64, ok bool) {
	lo = pointer(c, common.pointers)
	hi = lo + pointer(c, common.pointers&formMask)
	if common.sized {
		c.Sub(c.Uvarint())
	}
	return lo, hi, lo != 0 && hi > lo && c.Err() == nil
}

func (t *table) frame(c *bytecur.Cursor, common *cie) {
	lo, hi, ok := readRange(c, common)
	if !ok {
		return
	}
	from := len(t.rows)
	m := unwinder{of: t.of, cie: common, state: common.start, pc: lo}
	m.run(c, func() {
		if m.pc < hi {
			t.rows = append(t.rows, m.row())
		}
	})
	t.rows = append(t.rows, Row{PC: hi})
	t.entries = append(t.entries, entryRows{lo, from, len(t.rows)})
}

// state has the rules at an address.
type state struct {
	register uint64 // of the canonical frame address
	offset   int64
	cfa      CFA  // if an expression defines it, or CFAUnknown
	plain    bool // register and offset define it
	frame    FramePointer
	frameAt  int64
	ret      Return
	retAt    int64
	signed   bool
}

// unwinder executes the instructions of FDEs.
type unwinder struct {
	of  registers
	cie *cie
	state
	stack []state
	pc    uint64
	tell  func() // called for each complete row
}

func (m *unwinder) row() Row {
	r := Row{
		PC: m.pc, CFA: m.cfa, Frame: m.frame, Return: m.ret, Signed: m.signed,
		Offset: int32(m.offset), FrameOffset: int16(m.frameAt), ReturnOffset: int16(m.retAt),
	}
	switch {
	case !m.plain:
	case m.register == m.of.stack:
		r.CFA = CFAStack
	case m.register == m.of.frame:
		r.CFA = CFAFrame
	default:
		r.CFA = CFAUnknown
	}
	if int64(r.Offset) != m.offset || int64(r.FrameOffset) != m.frameAt || int64(r.ReturnOffset) != m.retAt || r.CFA == CFAUnknown {
		return Row{PC: m.pc}
	}
	return r
}

// maxStates is the maximum number of remembered states of a frame.
const maxStates = 64

func (m *unwinder) run(c *bytecur.Cursor, tell func()) {
	m.tell = tell
	for c.Len() > 0 {
		op := c.U8()
		low := uint64(op & 0x3f)
		switch op & 0xc0 {
		case 0x40:
			m.advance(low)
		case 0x80:
			m.saved(low, int64(c.Uvarint())*m.cie.data)
		case 0xc0:
			m.restore(low)
		default:
			if !m.step(op, c) {
				m.state = state{}
				c.Bytes(uint64(c.Len()))
			}
		}
	}
	if tell != nil {
		tell()
	}
}

func (m *unwinder) advance(by uint64) {
	if m.tell != nil {
		m.tell()
	}
	m.pc += by * m.cie.code
}

func (m *unwinder) saved(register uint64, offset int64) {
	switch register {
	case m.of.frame:
		m.frame, m.frameAt = FrameAtCFA, offset
	case m.of.ret:
		switch {
		case m.of.initial == ReturnRegister:
			m.ret, m.retAt = ReturnAtCFA, offset
		case offset == -8:
			m.ret = ReturnPlain
		default:
			m.ret = ReturnComputed
		}
	}
}

func (m *unwinder) restore(register uint64) {
	switch register {
	case m.of.frame:
		m.frame, m.frameAt = m.cie.start.frame, m.cie.start.frameAt
	case m.of.ret:
		m.ret, m.retAt = m.cie.start.ret, m.cie.start.retAt
	}
}

// define sets the rule for the canonical frame address.
func (m *unwinder) define(register uint64, offset int64) {
	m.register, m.offset, m.plain, m.cfa = register, offset, true, CFAUnknown
}

// step executes an instruction that has no operand in its opcode. It returns false for an
// unknown one, after which the rest cannot be read.
func (m *unwinder) step(op byte, c *bytecur.Cursor) bool {
	switch op {
	case 0x00: // nop
	case 0x01:
		if m.tell != nil {
			m.tell()
		}
		m.pc = pointer(c, m.cie.pointers)
	case 0x02:
		m.advance(uint64(c.U8()))
	case 0x03:
		m.advance(uint64(c.U16()))
	case 0x04:
		m.advance(uint64(c.U32()))
	case 0x05:
		r := c.Uvarint()
		m.saved(r, int64(c.Uvarint())*m.cie.data)
	case 0x06:
		m.restore(c.Uvarint())
	case 0x07: // undefined
		if c.Uvarint() == m.of.ret {
			m.ret, m.retAt = ReturnNone, 0
		}
	case 0x08: // same
		m.same(c.Uvarint())
	case 0x09: // in another register
		m.elsewhere(c.Uvarint())
		c.Uvarint()
	case 0x0a:
		if len(m.stack) == maxStates {
			return false
		}
		m.stack = append(m.stack, m.state)
	case 0x0b:
		if n := len(m.stack); n > 0 {
			m.state, m.stack = m.stack[n-1], m.stack[:n-1]
		}
	case 0x11:
		r := c.Uvarint()
		m.saved(r, c.Sleb()*m.cie.data)
	case 0x0c, 0x0d, 0x0e, 0x12, 0x13:
		m.defines(op, c)
	case opSigned:
		m.signed = !m.signed
		return m.of.signs
	case 0x2e:
		c.Uvarint() // size of arguments
	default:
		return m.expression(op, c)
	}
	return true
}

// defines executes an instruction that says how the CFA is computed.
func (m *unwinder) defines(op byte, c *bytecur.Cursor) {
	switch op {
	case 0x0c:
		r := c.Uvarint()
		m.define(r, int64(c.Uvarint()))
	case 0x0d:
		m.define(c.Uvarint(), m.offset)
	case 0x0e:
		m.define(m.register, int64(c.Uvarint()))
	case 0x12:
		r := c.Uvarint()
		m.define(r, c.Sleb()*m.cie.data)
	case 0x13:
		m.define(m.register, c.Sleb()*m.cie.data)
	}
}

// opSigned toggles, on AArch64, whether the return address is signed.
const opSigned = 0x2d

// same records that a register has the caller's value.
func (m *unwinder) same(register uint64) {
	switch {
	case register == m.of.frame:
		m.frame, m.frameAt = FrameSame, 0
	case register == m.of.ret && m.of.initial == ReturnRegister:
		m.ret, m.retAt = ReturnRegister, 0
	}
}

// expression executes instructions that have an expression.
func (m *unwinder) expression(op byte, c *bytecur.Cursor) bool {
	switch op {
	case 0x0f:
		m.cfaExpression(block(c))
	case 0x10, 0x16: // a register is at the address of the expression, or has its value
		r := c.Uvarint()
		code := block(c)
		if r == m.of.frame && op == 0x10 && len(code) > 1 && uint64(code[0]) == 0x70+m.of.frame {
			e := bytecur.New(code[1:], 0)
			if off := e.Sleb(); e.Len() == 0 && e.Err() == nil {
				m.frame, m.frameAt = FrameAtFrame, off
				return true
			}
		}
		m.elsewhere(r)
	case 0x14, 0x15: // a register is an address near the canonical frame address
		m.elsewhere(c.Uvarint())
		c.Uvarint()
	default:
		return false
	}
	return true
}

// elsewhere records that rows cannot represent the location of a register.
func (m *unwinder) elsewhere(register uint64) {
	if register == m.of.ret {
		m.ret, m.retAt = ReturnComputed, 0
	}
}

func block(c *bytecur.Cursor) []byte { return c.Bytes(c.Uvarint()) }

// pltTail is the rest of the expression that linkers emit for PLT stubs, after the byte
// number: it adds 8 if the address is at or after that byte of the stub.
var pltTail = []byte{0x2a, 0x33, 0x24, 0x22}

func (m *unwinder) cfaExpression(code []byte) {
	m.plain, m.cfa, m.offset = false, CFAUnknown, 0
	if len(code) < 2 {
		return
	}
	e := bytecur.New(code[1:], 0)
	off := e.Sleb()
	rest := e.Bytes(uint64(e.Len()))
	switch {
	case uint64(code[0]) == 0x70+m.of.frame && bytes.Equal(rest, []byte{0x06}):
		m.cfa, m.offset = CFAAtFrame, off
	case uint64(code[0]) == 0x70+m.of.stack && off == 8 && len(rest) == 9 && bytes.Equal(rest[:4], []byte{0x80, 0, 0x3f, 0x1a}) && bytes.Equal(rest[5:], pltTail):
		m.cfa, m.offset = CFAPLT, int64(rest[4]-0x30)
	case m.cie.signal:
		m.cfa = CFASignal
	}
}

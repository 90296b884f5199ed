package objfile

import (
	"math"

	"github.com/cairnprof/cairn/internal/bytecur"
)

// Opcodes of the line-number program (DWARF 5, section 6.2.5).
const (
	lnsExtended    = 0
	lnsCopy        = 1
	lnsAdvancePC   = 2
	lnsAdvanceLine = 3
	lnsSetFile     = 4
	lnsSetColumn   = 5
	lnsNegateStmt  = 6
	lnsConstAddPC  = 8
	lnsFixedAddPC  = 9

	lneEndSequence = 1
	lneSetAddress  = 2
	lneDefineFile  = 3
	lneSetDiscrim  = 4
)

// lineMachine is the state of a running line-number program: the registers that are used here.
// Others are skipped.
type lineMachine struct {
	u     *unit
	b     *builder
	addr  uint64
	file  uint64
	line  int64
	col   uint64
	stmt  bool
	disc  uint32 // discriminator
	first int    // first row of the open sequence
}

// run appends the rows of u's program to b. Every opcode consumes at least one byte and emits
// at most one row, so time and memory are proportional to the section's size.
func (u *unit) run(b *builder, c *bytecur.Cursor) error {
	m := lineMachine{u: u, b: b}
	m.reset()
	for c.Len() > 0 {
		op := c.U8()
		if op >= u.opcodeBase {
			adj := uint64(op - u.opcodeBase)
			m.addr += adj / u.lineRange * u.minInst
			m.line += u.lineBase + int64(adj%u.lineRange)
			m.emit()
			continue
		}
		m.standard(c, op)
	}
	b.table.cut(m.first) // an incomplete sequence
	return c.Err()
}

func (m *lineMachine) reset() {
	m.addr, m.file, m.line, m.col, m.disc, m.first = 0, 1, 1, 0, 0, len(m.b.table.rows)
	m.stmt = m.u.statement
}

// emit appends a row, unless it repeats the last one or its address decreases, which is
// invalid in a sequence.
func (m *lineMachine) emit() {
	t := &m.b.table
	disc := m.disc
	m.disc = 0
	if m.b.statements && !m.stmt {
		t.left = true
		return
	}
	r := row{addr: m.addr, file: m.u.fileID(m.b, m.file)}
	if m.line > 0 && m.line <= math.MaxInt32 {
		r.line = uint32(m.line)
	}
	if m.b.columns {
		r.line = uint32(min(m.col, math.MaxInt32))
	}
	if n := len(t.rows); n > m.first {
		last := t.rows[n-1]
		if !m.b.columns && !m.b.statements && last.file == r.file && last.line == r.line && t.discriminator(n-1) == disc || r.addr < last.addr {
			return
		}
	}
	if len(t.rows) < math.MaxUint32 {
		t.rows = append(t.rows, r)
		t.setDiscriminator(disc)
	}
}

// standard executes the opcodes below the special opcodes.
func (m *lineMachine) standard(c *bytecur.Cursor, op uint8) {
	switch op {
	case lnsExtended:
		m.extended(c)
	case lnsCopy:
		m.emit()
	case lnsAdvancePC:
		m.addr += c.Uvarint() * m.u.minInst
	case lnsAdvanceLine:
		m.line += c.Sleb()
	case lnsSetFile:
		m.file = c.Uvarint()
	case lnsSetColumn:
		m.col = c.Uvarint()
	case lnsNegateStmt:
		m.stmt = !m.stmt
	case lnsConstAddPC:
		m.addr += uint64(255-m.u.opcodeBase) / m.u.lineRange * m.u.minInst
	case lnsFixedAddPC:
		m.addr += uint64(c.U16())
	default:
		// This includes opcodes of later versions: the header has the number of operands to
		// skip.
		for range m.u.opcodeArgs[op-1] {
			c.Uvarint()
		}
	}
}

// extended executes an opcode that is stored with its length.
func (m *lineMachine) extended(c *bytecur.Cursor) {
	arg := c.Sub(c.Uvarint())
	switch arg.U8() {
	case lneEndSequence:
		m.b.endSequence(m.first, m.addr)
		m.reset()
	case lneSetAddress:
		m.addr = fixed(arg, min(arg.Len(), 8))
	case lneSetDiscrim:
		m.disc = uint32(min(arg.Uvarint(), math.MaxUint32))
	case lneDefineFile:
		if len(m.u.names) < maxLineEntries {
			m.u.names = append(m.u.names, entry{cstr(arg), arg.Uvarint()})
			m.u.fileIDs = append(m.u.fileIDs, noFile)
		}
	}
}

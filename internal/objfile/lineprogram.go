package objfile

import (
	"fmt"
	"math"
)

// Opcodes of the line-number program (DWARF 5, section 6.2.5).
const (
	lnsExtended    = 0
	lnsCopy        = 1
	lnsAdvancePC   = 2
	lnsAdvanceLine = 3
	lnsSetFile     = 4
	lnsConstAddPC  = 8
	lnsFixedAddPC  = 9

	lneEndSequence = 1
	lneSetAddress  = 2
	lneDefineFile  = 3
)

// machine is the state of a running line-number program: the registers that
// matter here. Columns, statement marks, discriminators and the like are read
// over.
type machine struct {
	u     *unit
	b     *builder
	addr  uint64
	file  uint64
	line  int64
	first int // first row of the open sequence
}

// run appends the rows of u's program to b. Every opcode consumes at least a
// byte and emits at most a row, so time and memory follow the section's size.
func (u *unit) run(b *builder) error {
	m := machine{u: u, b: b}
	m.reset()
	c := cursor{data: u.program}
	for c.off < len(c.data) && c.err == nil {
		op := c.data[c.off]
		c.off++
		if op >= u.opcodeBase {
			adj := uint64(op - u.opcodeBase)
			m.addr += adj / u.lineRange * u.minInst
			m.line += u.lineBase + int64(adj%u.lineRange)
			m.emit()
			continue
		}
		m.standard(&c, op)
	}
	b.table.rows = b.table.rows[:m.first] // a sequence without an end
	if c.err != nil {
		return fmt.Errorf("line program at offset %d: %w", u.programAt+c.off, c.err)
	}
	return nil
}

func (m *machine) reset() {
	m.addr, m.file, m.line, m.first = 0, 1, 1, len(m.b.table.rows)
}

// emit appends a row, unless it repeats the last or goes backwards, which a
// sequence must not.
func (m *machine) emit() {
	t := &m.b.table
	r := row{addr: m.addr, file: m.u.fileID(m.b, m.file)}
	if m.line > 0 && m.line <= math.MaxInt32 {
		r.line = uint32(m.line)
	}
	if n := len(t.rows); n > m.first {
		last := t.rows[n-1]
		if last.file == r.file && last.line == r.line || r.addr < last.addr {
			return
		}
	}
	if len(t.rows) < math.MaxUint32 {
		t.rows = append(t.rows, r)
	}
}

// standard executes the opcodes below the special ones.
func (m *machine) standard(c *cursor, op uint8) {
	switch op {
	case lnsExtended:
		m.extended(c)
	case lnsCopy:
		m.emit()
	case lnsAdvancePC:
		m.addr += c.uleb() * m.u.minInst
	case lnsAdvanceLine:
		m.line += c.sleb()
	case lnsSetFile:
		m.file = c.uleb()
	case lnsConstAddPC:
		m.addr += uint64(255-m.u.opcodeBase) / m.u.lineRange * m.u.minInst
	case lnsFixedAddPC:
		m.addr += c.fixed(2)
	default:
		// Also those that later versions may add: the header says how many
		// operands to skip.
		for range m.u.opcodeArgs[op-1] {
			c.uleb()
		}
	}
}

// extended executes an opcode that carries its length.
func (m *machine) extended(c *cursor) {
	arg := cursor{data: c.bytes(c.uleb())}
	if c.err != nil || len(arg.data) == 0 {
		return
	}
	switch op := arg.u8(); op {
	case lneEndSequence:
		m.b.endSequence(m.first, m.addr)
		m.reset()
	case lneSetAddress:
		m.addr = arg.fixed(min(len(arg.data)-1, 8))
	case lneDefineFile:
		if len(m.u.names) < maxLineEntries {
			m.u.names = append(m.u.names, entry{arg.str(), arg.uleb()})
			m.u.fileIDs = append(m.u.fileIDs, noFile)
		}
	}
}

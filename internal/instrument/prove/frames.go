package prove

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/internal/bytecur"
)

// frame is an entry of .eh_frame, which describes a range of code.
type frame struct {
	start       target // of the range
	size        int64
	personality string // and the other contents of the common entry
	lsda        target
	hasLSDA     bool
	rows        []row
}

// row describes how to unwind from an offset of the range on, in a form for comparison.
type row struct {
	off  int64
	text string
}

// compareFrames compares the frames of all functions.
func (p *prover) compareFrames() {
	for i := range p.a.Sections {
		if s := &p.a.Sections[i]; s.Alloc && s.Name == ".eh_frame" {
			a, errA := p.a.frames(i)
			b, errB := p.b.frames(p.a.pair[i])
			switch {
			case errA != nil:
				p.unknown(nil, "the unwind table: %v", errA)
			case errB != nil:
				p.differ(nil, "the unwind table with probes: %v", errB)
			case len(a) != len(b):
				p.differ(nil, "the unwind table has %d entries, with probes %d", len(a), len(b))
			default:
				for k := range a {
					p.compareFrame(&a[k], &b[k])
				}
			}
		}
	}
}

// compareFrame compares the rows of a function at each of its instructions.
func (p *prover) compareFrame(a, b *frame) {
	c := p.codes[a.start.section]
	if a.start.name != "" || c == nil || b.start.name != "" || b.start.section != c.b {
		p.unknown(nil, "an entry of the unwind table is of no code")
		return
	}
	if a.personality != b.personality || a.hasLSDA != b.hasLSDA {
		p.differ(nil, "the entry of the unwind table at %#x has other handlers", a.start.off)
	}
	var tables *handlers
	if a.hasLSDA && b.hasLSDA {
		tables = p.readHandlers(a, b)
	}
	for i := range c.segments {
		s := &c.segments[i]
		if s.a.hi <= a.start.off || s.a.lo >= a.start.off+a.size {
			continue
		}
		if _, open := p.found[s]; open {
			continue // its instructions are not paired
		}
		p.compareRows(c, s, a, b)
		if tables != nil {
			p.compareHandlers(c, s, a, b, tables)
		}
	}
}

// compareRows compares the rows of the instructions of a segment that a describes.
func (p *prover) compareRows(c *code, s *segment, a, b *frame) {
	for at := max(s.a.lo, a.start.off); at < min(s.a.hi, a.start.off+a.size); at++ {
		if !c.works(at) {
			continue
		}
		want := rowOf{at, a.rowAt(at)}
		for q := int64(c.front[at]) - 1; q < int64(c.twin[at]); q++ {
			if k := c.kind[q]; k != probed && k != probeRest && q != int64(c.twin[at])-1 {
				continue
			}
			if !p.sameRow(c, s, want, b, q) {
				return
			}
		}
	}
	for _, e := range c.edges {
		if e.at < max(s.a.lo, a.start.off) || e.at >= min(s.a.hi, a.start.off+a.size) {
			continue
		}
		for q := e.lo; q < e.hi; q++ {
			if c.kind[q] == probeRest && !p.sameRow(c, s, rowOf{e.at, a.rowAt(e.at)}, b, q) {
				return
			}
		}
	}
	for _, st := range c.stubs {
		if st.at < s.a.lo || st.at >= s.a.hi {
			continue
		}
		for _, q := range []int64{st.lo, st.hi - 1} {
			// A path without a row is not wrong.
			if got, want := b.rowAt(q), a.rowAt(st.at); got != "" && got != want {
				p.differ(s, "the unwind table has %q for the start of the function, and %q for its first-call path at %#x", want, got, q)
				return
			}
		}
	}
}

// rowOf is the row of an instruction of the plain code.
type rowOf struct {
	at  int64
	row string
}

// sameRow reports whether b has the row of an instruction for an offset of the code with probes, where the stack pointer
// may be lower.
func (p *prover) sameRow(c *code, s *segment, of rowOf, b *frame, off int64) bool {
	at, want, got := of.at, of.row, b.rowAt(off)
	if low := c.sunk[off]; low != 0 {
		var ok bool
		if want, ok = lowered(want, low); !ok {
			p.unknown(s, "the unwind table has %q for %#x, which may depend on the stack pointer", want, at)
			return false
		}
	}
	if got != want {
		p.differ(s, "the unwind table has %q for %#x, and %q with probes at %#x", want, at, got, off)
	}
	return got == want
}

// lowered returns the row that finds the same frame where the stack pointer is lower. ok is false if that is unknown.
func lowered(row string, by int64) (lower string, ok bool) {
	if strings.Contains(row, "expr") {
		return "", false
	}
	rest, onStack := strings.CutPrefix(row, "cfa r7")
	if !onStack {
		return row, true
	}
	offset, rules, more := strings.Cut(rest, " ")
	n, err := strconv.ParseInt(offset, 10, 64)
	if more {
		rules = " " + rules
	}
	return fmt.Sprintf("cfa r7%+d%s", n+by, rules), err == nil
}

// rowAt returns the row for an offset of the section, "" outside.
func (f *frame) rowAt(off int64) string {
	off -= f.start.off
	if off < 0 || off >= f.size {
		return ""
	}
	i := sort.Search(len(f.rows), func(i int) bool { return f.rows[i].off > off })
	return f.rows[i-1].text // the first is that of offset 0
}

// common is a common information entry.
type common struct {
	codeAlign          uint64
	dataAlign          int64
	fdeEnc, lsdaEnc    byte
	augmented, hasLSDA bool
	says               string // the personality, signal frames and return register, for comparison
	initial            []byte
	returns            uint64
}

// frames reads .eh_frame, section number n.
func (o *object) frames(n int) ([]frame, error) {
	c := bytecur.New(o.Sections[n].Data, 0)
	commons := map[int64]*common{}
	var out []frame
	for c.Len() > 0 {
		at := c.Off()
		length := c.U32()
		if length == 0 {
			break
		}
		if length == 0xffffffff {
			return nil, fmt.Errorf("a 64-bit entry at %#x", at)
		}
		body := c.Sub(uint64(length))
		idAt := body.Off()
		id := body.U32()
		if id == 0 {
			m, err := o.common(n, body)
			if err != nil {
				return nil, err
			}
			commons[at] = m
			continue
		}
		m := commons[idAt-int64(id)]
		if m == nil {
			return nil, fmt.Errorf("the entry at %#x has no CIE", at)
		}
		f, err := o.frame(n, body, m)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, c.Err()
}

// common reads the entry that others refer to.
func (o *object) common(n int, c *bytecur.Cursor) (*common, error) {
	at := c.Off()
	m := &common{}
	version := c.U8()
	augmentation := string(c.CString("an augmentation", 16))
	m.codeAlign, m.dataAlign = c.Uvarint(), c.Sleb()
	if version == 1 {
		m.returns = uint64(c.U8())
	} else {
		m.returns = c.Uvarint()
	}
	m.fdeEnc, m.lsdaEnc = 0, encOmit
	m.says = fmt.Sprint("return ", m.returns)
	if strings.HasPrefix(augmentation, "z") {
		m.augmented = true
		data := c.Sub(c.Uvarint())
		for _, letter := range augmentation[1:] {
			switch letter {
			case 'R':
				m.fdeEnc = data.U8()
			case 'L':
				m.lsdaEnc = data.U8()
				m.hasLSDA = m.lsdaEnc != encOmit
			case 'P':
				enc := data.U8()
				t, _, err := o.pointer(n, data, enc)
				if err != nil {
					return nil, err
				}
				m.says += fmt.Sprint(" personality ", enc, " ", o.describe(t))
			default:
				m.says += string(letter)
			}
		}
		if data.Err() != nil {
			return nil, data.Err()
		}
	} else if augmentation != "" {
		return nil, fmt.Errorf("the entry at %#x has the augmentation %q", at, augmentation)
	}
	m.initial = c.Bytes(uint64(c.Len()))
	return m, c.Err()
}

// frame reads the entry of a range of code.
func (o *object) frame(n int, c *bytecur.Cursor, m *common) (f frame, err error) {
	f.personality = m.says
	if f.start, _, err = o.pointer(n, c, m.fdeEnc); err != nil {
		return f, err
	}
	switch m.fdeEnc & 0x0f {
	case encU4, encS4:
		f.size = int64(c.U32())
	default:
		f.size = int64(c.U64())
	}
	if m.augmented {
		data := c.Sub(c.Uvarint())
		if m.hasLSDA {
			if f.lsda, f.hasLSDA, err = o.pointer(n, data, m.lsdaEnc); err != nil {
				return f, err
			}
		}
	}
	if c.Err() != nil {
		return f, c.Err()
	}
	f.rows, err = unwindRows(m, c)
	return f, err
}

// Encodings of pointers, by the Linux Standard Base.
const (
	encU4   = 0x03
	encS4   = 0x0b
	encU8   = 0x04
	encS8   = 0x0c
	encOmit = 0xff
)

// pointer reads a pointer, which is a relocation here; set is false for a null pointer.
func (o *object) pointer(n int, c *bytecur.Cursor, enc byte) (t target, set bool, err error) {
	r := o.relocs[n][uint64(c.Off())]
	var value uint64
	switch enc & 0x0f {
	case encU4, encS4:
		value = uint64(c.U32())
	case 0, encU8, encS8:
		value = c.U64()
	default:
		return t, false, fmt.Errorf("a pointer in the form %#x at %#x", enc, c.Off())
	}
	if r == nil {
		if value != 0 {
			return t, false, fmt.Errorf("a pointer without a relocation before %#x", c.Off())
		}
		return t, false, c.Err()
	}
	t, ok := o.target(r, 0)
	if !ok {
		return t, false, fmt.Errorf("a relocation without a symbol before %#x", c.Off())
	}
	return t, true, c.Err()
}

// machine runs the instructions of call frame information (DWARF 5, 6.4.2).
type machine struct {
	reg   uint64 // the frame address is this register and an offset
	off   int64
	cfa   string // the offset in words, or the expression for the address
	rules map[uint64]string
	args  uint64
}

func (m *machine) clone() *machine {
	c := *m
	c.rules = maps.Clone(m.rules)
	return &c
}

func (m *machine) text() string {
	regs := make([]uint64, 0, len(m.rules))
	for r := range m.rules {
		regs = append(regs, r)
	}
	slices.Sort(regs)
	var s strings.Builder
	s.WriteString(m.cfa)
	for _, r := range regs {
		fmt.Fprintf(&s, " r%d=%s", r, m.rules[r])
	}
	if m.args != 0 {
		fmt.Fprintf(&s, " args %d", m.args)
	}
	return s.String()
}

// unwindRows runs the instructions of a range, after those of the common entry.
func unwindRows(m *common, c *bytecur.Cursor) ([]row, error) {
	run := &frameRun{machine: &machine{rules: map[uint64]string{}}, common: m}
	initial := bytecur.New(m.initial, 0)
	for initial.Len() > 0 && run.step(initial) {
	}
	run.initial = run.machine.clone()
	run.rows = []row{{0, run.machine.text()}}
	for c.Len() > 0 {
		if !run.step(c) {
			return nil, fmt.Errorf("unknown instruction of the unwind table before %#x", c.Off())
		}
		run.put()
	}
	if c.Err() != nil {
		return nil, c.Err()
	}
	return run.rows, initial.Err()
}

type frameRun struct {
	*machine
	common  *common
	initial *machine
	stack   []*machine
	at      int64
	rows    []row
}

// put appends the row of the current place.
func (f *frameRun) put() {
	r := row{f.at, f.machine.text()}
	if last := len(f.rows) - 1; f.rows[last].off == r.off {
		f.rows[last] = r
		return
	}
	f.rows = append(f.rows, r)
}

const maxRemembered = 1000

// step runs one instruction.
func (f *frameRun) step(c *bytecur.Cursor) bool {
	op := c.U8()
	low := uint64(op & 0x3f)
	switch op >> 6 {
	case 1:
		f.at += int64(low * f.common.codeAlign)
		return true
	case 2:
		f.rules[low] = fmt.Sprint("cfa", int64(c.Uvarint())*f.common.dataAlign)
		return true
	case 3:
		f.restore(low)
		return true
	}
	return f.operation(op, c) && c.Err() == nil
}

// operation runs an instruction whose operands follow its opcode. It returns false for an unknown one.
func (f *frameRun) operation(op byte, c *bytecur.Cursor) bool {
	switch op {
	case 0x00: // nop
	case 0x02:
		f.at += int64(uint64(c.U8()) * f.common.codeAlign)
	case 0x03:
		f.at += int64(uint64(c.U16()) * f.common.codeAlign)
	case 0x04:
		f.at += int64(uint64(c.U32()) * f.common.codeAlign)
	case 0x05:
		reg := c.Uvarint()
		f.rules[reg] = fmt.Sprint("cfa", int64(c.Uvarint())*f.common.dataAlign)
	case 0x06:
		f.restore(c.Uvarint())
	case 0x07, 0x08: // undefined, same value
		f.rules[c.Uvarint()] = fmt.Sprint("op", op)
	case 0x09:
		reg := c.Uvarint()
		f.rules[reg] = fmt.Sprint("reg", c.Uvarint())
	case 0x0a:
		if len(f.stack) == maxRemembered {
			return false
		}
		f.stack = append(f.stack, f.machine.clone())
	case 0x0b:
		if len(f.stack) == 0 {
			return false
		}
		f.machine, f.stack = f.stack[len(f.stack)-1], f.stack[:len(f.stack)-1]
	case 0x0c:
		f.reg, f.off = c.Uvarint(), int64(c.Uvarint())
		f.define()
	case 0x0d:
		f.reg = c.Uvarint()
		f.define()
	case 0x0e:
		f.off = int64(c.Uvarint())
		f.define()
	case 0x0f:
		f.cfa = fmt.Sprintf("expr %x", c.Bytes(c.Uvarint()))
	case 0x10, 0x16:
		reg := c.Uvarint()
		f.rules[reg] = fmt.Sprintf("expr%d %x", op, c.Bytes(c.Uvarint()))
	case 0x2d: // AArch64: the return address is signed from here on, or no longer
		const signed = 34
		if f.rules[signed] != "" {
			delete(f.rules, signed)
		} else {
			f.rules[signed] = "signed"
		}
	case 0x2e:
		f.args = c.Uvarint()
	default:
		return false
	}
	return true
}

func (f *frameRun) restore(reg uint64) {
	delete(f.rules, reg)
	if f.initial != nil && f.initial.rules[reg] != "" {
		f.rules[reg] = f.initial.rules[reg]
	}
}

// define sets the frame address to a register and an offset.
func (f *frameRun) define() { f.cfa = fmt.Sprintf("cfa r%d%+d", f.reg, f.off) }

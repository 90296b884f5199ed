package attach

import (
	"cmp"
	"slices"

	"github.com/cairnprof/cairn/internal/binary/ehframe"
)

const deepest = 4096 // frames

// frame is a frame of a thread's stack.
type frame struct {
	pc, sp, pointer uint64
	exact           bool // pc is not a return address
}

// frames calls visit with the address in each frame of a stopped thread, the innermost first, until visit
// returns false. whole reports whether the outermost was reached.
func (p *process) frames(th *thread, visit func(pc uint64) bool) (whole bool) {
	c := frame{pc: th.regs.Rip, sp: th.regs.Rsp, pointer: th.regs.Rbp, exact: true}
	for range deepest {
		if !visit(c.pc) {
			return false
		}
		row, ok := rowOf(p.unwind, c.pc, c.exact)
		if !ok {
			return false
		}
		if row.Return == ehframe.ReturnNone {
			return true
		}
		if !p.toCaller(&c, row) {
			return false
		}
	}
	return false
}

// rowOf returns the unwind row of an address.
func rowOf(modules []unwindModule, pc uint64, exact bool) (row ehframe.Row, ok bool) {
	if !exact {
		pc--
	}
	for i := range modules {
		m := &modules[i]
		if pc < m.lo || pc >= m.hi {
			continue
		}
		n, found := slices.BinarySearchFunc(m.rows, pc-m.bias, func(r ehframe.Row, at uint64) int { return cmp.Compare(r.PC, at) })
		if !found {
			n--
		}
		if n < 0 {
			return row, false
		}
		return m.rows[n], m.rows[n].CFA != ehframe.CFAUnknown
	}
	return row, false
}

// toCaller moves to the caller's frame, as attach_unwind.c does in the program.
func (p *process) toCaller(c *frame, row ehframe.Row) bool {
	if row.CFA == ehframe.CFASignal {
		return p.toInterrupted(c)
	}
	offset := uint64(int64(row.Offset))
	var cfa uint64
	var err error
	switch row.CFA {
	case ehframe.CFAStack:
		cfa = c.sp + offset
	case ehframe.CFAFrame:
		cfa = c.pointer + offset
	case ehframe.CFAAtFrame:
		cfa, err = p.word(c.pointer + offset)
	case ehframe.CFAPLT:
		cfa = c.sp + 8
		if c.pc&15 >= offset {
			cfa += 8
		}
	}
	if err != nil || cfa <= c.sp || row.Return != ehframe.ReturnPlain {
		return false
	}
	pointer := c.pointer
	switch at := uint64(int64(row.FrameOffset)); row.Frame {
	case ehframe.FrameAtCFA:
		pointer, err = p.word(cfa + at)
	case ehframe.FrameAtFrame:
		pointer, err = p.word(c.pointer + at)
	}
	if err != nil {
		return false
	}
	pc, err := p.word(cfa - 8)
	*c = frame{pc: pc, sp: cfa, pointer: pointer}
	return err == nil
}

// toInterrupted moves to the frame that a signal handler interrupted.
func (p *process) toInterrupted(c *frame) bool {
	const registers = frameRegs - frameContext // after the handler's return address
	var words [3]uint64
	for i, n := range []uint64{10 /* %rbp */, 15 /* %rsp */, 16 /* %rip */} {
		var err error
		if words[i], err = p.word(c.sp + registers + 8*n); err != nil {
			return false
		}
	}
	*c = frame{pointer: words[0], sp: words[1], pc: words[2], exact: true}
	return true
}

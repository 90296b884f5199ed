package lbr

import (
	"encoding/binary"
	"io"
	"slices"

	"github.com/cairnprof/cairn/internal/binary/x86"
	"github.com/cairnprof/cairn/sample"
)

// Observer makes samples of a program whose branches a tracer reports, by the rules of the
// runtime, and writes them in the format of Records.
type Observer struct {
	Every    uint64 // instructions from sample to sample
	Branches bool   // count branches in place of instructions
	Depth    int    // branches in a sample
	Truth    bool   // write the true stacks
	ByCalls  bool   // stacks are the open calls, and frame pointers are not read
	// Function returns the start of the function at an address; it reports false if none
	// is known.
	Function func(addr uint64) (start uint64, ok bool)
	// Word reads from the program's memory.
	Word func(addr uint64) (word uint64, ok bool)
	// Code returns the bytes at an address of the program's code.
	Code func(addr uint64) []byte
	Out  io.Writer

	threads map[int32]*thread
	blocks  map[block][]uint64
	totals  Totals
	buf     []byte
	sample  Sample
}

// Taken is a branch that a thread is about to take.
type Taken struct {
	PID, TID int32
	Kind     Kind // not TailCall: Observer finds which jumps are
	From, To uint64
	SP, FP   uint64 // the stack and the frame pointer, before
}

// thread is the state of a thread.
type thread struct {
	wait     uint64          // instructions or branches until a sample
	at       uint64          // target of the last branch
	branches []sample.Branch // a ring of the latest ones
	taken    uint64
	calls    []openAt
	cut      uint32
}

// openAt is an open call, with the location of its return address.
type openAt struct {
	OpenCall
	sp uint64
}

// Bounds of a sample, as in c/lbr.h.
const (
	maxStack = MaxStack
	maxOpen  = 1 << 13
)

// Branch records a branch. An error is one of writing.
func (o *Observer) Branch(b *Taken) error {
	if o.threads == nil {
		o.threads = map[int32]*thread{}
	}
	t := o.threads[b.TID]
	if t == nil {
		t = &thread{wait: o.Every, at: b.From, branches: make([]sample.Branch, o.Depth)}
		o.threads[b.TID] = t
		o.totals.Threads++
	}
	tail := (b.Kind == Jump || b.Kind == IndirectJump) && o.leaves(b.From, b.To)
	if err := o.ran(t, b); err != nil {
		return err
	}
	t.at = b.To
	t.branches[t.taken%uint64(o.Depth)] = sample.Branch{From: b.From, To: b.To}
	t.taken++
	o.totals.Branches++
	o.follow(t, b, tail)
	return nil
}

// ran counts the instructions up to a branch, and takes the samples that are due.
func (o *Observer) ran(t *thread, b *Taken) error {
	if b.Kind == FromOutside {
		if o.Branches && t.wait > 1 {
			t.wait--
		}
		return nil
	}
	starts := o.block(t.at, b.From)
	o.totals.Instructions += uint64(len(starts))
	if o.Branches {
		starts = starts[len(starts)-1:]
	}
	for n := uint64(len(starts)); t.wait <= n; t.wait += o.Every {
		if err := o.writeSample(t, b, starts[t.wait-1]); err != nil {
			return err
		}
	}
	t.wait -= uint64(len(starts))
	return nil
}

// block is code without branches but the last instruction.
type block struct{ from, branch uint64 }

// longestBlock is the maximum size of a block in bytes.
const longestBlock = 1 << 20

// block returns the addresses of the instructions of a block. If they do not lead to the
// branch, as after a signal, it is the branch alone.
func (o *Observer) block(from, branch uint64) []uint64 {
	key := block{from, branch}
	if starts := o.blocks[key]; starts != nil {
		return starts
	}
	var starts []uint64
	at := from
	for at < branch && branch-from < longestBlock {
		in, err := x86.Decode(o.Code(at))
		if err != nil {
			break
		}
		starts = append(starts, at)
		at += uint64(in.Len)
	}
	if at != branch {
		starts = nil
	}
	starts = append(starts, branch)
	if o.blocks == nil {
		o.blocks = map[block][]uint64{}
	}
	o.blocks[key] = starts
	return starts
}

// Changed records that the code in memory may have changed.
func (o *Observer) Changed() { clear(o.blocks) }

// leaves reports whether the target of a jump is the start of another function.
func (o *Observer) leaves(from, to uint64) bool {
	start, known := o.Function(to)
	own, ownKnown := o.Function(from)
	if !known {
		return ownKnown
	}
	return start == to && (!ownKnown || own != start)
}

// follow updates the true stack at a branch.
func (o *Observer) follow(t *thread, b *Taken, tail bool) {
	switch {
	case b.Kind == Call || b.Kind == IndirectCall:
		t.pop(b.SP - 8)
		t.push(b, b.Kind, b.SP-8)
	case b.Kind == Return:
		t.pop(b.SP)
	case b.Kind == FromOutside:
		t.pop(b.SP - 8)
		if start, ok := o.Function(b.To); ok && start == b.To {
			t.push(b, FromOutside, b.SP)
		}
	case tail:
		t.pop(b.SP - 8)
		if _, known := o.Function(b.To); known || !t.left(b.SP) {
			t.push(b, TailCall, b.SP)
		}
	}
}

// left removes the calls that end with a jump to other code, if such code called them: they never
// return to code that is known.
func (t *thread) left(sp uint64) bool {
	n := len(t.calls)
	for n > 0 && t.calls[n-1].sp == sp {
		n--
	}
	if t.cut > 0 || n == len(t.calls) || t.calls[n].Kind != FromOutside {
		return false
	}
	t.calls = t.calls[:n]
	return true
}

// pop removes the calls whose return address is at sp or below.
func (t *thread) pop(sp uint64) {
	for len(t.calls) > 0 && int64(t.calls[len(t.calls)-1].sp-sp) <= 0 {
		t.calls, t.cut = t.calls[:len(t.calls)-1], 0
	}
}

func (t *thread) push(b *Taken, kind Kind, sp uint64) {
	if len(t.calls) == maxOpen {
		t.cut++
		return
	}
	from := b.From
	if kind == FromOutside {
		from = 0
	}
	t.calls = append(t.calls, openAt{OpenCall{kind, from, b.To}, sp})
}

// writeSample writes a sample of an instruction of a block.
func (o *Observer) writeSample(t *thread, b *Taken, ip uint64) error {
	s := &o.sample
	*s = Sample{PID: b.PID, TID: b.TID, IP: ip, Stack: s.Stack[:0], Branches: s.Branches[:0], Calls: s.Calls[:0]}
	s.Stack = append(s.Stack, ip)
	if o.ByCalls {
		o.openCalls(s, t, b.SP)
	} else {
		o.framePointers(s, t, b)
	}
	for i := t.taken - min(t.taken, uint64(o.Depth)); i < t.taken; i++ {
		s.Branches = append(s.Branches, t.branches[i%uint64(o.Depth)])
	}
	if o.Truth {
		s.Cut = t.cut
		for _, c := range t.calls {
			s.Calls = append(s.Calls, c.OpenCall)
		}
	}
	o.totals.Samples++
	return o.write(recordSample, s.encode(o.buf[:0]))
}

// openCalls adds the return addresses of the open calls.
func (o *Observer) openCalls(s *Sample, t *thread, sp uint64) {
	last := uint64(0)
	for _, c := range slices.Backward(t.calls) {
		if len(s.Stack) == MaxCalls {
			return
		}
		// A tail call has the return address of the call that it ended.
		if c.sp == last || c.sp < sp {
			continue
		}
		ret, ok := o.Word(c.sp)
		if !ok {
			return
		}
		s.Stack = append(s.Stack, ret)
		last = c.sp
	}
}

// framePointers adds the return addresses that frame pointers lead to.
func (o *Observer) framePointers(s *Sample, t *thread, b *Taken) {
	// If a function has no frame yet, or no longer has one, its return address is known from its call.
	low := b.SP
	if n := len(t.calls); n > 0 && t.cut == 0 && t.calls[n-1].sp >= b.SP && t.calls[n-1].sp != b.FP+8 {
		if ret, ok := o.Word(t.calls[n-1].sp); ok {
			s.Stack = append(s.Stack, ret)
			low = t.calls[n-1].sp + 8
		}
	}
	for fp := b.FP; len(s.Stack) < maxStack && fp >= low && fp%8 == 0; {
		ret, ok := o.Word(fp + 8)
		if !ok || ret == 0 {
			break
		}
		s.Stack = append(s.Stack, ret)
		low = fp + 16
		if fp, ok = o.Word(fp); !ok {
			break
		}
	}
}

// Maps writes a process's /proc/PID/maps.
func (o *Observer) Maps(pid int32, maps []byte) error {
	data := binary.LittleEndian.AppendUint64(o.buf[:0], uint64(uint32(pid)))
	return o.write(recordMaps, append(data, maps...))
}

// End writes the totals.
func (o *Observer) End() error {
	data := binary.LittleEndian.AppendUint64(o.buf[:0], o.totals.Branches)
	data = binary.LittleEndian.AppendUint64(data, o.totals.Samples)
	data = binary.LittleEndian.AppendUint64(data, o.totals.Threads)
	data = binary.LittleEndian.AppendUint64(data, o.totals.Faults)
	return o.write(recordEnd, binary.LittleEndian.AppendUint64(data, o.totals.Instructions))
}

func (o *Observer) write(kind uint32, data []byte) error {
	o.buf = data
	var head [8]byte
	binary.LittleEndian.PutUint32(head[:], uint32(8+len(data)))
	binary.LittleEndian.PutUint32(head[4:], kind)
	if _, err := o.Out.Write(head[:]); err != nil {
		return err
	}
	_, err := o.Out.Write(data)
	return err
}

// encode appends a sample in the format of decode.
func (s *Sample) encode(to []byte) []byte {
	le := binary.LittleEndian
	for _, v := range []uint32{uint32(s.PID), uint32(s.TID), uint32(s.IP), uint32(s.IP >> 32), uint32(len(s.Stack)), uint32(len(s.Branches)), uint32(len(s.Calls)), s.Cut} {
		to = le.AppendUint32(to, v)
	}
	for _, a := range s.Stack {
		to = le.AppendUint64(to, a)
	}
	for _, b := range s.Branches {
		to = le.AppendUint64(le.AppendUint64(to, b.From), b.To)
	}
	for _, c := range s.Calls {
		to = le.AppendUint64(le.AppendUint64(le.AppendUint64(to, uint64(c.Kind)), c.From), c.To)
	}
	return to
}

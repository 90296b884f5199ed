package xray

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/cairnprof/cairn/calllog"
)

// A basic log is records of 32 bytes, in runs of one thread:
//
//	 0  u16 0                        0  u16 1: an argument of the call before
//	 2  u8  CPU                      4  u32 its function
//	 3  u8  kind                     8  u32 thread
//	 4  u32 function                12  u32 process, version 3
//	 8  u64 time                    16  u64 the argument
//	16  u32 thread
//	20  u32 process, version 3
//
// All other bytes are garbage.

// basicWalker goes through the records of a basic log.
type basicWalker struct {
	h      *header
	before Record // the record before; its Size is 0 if there is none
	args   int    // how many arguments in a row
}

// step reads a record, whose size is always the same.
func (w *basicWalker) step(b []byte) (r Record, trouble string) {
	o := w.h.order()
	ids := b[16:]
	switch o.Uint16(b) {
	case 0:
		r = Record{
			Kind: Call, Event: calllog.Kind(b[3]), CPU: uint16(b[2]),
			Func: calllog.FuncID(o.Uint32(b[4:])), Time: o.Uint64(b[8:]),
		}
	case 1:
		r = Record{Kind: Argument, Func: calllog.FuncID(o.Uint32(b[4:])), Value: o.Uint64(b[16:])}
		ids = b[8:]
	default:
		trouble = badKind
	}
	r.Size, r.TID = basicSize, o.Uint32(ids)
	if w.h.version >= 3 {
		r.PID = o.Uint32(ids[4:])
	}
	switch {
	case trouble != "":
	case r.Kind == Argument:
		if !w.continues(&r) {
			trouble = badArgument
		}
		r.CPU, r.Time = w.before.CPU, w.before.Time
	case leadingZeros(b[:basicSize]) == basicSize:
		trouble = badZeros
	case r.Event > calllog.EnterArgs:
		trouble = badCall
	}
	w.before = r
	if trouble != "" {
		w.before = Record{}
	}
	return r, trouble
}

// continues reports whether an argument is of the call before.
func (w *basicWalker) continues(r *Record) bool {
	b := &w.before
	if b.Kind != Argument {
		w.args = 0
	}
	w.args++
	isCall := b.Kind == Call && b.Event.IsEnter() || b.Kind == Argument
	return b.Size > 0 && isCall && w.args <= maxArgs && b.Func == r.Func && b.TID == r.TID && b.PID == r.PID
}

// run is a thread of a basic log during indexing.
type run struct {
	id    int32
	any   bool
	last  uint64 // time of its last record
	end   int64  // where its last part ends in the file
	parts []part
	// again is the thread's record that should equal the next one, if that was written twice.
	again *place
}

// place is a record in the parts of a thread.
type place struct {
	part int
	off  int64
}

// Limits of the size of parts, and of the number of searches for records that were
// written twice: each search reads up to a part.
const (
	maxPart    = 64 << 10
	maxSearchs = 4096
)

// basicIndex indexes the records of a basic log.
type basicIndex struct {
	*index
	runs     []run
	cur      *run // the thread of the record before
	key      uint64
	started  bool
	changed  bool // the record is the first of its run
	walk     basicWalker
	last     [basicSize]byte // the record before, if fasted is true
	fasted   bool
	lost     bool // something was skipped before the record
	old      window
	searches int
	bad      *calllog.Damage // not reported yet: it may go on
}

func (ix *index) basic() error {
	x := &basicIndex{index: ix, old: ix.log.window(), walk: basicWalker{h: &ix.log.head}}
	win := ix.log.window()
	size := ix.log.info.Size
	end := size - (size-headerSize)%basicSize
	for off := int64(headerSize); off < end; {
		b, err := win.at(off, basicSize, chunk)
		if err != nil {
			return err
		}
		b = b[:min(int64(len(b))&^(basicSize-1), end-off)]
		for len(b) > 0 {
			n := x.fast(b, off)
			if n == 0 {
				n = basicSize
				if err := x.record(b[:basicSize], off); err != nil {
					return err
				}
			}
			off += int64(n)
			b = b[n:]
		}
	}
	x.finishBasic(end)
	return nil
}

// fast skips the records at the front of b that only extend the part of the current thread, and returns their
// size.
func (x *basicIndex) fast(b []byte, off int64) int {
	run := x.cur
	if run == nil || run.again != nil || run.end != off || x.log.head.big || x.log.head.version < 3 || x.bad != nil {
		return 0
	}
	p := &run.parts[len(run.parts)-1]
	b = b[:min(int64(len(b)), maxPart-p.size)]
	all, n := b, 0
	for len(b) >= basicSize {
		head := binary.LittleEndian.Uint32(b)
		time := binary.LittleEndian.Uint64(b[8:])
		if head&0xfc00ffff != 0 || time <= run.last || binary.LittleEndian.Uint64(b[16:]) != x.key {
			break
		}
		run.last = time
		n += basicSize
		b = b[basicSize:]
	}
	if n > 0 {
		x.changed = false
		p.size += int64(n)
		run.end += int64(n)
		copy(x.last[:], all[n-basicSize:n])
		x.fasted = true
	}
	return n
}

// record takes one record.
func (x *basicIndex) record(b []byte, off int64) error {
	if x.fasted {
		x.walk.step(x.last[:])
		x.fasted = false
	}
	r, trouble := x.walk.step(b)
	if trouble != "" {
		x.skip(off, trouble)
		return nil
	}
	x.report()
	x.turn(owner{r.PID, r.TID})
	run := x.cur
	repeated, err := x.repeated(run, b, &r)
	if err != nil || repeated {
		return err
	}
	p := len(run.parts) - 1
	if run.end != off || run.parts[p].size >= maxPart && r.Kind == Call || x.lost {
		run.parts = append(run.parts, part{off: off, first: r.Time, timed: true, owner: run.id, lost: x.lost})
		p++
		x.lost = false
	}
	run.parts[p].size += basicSize
	run.end = off + basicSize
	run.last, run.any = r.Time, true
	x.changed = false
	return nil
}

// turn makes a thread the current one.
func (x *basicIndex) turn(o owner) {
	key := uint64(o.pid)<<32 | uint64(o.tid)
	if x.started && key == x.key {
		return
	}
	x.started, x.changed, x.key = true, true, key
	id := x.id(o)
	if int(id) == len(x.runs) {
		x.runs = append(x.runs, run{id: id})
	}
	x.cur = &x.runs[id]
}

// repeated reports whether the thread has the record already, from a process that forked.
func (x *basicIndex) repeated(run *run, b []byte, r *Record) (bool, error) {
	if run.again == nil {
		if !run.any || r.Kind != Call || r.Time > run.last || r.Time == run.last && !x.alone(run) {
			return false, nil
		}
		found, err := x.search(run, b, r.Time)
		if err != nil || found == nil {
			return false, err
		}
		run.again = found
		x.log.info.Duplicates++
	}
	p := &run.parts[run.again.part]
	was, err := x.old.at(run.again.off, basicSize, min(maxPart, p.off+p.size-run.again.off))
	if err != nil {
		return false, err
	}
	if !bytes.Equal(was[:basicSize], b) {
		run.again = nil
		// One run can follow the other.
		return x.repeated(run, b, r)
	}
	run.again.off += basicSize
	if run.again.off >= p.off+p.size {
		run.again.part++
		if run.again.part == len(run.parts) {
			run.again = nil
		} else {
			run.again.off = run.parts[run.again.part].off
		}
	}
	x.changed = false
	return true, nil
}

// alone reports whether the record is the first of its run, and the run before was one record. Only then does
// an equal time suggest that it was written twice: clocks that stand still are more common than forks.
func (x *basicIndex) alone(run *run) bool {
	return x.changed && run.parts[len(run.parts)-1].size == basicSize
}

// search looks for a record in the parts of the thread.
func (x *basicIndex) search(run *run, b []byte, time uint64) (*place, error) {
	i, _ := slices.BinarySearchFunc(run.parts, time, func(p part, t uint64) int {
		if p.first <= t {
			return -1
		}
		return 1
	})
	if i == 0 {
		return nil, nil
	}
	if x.searches++; x.searches > maxSearchs {
		x.unsearched = true
		return nil, nil
	}
	p := run.parts[i-1]
	was, err := x.old.at(p.off, p.size, p.size)
	if err != nil {
		return nil, err
	}
	for at := int64(0); at < p.size; at += basicSize {
		if bytes.Equal(was[at:at+basicSize], b) {
			return &place{i - 1, p.off + at}, nil
		}
	}
	return nil, nil
}

// skip reports an invalid record, together with adjacent ones.
func (x *basicIndex) skip(off int64, what string) {
	x.lost = true
	if d := x.bad; d != nil && d.What == what && d.Offset+d.Size == off {
		d.Size += basicSize
		return
	}
	x.report()
	x.bad = &calllog.Damage{File: x.log.info.File, Offset: off, Size: basicSize, What: what}
}

func (x *basicIndex) report() {
	if x.bad != nil {
		x.damage(x.bad)
		x.bad = nil
	}
}

// finishBasic ends the index; whole records end at end.
func (x *basicIndex) finishBasic(end int64) {
	rest := x.log.info.Size - end
	n, err := x.old.zeros(end, end+rest)
	zero := err == nil && n == rest
	if d := x.bad; zero && d != nil && d.What == badZeros && d.Offset+d.Size == end {
		x.bad = nil // a tail of zeros is no damage
	}
	if zero && x.bad == nil {
		rest = 0
	}
	x.report()
	if rest > 0 {
		x.damagef(end, rest, cutFile)
	}
	for i := range x.runs {
		x.parts = append(x.parts, x.runs[i].parts...)
	}
	x.finish()
}

package tracelog

import (
	"slices"
	"strings"

	"github.com/cairnprof/cairn/format/tracelog/wire"
	"github.com/cairnprof/cairn/internal/bytecur"
	"github.com/cairnprof/cairn/internal/saturate"
)

// maxOpen bounds the calls that have not ended; a process has records for fewer.
const maxOpen = 1 << 14

// keepOpen keeps a call that has not returned.
func (l *Log) keepOpen(e *Episode) {
	list := &l.Left
	if e.Flags&Unended != 0 {
		list = &l.Open
	}
	if len(*list) < maxOpen {
		*list = append(*list, e)
	}
}

// decodeOpen decodes a call that goes on, after the header of its record; nil if the record has none. Its times
// are those at the time until which its thread is known to have stayed in it. A call that its thread left has the
// form of an episode: it took at least as long as it was seen, and at most until it was known to be left.
func decodeOpen(c *bytecur.Cursor, tid uint32, calls SystemCalls) *Episode {
	o := &Ongoing{Found: c.U64()}
	ended := c.U64()
	o.Until, o.Since = c.U64(), c.U64()
	e := &Episode{TID: tid, Flags: Unended, Open: o, Threshold: c.U64(), Frame: c.U64()}
	flags := c.U32()
	o.Runs, o.Call, o.On = flags&wire.OpenRuns != 0, calls.Name(int(c.U32())-1), WaitFlags(flags>>wire.OpenKindShift)
	at, stack, inner := c.Off(), int(c.U16()), int(c.U16())
	e.Found, o.CPU = c.U32(), c.U64()
	edition := c.U32()
	why := c.U32()
	waits := why&0xff != 0
	o.Waits, o.Awoke, o.Reason, o.How = waits && !o.Runs, waits && o.Runs, WaitReason(why&0xff-1), uint8(why>>8)
	text := int(why >> 16)
	left := flags&wire.OpenLeft != 0
	o.Name = strings.TrimRight(string(c.Bytes(wire.OpenName)), "\x00")
	if edition&1 != 0 || stack == 0 || ended != 0 && !left || o.Until < o.Found {
		return nil
	}
	if stack+inner > (wire.OpenSlot-wire.OpenSize)/wire.EntrySize {
		c.FailAt(at, "%d entries of an open call, at most %d are allowed", stack+inner, (wire.OpenSlot-wire.OpenSize)/wire.EntrySize)
		return nil
	}
	entries := make([]Entry, 0, stack+inner)
	for range stack + inner {
		x := decodeEntry(c)
		if c.Err() != nil {
			return nil
		}
		if x.Timed() {
			x.Time.Lo = saturate.Add(x.Time.Lo, o.Until-o.Found)
			x.Time.Hi = saturate.Add(x.Time.Hi, max(o.Until, ended)-o.Found)
		}
		entries = append(entries, x)
	}
	if text > wire.MaxPeer || text > c.Len() {
		c.FailAt(at, "the text of an open call has %d bytes, at most %d are allowed", text, min(wire.MaxPeer, c.Len()))
		return nil
	}
	o.Peer = string(c.Bytes(uint64(text)))
	if flags&wire.OpenHeld != 0 {
		c.Bytes(uint64(-text & 7))
		o.Holder, o.Readers = c.U32(), c.U32()
	}
	if c.Err() != nil {
		return nil
	}
	e.Stack, o.Inner = entries[:stack:stack], entries[stack:]
	e.deepen()
	e.Time, e.Peak = max(o.Until, ended), e.Stack[0].Time
	if left {
		e.Flags &^= Unended
		e.Stack[0].Flags |= Left
		e.Open = nil
		if o.Call != "" {
			e.waited(o)
		}
	}
	return e
}

// deepen makes the innermost call over the threshold the peak: meanwhile, calls that the peak made may be over it as well.
func (e *Episode) deepen() {
	o := e.Open
	for i, x := range slices.Backward(o.Inner) {
		if x.Timed() && x.Time.Lo >= e.Threshold {
			over := slices.Clone(o.Inner[:i+1])
			slices.Reverse(over)
			e.Stack, o.Inner, e.Found = append(over, e.Stack...), o.Inner[i+1:], e.Found+uint32(i+1)
			return
		}
	}
}

// waited sets why a call took long that a thread left that was seen waiting in it: it ran before the wait at most, and
// after it was last seen there.
func (e *Episode) waited(o *Ongoing) {
	waited := o.Until - min(o.Until, o.Since)
	sp := e.Stack[0].SP
	e.Usage = &Usage{Ended: e.Time, SP: sp, CPU: Interval{Hi: e.Peak.Hi - min(e.Peak.Hi, waited)}, Call: o.Call, Waits: 1, InCall: 1}
	if o.On != 0 {
		e.Wait = &Wait{Ended: e.Time, SP: sp, On: o.On, Longest: waited, Peer: o.Peer}
	}
}

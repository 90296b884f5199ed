package xray

import (
	"encoding/binary"
	"iter"
	"sync"

	"github.com/cairnprof/cairn/calllog"
)

// Limits of a batch. The first is a buffer of the second-level cache.
const (
	maxEvents  = 4096
	maxPayload = 1 << 20 // bytes of data, about
)

// decoder turns records into batches of events.
type decoder struct {
	win      window
	walk     walker
	basic    basicWalker
	events   [maxEvents]calllog.Event
	n        int // events so far
	payloads []calllog.Payload
	args     []uint64
	data     []byte
	batch    calllog.Batch
	broken   bool  // events may be missing before the next batch
	whose    owner // of a log in YAML: the thread that is asked for
	rec      yamlRecord
}

// decoders are used again: they hold large buffers.
var decoders = sync.Pool{New: func() any { return new(decoder) }}

// Batches implements [calllog.Log].
func (l *Log) Batches(thread, from, to int) iter.Seq2[*calllog.Batch, error] {
	parts := l.parts[thread][from:to]
	return func(yield func(*calllog.Batch, error) bool) {
		d := decoders.Get().(*decoder)
		defer d.release()
		d.open(l)
		d.whose = owner{l.threads[thread].PID, l.threads[thread].TID}
		for i := range parts {
			decode := d.fdr
			switch {
			case l.text:
				decode = d.yamlPart
			case !l.head.fdr:
				decode = d.basicPart
			}
			if !decode(&parts[i], ahead(parts[i:]), yield) {
				return
			}
		}
	}
}

func (d *decoder) open(l *Log) {
	buf := d.win.buf
	d.win = l.window()
	d.win.buf = buf
	d.walk.h, d.basic.h, d.broken = &l.head, &l.head, false
	d.reset()
}

func (d *decoder) release() {
	d.reset()
	d.batch, d.walk, d.basic = calllog.Batch{}, walker{}, basicWalker{}
	d.win = window{buf: d.win.buf}
	if cap(d.win.buf) > 2*chunk || cap(d.data) > 2*maxPayload {
		d.win.buf, d.data = nil, nil
	}
	decoders.Put(d)
}

// ahead returns how much to read at the beginning of the first part: as many adjacent parts as fit in a chunk.
func ahead(parts []part) int64 {
	const gap = 4096 // cheaper to read than to jump over
	from := parts[0].off
	end := from + parts[0].size
	for _, p := range parts[1:] {
		if p.off < end || p.off > end+gap || p.off+p.size > from+chunk {
			break
		}
		end = p.off + p.size
	}
	return min(end-from, chunk)
}

func (d *decoder) reset() {
	d.n = 0
	clear(d.payloads)
	d.payloads, d.args, d.data = d.payloads[:0], d.args[:0], d.data[:0]
}

// full reports whether there is no room for another event.
func (d *decoder) full() bool { return d.n == maxEvents || len(d.data) > maxPayload }

// flush yields the decoded events.
func (d *decoder) flush(yield func(*calllog.Batch, error) bool) bool {
	if d.n == 0 {
		return true
	}
	d.batch = calllog.Batch{Events: d.events[:d.n:d.n], Payloads: d.payloads, Break: d.broken}
	ok := yield(&d.batch, nil)
	d.broken = false
	d.reset()
	return ok
}

// fdr decodes a block. It returns false if yield does.
func (d *decoder) fdr(p *part, ahead int64, yield func(*calllog.Batch, error) bool) bool {
	d.walk.start(p.cut)
	d.broken = true
	bad := calllog.Damage{File: d.win.name}
	damage := func() bool {
		if bad.Size == 0 {
			return true
		}
		d.broken = true
		report := bad
		bad.Size = 0
		return yield(nil, &report)
	}
	pos, end := p.off, p.off+p.size
	for want := least(p.size); pos < end && !d.walk.ended; {
		b, err := d.win.at(pos, min(want, end-pos), ahead)
		if err != nil {
			yield(nil, err)
			return false
		}
		b = b[:min(int64(len(b)), end-pos)]
		used, skip, trouble := d.records(b, pos+int64(len(b)) == end)
		pos += int64(used)
		if used > 0 {
			want = least(p.size)
			if !damage() {
				return false
			}
		}
		switch {
		case trouble == cutFile: // reported when the log was opened
			pos = end
		case trouble != "":
			if !d.flush(yield) {
				return false
			}
			if bad.What != trouble || bad.Offset+bad.Size != pos {
				if !damage() {
					return false
				}
				bad.Offset, bad.What = pos, trouble
			}
			skip := min(int64(skip), end-pos)
			bad.Size += skip
			pos += skip
		case d.full() && used < len(b): // otherwise an argument may follow
			if !d.flush(yield) {
				return false
			}
		case used == 0:
			want = 2 * int64(len(b)) // a record longer than what is here
		}
	}
	if d.walk.h.version == 1 && p.cut && !d.walk.ended && bad.Size == 0 {
		if !d.flush(yield) || !yield(nil, &calllog.Damage{File: d.win.name, Offset: end, What: "the file ends inside this block"}) {
			return false
		}
	}
	return d.flush(yield) && damage()
}

// least returns how much of a block is decoded at once: all of it, if it has the usual size.
func least(size int64) int64 {
	if size > chunk {
		return smaller
	}
	return size
}

// records decodes b until the batch is full, or there is an error. It returns the size used, and then how much
// to skip and why.
func (d *decoder) records(b []byte, end bool) (used, skip int, trouble string) {
	w := &d.walk
	for used < len(b) && !w.ended {
		if w.based && !w.h.big {
			used += d.calls(b[used:])
			if used == len(b) {
				break
			}
		}
		kind, meta := w.metadata(b[used])
		if d.full() && !(meta && kind == Argument) {
			break
		}
		n, trouble := w.step(b[used:], end)
		if trouble != "" {
			return used, n, trouble
		}
		if n == 0 {
			break
		}
		used += n
		d.event(&w.rec)
	}
	return used, 0, ""
}

// calls decodes the calls at the beginning of b, which make up most of logs, and returns their size.
func (d *decoder) calls(b []byte) int {
	events := d.events[d.n:]
	size := min(len(b)/functionSize, len(events))
	events, b = events[:size], b[:size*functionSize]
	base, cpu, n := d.walk.base, d.walk.cpu, 0
	for n < len(events) && len(b) >= functionSize {
		w := binary.LittleEndian.Uint64(b)
		if w&9 != 0 || uint32(w)>>4 == 0 { // metadata, no such kind or function
			break
		}
		base += w >> 32
		e := &events[n]
		e.Time, e.Func, e.Payload, e.CPU, e.Kind = base, calllog.FuncID(uint32(w)>>4), 0, cpu, calllog.Kind(w>>1&3)
		n++
		b = b[functionSize:]
	}
	if n > 0 {
		d.n += n
		d.walk.base = base
		d.walk.open, d.walk.args = events[n-1].Kind.IsEnter(), 0
	}
	return n * functionSize
}

// event makes an event from a record, if it is one.
func (d *decoder) event(r *Record) {
	e := calllog.Event{Time: r.Time, Func: r.Func, CPU: r.CPU}
	switch r.Kind {
	case Call:
		e.Kind = r.Event
	case Argument:
		d.argument(r.Value)
		return
	case CustomData, TypedData:
		e.Kind = calllog.Custom
		if r.Kind == TypedData {
			e.Kind = calllog.Typed
		}
		// The bytes are copied: b is gone before the batch is full.
		at := len(d.data)
		d.data = append(d.data, r.Data...)
		d.payloads = append(d.payloads, calllog.Payload{Data: d.data[at:len(d.data):len(d.data)], Type: r.Type})
		e.Payload = uint32(len(d.payloads))
	default:
		return
	}
	d.events[d.n] = e
	d.n++
}

// argument gives the last call an argument.
func (d *decoder) argument(v uint64) {
	e := &d.events[d.n-1]
	if e.Payload == 0 {
		e.Kind = calllog.EnterArgs
		d.payloads = append(d.payloads, calllog.Payload{})
		e.Payload = uint32(len(d.payloads))
	}
	p := &d.payloads[e.Payload-1]
	d.args = append(d.args, v)
	k := len(p.Args) + 1
	p.Args = d.args[len(d.args)-k : len(d.args) : len(d.args)]
}

// basicPart decodes a run of records. All were read when the log was opened.
func (d *decoder) basicPart(p *part, ahead int64, yield func(*calllog.Batch, error) bool) bool {
	d.broken = d.broken || p.lost
	d.basic.before = Record{}
	for pos, end := p.off, p.off+p.size; pos < end; {
		b, err := d.win.at(pos, basicSize, ahead)
		if err != nil {
			yield(nil, err)
			return false
		}
		b = b[:min(int64(len(b)), end-pos)&^(basicSize-1)]
		for len(b) > 0 {
			if n := d.basicCalls(b); n > 0 {
				pos += int64(n)
				b = b[n:]
				continue
			}
			pos += basicSize
			r, trouble := d.basic.step(b)
			b = b[basicSize:]
			if d.full() && r.Kind == Call && !d.flush(yield) {
				return false
			}
			if trouble == "" {
				d.event(&r)
			}
		}
	}
	return d.flush(yield)
}

// basicCalls decodes the calls without arguments that b begins with, and returns
// their size. The last one is left: an argument may follow.
func (d *decoder) basicCalls(b []byte) int {
	if d.basic.h.big {
		return 0
	}
	events := d.events[d.n:]
	size := min(len(b)/basicSize-1, len(events))
	n := 0
	for ; n < size && len(b) >= 2*basicSize; n++ {
		head := binary.LittleEndian.Uint64(b)
		const wrong = 0xfc00ffff // another type than 0, kinds above 3
		if head&wrong != 0 || b[basicSize] != 0 {
			break
		}
		e := &events[n]
		e.Time, e.Func, e.Payload = binary.LittleEndian.Uint64(b[8:]), calllog.FuncID(head>>32), 0
		e.CPU, e.Kind = uint16(head>>16&0xff), calllog.Kind(head>>24&3)
		b = b[basicSize:]
	}
	d.n += n
	return n * basicSize
}

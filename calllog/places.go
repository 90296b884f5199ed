package calllog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"sync"

	"github.com/cairnprof/cairn/internal/bytecur"
	"github.com/cairnprof/cairn/internal/callstack"
)

// Problem: a second in the middle of a long log needs the calls that were open when it began, which only the
// whole log before it determines.
//
// Choice: a reader stores the stack at some parts on its way. The calls open there do not depend on the
// selection, so the next selection, or the next command, begins at the last such place.

// Places are parts of a log's threads from which they can be read without what is before. Its methods may be
// called from several goroutines.
type Places struct {
	mu      sync.Mutex
	threads [][]place // ascending by part
	frames  int       // of all
	changed bool
}

// NewPlaces returns no places for a log of so many threads.
func NewPlaces(threads int) *Places { return &Places{threads: make([][]place, threads)} }

// place is the state of a selector before a part, for any selection.
type place struct {
	part      int
	now, last uint64
	over      uint64
	border    int
	stack     []openCall
}

type openCall struct {
	enter Event
	args  []uint64
	began uint64
}

// Bounds of the memory of places, and their distance: so near that the events in between are read in some
// milliseconds.
const (
	placeBytes     = 1 << 20
	maxPlaces      = 4096    // of a thread
	maxPlaceFrames = 1 << 20 // of all
	maxPlaceArgs   = 16      // of a call
)

// stepOf returns how many parts of a thread are from one place to the next.
func stepOf(parts int, bytes int64) int {
	return max(parts/maxPlaces+1, int(placeBytes*int64(parts)/max(1, bytes)))
}

// Changed reports whether there are places that were not there when p was made.
func (p *Places) Changed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changed
}

// before returns the last place of a thread whose events so far are before a time.
func (p *Places) before(thread int, from uint64) *place {
	p.mu.Lock()
	defer p.mu.Unlock()
	if thread >= len(p.threads) {
		return nil
	}
	list := p.threads[thread]
	i, _ := slices.BinarySearchFunc(list, from, func(x place, from uint64) int {
		if x.now < from {
			return -1
		}
		return 1
	})
	if i == 0 {
		return nil
	}
	return &list[i-1]
}

// add keeps a place, if it is after the existing ones and there is room.
func (p *Places) add(thread int, x place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if thread >= len(p.threads) {
		return
	}
	list := p.threads[thread]
	if n := len(list); n >= maxPlaces || n > 0 && (list[n-1].part >= x.part || list[n-1].now > x.now) {
		return
	}
	if p.frames+len(x.stack) > maxPlaceFrames {
		return
	}
	for _, c := range x.stack {
		if len(c.args) > maxPlaceArgs {
			return
		}
	}
	p.threads[thread] = append(list, x)
	p.frames += len(x.stack)
	p.changed = true
}

// place returns the state of x before a part.
func (x *selector) place(part int) place {
	p := place{part: part, now: x.now, last: x.last, over: x.stack.Over, border: x.stack.Border()}
	for i := range x.stack.Frames {
		f := &x.stack.Frames[i].Data
		p.stack = append(p.stack, openCall{f.enter, f.args, f.began})
	}
	return p
}

// resume continues from a place, where nothing was reported yet.
func (x *selector) resume(p *place) {
	x.stack.Over = p.over
	x.stack.SetBorder(p.border)
	for i := range p.stack {
		c := &p.stack[i]
		x.now = c.began
		x.push(&c.enter, c.args, c.began)
	}
	x.now, x.last = p.now, p.last
	x.report(x.last)
}

// placesMagic begins the output of AppendTo. Its number identifies the format and the division into parts by
// readers of logs: places of other versions are not used.
const placesMagic = "cairn places 1\n"

var errPlaces = errors.New("these positions are of another log")

// AppendTo appends the places to b, for ReadPlaces. The key says what log they are of.
func (p *Places) AppendTo(b []byte, key []byte) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	start := len(b)
	b = append(b, placesMagic...)
	b = binary.AppendUvarint(b, uint64(len(key)))
	b = append(b, key...)
	put := func(values ...uint64) {
		for _, v := range values {
			b = binary.AppendUvarint(b, v)
		}
	}
	put(uint64(len(p.threads)))
	for _, list := range p.threads {
		put(uint64(len(list)))
		for i := range list {
			x := &list[i]
			put(uint64(x.part), x.now, x.last, x.over, uint64(x.border+1), uint64(len(x.stack)))
			for _, c := range x.stack {
				put(c.enter.Time, c.began, uint64(c.enter.Func), uint64(c.enter.CPU), uint64(c.enter.Kind), uint64(len(c.args)))
				put(c.args...)
			}
		}
	}
	return binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b[start:]))
}

// ReadPlaces reads what AppendTo appended for the same key and as many threads, with
// as many parts each. Anything else is an error.
func ReadPlaces(data, key []byte, threads []Thread) (*Places, error) {
	n := len(data) - 4
	if n < 0 || crc32.ChecksumIEEE(data[:n]) != binary.LittleEndian.Uint32(data[n:]) {
		return nil, errPlaces
	}
	return readPlaces(data[:n], key, threads)
}

// readPlaces reads what is before the checksum.
func readPlaces(data, key []byte, threads []Thread) (*Places, error) {
	data, ok := bytes.CutPrefix(data, []byte(placesMagic))
	if !ok {
		return nil, errPlaces
	}
	r := bytecur.Numbers{Data: data}
	if string(r.Bytes(r.Number(maxPlaceFrames))) != string(key) || r.Number(1<<32) != uint64(len(threads)) || r.Bad {
		return nil, errPlaces
	}
	p := NewPlaces(len(threads))
	for t := range threads {
		part, now := 0, uint64(0)
		for count := r.Number(maxPlaces); count > 0 && !r.Bad; count-- {
			x := place{part: int(r.Number(uint64(threads[t].Parts))), now: r.Any(), last: r.Any(), over: r.Any()}
			x.border = int(r.Number(callstack.MaxDepth+1)) - 1
			depth := r.Number(callstack.MaxDepth)
			if p.frames += int(depth); p.frames > maxPlaceFrames || x.part <= part || x.now < now {
				return nil, errPlaces
			}
			part, now = x.part, x.now
			for ; depth > 0 && !r.Bad; depth-- {
				x.stack = append(x.stack, readCall(&r))
			}
			p.threads[t] = append(p.threads[t], x)
		}
	}
	if r.Bad || len(r.Data) > 0 {
		return nil, errPlaces
	}
	return p, nil
}

func readCall(r *bytecur.Numbers) (c openCall) {
	c.enter.Time, c.began = r.Any(), r.Any()
	c.enter.Func, c.enter.CPU = FuncID(r.Number(1<<32-1)), uint16(r.Number(1<<16-1))
	c.enter.Kind = Kind(r.Number(1<<8 - 1))
	for n := r.Number(maxPlaceArgs); n > 0 && !r.Bad; n-- {
		c.args = append(c.args, r.Any())
	}
	return c
}

package xray

import (
	"fmt"
	"iter"

	"github.com/cairnprof/cairn/calllog"
)

// Records yields every record in the order of the file, and damage as a *trace.Damage in its place: also that
// in Info, and duplicate blocks that Batches leaves out. Any other error is the last value: logs in YAML have
// no records.
func (l *Log) Records() iter.Seq2[Record, error] { return l.RecordsFrom(0) }

// RecordsFrom is Records for callers that need none before an offset: it skips earlier ones without reading
// them. It begins somewhat earlier, with records that the caller must ignore, as they may lack their context.
func (l *Log) RecordsFrom(off int64) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		switch {
		case l.text:
			yield(Record{}, fmt.Errorf("%s: a log in YAML has no binary records", l.info.File))
		case l.head.fdr:
			l.fdrRecords(off, yield)
		default:
			l.basicRecords(off, yield)
		}
	}
}

func (l *Log) damage(off, size int64, what string) *calllog.Damage {
	return &calllog.Damage{File: l.info.File, Offset: off, Size: size, What: what}
}

func (l *Log) fdrRecords(after int64, yield func(Record, error) bool) {
	s := &blocks{h: &l.head, win: l.window(), pos: headerSize}
	win := l.window()
	for {
		before := s.pos
		b, damage, err := s.next()
		if err != nil {
			yield(Record{}, err)
			return
		}
		from := l.info.Size
		switch {
		case damage != nil:
			from = damage.Offset
		case b != nil:
			from = b.off
		}
		if from > before && !yield(Record{Kind: Padding, Offset: before, Size: from - before}, nil) {
			return
		}
		switch {
		case damage != nil:
			if !yield(Record{Offset: from, Size: damage.Size}, damage) {
				return
			}
		case b == nil:
			return
		case b.off+b.size <= after:
		case !l.blockRecords(b, &win, yield):
			return
		}
	}
}

// blockRecords yields the records of a block.
func (l *Log) blockRecords(b *block, win *window, yield func(Record, error) bool) bool {
	w := walker{h: &l.head}
	w.start(b.cut)
	if b.lack != "" && !yield(Record{Offset: b.off, PID: b.pid, TID: b.tid}, l.damage(b.off, 0, b.lack)) {
		return false
	}
	pos, end := b.off, b.off+b.size
	for want := least(b.size); pos < end && !w.ended; {
		p, err := win.at(pos, min(want, end-pos), chunk)
		if err != nil {
			yield(Record{}, err)
			return false
		}
		p = p[:min(int64(len(p)), end-pos)]
		last := pos+int64(len(p)) == end
		used := 0
		for used < len(p) && !w.ended {
			n, trouble := w.step(p[used:], last)
			if n == 0 && trouble == "" {
				break
			}
			at := pos + int64(used)
			size := min(int64(n), end-at)
			r := w.rec
			r.Offset, r.Size, r.PID, r.TID = at, size, b.pid, b.tid
			var err error
			if trouble != "" {
				err = l.damage(at, size, trouble)
			}
			if !yield(r, err) {
				return false
			}
			used += n
		}
		want = least(b.size)
		if used == 0 {
			want = 2 * int64(len(p))
		}
		pos += int64(used)
	}
	switch {
	case w.ended && pos < end:
		return yield(Record{Kind: Padding, Offset: pos, Size: end - pos, PID: b.pid, TID: b.tid}, nil)
	case b.cut && !w.ended:
		return yield(Record{Offset: end, PID: b.pid, TID: b.tid}, l.damage(end, 0, "the file ends inside this block"))
	}
	return true
}

func (l *Log) basicRecords(after int64, yield func(Record, error) bool) {
	w := basicWalker{h: &l.head}
	win := l.window()
	// An argument needs the call before it.
	const earlier = maxArgs * basicSize
	pos := headerSize + max((min(after, win.size)-headerSize-earlier)/basicSize*basicSize, 0)
	zeros := int64(0) // how many bytes before pos
	flush := func() bool {
		n := zeros
		zeros = 0
		return n == 0 || yield(Record{Offset: pos - n, Size: n}, l.damage(pos-n, n, badZeros))
	}
	for pos+basicSize <= win.size {
		b, err := win.at(pos, basicSize, chunk)
		if err != nil {
			yield(Record{}, err)
			return
		}
		for ; len(b) >= basicSize; b = b[basicSize:] {
			r, trouble := w.step(b)
			r.Offset = pos
			if trouble == badZeros {
				zeros += basicSize
				pos += basicSize
				continue
			}
			if !flush() {
				return
			}
			pos += basicSize
			var err error
			if trouble != "" {
				err = l.damage(r.Offset, basicSize, trouble)
			}
			if !yield(r, err) {
				return
			}
		}
	}
	rest := win.size - pos
	if zeros+rest > 0 {
		if n, err := win.zeros(pos, win.size); err == nil && n == rest {
			yield(Record{Kind: Padding, Offset: pos - zeros, Size: zeros + rest}, nil)
			return
		}
	}
	if flush() && rest > 0 {
		yield(Record{Offset: pos, Size: rest}, l.damage(pos, rest, cutFile))
	}
}

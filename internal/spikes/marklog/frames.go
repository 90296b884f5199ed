package marklog

import "github.com/cairnprof/cairn/format/tracelog/wire"

// Frames collects how long frames took: the longest, and a row of buckets. Whenever the row is full, each
// bucket covers twice as many frames.
type Frames struct {
	count, end, sum, worst, budget, over uint64

	from    uint64 // number of the first
	shift   uint32
	used    int
	buckets [wire.FrameBuckets]bucket
	longest [wire.FramesLongest]frame
}

type bucket struct {
	worst uint32 // us
	over  uint32
}

type frame struct{ number, end, took uint64 }

// Add adds a frame that ended, and the time allowed for it.
func (f *Frames) Add(number, end, took, budget uint64) {
	if f.count == 0 {
		f.from = number
	}
	at := number - min(number, f.from)
	for at>>f.shift >= wire.FrameBuckets {
		f.halve()
	}
	b := &f.buckets[at>>f.shift]
	f.used = max(f.used, int(at>>f.shift)+1)
	b.worst = max(b.worst, uint32(min(took/1000, 1<<32-1)))
	f.count, f.end, f.sum, f.worst, f.budget = f.count+1, end, f.sum+took, max(f.worst, took), budget
	if took > budget {
		f.over++
		b.over++
	}
	shortest := &f.longest[0]
	for i := range f.longest {
		if f.longest[i].took < shortest.took {
			shortest = &f.longest[i]
		}
	}
	if took > shortest.took {
		*shortest = frame{number, end, took}
	}
}

// halve merges pairs of buckets.
func (f *Frames) halve() {
	const half = wire.FrameBuckets / 2
	for i := range half {
		a, b := f.buckets[2*i], f.buckets[2*i+1]
		f.buckets[i] = bucket{max(a.worst, b.worst), a.over + b.over}
	}
	clear(f.buckets[half:])
	f.used = half
	f.shift++
}

// Frames writes, or replaces, the record of the frames.
func (l *Log) Frames(f *Frames) {
	if f.count == 0 {
		return
	}
	if l.frames == 0 {
		l.frames = l.chunk(wire.KindFrames, f.end)
	}
	b := make([]byte, 0, wire.FramesSize)
	b = le.AppendUint16(b, wire.TypeFrames)
	b = le.AppendUint16(b, wire.FramesSize)
	b = le.AppendUint32(b, 0)
	b = put(b, f.count, f.end, f.sum, f.worst, f.budget, f.over)
	b = le.AppendUint32(b, f.shift)
	b = le.AppendUint32(b, uint32(f.used))
	for _, x := range f.buckets {
		b = le.AppendUint32(b, x.worst)
		b = le.AppendUint32(b, x.over)
	}
	for _, x := range f.longest {
		b = put(b, x.number, x.end, x.took)
	}
	l.write(b, l.frames+wire.ChunkHeaderSize)
}

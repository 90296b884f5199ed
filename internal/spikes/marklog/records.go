package marklog

import "github.com/cairnprof/cairn/format/tracelog/wire"

// The records are those of format/tracelog/wire, where fields are described. Times
// are of CLOCK_MONOTONIC and, like durations, in nanoseconds.

// Entry is a call of a stack.
type Entry struct {
	PC, Lo, Hi uint64
	Flags      uint32
	SP         uint32 // identifies the frame
}

// Episode is a spike.
type Episode struct {
	TID                                    uint32
	Number, Time, Lo, Hi, Threshold, Frame uint64
	Flags                                  uint32
	Blind                                  uint64
	Found                                  uint32 // number of frames found
	Stack, Children                        []Entry
}

// Parent is a late caller of a spike.
type Parent struct {
	TID                             uint32
	Number, Time, Lo, Hi, Threshold uint64
	PC                              uint64
	SP                              uint32
}

// Trailer is the summary of the log.
type Trailer struct {
	Time, Ticks, Blind, Late, WorstGap uint64
	Borderline, Slow, Dropped, Limited uint64
	Threshold, Period, Low             uint64
	Episodes                           uint64
	Off                                bool
}

func put(b []byte, values ...uint64) []byte {
	for _, v := range values {
		b = le.AppendUint64(b, v)
	}
	return b
}

func entries(b []byte, list []Entry) []byte {
	for _, e := range list {
		b = put(b, e.PC, e.Lo, e.Hi)
		b = le.AppendUint32(b, e.Flags)
		b = le.AppendUint32(b, e.SP)
	}
	return b
}

// Episode writes a spike. Entries beyond what a record holds are left out.
func (l *Log) Episode(e *Episode) {
	flags := e.Flags
	stack := e.Stack
	children := e.Children[:min(len(e.Children), 24)]
	if most := wire.MaxEntries - len(children); len(stack) > most {
		stack = stack[:most]
		flags |= wire.EpisodeCut
	}
	b := put(nil, e.Number, e.Time, e.Lo, e.Hi, e.Threshold, e.Frame)
	b = le.AppendUint32(b, flags)
	b = le.AppendUint32(b, 0)
	b = le.AppendUint16(b, uint16(len(stack)))
	b = le.AppendUint16(b, uint16(len(children)))
	b = le.AppendUint32(b, e.Found)
	b = put(b, e.Blind)
	l.record(wire.TypeEpisode, e.TID, entries(entries(b, stack), children), e.Time)
}

// Parent writes the end of a caller.
func (l *Log) Parent(p *Parent) {
	b := put(nil, p.Number, p.Time, p.Lo, p.Hi, p.PC, p.Threshold)
	b = le.AppendUint32(b, 0)
	l.record(wire.TypeParent, p.TID, le.AppendUint32(b, p.SP), p.Time)
}

// Text is the program's text about a call of a spike.
type Text struct {
	TID          uint32
	Number, Time uint64 // of the spike
	Kind         uint16 // wire.TextDescription, TextMessage or TextSection
	SP           uint32 // the frame, and the place, of the call
	PC           uint64
	Text         string
}

// Text writes a text.
func (l *Log) Text(t *Text) {
	text := t.Text[:min(len(t.Text), wire.MaxText)]
	b := put(nil, t.Number, t.Time)
	b = le.AppendUint16(b, t.Kind)
	b = le.AppendUint16(b, uint16(len(text)))
	b = le.AppendUint32(b, t.SP)
	l.record(wire.TypeText, t.TID, append(put(b, t.PC), text...), t.Time)
}

// Thread writes the name of a thread, here a goroutine, once.
func (l *Log) Thread(tid uint32, name string, at uint64) {
	if old, ok := l.threads[tid]; ok && old == name {
		return
	}
	// Programs may create any number of goroutines.
	if len(l.threads) >= 4096 {
		clear(l.threads)
	}
	l.threads[tid] = name
	name = name[:min(len(name), wire.MaxText)]
	b := put(nil, at)
	b = le.AppendUint16(b, uint16(len(name)))
	l.record(wire.TypeThread, tid, append(append(b, 0, 0, 0, 0, 0, 0), name...), at)
}

// Stall records that the clock stood still.
func (l *Log) Stall(from, to uint64) {
	l.record(wire.TypeStall, 0, put(nil, from, to, 0), to)
}

// Setting writes the settings from a time on, in a process that changed them.
func (l *Log) Setting(at, threshold, period, rate uint64, off bool) {
	flags := uint32(0)
	if off {
		flags = wire.SettingOff
	}
	l.record(wire.TypeSetting, flags, put(nil, at, threshold, period, rate, 0), at)
}

// Trailer replaces the summary of the log.
func (l *Log) Trailer(t *Trailer) {
	l.trailer = *t
	flags := uint32(0)
	if t.Off {
		flags |= wire.TrailerOff
	}
	b := le.AppendUint16(nil, wire.TypeTrailer)
	b = le.AppendUint16(b, wire.TrailerSize)
	b = le.AppendUint32(b, flags)
	b = put(b, t.Time, t.Ticks, t.Blind, t.Late, t.WorstGap, t.Borderline, t.Slow, t.Dropped, t.Limited,
		t.Threshold, t.Period, t.Low)
	b = le.AppendUint32(b, wire.TickThread)
	b = le.AppendUint32(b, uint32(len(l.threads)))
	b = put(b, 0, 0, t.Episodes, 0)
	l.write(b, wire.ChunkSize+wire.ChunkHeaderSize)
}

// MaxSeen is how many seen records a log holds.
const MaxSeen = (wire.ChunkSize-wire.ChunkHeaderSize)/wire.SeenSize - 1

// Seen describes how often a peak was found.
type Seen struct{ PC, Hash, Count, Worst, Sum, Last, First uint64 }

// Seen writes, or replaces, seen record i, below MaxSeen.
func (l *Log) Seen(i int, s *Seen) {
	if i < 0 || i >= MaxSeen {
		return
	}
	if l.seen == 0 {
		l.seen = l.chunk(wire.KindSeen, s.Last)
	}
	b := le.AppendUint16(nil, wire.TypeSeen)
	b = le.AppendUint16(b, wire.SeenSize)
	b = le.AppendUint32(b, 0)
	b = put(b, s.PC, s.Hash, s.Count, s.Worst, s.Sum, s.Last, s.First)
	l.write(b, l.seen+wire.ChunkHeaderSize+int64(i)*wire.SeenSize)
}

func (l *Log) module(m image) {
	path := m.path[:min(len(m.path), wire.MaxPath)]
	b := put(nil, l.Monotonic, m.bias, m.start, m.end)
	b = le.AppendUint32(b, wire.ModuleMain|wire.ModuleInstrumented)
	b = le.AppendUint16(b, uint16(len(m.id)))
	b = le.AppendUint16(b, uint16(len(path)))
	b = append(b, m.id...)
	b = append(b, make([]byte, 24-len(m.id))...)
	l.record(wire.TypeModule, 0, append(b, path...), l.Monotonic)
}

// Package tracelog reads the logs of mode spike: the calls of a process that took too long, each with its
// stack. Package wire documents the format.
//
// A log is chunks of 64 KiB that the process writes through a shared mapping. So a log can be read while the
// process runs, and after it was killed: a chunk that was not finished ends at the first record of type 0, and
// chunks that were never begun are zero.
//
// An invalid record is skipped. If the size of a record is damaged, the rest of its chunk is lost; if the head
// of a chunk is damaged, all of the chunk is lost. Either is reported as a *trace.Damage, and reading continues.
// An episode is followed by what became known later, the ends of its callers and the program's texts about it;
// Episodes joins them. Memory does not grow with the number of episodes.
package tracelog

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/tracelog/wire"
	"github.com/cairnprof/cairn/internal/bytecur"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// Detect reports whether a file that begins with head is a log of spikes. It
// needs 8 bytes.
func Detect(head []byte) bool { return bytes.HasPrefix(head, []byte(wire.Magic)) }

// The memory for a log is bounded by more than a process can need.
const (
	maxModules = 1 << 16
	maxThreads = 1 << 20
	maxStalls  = 1 << 17
	maxSetting = 1 << 16
	maxDamage  = 1000
	// maxPending is how many threads may have an episode that is not complete.
	maxPending = 1 << 14
)

// Log is an open log.
type Log struct {
	Name    string
	Size    int64
	Header  Header
	Modules []Module // in the order in which they were seen
	Threads []Thread // ascending by id, each with its last name
	Stalls  []Stall  // ascending by their ends
	Freezes []Freeze // ascending by their ends
	// Frames is nil if the program counts none.
	Frames *Frames
	// Settings are ascending, none if nothing was changed.
	Settings []Setting
	Trailer  *Trailer // nil if there is none
	// Open are the calls that had not ended when the log was last written, and Left those that their threads
	// left without returning and that no episode has.
	Open, Left []*Episode
	// Damage lists the first places that could not be read; Damaged is the number of all skipped bytes.
	Damage  []*calllog.Damage
	Damaged int64
	// Records of unknown types.
	Unknown uint64
	// Episodes, and records whose episode is missing.
	Written, Orphans uint64

	r      io.ReaderAt
	queued []int64 // offsets of the chunks with queues, when Open read the log
	last   []byte  // the last record that may be in a queue as well
}

// Open reads a log of size bytes without its episodes. name is used in messages. Damage is not an error, except
// in the header of the file.
func Open(r io.ReaderAt, size int64, name string) (*Log, error) {
	h, err := headerOf(r, size, name)
	if err != nil {
		return nil, err
	}
	if h.Mode == wire.ModeTrace {
		return nil, fmt.Errorf("%s: a log of all calls, not of spikes (cairn stacks reads it)", name)
	}
	if h.Mode == wire.ModeStacks {
		return nil, fmt.Errorf("%s: a log of stacks, not of spikes (cairn stacks reads it)", name)
	}
	l := &Log{Name: name, Size: size, Header: h, r: r}
	names := make(map[uint32]string)
	for rec, err := range l.records(allTypes) {
		var d *calllog.Damage
		switch {
		case errors.As(err, &d):
			l.Damaged += d.Size
			if len(l.Damage) < maxDamage {
				l.Damage = append(l.Damage, d)
			}
		case err != nil:
			return nil, err
		default:
			l.keep(&rec, names)
		}
	}
	for tid, text := range names {
		l.Threads = append(l.Threads, Thread{TID: tid, Name: text})
	}
	stablesort.Func(l.Threads, func(a, b Thread) int { return cmp.Compare(a.TID, b.TID) })
	stablesort.Func(l.Settings, func(a, b Setting) int { return cmp.Compare(a.Time, b.Time) })
	stablesort.Func(l.Stalls, func(a, b Stall) int { return cmp.Compare(a.To, b.To) })
	stablesort.Func(l.Freezes, func(a, b Freeze) int { return cmp.Compare(a.To, b.To) })
	return l, nil
}

// keep keeps the part of a record that Open needs.
func (l *Log) keep(rec *record, names map[uint32]string) {
	switch {
	case rec.module != nil:
		l.keepModule(rec.module)
	case rec.joined != nil:
		join(l.Modules, *rec.joined)
	case rec.thread != nil:
		if _, ok := names[rec.thread.TID]; ok || len(names) < maxThreads {
			names[rec.thread.TID] = rec.thread.Name
		}
	case rec.stall != nil:
		if len(l.Stalls) < maxStalls {
			l.Stalls = append(l.Stalls, *rec.stall)
		}
	case rec.freeze != nil:
		if len(l.Freezes) < maxStalls {
			l.Freezes = append(l.Freezes, *rec.freeze)
		}
	case rec.frames != nil:
		l.Frames = rec.frames
	case rec.setting != nil:
		if len(l.Settings) < maxSetting {
			l.Settings = append(l.Settings, *rec.setting)
		}
	case rec.trailer != nil:
		l.Trailer = rec.trailer
	case rec.episode != nil:
		l.Written++
	case rec.open != nil:
		l.keepOpen(rec.open)
	case rec.slot, rec.parent != nil, rec.text != nil, rec.seen != nil, rec.usage != nil, rec.wait != nil, rec.holder != nil, rec.suspended != nil:
	default:
		l.Unknown++
	}
}

func (l *Log) keepModule(m *Module) {
	if m.Unloaded != 0 {
		for i := len(l.Modules) - 1; i >= 0; i-- {
			if old := &l.Modules[i]; old.Number == m.Number {
				old.Unloaded = m.Unloaded
				return
			}
		}
	}
	if len(l.Modules) < maxModules {
		l.Modules = append(l.Modules, *m)
	}
}

// ModuleIndex returns the index in Modules of the module that had an address of the
// process at a time, -1 if there was none.
func (l *Log) ModuleIndex(pc, time uint64) int {
	found := -1
	for i := range l.Modules {
		m := &l.Modules[i]
		if !m.Holds(pc) {
			continue
		}
		if m.Unloaded == 0 || time <= m.Unloaded {
			return i
		}
		found = i
	}
	return found
}

// Episodes yields the episodes, each with everything that belongs to it: those of a thread in the order of the
// log, of several threads when they are complete. Damage is yielded as a *trace.Damage; any other error ends
// the log.
func (l *Log) Episodes() iter.Seq2[*Episode, error] {
	return func(yield func(*Episode, error) bool) {
		j := joiner{open: make(map[uint32][]*Episode), texts: make(map[uint32][]Text), yield: yield}
		for rec, err := range l.records(episodeTypes) {
			switch {
			case err != nil:
				if !yield(nil, err) {
					return
				}
			case !j.add(&rec):
				return
			}
		}
		if j.flush() {
			l.Orphans = j.orphans
		}
	}
}

// joiner joins the records of an episode. Callers are added only to the last episode of a stack.
type joiner struct {
	open    map[uint32][]*Episode // by thread: of its stacks, the oldest first
	opened  int
	texts   map[uint32][]Text // that come before their episode, by thread
	orphans uint64
	count   uint64 // of episodes
	yield   func(*Episode, error) bool
}

// Bounds of the records that are added to an episode.
const maxParents, maxTexts = 1 << 12, 1 << 8

func (j *joiner) add(rec *record) bool {
	if e := rec.episode; e != nil {
		if !j.replace(e) || j.opened >= maxPending && !j.flush() {
			return false
		}
		e.Order = j.count
		j.count++
		e.Texts = j.texts[rec.tid]
		delete(j.texts, rec.tid)
		j.open[rec.tid] = append(j.open[rec.tid], e)
		j.opened++
		return true
	}
	if rec.text != nil && rec.number == 0 {
		if list := j.texts[rec.tid]; len(list) < maxTexts && (list != nil || len(j.texts) < maxPending) {
			j.texts[rec.tid] = append(list, *rec.text)
		}
		return true
	}
	var e *Episode
	if i := slices.IndexFunc(j.open[rec.tid], func(e *Episode) bool { return e.Number == rec.number }); i >= 0 {
		e = j.open[rec.tid][i]
	}
	switch {
	case e == nil:
		j.orphans++
	case rec.usage != nil:
		if e.isPeak(rec.usage.Ended, rec.usage.SP) {
			e.Usage = rec.usage
		}
	case rec.wait != nil:
		if e.isPeak(rec.wait.Ended, rec.wait.SP) {
			e.Wait = rec.wait
		}
	case rec.suspended != nil:
		if e.isPeak(rec.suspended.ended, rec.suspended.sp) {
			e.Suspended = rec.suspended.time
		}
	case rec.holder != nil:
		if e.isPeak(rec.holder.Ended, rec.holder.SP) {
			e.Holder = rec.holder
		}
	case rec.parent != nil && len(e.Parents) < maxParents:
		e.Parents = append(e.Parents, *rec.parent)
	case rec.text != nil && len(e.Texts) < maxTexts:
		e.Texts = append(e.Texts, *rec.text)
	}
	return true
}

// isPeak reports whether a call that ended at a time is the peak of an episode: an exception or a panic ends several at
// once. Records of old logs may have no stack pointer.
func (e *Episode) isPeak(ended uint64, sp uint32) bool {
	return ended == e.Time && (sp == 0 || len(e.Stack) == 0 || e.Stack[0].SP == 0 || e.Stack[0].SP == sp)
}

// replace yields the episode that e replaces on its stack.
func (j *joiner) replace(e *Episode) bool {
	const stacks = 64 // of a thread
	list := j.open[e.TID]
	i := slices.IndexFunc(list, func(old *Episode) bool { return old.On == e.On })
	if i < 0 && len(list) >= stacks {
		i = 0
	}
	if i < 0 {
		return true
	}
	old := list[i]
	j.open[e.TID] = slices.Delete(list, i, i+1)
	j.opened--
	return j.yield(old, nil)
}

// flush yields what is open, by number.
func (j *joiner) flush() bool {
	list := make([]*Episode, 0, j.opened)
	for _, of := range j.open {
		list = append(list, of...)
	}
	clear(j.open)
	j.opened = 0
	stablesort.Func(list, func(a, b *Episode) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.TID, b.TID))
	})
	for _, e := range list {
		if !j.yield(e, nil) {
			return false
		}
	}
	return true
}

// Callers yields the ends of all callers of episodes, including those that Episodes does not join: of episodes
// that were only counted, and of earlier ones. A caller of several episodes is yielded once for each. Damage is
// reported by Episodes.
func (l *Log) Callers() iter.Seq2[*Caller, error] {
	return func(yield func(*Caller, error) bool) {
		var last *Caller // its usage may follow
		for rec, err := range l.records(callerTypes) {
			var d *calllog.Damage
			switch {
			case errors.As(err, &d):
			case err != nil:
				yield(nil, err)
				return
			case rec.usage != nil:
				if u := rec.usage; last != nil && last.TID == rec.tid && last.Ended == u.Ended && last.SP == u.SP {
					last.Usage = u
				}
			case rec.wait != nil:
				if w := rec.wait; last != nil && last.TID == rec.tid && last.Ended == w.Ended && last.SP == w.SP {
					last.Wait = w
				}
			case rec.suspended != nil:
				if s := rec.suspended; last != nil && last.TID == rec.tid && last.Ended == s.ended && last.SP == s.sp {
					last.Suspended = s.time
				}
			default:
				if last != nil && !yield(last, nil) {
					return
				}
				last = &Caller{TID: rec.tid, Parent: *rec.parent}
			}
		}
		if last != nil {
			yield(last, nil)
		}
	}
}

// Seen yields how often each stack was seen. Damage is left to Episodes.
func (l *Log) Seen() iter.Seq2[*Seen, error] {
	return func(yield func(*Seen, error) bool) {
		queued := l.queuedSeen()
		for rec, err := range l.records(seenTypes) {
			var d *calllog.Damage
			if errors.As(err, &d) || err == nil && rec.seen == nil {
				continue
			}
			if err == nil {
				k := stack{rec.seen.PC, rec.seen.Hash}
				if more := queued[k]; more != nil {
					rec.seen.with(more)
					delete(queued, k)
				}
			}
			if !yield(rec.seen, err) {
				return
			}
		}
		byEpisode := func(a, b *Seen) int { return cmp.Compare(a.Episode, b.Episode) }
		for _, s := range stablesort.Sorted(maps.Values(queued), byEpisode) {
			if !yield(s, nil) {
				return
			}
		}
	}
}

// records yields the records of the wanted types, chunk by chunk, those that are in
// queues at the end.
func (l *Log) records(want wanted) iter.Seq2[record, error] {
	return func(yield func(record, error) bool) {
		buf := make([]byte, wire.ChunkSize)
		var queued []int64
		var last []byte
		for off := int64(wire.ChunkSize); off < l.Size; off += wire.ChunkSize {
			chunk := buf[:min(int64(len(buf)), l.Size-off)]
			if n, err := l.r.ReadAt(chunk, off); n < len(chunk) {
				yield(record{}, fmt.Errorf("%s: offset %#x: %w", l.Name, off, err))
				return
			}
			if isQueue(chunk) {
				queued = append(queued, off)
				continue
			}
			if !l.chunk(chunk, off, want, &last, yield) {
				return
			}
		}
		if want == allTypes {
			l.queued, l.last = queued, last
		}
		l.queues(queued, last, want, yield)
	}
}

func isQueue(chunk []byte) bool {
	le := binary.LittleEndian
	return len(chunk) >= wire.ChunkHeaderSize && le.Uint32(chunk) == wire.ChunkMagic && le.Uint16(chunk[wire.ChunkKindOffset:]) == wire.KindQueue
}

// chunk yields the records of one chunk. The last chunk of a file may be truncated. If
// requested, it keeps the last of the records that come from queues.
func (l *Log) chunk(chunk []byte, base int64, want wanted, last *[]byte, yield func(record, error) bool) bool {
	damage := func(from int, what string) bool {
		return yield(record{}, &calllog.Damage{File: l.Name, Offset: base + int64(from), Size: int64(len(chunk) - from), What: what})
	}
	end, live, what := chunkEnd(chunk)
	if what != "" && !damage(0, what) {
		return false
	}
	at := wire.ChunkHeaderSize
	var record []byte
	defer func() {
		if last != nil && record != nil {
			*last = append((*last)[:0], record...)
		}
	}()
	for at+wire.RecordHeaderSize <= end {
		kind := binary.LittleEndian.Uint16(chunk[at:])
		size := int(binary.LittleEndian.Uint16(chunk[at+2:]))
		if kind == 0 {
			if !live && !zero(chunk[at:end]) {
				return damage(at, "records are missing at the end of a chunk")
			}
			return true
		}
		if size < wire.RecordHeaderSize || size%8 != 0 {
			return damage(at, fmt.Sprintf("a record of %d bytes", size))
		}
		if size > end-at {
			return damage(at, fmt.Sprintf("truncated record of %d bytes: only %d are left", size, end-at))
		}
		if kind < 32 && episodeTypes>>kind&1 != 0 {
			record = chunk[at : at+size]
		}
		if kind < 32 && want>>kind&1 != 0 || want == allTypes {
			rec, err := decode(chunk[at:at+size], base+int64(at), l.Header.Calls)
			if err != nil {
				what := err.Error()
				var located *bytecur.Error
				if errors.As(err, &located) {
					what = located.What
				}
				err = &calllog.Damage{File: l.Name, Offset: base + int64(at), Size: int64(size), What: what}
			}
			if !yield(rec, err) {
				return false
			}
		}
		at += size
	}
	switch {
	case end > 0 && !live && wire.ChunkHeaderSize+used(chunk) > len(chunk):
		return damage(min(at, len(chunk)), "the file ends within a chunk")
	case at < end && !zero(chunk[at:end]):
		return damage(at, "a truncated record")
	}
	return true
}

func used(chunk []byte) int {
	return int(binary.LittleEndian.Uint32(chunk[wire.ChunkUsedOffset:]))
}

// chunkEnd returns the latest possible end of a chunk's records. In a live chunk they end at a record of type
// 0. An empty chunk ends at 0; what describes a chunk whose records cannot be read.
func chunkEnd(chunk []byte) (end int, live bool, what string) {
	if len(chunk) < wire.ChunkHeaderSize {
		if zero(chunk) {
			return 0, false, ""
		}
		return 0, false, "the file ends within the header of a chunk"
	}
	le := binary.LittleEndian
	if le.Uint32(chunk) != wire.ChunkMagic {
		if zero(chunk[:wire.ChunkHeaderSize]) {
			return 0, false, "" // a process has room before it writes
		}
		return 0, false, fmt.Sprintf("no chunk starts here (%#x)", le.Uint32(chunk))
	}
	if le.Uint16(chunk[wire.ChunkKindOffset:]) == wire.KindFlight {
		return 0, false, "" // calls: no records
	}
	if form := le.Uint16(chunk[wire.ChunkFormOffset:]); form != 0 {
		return 0, false, fmt.Sprintf("unknown form of records: %d", form)
	}
	sum, n := le.Uint32(chunk[wire.ChunkChecksumOffset:]), used(chunk)
	switch {
	case n == 0:
		return len(chunk), true, ""
	case sum != checksum(chunk[:wire.ChunkChecksumOffset]):
		return 0, false, "the header of a chunk is damaged (checksum)"
	case n > wire.MaxPayload:
		return 0, false, fmt.Sprintf("a chunk of %d bytes, at most %d are allowed", n, wire.MaxPayload)
	}
	return min(wire.ChunkHeaderSize+n, len(chunk)), false, ""
}

func zero(data []byte) bool {
	for _, b := range data {
		if b != 0 {
			return false
		}
	}
	return true
}

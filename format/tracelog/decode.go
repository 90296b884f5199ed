package tracelog

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"github.com/cairnprof/cairn/format/tracelog/wire"
	"github.com/cairnprof/cairn/internal/bytecur"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// checksum is FNV-1a of 32 bits.
func checksum(data []byte) uint32 {
	h := uint32(2166136261)
	for _, b := range data {
		h = (h ^ uint32(b)) * 16777619
	}
	return h
}

// headerOf reads the header of a log of size bytes.
func headerOf(r io.ReaderAt, size int64, name string) (Header, error) {
	head := make([]byte, min(max(size, 0), wire.HeaderSize))
	if n, err := r.ReadAt(head, 0); n < len(head) {
		return Header{}, fmt.Errorf("%s: %w", name, err)
	}
	return readHeader(head, name)
}

// readHeader decodes the header of a file that begins with head.
func readHeader(head []byte, name string) (Header, error) {
	var h Header
	if !Detect(head) {
		return h, fmt.Errorf("%s: not a log of spikes", name)
	}
	if len(head) < wire.HeaderSize {
		return h, fmt.Errorf("%s: truncated header: %d bytes of %d", name, len(head), wire.HeaderSize)
	}
	le := binary.LittleEndian
	if v := le.Uint16(head[wire.VersionOffset:]); v != wire.Version {
		return h, fmt.Errorf("%s: offset %d: unsupported version %d of the log, expected %d", name, wire.VersionOffset, v, wire.Version)
	}
	if n := le.Uint16(head[wire.SizeOffset:]); n != wire.HeaderSize {
		return h, fmt.Errorf("%s: offset %d: the header has %d bytes, not %d", name, wire.SizeOffset, n, wire.HeaderSize)
	}
	if want, got := le.Uint32(head[wire.ChecksumOffset:]), checksum(head[:wire.ChecksumOffset]); want != got {
		return h, fmt.Errorf("%s: offset %d: the header is damaged (its checksum is %#x, not %#x)", name, wire.ChecksumOffset, got, want)
	}
	h = Header{
		PID:       le.Uint32(head[wire.PIDOffset:]),
		Realtime:  le.Uint64(head[wire.RealtimeOffset:]),
		Monotonic: le.Uint64(head[wire.MonotonicOffset:]),
		TSC:       le.Uint64(head[wire.TSCOffset:]),
		TSCHz:     le.Uint64(head[wire.TSCHzOffset:]),
		Forked:    le.Uint32(head[wire.FlagsOffset:])&wire.Forked != 0,
		Micro:     le.Uint32(head[wire.FlagsOffset:])&wire.MicroClock != 0,
		Ends:      le.Uint32(head[wire.FlagsOffset:])&wire.FlightEnds != 0,
		Calls:     SystemCalls(le.Uint32(head[wire.FlagsOffset:]) >> wire.CallsShift & wire.CallsMask),
		Mode:      le.Uint32(head[wire.ModeOffset:]),
	}
	return h, nil
}

// record is one decoded record of a chunk: one of the pointers is set, or none for an unknown type.
type record struct {
	episode   *Episode
	parent    *Parent
	text      *Text
	module    *Module
	joined    *uint32 // number of a module
	thread    *Thread
	stall     *Stall
	trailer   *Trailer
	seen      *Seen
	setting   *Setting
	frames    *Frames
	usage     *Usage
	wait      *Wait
	holder    *Holder
	suspended *suspension
	freeze    *Freeze
	open      *Episode // nil in a record of type Open without one
	slot      bool     // of type Open
	tid       uint32   // of episodes, parents and texts
	number    uint64   // of the episode of parents and texts
}

// decodeThread decodes a name after its time.
func decodeThread(c *bytecur.Cursor, tid uint32) *Thread {
	n := c.U16()
	at := c.Off()
	starters := c.U16()
	c.Bytes(4)
	t := &Thread{TID: tid, Name: string(c.Bytes(uint64(n)))}
	if starters == 0 {
		return t
	}
	c.Bytes(uint64(-int(n) & 7))
	if starters > wire.MaxStarters || 8*int(starters) > c.Len() {
		c.FailAt(at, "a thread has %d starters, there is room for %d", starters, min(c.Len()/8, wire.MaxStarters))
		return t
	}
	t.Starters = make([]uint64, starters)
	for i := range t.Starters {
		t.Starters[i] = c.U64()
	}
	return t
}

// wanted is the set of record types to decode, as bits.
type wanted uint32

const (
	allTypes     wanted = 1<<32 - 1
	episodeTypes wanted = 1<<wire.TypeEpisode | 1<<wire.TypeParent | 1<<wire.TypeText | 1<<wire.TypeUsage | 1<<wire.TypeWait | 1<<wire.TypeHolder | 1<<wire.TypeSuspended
	callerTypes  wanted = 1<<wire.TypeParent | 1<<wire.TypeUsage | 1<<wire.TypeWait | 1<<wire.TypeSuspended
	seenTypes    wanted = 1 << wire.TypeSeen
)

// least are the sizes of the fixed parts of records, by type.
var least = [...]int{
	wire.TypeModule: wire.ModuleSize, wire.TypeEpisode: wire.EpisodeSize, wire.TypeParent: wire.ParentSize,
	wire.TypeThread: wire.ThreadSize, wire.TypeStall: wire.StallSize, wire.TypeTrailer: wire.TrailerLeast,
	wire.TypeText: wire.TextSize, wire.TypeSeen: wire.SeenSize, wire.TypeSetting: wire.SettingSize,
	wire.TypeFrames: wire.FramesSize, wire.TypeUsage: wire.UsageSize, wire.TypeWait: wire.WaitSize, wire.TypeHolder: wire.HolderSize,
	wire.TypeFreeze: wire.FreezeSize, wire.TypeOpen: wire.OpenSize, wire.TypeJoined: wire.JoinedSize, wire.TypeSuspended: wire.SuspendedSize,
}

// decode reads the record in data, which starts at offset base of a file with numbers of system calls of a table.
func decode(data []byte, base int64, calls SystemCalls) (record, error) {
	c := bytecur.New(data, base)
	kind := c.U16()
	size := c.U16()
	a := c.U32()
	if int(kind) < len(least) && len(data) < least[kind] {
		c.FailAt(base, "a record of type %d has %d bytes, not %d", kind, len(data), least[kind])
		return record{}, c.Err()
	}
	var r record
	switch kind {
	case wire.TypeModule:
		r.module = decodeModule(c, a)
	case wire.TypeJoined:
		r.joined = &a
	case wire.TypeEpisode:
		r.tid = a
		r.episode = decodeEpisode(c, a)
	case wire.TypeParent:
		r.tid, r.number = a, c.U64()
		r.parent = decodeParent(c)
	case wire.TypeThread:
		c.U64()
		r.thread = decodeThread(c, a)
	case wire.TypeStall:
		r.stall = decodeStall(c, base)
	case wire.TypeTrailer:
		r.trailer = decodeTrailer(c, a, size)
	case wire.TypeText:
		r.tid, r.number = a, c.U64()
		r.text = decodeText(c)
	case wire.TypeUsage:
		r.tid, r.number = a, c.U64()
		r.usage = decodeUsage(c, calls)
	case wire.TypeWait:
		r.tid, r.number = a, c.U64()
		r.wait = decodeWait(c)
	case wire.TypeHolder:
		r.tid, r.number = a, c.U64()
		r.holder = decodeHolder(c)
	case wire.TypeSuspended:
		r.tid, r.number = a, c.U64()
		r.suspended = decodeSuspended(c)
	case wire.TypeFreeze:
		r.freeze = decodeFreeze(c, base)
	case wire.TypeOpen:
		r.tid, r.slot = a, true
		r.open = decodeOpen(c, a, calls)
	case wire.TypeFrames:
		r.frames = decodeFrames(c)
	case wire.TypeSetting:
		r.setting = &Setting{Off: a&wire.SettingOff != 0, Time: c.U64(), Threshold: c.U64(), Period: c.U64(), Rate: c.U64()}
	case wire.TypeSeen:
		r.seen = &Seen{PC: c.U64(), Hash: c.U64(), Count: c.U64(), Worst: c.U64(), Sum: c.U64(), Last: c.U64(), Episode: c.U64()}
	}
	return r, c.Err()
}

func decodeStall(c *bytecur.Cursor, base int64) *Stall {
	s := &Stall{From: c.U64(), To: c.U64(), Waited: c.U64()}
	if s.From > s.To {
		c.FailAt(base+8, "a stall ends before it begins")
	}
	return s
}

func decodeFreeze(c *bytecur.Cursor, base int64) *Freeze {
	f := &Freeze{From: c.U64(), To: c.U64(), Waited: c.U64(), CPU: c.U64()}
	if f.From > f.To {
		c.FailAt(base+8, "a freeze ends before it begins")
	}
	return f
}

func decodeModule(c *bytecur.Cursor, number uint32) *Module {
	m := &Module{Number: number, Time: c.U64(), Bias: c.U64(), Start: c.U64(), End: c.U64()}
	flags := c.U32()
	m.Main, m.Instrumented = flags&wire.ModuleMain != 0, flags&wire.ModuleInstrumented != 0
	if flags&wire.ModuleUnloaded != 0 {
		m.Unloaded = max(m.Time, 1)
	}
	idLen, pathLen := c.U16(), c.U16()
	id := c.Bytes(wire.MaxBuildID + 4)
	if int(idLen) > wire.MaxBuildID {
		c.Failf("a build id of %d bytes, at most %d are allowed", idLen, wire.MaxBuildID)
		return m
	}
	if c.Err() == nil {
		m.BuildID = bytes.Clone(id[:idLen])
	}
	if pathLen > wire.MaxPath {
		c.Failf("a path of %d bytes, at most %d are allowed", pathLen, wire.MaxPath)
	}
	m.Path = string(c.Bytes(uint64(pathLen)))
	if isWindowsPath(m.Path) {
		m.Path = strings.ReplaceAll(m.Path, `\`, "/")
	}
	return m
}

// isWindowsPath reports whether a path begins with a drive, or with the name of a machine.
func isWindowsPath(path string) bool {
	return len(path) > 2 && (path[1:3] == `:\` || path[:2] == `\\`)
}

// interval reads the bounds of a duration.
func interval(c *bytecur.Cursor) Interval {
	off := c.Off()
	i := Interval{c.U64(), c.U64()}
	if i.Lo > i.Hi {
		c.FailAt(off, "a duration of at least %d and at most %d ns", i.Lo, i.Hi)
	}
	return i
}

// suspension is for how long the stack of a call did not run.
type suspension struct {
	ended uint64
	sp    uint32
	time  Interval
}

// flagBits are those below the number of a stack.
const flagBits = 1<<wire.StackShift - 1

// decodeEntry reads an entry of a stack.
func decodeEntry(c *bytecur.Cursor) Entry {
	x := Entry{PC: c.U64()}
	off := c.Off()
	x.Time.Lo, x.Time.Hi = c.U64(), c.U64()
	x.Flags, x.SP = EntryFlags(c.U32()), c.U32()
	if x.Timed() && x.Time.Lo > x.Time.Hi {
		c.FailAt(off, "a duration of at least %d and at most %d ns", x.Time.Lo, x.Time.Hi)
	}
	return x
}

func decodeEpisode(c *bytecur.Cursor, tid uint32) *Episode {
	e := &Episode{TID: tid, Number: c.U64(), Time: c.U64(), Peak: interval(c), Threshold: c.U64(), Frame: c.U64()}
	flags := c.U32()
	e.Flags, e.On, e.Switches = EpisodeFlags(flags&flagBits), flags>>wire.StackShift, c.U32()
	stack, children := int(c.U16()), int(c.U16())
	e.Found, e.Blind = c.U32(), c.U64()
	if stack+children > wire.MaxEntries {
		c.Failf("%d entries of an episode, at most %d are allowed", stack+children, wire.MaxEntries)
		return e
	}
	entries := make([]Entry, 0, stack+children)
	for range stack + children {
		x := decodeEntry(c)
		if c.Err() != nil {
			return e
		}
		entries = append(entries, x)
	}
	e.Stack, e.Children = entries[:stack:stack], entries[stack:]
	return e
}

func decodeParent(c *bytecur.Cursor) *Parent {
	p := &Parent{Ended: c.U64(), Time: interval(c), PC: c.U64(), Threshold: c.U64()}
	flags := c.U32()
	p.Flags, p.On, p.SP = EntryFlags(flags&flagBits), flags>>wire.StackShift, c.U32()
	return p
}

func decodeUsage(c *bytecur.Cursor, calls SystemCalls) *Usage {
	u := &Usage{Ended: c.U64(), CPU: interval(c), Since: c.U64(), Minor: c.U32(), Major: c.U32(), Voluntary: c.U32(), Involuntary: c.U32(), SP: c.U32()}
	u.Call = calls.Name(int(c.U32()) - 1)
	u.Waits, u.InCall, u.Ready = c.U16(), c.U16(), c.U16()
	return u
}

func decodeWait(c *bytecur.Cursor) *Wait {
	w := &Wait{Ended: c.U64(), SP: c.U32()}
	at := c.Off()
	w.On = WaitFlags(c.U32())
	w.Longest = c.U64()
	reasons, addrs, text := int(c.U16()), int(c.U16()), int(c.U16())
	c.U16()
	if reasons > wire.MaxReasons || addrs > wire.MaxWaitStack || text > wire.MaxPeer || wire.ReasonSize*reasons+8*addrs+text > c.Len() {
		c.FailAt(at, "a wait has %d reasons, %d addresses and a text of %d bytes; %d, %d and %d are allowed",
			reasons, addrs, text, wire.MaxReasons, wire.MaxWaitStack, wire.MaxPeer)
		return w
	}
	for range reasons {
		w.Reasons = append(w.Reasons, WaitTime{Reason: WaitReason(c.U32()), Count: c.U32(), Time: c.U64()})
	}
	for range addrs {
		w.Addrs = append(w.Addrs, c.U64())
	}
	w.Peer = string(c.Bytes(uint64(text)))
	return w
}

func decodeSuspended(c *bytecur.Cursor) *suspension {
	s := &suspension{ended: c.U64(), sp: c.U32()}
	c.U32()
	s.time = interval(c)
	return s
}

func decodeHolder(c *bytecur.Cursor) *Holder {
	h := &Holder{Ended: c.U64(), SP: c.U32(), Reason: WaitReason(c.U32()), At: c.U64(), Waited: c.U64(), TID: c.U32()}
	at := c.Off()
	addrs := int(c.U16())
	h.Readers, h.Object = c.U16(), c.U64()
	if addrs > wire.MaxWaitStack || 8*addrs > c.Len() {
		c.FailAt(at, "a stack has %d addresses, at most %d are allowed", addrs, wire.MaxWaitStack)
		return h
	}
	for range addrs {
		h.Addrs = append(h.Addrs, c.U64())
	}
	return h
}

func decodeText(c *bytecur.Cursor) *Text {
	t := &Text{Time: c.U64(), Kind: TextKind(c.U16())}
	n := c.U16()
	t.SP, t.PC = c.U32(), c.U64()
	if n > wire.MaxText {
		c.Failf("a text of %d bytes, at most %d are allowed", n, wire.MaxText)
	}
	t.Text = string(c.Bytes(uint64(n)))
	return t
}

func decodeFrames(c *bytecur.Cursor) *Frames {
	f := &Frames{Count: c.U64(), End: c.U64(), Sum: c.U64(), Worst: c.U64(), Budget: c.U64(), Over: c.U64()}
	shift, used := c.U32(), c.U32()
	if shift > 40 || used > wire.FrameBuckets {
		c.Failf("%d buckets of 1<<%d frames, at most %d of 1<<40 are allowed", used, shift, wire.FrameBuckets)
		return f
	}
	f.Each = 1 << shift
	for i := range uint32(wire.FrameBuckets) {
		if b := (FrameBucket{uint64(c.U32()) * 1000, c.U32()}); i < used {
			f.Buckets = append(f.Buckets, b)
		}
	}
	for range wire.FramesLongest {
		if x := (Frame{c.U64(), c.U64(), c.U64()}); x.Number != 0 {
			f.Longest = append(f.Longest, x)
		}
	}
	stablesort.Func(f.Longest, func(a, b Frame) int { return cmp.Or(cmp.Compare(b.Took, a.Took), cmp.Compare(a.Number, b.Number)) })
	return f
}

func decodeTrailer(c *bytecur.Cursor, flags uint32, size uint16) *Trailer {
	t := &Trailer{Final: flags&wire.TrailerFinal != 0, Off: flags&wire.TrailerOff != 0}
	for _, f := range []*uint64{
		&t.Time, &t.Ticks, &t.Blind, &t.Late, &t.WorstGap, &t.Borderline, &t.Slow, &t.Dropped, &t.Limited,
		&t.Threshold, &t.Period, &t.Low,
	} {
		*f = c.U64()
	}
	tick := c.U32()
	t.Signal, t.Exact = tick == wire.TickSignal, tick == wire.TickExact
	t.Threads = c.U32()
	t.Idle, t.TickerCPU, t.Episodes = c.U64(), c.U64(), c.U64()
	t.Ring, t.NoWindow = uint64(c.U32())*wire.ChunkCalls, c.U32()
	if size < wire.TrailerClocked {
		return t
	}
	for _, f := range []*uint32{&t.Window, &t.Signalled, &t.Blocked, &t.RateError} {
		*f = c.U32()
	}
	t.TSCHz, t.Backwards = c.U64(), c.U64()
	if size >= wire.TrailerSize {
		t.NoRoom, t.NoRoomLasting, t.Unwatched = c.U32(), c.U32(), c.U32()
	}
	return t
}

package tally

import (
	"bytes"
	"cmp"
	"errors"
	"math/bits"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/internal/fleet/inbox"
	"github.com/cairnprof/cairn/internal/saturate"
	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/prof"
)

// Log is a log of spikes or of stacks that the collector keeps.
type Log struct {
	Key  inbox.Key `json:"key"`
	Kind string    `json:"kind"` // "spikes" or "stacks"
	Name string    `json:"name"` // as its sender called it
	Size int       `json:"size"` // bytes
	Time int64     `json:"time"` // of the upload, nanoseconds since 1970

	Sender string `json:"sender,omitempty"` // the name of its token

	// Object is the bundle that has the log as its file number Index, once a snapshot has it.
	Object string `json:"object,omitempty"`
	Index  int    `json:"index,omitempty"`

	data []byte // the log, until a snapshot has it
}

// Place is where in a program the peaks of spikes are.
type Place struct {
	Module string `json:"module"` // base name of the file
	Build  string `json:"build"`  // of the module
	Addr   uint64 `json:"addr"`   // in the file
}

// Spike sums up the spikes at one place over all logs of a build.
type Spike struct {
	Place
	Count uint64 `json:"count"` // spikes, those too that logs only count
	Logs  uint64 `json:"logs"`  // processes in which there were some
	Sum   uint64 `json:"sum"`   // of lower bounds of the spikes in logs, nanoseconds
	Worst uint64 `json:"worst"` // greatest lower bound
	From  string `json:"from"`  // key of the log that has the worst
	// Times counts the spikes in logs by their lower bound, four classes for each power of two. Its first number is of
	// class Low.
	Times []uint64 `json:"times"`
	Low   int      `json:"low,omitempty"`
	// Rest is set for the sum of the spikes at all places for which there was no room.
	Rest bool `json:"rest,omitempty"`
}

const (
	maxPlaces = inbox.MaxPlaces // of a build
	maxLogs   = 1 << 12         // of a build
	maxDays   = 800             // of a build
	// maxCount bounds the spikes that a log only counts, at one place: about one each
	// millisecond for a month.
	maxCount = 1 << 32
)

// class returns the class of a duration in Spike.Times.
func class(ns uint64) int {
	if ns < 4 {
		return int(ns)
	}
	shift := bits.Len64(ns) - 3
	return 4*shift + int(ns>>shift)
}

// Quantile returns the lower limit of the class that holds a quantile q, from 0 to 1.
func (s *Spike) Quantile(q float64) uint64 {
	total := uint64(0)
	for _, n := range s.Times {
		total += n
	}
	rank, sum := uint64(q*float64(total)), uint64(0)
	for i, n := range s.Times {
		i += s.Low
		if sum += n; n > 0 && sum > min(rank, total-1) {
			if i < 4 {
				return uint64(i)
			}
			shift := i/4 - 1
			return uint64(i-4*shift) << shift
		}
	}
	return 0
}

// Add adds the spikes of the same function at another place.
func (s *Spike) Add(o *Spike) {
	s.Count = saturate.Add(s.Count, o.Count)
	s.Logs = saturate.Add(s.Logs, o.Logs)
	s.Sum = saturate.Add(s.Sum, o.Sum)
	if o.Worst > s.Worst {
		s.Worst, s.From = o.Worst, o.From
	}
	for i, n := range o.Times {
		if n > 0 {
			s.count(o.Low+i, n)
		}
	}
}

// count adds spikes of a class.
func (s *Spike) count(class int, n uint64) {
	if len(s.Times) == 0 {
		s.Low = class
	}
	if class < s.Low {
		s.Times = append(make([]uint64, s.Low-class), s.Times...)
		s.Low = class
	}
	if more := class - s.Low + 1 - len(s.Times); more > 0 {
		times := make([]uint64, len(s.Times)+more) // without the room that append leaves
		copy(times, s.Times)
		s.Times = times
	}
	s.Times[class-s.Low] = saturate.Add(s.Times[class-s.Low], n)
}

// addLog keeps a log, and adds its spikes to those of the build.
func (s *State) addLog(b *build, it *inbox.Item, time int64) error {
	f, err := s.foundOf(b)
	if err != nil {
		return err
	}
	kind := "stacks"
	if it.Kind == inbox.Spikes {
		kind = "spikes"
		here, err := spikesIn(it)
		if err != nil {
			s.totals.Damaged++
			s.keys.remove(it.Key)
			return nil
		}
		b.share(it.Sender).Places += f.add(here)
	}
	if b.Program == "" {
		b.Program = it.Program
	}
	s.totals.Logs++
	f.changed = true
	f.logs = append(f.logs, Log{Key: it.Key, Kind: kind, Name: it.Name, Size: len(it.Data), Time: time, Sender: it.Sender, data: bytes.Clone(it.Data)})
	b.share(it.Sender).Logs += int64(len(it.Data))
	f.size += int64(len(it.Data)) + 320
	kept := int64(0)
	for i := range f.logs {
		kept += int64(f.logs[i].Size)
	}
	for len(f.logs) > 1 && (kept > s.limits.Logs || len(f.logs) > maxLogs) {
		old := &f.logs[0]
		kept -= int64(old.Size)
		b.share(old.Sender).Logs -= int64(old.Size)
		f.size -= int64(len(old.data)) + 320
		f.logs = slices.Delete(f.logs, 0, 1)
	}
	b.Logs = len(f.logs)
	return nil
}

// add adds the spikes of a log, and returns how many places are new.
func (f *found) add(here map[Place]*Spike) (places int) {
	for p, sp := range here {
		switch {
		case f.spikes[p] != nil:
			f.spikes[p].Add(sp)
		case len(f.spikes) < maxPlaces:
			f.spikes[p] = sp
			f.size += ofSpike + 8*int64(cap(sp.Times))
			places++
		default:
			f.rest.Add(sp)
			f.rest.Rest = true
		}
	}
	return places
}

// spikesIn returns the spikes of a log by place.
func spikesIn(it *inbox.Item) (map[Place]*Spike, error) {
	log, err := tracelog.Open(bytes.NewReader(it.Data), int64(len(it.Data)), it.Name)
	if err != nil {
		return nil, err
	}
	here := make(map[Place]*Spike)
	at := func(pc, time uint64) *Spike {
		p := placeOf(log, pc, time)
		if here[p] == nil {
			here[p] = &Spike{Place: p, Logs: 1, From: it.Key.String()}
		}
		return here[p]
	}
	for e, err := range log.Episodes() {
		if err != nil {
			return nil, err
		}
		if e.Flags&tracelog.Snapshot != 0 || len(e.Stack) == 0 {
			continue
		}
		sp := at(e.Stack[0].PC, e.Time)
		sp.Count++
		sp.Sum = saturate.Add(sp.Sum, e.Peak.Lo)
		sp.Worst = max(sp.Worst, e.Peak.Lo)
		sp.count(class(e.Peak.Lo), 1)
	}
	seen := make(map[*Spike]uint64)
	for n, err := range log.Seen() {
		if err != nil {
			return nil, err
		}
		if n.PC != 0 {
			sp := at(n.PC, n.Last)
			seen[sp] = saturate.Add(seen[sp], n.Count)
			sp.Worst = max(sp.Worst, n.Worst)
		}
	}
	for sp, n := range seen {
		sp.Count = max(sp.Count, min(n, maxCount))
	}
	return here, nil
}

// placeOf returns the place of a program counter of the process. It is after a call in the
// function: the byte before it certainly belongs to the function.
func placeOf(log *tracelog.Log, pc, time uint64) Place {
	i := log.ModuleIndex(pc, time)
	if i < 0 {
		return Place{Addr: pc}
	}
	m := &log.Modules[i]
	return Place{Module: path.Base(m.Path), Build: prof.BuildID(m.BuildID).String(), Addr: pc - m.Bias - 1}
}

// Logs returns the logs of a build that are kept, the oldest first.
func (s *State) Logs(id prof.BuildID) ([]Log, error) {
	f, err := s.foundIn(id)
	if err != nil {
		return nil, err
	}
	defer s.settle()
	return slices.Clone(f.logs), nil
}

func (s *State) foundIn(id prof.BuildID) (*found, error) {
	b := s.builds[id]
	if b == nil {
		return nil, ErrNone
	}
	return s.foundOf(b)
}

// LogFile returns a log, which may be in an object.
func (s *State) LogFile(id prof.BuildID, key inbox.Key) ([]byte, error) {
	f, err := s.foundIn(id)
	if err != nil {
		return nil, err
	}
	defer s.settle()
	for i := range f.logs {
		if f.logs[i].Key == key {
			return f.logs[i].read(s.objects)
		}
	}
	return nil, ErrNone
}

// read returns the content of a log.
func (l *Log) read(objects Objects) ([]byte, error) {
	if l.data != nil {
		return l.data, nil
	}
	items, err := openObject(l.Object, objects)
	if err == nil && l.Index >= len(items) {
		err = errors.New("object " + l.Object + " has no file " + strconv.Itoa(l.Index))
	}
	if err != nil {
		return nil, err
	}
	return items[l.Index].Data, nil
}

// Spikes returns the places of the spikes of a build, those with the worst first, and the sum of those at other places
// at the end.
func (s *State) Spikes(id prof.BuildID) ([]Spike, error) {
	f, err := s.foundIn(id)
	if err != nil {
		return nil, err
	}
	defer s.settle()
	list := f.sorted()
	for i := range list {
		list[i].Times = slices.Clone(list[i].Times)
	}
	if f.rest.Count > 0 {
		rest := f.rest
		rest.Times = slices.Clone(rest.Times)
		list = append(list, rest)
	}
	return list, nil
}

func (f *found) sorted() []Spike {
	list := make([]Spike, 0, len(f.spikes))
	for _, sp := range f.spikes {
		list = append(list, *sp)
	}
	stablesort.Func(list, func(a, b Spike) int {
		return cmp.Or(-cmp.Compare(a.Worst, b.Worst), strings.Compare(a.Module, b.Module), strings.Compare(a.Build, b.Build), cmp.Compare(a.Addr, b.Addr))
	})
	return list
}

// Day is the number of files of a build that came on a day.
type Day struct {
	Day   int32  `json:"day"` // days since 1970-01-01, UTC
	Files uint64 `json:"files"`
}

// countDay counts a file that came at a time.
func (b *build) countDay(time int64) {
	const day = 86_400e9
	i, ok := slices.BinarySearchFunc(b.Days, int32(time/day), func(d Day, day int32) int { return cmp.Compare(d.Day, day) })
	if !ok {
		b.Days = slices.Insert(b.Days, i, Day{Day: int32(time / day)})
	}
	b.Days[i].Files++
	if len(b.Days) > maxDays {
		b.Days = slices.Delete(b.Days, 0, 1)
	}
}

// Expire forgets builds of which no file came for some time, in nanoseconds, before now or the newest file
// of all builds, whichever is earlier: where the clock is wrong or the collector did not run, builds
// stay. It returns how many were removed. Runs of them that come again are not counted again.
func (s *State) Expire(now, keep int64) int {
	newest := int64(0)
	for _, b := range s.builds {
		newest = max(newest, b.Last)
	}
	before := min(now, newest) - keep
	n := len(s.builds)
	for id, b := range s.builds {
		if b.Last < before {
			s.account(b, -1)
			b.merged, b.found, b.waiting = nil, nil, nil
			s.measure(b)
			s.pages.stale(id)
			delete(s.builds, id)
		}
	}
	return n - len(s.builds)
}

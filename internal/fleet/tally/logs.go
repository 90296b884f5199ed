package tally

import (
	"bytes"
	"cmp"
	"errors"
	"maps"
	"math/bits"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/internal/fleet/inbox"
	"github.com/cairnprof/cairn/internal/saturate"
	"github.com/cairnprof/cairn/prof"
)

// Log is a log of spikes or of stacks that the collector keeps.
type Log struct {
	Key  inbox.Key `json:"key"`
	Kind string    `json:"kind"` // "spikes" or "stacks"
	Name string    `json:"name"` // as its sender called it
	Size int       `json:"size"` // bytes
	Time int64     `json:"time"` // of the upload, nanoseconds since 1970

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
	// Times counts the spikes in logs by their lower bound, four classes for each power of two.
	Times []uint64 `json:"times"`
}

const (
	maxPlaces = 1 << 14 // of a build
	maxDays   = 800     // of a build
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
	s.Times = slices.Clone(s.Times)
	for len(s.Times) < len(o.Times) {
		s.Times = append(s.Times, 0)
	}
	for i, n := range o.Times {
		s.Times[i] = saturate.Add(s.Times[i], n)
	}
}

// addLog keeps a log, and adds its spikes to those of the build.
func (s *State) addLog(b *build, it *inbox.Item, time int64) {
	kind := "stacks"
	if it.Kind == inbox.Spikes {
		kind = "spikes"
		if err := b.addSpikes(it); err != nil {
			s.totals.Damaged++
			s.forget(it.Key)
			return
		}
	}
	if b.program == "" {
		b.program = it.Program
	}
	s.totals.Logs++
	b.logs = append(b.logs, Log{Key: it.Key, Kind: kind, Name: it.Name, Size: len(it.Data), Time: time, data: bytes.Clone(it.Data)})
	b.logBytes += int64(len(it.Data))
	for len(b.logs) > 1 && b.logBytes > s.maxLogs {
		b.logBytes -= int64(b.logs[0].Size)
		b.logs = slices.Delete(b.logs, 0, 1)
	}
}

// addSpikes adds the spikes of a log.
func (b *build) addSpikes(it *inbox.Item) error {
	log, err := tracelog.Open(bytes.NewReader(it.Data), int64(len(it.Data)), it.Name)
	if err != nil {
		return err
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
			return err
		}
		if e.Flags&tracelog.Snapshot != 0 || len(e.Stack) == 0 {
			continue
		}
		sp := at(e.Stack[0].PC, e.Time)
		sp.Count++
		sp.Sum = saturate.Add(sp.Sum, e.Peak.Lo)
		sp.Worst = max(sp.Worst, e.Peak.Lo)
		i := class(e.Peak.Lo)
		for len(sp.Times) <= i {
			sp.Times = append(sp.Times, 0)
		}
		sp.Times[i]++
	}
	seen := make(map[*Spike]uint64)
	for n, err := range log.Seen() {
		if err != nil {
			return err
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
	for p, sp := range here {
		if b.spikes[p] != nil {
			b.spikes[p].Add(sp)
		} else if len(b.spikes) < maxPlaces {
			b.spikes[p] = sp
		}
	}
	return nil
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
	if s.builds[id] == nil {
		return nil, ErrNone
	}
	return slices.Clone(s.builds[id].logs), nil
}

// LogFile returns a log, which may be in an object of a snapshot.
func (s *State) LogFile(id prof.BuildID, key inbox.Key, objects Objects) ([]byte, error) {
	if s.builds[id] == nil {
		return nil, ErrNone
	}
	for _, l := range s.builds[id].logs {
		switch {
		case l.Key != key:
		case l.data != nil:
			return l.data, nil
		default:
			items, err := openObject(l.Object, objects)
			if err == nil && l.Index >= len(items) {
				err = errors.New("object " + l.Object + " has no file " + strconv.Itoa(l.Index))
			}
			if err != nil {
				return nil, err
			}
			return items[l.Index].Data, nil
		}
	}
	return nil, ErrNone
}

// Spikes returns the places of the spikes of a build, those with the worst first.
func (s *State) Spikes(id prof.BuildID) ([]Spike, error) {
	if s.builds[id] == nil {
		return nil, ErrNone
	}
	return s.builds[id].sortedSpikes(), nil
}

func (b *build) sortedSpikes() []Spike {
	list := make([]Spike, 0, len(b.spikes))
	for _, sp := range b.spikes {
		list = append(list, *sp)
	}
	slices.SortFunc(list, func(a, b Spike) int {
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
	b.days[int32(time/day)]++
	if len(b.days) > maxDays {
		delete(b.days, slices.Min(slices.Collect(maps.Keys(b.days))))
	}
}

func (b *build) sortedDays() []Day {
	var list []Day
	for _, d := range slices.Sorted(maps.Keys(b.days)) {
		list = append(list, Day{Day: d, Files: b.days[d]})
	}
	return list
}

// Expire forgets builds of which no file came for some time, in nanoseconds, before now or the newest file
// of all builds, whichever is earlier: where the clock is wrong or the collector did not run, builds
// stay. It returns how many were removed. Runs of them that come again are not counted again.
func (s *State) Expire(now, keep int64) int {
	newest := int64(0)
	for _, b := range s.builds {
		newest = max(newest, b.last)
	}
	before := min(now, newest) - keep
	n := len(s.builds)
	maps.DeleteFunc(s.builds, func(_ prof.BuildID, b *build) bool { return b.last < before })
	return n - len(s.builds)
}

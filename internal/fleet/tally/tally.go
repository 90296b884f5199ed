// Package tally holds the state of a collector: for each build the profile of its runs, raw files
// that wait for the map of their build, logs and their spikes, and the keys of the files that were
// counted.
//
// A State is a function of the records that were applied to it, in their order. A snapshot and the records after
// its last one give the same state again, so that another process can continue without counting a file twice.
package tally

import (
	"bytes"
	"container/list"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/internal/fleet/inbox"
	"github.com/cairnprof/cairn/internal/profile/merge"
	"github.com/cairnprof/cairn/internal/profile/rawfiles"
	"github.com/cairnprof/cairn/prof"
)

// Totals count the files since the collector was created, by their result.
type Totals struct {
	Raws      uint64 `json:"raws"`      // merged
	Maps      uint64 `json:"maps"`      // of builds
	Repeated  uint64 `json:"repeated"`  // files of runs that were there already
	Damaged   uint64 `json:"damaged"`   // raw files that do not fit the map of their build
	Conflicts uint64 `json:"conflicts"` // maps of a build that has another one
	Logs      uint64 `json:"logs"`      // of spikes and of stacks
	Foreign   uint64 `json:"foreign"`   // files of builds that belong to other programs than their sender's
	Lost      uint64 `json:"lost"`      // records of the journal that damage destroyed, each an upload
}

// State is the state of a collector. Use New: the zero value is not ready.
type State struct {
	limits  Limits
	traces  rawfiles.Traces
	objects Objects
	seq     uint64
	totals  Totals
	builds  map[prof.BuildID]*build
	keys    keySet // of the files that were counted
	senders map[string]Use
	pages   pages

	recent       *list.List // of builds of which more than the entry is in memory, the last used first
	inUse        int64      // bytes of that, about
	entries      int64      // bytes of the entries of all builds, about
	waitingFiles int
	waitingBytes int64
}

// Limits bound what a State keeps; 0 is no limit, except for Traces and Logs.
type Limits struct {
	Traces   int    // of the runs of a build
	Logs     int64  // bytes of the logs of a build: the oldest are removed
	MaxCalls uint64 // that count of a run, see merge.Run
	Memory   int64  // bytes in memory, about; what is more is read from objects again when it is needed
}

// New returns an empty state that keeps what does not fit into memory, and its snapshots, in objects.
func New(objects Objects, l Limits) *State {
	const filters = 4 // of the memory, that filters of keys may have
	most := l.Memory / filters
	if most == 0 {
		most = math.MaxInt64
	}
	return &State{
		limits: l, traces: rawfiles.Traces{Limit: l.Traces, Weight: 1, MaxCalls: l.MaxCalls}, objects: objects,
		builds: make(map[prof.BuildID]*build), keys: newKeySet(objects, most), senders: make(map[string]Use), recent: list.New(),
	}
}

// Seq returns the number of the last record that was applied.
func (s *State) Seq() uint64 { return s.seq }

// Totals returns the counts of all files.
func (s *State) Totals() Totals { return s.totals }

// Seen returns how many files are remembered.
func (s *State) Seen() int { return s.keys.count }

// Memory returns how many bytes the state has in memory, about.
func (s *State) Memory() int64 { return s.inUse + s.entries + s.keys.size() }

// Has reports whether a file was counted already, so that it need not be logged again. The map of a
// build that was removed (see Expire) is not there any more, and counts again.
func (s *State) Has(it *inbox.Item) (bool, error) {
	seen, err := s.keys.has(it.Key)
	return seen && (it.Kind != inbox.Map || s.Known(it.Build)), err
}

// Known reports whether the map of a build is there.
func (s *State) Known(id prof.BuildID) bool { return s.builds[id] != nil && s.builds[id].Mapped }

// Waiting returns how many raw files wait for their maps, and their bytes.
func (s *State) Waiting() (files int, bytes int64) { return s.waitingFiles, s.waitingBytes }

// CheckMap returns an error if the build of a map has a different map.
func (s *State) CheckMap(it *inbox.Item) error {
	b := s.builds[it.Build]
	if b == nil || !b.Mapped {
		return nil
	}
	m, err := readMap(it)
	if err != nil {
		return err
	}
	have, err := s.mergedOf(b)
	if err != nil {
		return err
	}
	defer s.settle()
	return merge.Modules(ptr(emptyOf(&have.module.Map)), ptr(emptyOf(m)))
}

func ptr[T any](v T) *T { return &v }

// emptyOf returns a module without runs.
func emptyOf(m *prof.Map) prof.Module {
	return merge.NewAccumulator(merge.NewLayout(m), 0).Module()
}

func readMap(it *inbox.Item) (*prof.Map, error) {
	m, err := mip.ReadMap(it.Data)
	if err != nil {
		return nil, fmt.Errorf("map of %s: %w", it.Build.Short(), err)
	}
	return m, nil
}

// Apply applies the record with the next number, which came at a time in nanoseconds since 1970.
// A record that was applied already changes nothing.
func (s *State) Apply(seq uint64, time int64, items []inbox.Item) error {
	if seq <= s.seq {
		return nil
	}
	if seq != s.seq+1 {
		return fmt.Errorf("record %d follows record %d: those between are missing", seq, s.seq)
	}
	s.seq = seq
	for i := range items {
		if err := s.applyItem(&items[i], time); err != nil {
			return fmt.Errorf("build %s: %w", items[i].Build, err)
		}
	}
	s.settle()
	return nil
}

func (s *State) applyItem(it *inbox.Item, time int64) error {
	if known, err := s.Has(it); err != nil {
		return err
	} else if known {
		s.totals.Repeated++
		return nil
	}
	b := s.builds[it.Build]
	if b == nil {
		b = newBuild(it.Build)
	}
	owners, err := b.claim(it)
	if err != nil {
		s.totals.Foreign++
		return nil
	}
	s.account(b, -1)
	defer func() { s.account(b, 1) }()
	if len(b.Shares) == 0 {
		b.share(it.Sender).First = true
	}
	s.builds[it.Build] = b
	b.Owners = owners
	b.Last, b.dirty = max(b.Last, time), true
	if b.First == 0 {
		b.First = time
	}
	s.keys.add(it.Key)
	b.countDay(time)
	defer s.touch(b)
	switch it.Kind {
	case inbox.Spikes, inbox.Stacks:
		b.Uploads++
		return s.addLog(b, it, time)
	case inbox.Map:
		return s.addMap(b, it)
	}
	b.Uploads++
	if !b.Mapped {
		// The item may be a part of a larger body: only itself is kept.
		b.waiting = append(b.waiting, inbox.Item{Kind: it.Kind, Key: it.Key, Build: it.Build, Name: it.Name, Data: bytes.Clone(it.Data)})
		b.share(it.Sender).Waiting += int64(len(it.Data))
		return nil
	}
	m, err := s.mergedOf(b)
	if err != nil {
		return err
	}
	s.addRaw(m, it)
	return nil
}

// Skip passes over records of the journal that are lost, up to a number.
func (s *State) Skip(through uint64) {
	if through > s.seq {
		s.totals.Lost += through - s.seq
		s.seq = through
	}
}

// addMap adds the map of a build, and then merges the files that waited for it.
func (s *State) addMap(b *build, it *inbox.Item) error {
	m, err := readMap(it)
	if err != nil { // it was read before it was logged
		s.totals.Damaged++
		return nil
	}
	empty := emptyOf(m)
	if b.Mapped {
		have, err := s.mergedOf(b)
		if err != nil {
			return err
		}
		// A copy of the program under another name brings that name, too.
		if err := merge.Modules(have.module, &empty); err != nil {
			s.totals.Conflicts++
		}
		have.changed, b.Program = true, have.module.Module
		return nil
	}
	s.totals.Maps++
	b.merged = newMerged(&empty)
	b.merged.changed, b.Mapped, b.Program = true, true, empty.Module
	b.share(it.Sender).Maps += int64(len(it.Data))
	before, waiting := b.Waiting, b.waiting
	b.Waiting, b.waiting = nil, nil
	for i := range b.Shares {
		b.Shares[i].Waiting = 0
	}
	for _, w := range before {
		items, err := openObject(w.Object, s.objects)
		if err != nil {
			return err
		}
		for i := range items {
			s.addRaw(b.merged, &items[i])
		}
	}
	for i := range waiting {
		s.addRaw(b.merged, &waiting[i])
	}
	return nil
}

// addRaw adds a run to its build, as package rawfiles does.
func (s *State) addRaw(m *merged, it *inbox.Item) {
	raw, err := mip.ParseRaw(it.Data)
	if err == nil && raw.Size != m.module.RawSize {
		err = errors.New("a raw section of another size")
	}
	if err != nil {
		s.totals.Damaged++
		s.keys.remove(it.Key)
		return
	}
	run := s.traces.Run(it.Name, &raw)
	if !m.module.Held.Sketch && merge.Holds(&m.module.Held, run.ID) {
		s.totals.Repeated++
		return
	}
	if m.acc == nil {
		m.acc = merge.NewAccumulator(m.layout, s.traces.Limit)
		m.accCost = m.size
	}
	if err := m.acc.AddRun(run); err != nil {
		s.totals.Damaged++
		s.keys.remove(it.Key)
		return
	}
	m.changed = true
	m.accCost += 32
	if m.acc.Raws() <= uint64(s.traces.Limit) {
		m.accCost += 96 + 4*int64(len(raw.Order))
	}
	s.totals.Raws++
}

// fold adds the runs since its last call to the module.
func (s *State) fold(b *build) error {
	m := b.merged
	if m.acc == nil {
		return nil
	}
	added := m.acc.Module()
	if err := merge.Modules(m.module, &added); err != nil {
		return fmt.Errorf("%s (%s): %w", m.module.Module, b.id.Short(), err)
	}
	merge.Sample(m.module, s.traces.Limit)
	m.acc, m.accCost, m.size = nil, 0, sizeOf(m.module)
	b.Runs = m.module.Raws
	return nil
}

// Profile returns the profile of a build, as a file: no part of the state may be handed out.
func (s *State) Profile(id prof.BuildID) ([]byte, error) {
	if !s.Known(id) {
		return nil, ErrNone
	}
	b := s.builds[id]
	if b.merged == nil || !b.merged.changed && b.Profile != "" {
		return s.objects.Get(b.Profile)
	}
	defer s.settle()
	defer s.measure(b)
	if err := s.fold(b); err != nil {
		return nil, err
	}
	return writeProfile(&prof.Profile{Modules: []prof.Module{*b.merged.module}})
}

func writeProfile(p *prof.Profile) ([]byte, error) {
	var out bytes.Buffer
	err := mip.WriteProfile(&out, p)
	return out.Bytes(), err
}

// Map returns the map of a build as a file.
func (s *State) Map(id prof.BuildID) ([]byte, error) {
	if !s.Known(id) {
		return nil, ErrNone
	}
	m, err := s.mergedOf(s.builds[id])
	if err != nil {
		return nil, err
	}
	defer s.settle()
	var out bytes.Buffer
	err = mip.WriteMap(&out, &m.module.Map)
	return out.Bytes(), err
}

// Build is a line of the list of builds.
type Build struct {
	Program string   `json:"program"` // its owner; without one, what its map or a log calls it
	Owners  []string `json:"owners,omitempty"`
	Build   string   `json:"build"`
	Mapped  bool     `json:"mapped"`  // its map is there
	Uploads uint64   `json:"uploads"` // files
	Runs    uint64   `json:"runs"`    // merged
	Waiting int      `json:"waiting"` // raw files, for the map
	Logs    int      `json:"logs"`    // of spikes and of stacks that are kept
	First   int64    `json:"first"`   // nanoseconds since 1970
	Last    int64    `json:"last"`
	Days    []Day    `json:"days"` // ascending; days without files are left out
}

// line returns the line of a build.
func (b *build) line() Build {
	line := Build{
		Program: b.Program, Owners: slices.Clone(b.Owners), Build: b.id.String(), Mapped: b.Mapped, Uploads: b.Uploads, Runs: b.Runs, Logs: b.Logs,
		First: b.First, Last: b.Last, Days: slices.Clone(b.Days),
	}
	line.Waiting, _ = b.waits()
	if b.merged != nil && b.merged.acc != nil {
		line.Runs += b.merged.acc.Raws()
	}
	line.Program = b.name()
	return line
}

// name returns the program of a build.
func (b *build) name() string {
	if len(b.Owners) == 1 {
		return b.Owners[0]
	}
	return b.Program
}

// Len returns the number of builds.
func (s *State) Len() int { return len(s.builds) }

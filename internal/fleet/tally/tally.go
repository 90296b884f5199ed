// Package tally holds the state of a collector: for each build the profile of its runs, raw files
// that wait for the map of their build, logs and their spikes, and the keys of the files that were
// counted.
//
// A State is a function of the records that were applied to it, in their order. A snapshot and the records after
// its last one give the same state again, so that another process can continue without counting a file twice.
package tally

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
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
	traces  rawfiles.Traces
	maxLogs int64 // bytes of logs that are kept of a build
	seq     uint64
	totals  Totals
	builds  map[prof.BuildID]*build
	seen    map[inbox.Key]bool
	fresh   []inbox.Key // seen since the last snapshot
	forgot  bool        // some of seen were removed since the last snapshot
	keys    []string    // objects with the keys in seen
}

// build is the state of a build. Without a map its raw files wait.
type build struct {
	id      prof.BuildID
	module  *prof.Module // with all runs up to the last fold; nil without a map
	layout  *merge.Layout
	acc     *merge.Accumulator // runs since, nil if there are none
	waiting []inbox.Item
	bytes   int64 // of those that wait

	uploads     uint64
	first, last int64 // times of uploads
	days        map[int32]uint64

	owners   []string // see claim
	program  string   // as its logs call it
	logs     []Log
	logBytes int64
	spikes   map[Place]*Spike

	// The content of the last snapshot.
	changed bool     // since the last snapshot
	profile string   // object with the module
	more    string   // object with days, logs and spikes
	kept    []string // objects with waiting raw files
	inKept  int      // how many of the waiting raw files are in them
}

// Limits bound what a State keeps.
type Limits struct {
	Traces   int    // of the runs of a build
	Logs     int64  // bytes of the logs of a build: the oldest are removed
	MaxCalls uint64 // that count of a run, see merge.Run; 0 for all
}

// New returns an empty state.
func New(l Limits) *State {
	return &State{
		traces: rawfiles.Traces{Limit: l.Traces, Weight: 1, MaxCalls: l.MaxCalls}, maxLogs: l.Logs,
		builds: make(map[prof.BuildID]*build), seen: make(map[inbox.Key]bool),
	}
}

// Seq returns the number of the last record that was applied.
func (s *State) Seq() uint64 { return s.seq }

// Totals returns the counts of all files.
func (s *State) Totals() Totals { return s.totals }

// Seen returns how many files are remembered.
func (s *State) Seen() int { return len(s.seen) }

// Has reports whether a file was counted already, so that it need not be logged again. The map of a
// build that was removed (see Expire) is not there any more, and counts again.
func (s *State) Has(it *inbox.Item) bool {
	return s.seen[it.Key] && (it.Kind != inbox.Map || s.Known(it.Build))
}

// Known reports whether the map of a build is there.
func (s *State) Known(id prof.BuildID) bool { return s.builds[id] != nil && s.builds[id].module != nil }

// Waiting returns how many raw files wait for their maps, and their bytes.
func (s *State) Waiting() (files int, bytes int64) {
	for _, b := range s.builds {
		files += len(b.waiting)
		bytes += b.bytes
	}
	return files, bytes
}

// CheckMap returns an error if the build of a map has a different map.
func (s *State) CheckMap(it *inbox.Item) error {
	b := s.builds[it.Build]
	if b == nil || b.module == nil {
		return nil
	}
	m, err := readMap(it)
	if err != nil {
		return err
	}
	return merge.Modules(ptr(emptyOf(&b.module.Map)), ptr(emptyOf(m)))
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
		it := &items[i]
		if s.Has(it) {
			s.totals.Repeated++
			continue
		}
		b := s.of(it.Build)
		owners, err := b.claim(it)
		if err != nil {
			s.totals.Foreign++
			continue
		}
		b.owners = owners
		b.last, b.changed = max(b.last, time), true
		if b.first == 0 {
			b.first = time
		}
		s.remember(it.Key)
		b.countDay(time)
		switch it.Kind {
		case inbox.Spikes, inbox.Stacks:
			b.uploads++
			s.addLog(b, it, time)
		case inbox.Map:
			s.addMap(b, it)
		case inbox.Raw:
			b.uploads++
			if b.module == nil {
				// The item may be a part of a larger body: only itself is kept.
				b.waiting = append(b.waiting, inbox.Item{Kind: it.Kind, Key: it.Key, Build: it.Build, Name: it.Name, Data: bytes.Clone(it.Data)})
				b.bytes += int64(len(it.Data))
				continue
			}
			s.addRaw(b, it)
		}
	}
	return nil
}

// Skip passes over records of the journal that are lost, up to a number.
func (s *State) Skip(through uint64) {
	if through > s.seq {
		s.totals.Lost += through - s.seq
		s.seq = through
	}
}

func (s *State) of(id prof.BuildID) *build {
	b := s.builds[id]
	if b == nil {
		b = newBuild(id)
		s.builds[id] = b
	}
	return b
}

func newBuild(id prof.BuildID) *build {
	return &build{id: id, days: make(map[int32]uint64), spikes: make(map[Place]*Spike)}
}

func (s *State) remember(k inbox.Key) {
	s.seen[k] = true
	s.fresh = append(s.fresh, k)
}

// forget lets another file with this key be counted: this one was damaged.
func (s *State) forget(k inbox.Key) {
	delete(s.seen, k)
	s.forgot = true
}

// addMap adds the map of a build, and then merges the files that waited for it.
func (s *State) addMap(b *build, it *inbox.Item) {
	m, err := readMap(it)
	if err != nil { // it was read before it was logged
		s.totals.Damaged++
		return
	}
	empty := emptyOf(m)
	if b.module != nil {
		// A copy of the program under another name brings that name, too.
		if err := merge.Modules(b.module, &empty); err != nil {
			s.totals.Conflicts++
		}
		return
	}
	s.totals.Maps++
	b.setModule(&empty)
	waiting := b.waiting
	b.waiting, b.bytes, b.kept, b.inKept = nil, 0, nil, 0
	for i := range waiting {
		s.addRaw(b, &waiting[i])
	}
}

func (b *build) setModule(m *prof.Module) {
	b.module, b.layout = m, merge.NewLayout(&m.Map)
}

// addRaw adds a run to its build, as package rawfiles does.
func (s *State) addRaw(b *build, it *inbox.Item) {
	raw, err := mip.ParseRaw(it.Data)
	if err == nil && raw.Size != b.module.RawSize {
		err = errors.New("a raw section of another size")
	}
	if err != nil {
		s.totals.Damaged++
		s.forget(it.Key)
		return
	}
	run := s.traces.Run(it.Name, &raw)
	if !b.module.Held.Sketch && merge.Holds(&b.module.Held, run.ID) {
		s.totals.Repeated++
		return
	}
	if b.acc == nil {
		b.acc = merge.NewAccumulator(b.layout, s.traces.Limit)
	}
	if err := b.acc.AddRun(run); err != nil {
		s.totals.Damaged++
		s.forget(it.Key)
		return
	}
	s.totals.Raws++
}

// fold adds the runs since its last call to the module.
func (s *State) fold(b *build) error {
	if b.acc == nil {
		return nil
	}
	added := b.acc.Module()
	if err := merge.Modules(b.module, &added); err != nil {
		return fmt.Errorf("%s (%s): %w", b.module.Module, b.id.Short(), err)
	}
	merge.Sample(b.module, s.traces.Limit)
	b.acc = nil
	return nil
}

// Profile returns the profile of a build, as a file: no part of the state may be handed out.
func (s *State) Profile(id prof.BuildID) ([]byte, error) {
	if !s.Known(id) {
		return nil, ErrNone
	}
	b := s.builds[id]
	if err := s.fold(b); err != nil {
		return nil, err
	}
	return writeProfile(&prof.Profile{Modules: []prof.Module{*b.module}})
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
	var out bytes.Buffer
	err := mip.WriteMap(&out, &s.builds[id].module.Map)
	return out.Bytes(), err
}

func (s *State) sorted() []*build {
	return slices.SortedFunc(maps.Values(s.builds), func(a, b *build) int { return cmp.Compare(a.id, b.id) })
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

// Builds lists all builds by program, then by id.
func (s *State) Builds() []Build {
	list := make([]Build, 0, len(s.builds))
	for _, b := range s.sorted() {
		line := Build{
			Program: b.program, Owners: slices.Clone(b.owners), Build: b.id.String(), Uploads: b.uploads, Waiting: len(b.waiting), Logs: len(b.logs),
			First: b.first, Last: b.last, Days: b.sortedDays(),
		}
		if b.module != nil {
			line.Mapped, line.Program, line.Runs = true, b.module.Module, b.module.Raws
		}
		if len(b.owners) == 1 {
			line.Program = b.owners[0]
		}
		if b.acc != nil {
			line.Runs += b.acc.Raws()
		}
		list = append(list, line)
	}
	SortBuilds(list)
	return list
}

// SortBuilds sorts builds by program, then by id.
func SortBuilds(list []Build) {
	slices.SortFunc(list, func(a, b Build) int { return cmp.Or(cmp.Compare(a.Program, b.Program), cmp.Compare(a.Build, b.Build)) })
}

// Len returns the number of builds.
func (s *State) Len() int { return len(s.builds) }

package tally

import (
	"container/list"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/internal/fleet/inbox"
	"github.com/cairnprof/cairn/internal/profile/merge"
	"github.com/cairnprof/cairn/prof"
)

// Problem: a collector may have a hundred thousand builds, more than fit into memory, and senders that invent builds.
//
// Of each build a State has an entry in memory, some hundred bytes. The rest is in objects: the profile, the logs with
// the spikes, and raw files that wait. It is read when an upload or a query needs it, and stays in memory until that of
// other builds, used more recently, needs the room; what has changed is written first. A snapshot writes what has
// changed of all builds.

// build is a build.
type build struct {
	id prof.BuildID
	entry

	merged  *merged      // the profile, nil if it is not in memory
	found   *found       // logs and spikes, nil if they are not in memory
	waiting []inbox.Item // raw files for which there is no map, those that are in no object
	dirty   bool         // its page changed since the last snapshot

	used *list.Element // in State.recent, nil if nothing but the entry is in memory
	cost int64         // bytes in memory besides the entry, about
}

// entry is what is always in memory of a build, and is on a page of a snapshot.
type entry struct {
	Build   string    `json:"build"` // its id in hexadecimal; empty in memory
	Program string    `json:"program,omitempty"`
	Owners  []string  `json:"owners,omitempty"` // see claim
	Mapped  bool      `json:"mapped,omitempty"`
	Uploads uint64    `json:"uploads"`
	Runs    uint64    `json:"runs,omitempty"` // in the profile
	First   int64     `json:"first"`          // times of uploads
	Last    int64     `json:"last"`
	Days    []Day     `json:"days,omitempty"`
	Profile string    `json:"profile,omitempty"` // object
	More    string    `json:"more,omitempty"`    // object with logs and spikes
	Bundles []string  `json:"bundles,omitempty"` // objects with the logs
	Waiting []waiting `json:"waiting,omitempty"`
	Logs    int       `json:"logs,omitempty"`
	Shares  []share   `json:"shares,omitempty"`
}

// waiting is an object with raw files that wait.
type waiting struct {
	Object string `json:"object"`
	Files  int    `json:"files"`
	Bytes  int64  `json:"bytes"`
}

// merged is the profile of a build with the runs since.
type merged struct {
	module  *prof.Module // with all runs up to the last fold
	layout  *merge.Layout
	acc     *merge.Accumulator // runs since, nil if there are none
	accCost int64              // bytes of it, about
	size    int64              // bytes of the module and the layout, about
	changed bool
}

// found is the data of the logs of a build.
type found struct {
	logs    []Log
	spikes  map[Place]*Spike
	rest    Spike // at all places for which there is no room
	size    int64 // bytes in memory, about
	changed bool
}

func newMerged(m *prof.Module) *merged {
	return &merged{module: m, layout: merge.NewLayout(&m.Map), size: sizeOf(m)}
}

// sizeOf returns the bytes of a module, of its layout and of what is needed to write it, about.
func sizeOf(m *prof.Module) int64 {
	const ofFunc, ofFragment, ofCall, ofSite, ofTrace = 480, 64, 40, 24, 96
	n := int64(4096) + 16*int64(len(m.Held.IDs)) + ofFragment*int64(len(m.Absent))
	for i := range m.Funcs {
		f := &m.Funcs[i]
		n += ofFunc + int64(len(f.Name)+len(f.File)) + ofFragment*int64(len(f.Fragments)+2*len(f.Implied))
		n += 48*int64(f.NumBlocks()) + ofCall*int64(len(f.Calls))
		for k := range f.Calls {
			n += int64(len(f.Calls[k].Callee))
		}
	}
	for i := range m.Counts {
		n += ofSite * int64(len(m.Counts[i].Callers))
	}
	for i := range m.Traces {
		n += ofTrace + 4*int64(len(m.Traces[i].Funcs))
	}
	return n
}

const ofSpike = 360 // bytes of a spike in memory without its times, about

// measure returns the bytes of logs and spikes in memory, about.
func (f *found) measure() int64 {
	const ofLog = 320
	n := int64(0)
	for i := range f.logs {
		n += ofLog + int64(len(f.logs[i].Name)+len(f.logs[i].data))
	}
	for _, sp := range f.spikes {
		n += ofSpike + 8*int64(cap(sp.Times))
	}
	return n
}

// sizeOfEntry returns the bytes of an entry in memory, about.
func (b *build) sizeOfEntry() int64 {
	const ofBuild = 720
	n := ofBuild + 2*len(b.id) + len(b.Program) + 16*len(b.Days) + 96*(len(b.Waiting)+len(b.Bundles)+len(b.Shares))
	return int64(n)
}

// memory returns the bytes of a build in memory besides its entry, about.
func (b *build) memory() int64 {
	n := int64(0)
	if b.merged != nil {
		n += b.merged.size + b.merged.accCost
	}
	if b.found != nil {
		n += b.found.size
	}
	for i := range b.waiting {
		n += int64(len(b.waiting[i].Data)) + 160
	}
	return n
}

// measure updates how much of the memory a build has.
func (s *State) measure(b *build) {
	cost := b.memory()
	s.inUse += cost - b.cost
	b.cost = cost
	if cost == 0 && b.used != nil {
		s.recent.Remove(b.used)
		b.used = nil
	}
}

// touch makes a build the last of those that lose their data in memory, and measures it.
func (s *State) touch(b *build) {
	s.measure(b)
	if b.used != nil {
		s.recent.MoveToFront(b.used)
	} else if b.cost > 0 {
		b.used = s.recent.PushFront(b)
	}
}

// settle removes data of builds from memory, those first that were not used for the longest time, until there is room.
// It writes what has changed; if that fails they stay, until it succeeds.
func (s *State) settle() {
	if s.limits.Memory <= 0 {
		return
	}
	for s.inUse > s.limits.Memory-s.entries-s.keys.size() && s.recent.Len() > 0 {
		b := s.recent.Back().Value.(*build)
		if err := s.store(b); err != nil {
			return
		}
		b.merged, b.found = nil, nil
		s.measure(b)
	}
	const part = 8 // of the memory, that keys since the last snapshot may have
	if s.keys.freshSize() > s.limits.Memory/part {
		_ = s.keys.store() // they stay, and are written by the next snapshot
	}
}

// mergedOf returns the profile of a build, nil if it has no map.
func (s *State) mergedOf(b *build) (*merged, error) {
	if b.merged == nil && b.Profile != "" {
		data, err := s.objects.Get(b.Profile)
		if err != nil {
			return nil, err
		}
		p, err := mip.ReadProfile(data)
		if err != nil {
			return nil, fmt.Errorf("object %s: %w", b.Profile, err)
		}
		if len(p.Modules) != 1 || p.Modules[0].BuildID != b.id {
			return nil, fmt.Errorf("object %s has the profile of another build", b.Profile)
		}
		b.merged = newMerged(&p.Modules[0])
	}
	s.touch(b)
	return b.merged, nil
}

// foundOf returns the logs and spikes of a build.
func (s *State) foundOf(b *build) (*found, error) {
	if b.found == nil {
		f := &found{spikes: make(map[Place]*Spike)}
		if b.More != "" {
			if err := f.read(b.More, s.objects); err != nil {
				return nil, err
			}
		}
		f.size = f.measure()
		b.found = f
	}
	s.touch(b)
	return b.found, nil
}

// moreOfBuild is the object with the logs and spikes of a build.
type moreOfBuild struct {
	Program string   `json:"program,omitempty"` // version 1 only, as the next two
	Owners  []string `json:"owners,omitempty"`
	Days    []Day    `json:"days,omitempty"`
	Logs    []Log    `json:"logs,omitempty"`
	Spikes  []Spike  `json:"spikes,omitempty"`
	Rest    *Spike   `json:"rest,omitempty"`
}

func readMore(name string, objects Objects) (*moreOfBuild, error) {
	data, err := objects.Get(name)
	if err != nil {
		return nil, err
	}
	more := new(moreOfBuild)
	if err := json.Unmarshal(data, more); err != nil {
		return nil, fmt.Errorf("object %s: %w", name, err)
	}
	return more, nil
}

func (f *found) read(name string, objects Objects) error {
	more, err := readMore(name, objects)
	if err != nil {
		return err
	}
	f.logs = more.Logs
	for _, sp := range more.Spikes {
		f.spikes[sp.Place] = &sp
	}
	if more.Rest != nil {
		f.rest = *more.Rest
	}
	return nil
}

// store writes what changed of a build.
func (s *State) store(b *build) error {
	s.account(b, -1)
	defer s.account(b, 1)
	if b.merged != nil && b.merged.changed {
		if err := s.fold(b); err != nil {
			return err
		}
		data, err := writeProfile(&prof.Profile{Modules: []prof.Module{*b.merged.module}})
		if err != nil {
			return err
		}
		if b.Profile, err = s.objects.Put(data); err != nil {
			return err
		}
		b.merged.changed = false
	}
	if b.found != nil && b.found.changed {
		if err := b.storeFound(s.objects); err != nil {
			return err
		}
	}
	if err := b.storeWaiting(s.objects); err != nil {
		return err
	}
	s.measure(b)
	return nil
}

// storeFound writes the logs that came since the last time, and the list of logs and spikes.
func (b *build) storeFound(objects Objects) error {
	f := b.found
	if err := f.storeLogs(objects); err != nil {
		return err
	}
	more := moreOfBuild{Logs: f.logs, Spikes: f.sorted()}
	if f.rest.Count > 0 {
		more.Rest = &f.rest
	}
	data, err := json.Marshal(&more)
	if err != nil {
		return err
	}
	if b.More, err = objects.Put(data); err != nil {
		return err
	}
	b.Bundles = b.Bundles[:0:0]
	for i := range f.logs {
		if name := f.logs[i].Object; !slices.Contains(b.Bundles, name) {
			b.Bundles = append(b.Bundles, name)
		}
	}
	f.changed, f.size = false, f.measure()
	return nil
}

// maxJoined is the size of objects with raw files that wait from which they are not joined with later ones.
const maxJoined = 8 << 20

// storeWaiting writes the raw files that came since the last time. An object that is not larger is joined with the new
// one, so that there are few.
func (b *build) storeWaiting(objects Objects) error {
	if len(b.waiting) == 0 {
		return nil
	}
	items, of := b.waiting, waiting{Files: len(b.waiting)}
	for i := range items {
		of.Bytes += int64(len(items[i].Data))
	}
	kept := b.Waiting
	for n := len(kept); n > 0 && kept[n-1].Bytes <= of.Bytes && of.Bytes < maxJoined; n = len(kept) {
		before, err := openObject(kept[n-1].Object, objects)
		if err != nil {
			return err
		}
		items = append(before, items...)
		of.Files, of.Bytes = of.Files+kept[n-1].Files, of.Bytes+kept[n-1].Bytes
		kept = kept[:n-1]
	}
	name, err := putBundle(items, objects)
	if err != nil {
		return err
	}
	of.Object = name
	b.Waiting, b.waiting = append(slices.Clip(kept), of), nil
	return nil
}

// waits returns how many raw files of a build wait, and their bytes.
func (b *build) waits() (files int, bytes int64) {
	files = len(b.waiting)
	for i := range b.waiting {
		bytes += int64(len(b.waiting[i].Data))
	}
	for _, w := range b.Waiting {
		files, bytes = files+w.Files, bytes+w.Bytes
	}
	return files, bytes
}

// objects calls f with the names of the objects of an entry.
func (e *entry) objects(f func(name string)) {
	for _, name := range []string{e.Profile, e.More} {
		if name != "" {
			f(name)
		}
	}
	for _, name := range e.Bundles {
		f(name)
	}
	for _, w := range e.Waiting {
		f(w.Object)
	}
}

func newBuild(id prof.BuildID) *build { return &build{id: id} }

// buildOf returns the build of an entry.
func buildOf(e *entry) (*build, error) {
	id, err := hex.DecodeString(e.Build)
	if err != nil || len(id) == 0 {
		return nil, fmt.Errorf("%.80q is not a build id", e.Build)
	}
	b := &build{id: prof.BuildID(id), entry: *e}
	b.Build = ""
	return b, nil
}

package tally

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/internal/fleet/inbox"
	"github.com/cairnprof/cairn/prof"
)

// A snapshot is a list, the manifest, of objects that never change: a profile for each build, a
// bundle of the raw files that wait, and the keys of the files that were counted. Parts that did
// not change since the last snapshot are not written again. The manifest has the number of the
// last record in it, and replaces the one before atomically; so the counts and their position in
// the journal always agree.

// Objects stores the objects of snapshots.
type Objects interface {
	Put(data []byte) (name string, err error) // durable when it returns
	Get(name string) ([]byte, error)
}

const (
	manifestVersion = 1
	maxKeyObjects   = 16 // then they are joined
)

// manifest is the list of a snapshot.
type manifest struct {
	Version int             `json:"version"`
	Seq     uint64          `json:"seq"`
	Totals  Totals          `json:"totals"`
	Builds  []manifestBuild `json:"builds"`
	Keys    []string        `json:"keys"`
}

// manifestBuild is a build in it.
type manifestBuild struct {
	Build   string   `json:"build"`
	Profile string   `json:"profile,omitempty"`
	More    string   `json:"more,omitempty"`
	Waiting []string `json:"waiting,omitempty"`
	Uploads uint64   `json:"uploads"`
	First   int64    `json:"first"`
	Last    int64    `json:"last"`
}

// Snapshot writes what changed and returns the manifest.
func (s *State) Snapshot(objects Objects) (list []byte, err error) {
	m := manifest{Version: manifestVersion, Seq: s.seq, Totals: s.totals}
	for _, b := range s.sorted() {
		if b.changed {
			if err := s.store(b, objects); err != nil {
				return nil, err
			}
		}
		m.Builds = append(m.Builds, manifestBuild{
			Build: b.id.String(), Profile: b.profile, More: b.more, Waiting: b.kept, Uploads: b.uploads, First: b.first, Last: b.last,
		})
	}
	if err := s.storeKeys(objects); err != nil {
		return nil, err
	}
	m.Keys = s.keys
	return json.Marshal(&m)
}

// Used returns the names of all objects of the last snapshot: others are not needed once it is in its place.
func (s *State) Used() map[string]bool {
	used := make(map[string]bool)
	for _, b := range s.builds {
		for _, name := range append([]string{b.profile, b.more}, b.kept...) {
			used[name] = true
		}
		for i := range b.logs {
			used[b.logs[i].Object] = true
		}
	}
	for _, name := range s.keys {
		used[name] = true
	}
	return used
}

// store writes what changed of a build.
func (s *State) store(b *build, objects Objects) (err error) {
	if err := b.storeLogs(objects); err != nil {
		return err
	}
	more, err := json.Marshal(moreOfBuild{Program: b.program, Owners: b.owners, Days: b.sortedDays(), Logs: b.logs, Spikes: b.sortedSpikes()})
	if err != nil {
		return err
	}
	if b.more, err = objects.Put(more); err != nil {
		return err
	}
	if b.module != nil {
		data, err := s.Profile(b.id)
		if err != nil {
			return err
		}
		if b.profile, err = objects.Put(data); err != nil {
			return err
		}
	} else if len(b.waiting) > b.inKept {
		name, err := putBundle(b.waiting[b.inKept:], objects)
		if err != nil {
			return err
		}
		b.kept, b.inKept = append(slices.Clip(b.kept), name), len(b.waiting)
	}
	b.changed = false
	return nil
}

// moreOfBuild is the data of a build in a snapshot besides its profile.
type moreOfBuild struct {
	Program string   `json:"program,omitempty"`
	Owners  []string `json:"owners,omitempty"`
	Days    []Day    `json:"days"`
	Logs    []Log    `json:"logs,omitempty"`
	Spikes  []Spike  `json:"spikes,omitempty"`
}

// storeLogs writes the logs that came since the last snapshot.
func (b *build) storeLogs(objects Objects) error {
	var items []inbox.Item
	var places []*Log
	for i := range b.logs {
		if l := &b.logs[i]; l.data != nil {
			items = append(items, inbox.Item{Name: l.Name, Data: l.data})
			places = append(places, l)
		}
	}
	if len(items) == 0 {
		return nil
	}
	name, err := putBundle(items, objects)
	if err != nil {
		return err
	}
	for i, l := range places {
		l.Object, l.Index, l.data = name, i, nil
	}
	return nil
}

func putBundle(items []inbox.Item, objects Objects) (string, error) {
	data, err := inbox.Bundle(items)
	if err != nil {
		return "", err
	}
	return objects.Put(data)
}

// openObject returns the files in an object that putBundle wrote. They were within the limits
// when they came.
func openObject(name string, objects Objects) ([]inbox.Item, error) {
	data, err := objects.Get(name)
	if err != nil {
		return nil, err
	}
	const most = 1 << 40
	items, refused, err := inbox.Open(data, inbox.Limits{Files: most, File: most, Total: most})
	if err == nil && len(refused) > 0 {
		err = fmt.Errorf("object %s: %s", name, refused[0].Reason)
	}
	return items, err
}

// storeKeys writes the keys of what was seen since the last time, or all.
func (s *State) storeKeys(objects Objects) error {
	if len(s.fresh) == 0 && !s.forgot {
		return nil
	}
	all := s.forgot || len(s.keys) >= maxKeyObjects
	keys := s.fresh
	if all {
		keys = make([]inbox.Key, 0, len(s.seen))
		for k := range s.seen {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b inbox.Key) int { return bytes.Compare(a[:], b[:]) })
	data := make([]byte, 0, len(keys)*len(inbox.Key{}))
	for i := range keys {
		data = append(data, keys[i][:]...)
	}
	name, err := objects.Put(data)
	if err != nil {
		return err
	}
	if all {
		s.keys = nil
	}
	s.keys, s.fresh, s.forgot = append(slices.Clip(s.keys), name), nil, false
	return nil
}

// Restore returns the state of a snapshot.
func Restore(list []byte, objects Objects, l Limits) (*State, error) {
	return RestoreParts(list, objects, l, func(_ string, err error) error { return err })
}

// RestoreParts returns the state of a snapshot without the parts that cannot be read. It calls damaged for each of
// them, with what it is; if that returns an error, it ends with this error.
func RestoreParts(list []byte, objects Objects, l Limits, damaged func(part string, err error) error) (*State, error) {
	var m manifest
	if err := json.Unmarshal(list, &m); err != nil {
		return nil, fmt.Errorf("damaged snapshot: %w", err)
	}
	if m.Version != manifestVersion {
		return nil, fmt.Errorf("snapshot of version %d, but this cairn knows version %d only", m.Version, manifestVersion)
	}
	s := New(l)
	s.seq, s.totals = m.Seq, m.Totals
	for i := range m.Builds {
		b := &m.Builds[i]
		if err := s.restore(b, objects); err != nil {
			part := fmt.Sprintf("build %s, %d uploads", b.Build, b.Uploads)
			if err := damaged(part, fmt.Errorf("build %s of the snapshot: %w", b.Build, err)); err != nil {
				return nil, err
			}
		}
	}
	for _, name := range m.Keys {
		data, err := objects.Get(name)
		if err != nil {
			if err := damaged("keys of counted files, which are counted again if they come again", err); err != nil {
				return nil, err
			}
			s.forgot = true
			continue
		}
		s.keys = append(s.keys, name)
		for k := range slices.Chunk(data, len(inbox.Key{})) {
			s.seen[inbox.Key(k)] = true
		}
	}
	return s, nil
}

// restore adds a build, if all of it can be read.
func (s *State) restore(from *manifestBuild, objects Objects) error {
	id, err := hex.DecodeString(from.Build)
	if err != nil {
		return err
	}
	b := newBuild(prof.BuildID(id))
	b.uploads, b.first, b.last = from.Uploads, from.First, from.Last
	b.profile, b.more, b.kept = from.Profile, from.More, from.Waiting
	if from.Profile != "" {
		data, err := objects.Get(from.Profile)
		if err != nil {
			return err
		}
		p, err := mip.ReadProfile(data)
		if err != nil {
			return err
		}
		if len(p.Modules) != 1 || p.Modules[0].BuildID != b.id {
			return fmt.Errorf("object %s has the profile of another build", from.Profile)
		}
		b.setModule(&p.Modules[0])
	}
	if from.More != "" {
		if err := b.restoreMore(from.More, objects); err != nil {
			return err
		}
	}
	for _, name := range from.Waiting {
		items, err := openObject(name, objects)
		if err != nil {
			return err
		}
		for i := range items {
			b.bytes += int64(len(items[i].Data))
		}
		b.waiting = append(b.waiting, items...)
	}
	b.inKept = len(b.waiting)
	s.builds[b.id] = b
	return nil
}

func (b *build) restoreMore(name string, objects Objects) error {
	data, err := objects.Get(name)
	if err != nil {
		return err
	}
	var more moreOfBuild
	if err := json.Unmarshal(data, &more); err != nil {
		return fmt.Errorf("object %s: %w", name, err)
	}
	b.program, b.owners, b.logs = more.Program, more.Owners, more.Logs
	for _, d := range more.Days {
		b.days[d.Day] = d.Files
	}
	for i := range b.logs {
		b.logBytes += int64(b.logs[i].Size)
	}
	for i := range more.Spikes {
		b.spikes[more.Spikes[i].Place] = &more.Spikes[i]
	}
	return nil
}

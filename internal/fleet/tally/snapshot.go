package tally

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/bits"
	"slices"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/internal/fleet/inbox"
	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/prof"
)

// A snapshot is a list, the manifest, of objects that never change: pages with the entries of the builds, the objects
// that these name, and the keys of the files that were counted. Parts that did not change since the last snapshot are
// not written again. The manifest has the number of the last record in it, and replaces the one before atomically; so
// the counts and their position in the journal always agree.

// Objects stores the objects of snapshots.
type Objects interface {
	Put(data []byte) (name string, err error)
	Get(name string) ([]byte, error)
}

// Fetcher is an Objects that gets objects from far away faster if it knows which.
type Fetcher interface {
	Fetch(names []string)
}

// Checker is an Objects that can check an object without having all of it in memory.
type Checker interface {
	Check(name string) error
}

const manifestVersion = 2

// manifest is the list of a snapshot.
type manifest struct {
	Version int        `json:"version"`
	Seq     uint64     `json:"seq"`
	Totals  Totals     `json:"totals"`
	Pages   []string   `json:"pages"`  // objects, empty for pages without builds
	Copies  []string   `json:"copies"` // of them: a damaged page would be the loss of many builds
	Layers  []keyLayer `json:"layers"` // of keys

	// Of version 1:

	Builds []manifestBuild `json:"builds,omitempty"`
	Keys   []string        `json:"keys,omitempty"`
}

// page is an object with the entries of some builds, by id.
type page struct {
	Builds []entry `json:"builds"`
}

// pages are the objects with the entries of all builds, by hashes of their ids.
type pages struct {
	names   []string // their number is a power of two
	copies  []string
	changed []bool
}

const buildsOfPage = 512 // about

func (p *pages) of(id prof.BuildID) int {
	h := fnv.New32a()
	h.Write([]byte(id))
	sum := h.Sum32()
	sum = (sum ^ sum>>15) * 0x2c1b3c6d
	return int(sum^sum>>12) & (len(p.names) - 1)
}

// stale makes the next snapshot write the page of a build.
func (p *pages) stale(id prof.BuildID) {
	if len(p.names) > 0 {
		p.changed[p.of(id)] = true
	}
}

// grow makes room for this many builds.
func (p *pages) grow(builds int) {
	n := 1 << bits.Len(uint(builds/buildsOfPage))
	if n <= len(p.names) {
		return
	}
	p.names, p.copies, p.changed = make([]string, n), make([]string, n), make([]bool, n)
	for i := range p.changed {
		p.changed[i] = true
	}
}

// Store writes what changed of the builds. A snapshot soon after it has little to write.
func (s *State) Store() error {
	for _, b := range s.builds {
		if !b.dirty {
			continue
		}
		if err := s.store(b); err != nil {
			return err
		}
	}
	return nil
}

// Snapshot writes what changed and returns the manifest.
func (s *State) Snapshot() (list []byte, err error) {
	if err := s.Store(); err != nil {
		return nil, err
	}
	s.pages.grow(len(s.builds))
	for id, b := range s.builds {
		if b.dirty {
			s.pages.stale(id)
		}
	}
	if err := s.storePages(); err != nil {
		return nil, err
	}
	if err := s.keys.store(); err != nil {
		return nil, err
	}
	s.settle()
	return json.Marshal(&manifest{Version: manifestVersion, Seq: s.seq, Totals: s.totals, Pages: s.pages.names, Copies: s.pages.copies, Layers: s.keys.layers})
}

// storePages writes the pages that changed.
func (s *State) storePages() error {
	changed := make(map[int][]*build)
	for i, c := range s.pages.changed {
		if c {
			changed[i] = nil
		}
	}
	for id, b := range s.builds {
		if i := s.pages.of(id); s.pages.changed[i] {
			changed[i] = append(changed[i], b)
		}
	}
	for i, builds := range changed {
		stablesort.Func(builds, func(a, b *build) int { return cmp.Compare(a.id, b.id) })
		var p page
		for _, b := range builds {
			e := b.entry
			e.Build = b.id.String()
			p.Builds = append(p.Builds, e)
		}
		name, second := "", ""
		if len(builds) > 0 {
			data, err := json.Marshal(&p)
			if err != nil {
				return err
			}
			if name, err = s.objects.Put(data); err != nil {
				return err
			}
			if second, err = s.objects.Put(append(data, '\n')); err != nil { // objects with the same content are one
				return err
			}
		}
		s.pages.names[i], s.pages.copies[i], s.pages.changed[i] = name, second, false
		for _, b := range builds {
			b.dirty = false
		}
	}
	return nil
}

// Used returns the names of all objects of the last snapshot: others are not needed once it is in its place.
func (s *State) Used() map[string]bool {
	used := make(map[string]bool)
	for _, b := range s.builds {
		b.objects(func(name string) { used[name] = true })
	}
	for _, name := range slices.Concat(s.pages.names, s.pages.copies) {
		used[name] = true
	}
	s.keys.used(used)
	return used
}

// storeLogs writes the logs that came since the last time. If logs are in many objects, the small ones are joined.
func (f *found) storeLogs(objects Objects) error {
	const many, small = 32, 1 << 20
	sizes := make(map[string]int)
	for i := range f.logs {
		if f.logs[i].Object != "" {
			sizes[f.logs[i].Object] += f.logs[i].Size
		}
	}
	var items []inbox.Item
	var places []*Log
	joined := 0 // bytes
	for i := range f.logs {
		l := &f.logs[i]
		data := l.data
		if data == nil && len(sizes) > many && sizes[l.Object] < small && joined < maxJoined {
			var err error
			if data, err = l.read(objects); err != nil {
				return err
			}
			joined += len(data)
		}
		if data != nil {
			items = append(items, inbox.Item{Name: l.Name, Data: data})
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
	s := New(objects, l)
	s.seq, s.totals = m.Seq, m.Totals
	var err error
	switch n := len(m.Pages); {
	case m.Version == 1:
		err = s.restoreFirst(&m, damaged)
	case m.Version != manifestVersion:
		err = fmt.Errorf("snapshot of version %d, but this cairn knows versions up to %d only", m.Version, manifestVersion)
	case n == 0 || n&(n-1) != 0 || n != len(m.Copies):
		err = fmt.Errorf("damaged snapshot: it has %d pages", n)
	default:
		s.pages = pages{m.Pages, m.Copies, make([]bool, n)}
		s.fetch(m.Pages)
		for i := range m.Pages {
			if err := s.restorePage(i, damaged); err != nil {
				return nil, err
			}
		}
	}
	if err != nil {
		return nil, err
	}
	for _, layer := range m.Layers {
		err := s.keys.restore(layer, func(err error) error {
			return damaged("keys of counted files, which are counted again if they come again", err)
		})
		if err != nil {
			return nil, err
		}
	}
	return s, nil
}

// restorePage adds the builds of a page whose objects can be read.
func (s *State) restorePage(i int, damaged func(part string, err error) error) error {
	name := s.pages.names[i]
	if name == "" {
		return nil
	}
	var p page
	data, err := s.objects.Get(name)
	if err != nil {
		s.pages.changed[i] = true
		data, err = s.objects.Get(s.pages.copies[i])
	}
	if err == nil {
		err = json.Unmarshal(data, &p)
	}
	if err != nil {
		s.pages.changed[i] = true
		return damaged(fmt.Sprintf("all builds of page %d of %d of the list of builds", i+1, len(s.pages.names)), err)
	}
	var names []string
	for k := range p.Builds {
		p.Builds[k].objects(func(name string) { names = append(names, name) })
	}
	s.fetch(names)
	for k := range p.Builds {
		e := &p.Builds[k]
		b, err := buildOf(e)
		if err == nil {
			err = s.check(b)
		}
		if err != nil {
			part := fmt.Sprintf("build %s, %d uploads", e.Build, e.Uploads)
			if err := damaged(part, fmt.Errorf("build %s of the snapshot: %w", e.Build, err)); err != nil {
				return err
			}
			s.pages.changed[i] = true
			continue
		}
		s.builds[b.id] = b
		s.account(b, 1)
	}
	return nil
}

// fetch gets objects that are read soon. Those that cannot be read, their reader reports.
func (s *State) fetch(names []string) {
	if f, ok := s.objects.(Fetcher); ok {
		f.Fetch(slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == "" }))
	}
}

// check checks the objects of a build, which are read when they are needed.
func (s *State) check(b *build) (err error) {
	c, ok := s.objects.(Checker)
	if !ok {
		return nil
	}
	b.objects(func(name string) {
		if err == nil {
			err = c.Check(name)
		}
	})
	return err
}

// manifestBuild is a build in a manifest of version 1.
type manifestBuild struct {
	Build   string   `json:"build"`
	Profile string   `json:"profile,omitempty"`
	More    string   `json:"more,omitempty"`
	Waiting []string `json:"waiting,omitempty"`
	Uploads uint64   `json:"uploads"`
	First   int64    `json:"first"`
	Last    int64    `json:"last"`
}

// restoreFirst restores a snapshot of version 1, which has no pages and no layers.
func (s *State) restoreFirst(m *manifest, damaged func(part string, err error) error) error {
	for i := range m.Builds {
		from := &m.Builds[i]
		if err := s.restoreBuild(from); err != nil {
			part := fmt.Sprintf("build %s, %d uploads", from.Build, from.Uploads)
			if err := damaged(part, fmt.Errorf("build %s of the snapshot: %w", from.Build, err)); err != nil {
				return err
			}
		}
	}
	for _, name := range m.Keys {
		data, err := s.objects.Get(name)
		if err == nil && len(data)%keySize != 0 {
			err = fmt.Errorf("object %s has %d bytes, which are no keys", name, len(data))
		}
		if err == nil && len(data) > 0 {
			layer := keyLayer{Parts: []keyPart{{Name: name, Count: len(data) / keySize}}}
			err = s.keys.restore(layer, func(err error) error { return err })
		}
		if err != nil {
			if err := damaged("keys of counted files, which are counted again if they come again", err); err != nil {
				return err
			}
		}
	}
	return nil
}

// restoreBuild adds a build of version 1.
func (s *State) restoreBuild(from *manifestBuild) error {
	b, err := buildOf(&entry{Build: from.Build, Uploads: from.Uploads, First: from.First, Last: from.Last, Profile: from.Profile, More: from.More})
	if err != nil {
		return err
	}
	b.dirty = true
	sh := b.share("")
	sh.First = true
	if from.More != "" {
		more, err := readMore(from.More, s.objects)
		if err != nil {
			return err
		}
		b.Program, b.Owners, b.Days, b.Logs = more.Program, more.Owners, more.Days, len(more.Logs)
		sh.Places = len(more.Spikes)
		for i := range more.Logs {
			sh.Logs += int64(more.Logs[i].Size)
			if name := more.Logs[i].Object; !slices.Contains(b.Bundles, name) {
				b.Bundles = append(b.Bundles, name)
			}
		}
	}
	if from.Profile != "" {
		b.Mapped = true
		data, err := s.objects.Get(from.Profile)
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
		b.Program, b.Runs = p.Modules[0].Module, p.Modules[0].Raws
	}
	for _, name := range from.Waiting {
		items, err := openObject(name, s.objects)
		if err != nil {
			return err
		}
		w := waiting{Object: name, Files: len(items)}
		for i := range items {
			w.Bytes += int64(len(items[i].Data))
		}
		sh.Waiting += w.Bytes
		b.Waiting = append(b.Waiting, w)
	}
	s.builds[b.id] = b
	s.account(b, 1)
	return nil
}

package depot

import (
	"context"
	"strings"
	"sync"

	"github.com/cairnprof/cairn/internal/objectstore"
)

// sweep knows which objects of a store may be removed.
type sweep struct {
	mu     sync.Mutex
	there  map[string]bool // objects that may be in the store: those of snapshots, and true for those that were sent
	set    bool            // this collector has replaced the head since the last Keep
	unused []string        // objects to be removed

	snapshots int      // heads that this collector has set
	listing   bool     // a list is under way
	listed    []string // names of all objects, as they were at some time before
}

// surveyEvery is after how many of its snapshots a collector asks for a list of all objects. It does so after the first.
const surveyEvery = 100

// add records that an object may be in the store from now on.
func (s *sweep) add(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.there[name] = true
}

// found records that an object may be there, whoever sent it.
func (s *sweep) found(name string) {
	if _, known := s.there[name]; !known {
		s.there[name] = false
	}
}

// surveyed returns the list of all objects, if there is one.
func (s *sweep) surveyed() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := s.listed
	s.listed = nil
	return names
}

// replaced records that this collector has replaced the head, after that survey.
func (s *sweep) replaced(survey []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set = true
	s.snapshots++
	for _, name := range survey {
		s.found(name)
	}
}

// keep decides what is removed. A collector that has read the head of another one removes nothing: it knows only one of
// the lists. Of what it has not sent it forgets what that head does not use, which its sender removes.
func (s *sweep) keep(used map[string]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, sent := range s.there {
		switch {
		case used[name]:
			continue
		case s.set:
			s.unused = append(s.unused, name)
		case sent:
			continue
		}
		delete(s.there, name)
	}
	s.set = false
	for name := range used {
		if name != "" {
			s.found(name)
		}
	}
}

// Sweep removes the objects from the store that were not used in the last two snapshots when Keep was called. What it
// cannot remove, a later list of all objects has again.
func (b *Bucket) Sweep() error {
	s := &b.sweep
	s.mu.Lock()
	unused := s.unused
	s.unused = nil
	survey := s.snapshots%surveyEvery == 1 && !s.listing && s.listed == nil
	s.listing = s.listing || survey
	s.mu.Unlock()
	if survey {
		go b.survey()
	}
	return each(unused, func(name string) error {
		ctx, cancel := patient()
		defer cancel()
		return b.store.Delete(ctx, objectPrefix+name)
	})
}

// survey lists all objects.
func (b *Bucket) survey() {
	all, err := b.store.ListAll(context.Background(), objectPrefix, "")
	b.sweep.mu.Lock()
	defer b.sweep.mu.Unlock()
	b.sweep.listing = false
	if err == nil {
		b.sweep.listed = objectNames(all)
	}
}

// objectNames returns the names of objects of snapshots. What else is below the prefix is not the collector's: files of
// others, or another place.
func objectNames(all []objectstore.Object) []string {
	names := make([]string, 0, len(all))
	for i := range all {
		name := strings.TrimPrefix(all[i].Name, objectPrefix)
		if sum, random, ok := strings.Cut(name, "-"); ok && isName(sum) && len(random) == 2*randomSize {
			names = append(names, name)
		}
	}
	return names
}

package tally

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/internal/profile/merge"
	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/prof"
)

var (
	// ErrNone reports that there is no such program, build or file.
	ErrNone = errors.New("no such program or build")
	// ErrAmbiguous reports a prefix of several build ids.
	ErrAmbiguous = errors.New("several builds begin with this id")
)

// Select returns the builds of a program whose id, in hexadecimal, begins with prefix; a complete
// id selects that build only. With an empty prefix it returns all builds of the program,
// ascending. If mapped is set, it returns only builds with a map, which have profiles.
func Select(builds []Build, program, prefix string, mapped bool) ([]prof.BuildID, error) {
	var ids []prof.BuildID
	for i := range builds {
		b := &builds[i]
		if mapped && !b.Mapped || b.Program != program || !strings.HasPrefix(b.Build, prefix) {
			continue
		}
		id, err := hex.DecodeString(b.Build)
		if err != nil {
			return nil, fmt.Errorf("build %.40q: %w", b.Build, err)
		}
		if b.Build == prefix {
			return []prof.BuildID{prof.BuildID(id)}, nil
		}
		ids = append(ids, prof.BuildID(id))
	}
	slices.Sort(ids)
	switch {
	case len(ids) == 0:
		return nil, ErrNone
	case len(ids) > 1 && prefix != "":
		return nil, fmt.Errorf("%w: %s and %s", ErrAmbiguous, ids[0], ids[1])
	}
	return ids, nil
}

// Query selects builds of the list; the zero value selects all.
type Query struct {
	Programs []string `json:"programs,omitempty"` // only builds that belong to one of these; nil for all
	Named    bool     `json:"named,omitempty"`    // only those of Program
	Program  string   `json:"program,omitempty"`
	IDs      []string `json:"ids,omitempty"` // only builds with these ids, in hexadecimal; nil for all
	After    *Cursor  `json:"after,omitempty"`
	Limit    int      `json:"limit,omitempty"` // how many at most, 0 for all
}

// Cursor is the position of a build in the list of all, which is in the order of programs and then of ids.
type Cursor struct {
	Program string `json:"program"`
	Build   string `json:"build"` // in hexadecimal
}

func (c Cursor) compare(o Cursor) int {
	return cmp.Or(cmp.Compare(c.Program, o.Program), cmp.Compare(c.Build, o.Build))
}

// Cursor returns the position of a build.
func (b *Build) Cursor() Cursor { return Cursor{b.Program, b.Build} }

// Builds lists the builds of a query by program, then by id.
func (s *State) Builds(q Query) []Build {
	var chosen []candidate
	if q.IDs != nil {
		for _, id := range q.IDs {
			if raw, err := hex.DecodeString(id); err == nil && s.builds[prof.BuildID(raw)] != nil {
				chosen = q.add(chosen, s.builds[prof.BuildID(raw)])
			}
		}
	} else {
		for _, b := range s.builds {
			chosen = q.add(chosen, b)
		}
	}
	chosen = q.first(chosen)
	list := make([]Build, len(chosen))
	for i := range chosen {
		list[i] = chosen[i].b.line()
	}
	return list
}

// candidate is a build with its position in the list.
type candidate struct {
	at Cursor
	b  *build
}

// add adds a build if the query selects it. Of a page, no more candidates are kept than a few times its length.
func (q *Query) add(chosen []candidate, b *build) []candidate {
	name := b.name()
	switch {
	case q.Named && q.Program != name:
		return chosen
	case q.Programs != nil && !slices.ContainsFunc(b.Owners, func(owner string) bool { return slices.Contains(q.Programs, owner) }):
		return chosen
	}
	c := candidate{Cursor{name, b.id.String()}, b}
	if q.After != nil && c.at.compare(*q.After) <= 0 {
		return chosen
	}
	if chosen = append(chosen, c); q.Limit > 0 && len(chosen) > 4*q.Limit {
		chosen = q.first(chosen)
	}
	return chosen
}

// first sorts candidates and returns those on the page.
func (q *Query) first(chosen []candidate) []candidate {
	stablesort.Func(chosen, func(a, b candidate) int { return a.at.compare(b.at) })
	if q.Limit > 0 && len(chosen) > q.Limit {
		clear(chosen[q.Limit:])
		chosen = chosen[:q.Limit]
	}
	return chosen
}

// Join returns the profile of several builds, each given as the file that State.Profile returns,
// in ascending order of the build ids. The result is what cairn merge writes for the same runs.
func Join(files [][]byte) ([]byte, error) {
	if len(files) == 1 {
		return files[0], nil
	}
	sum := new(prof.Profile)
	for _, data := range files {
		p, err := mip.ReadProfile(data)
		if err != nil {
			return nil, err
		}
		if err := merge.Profiles(sum, p); err != nil {
			return nil, err
		}
	}
	return writeProfile(sum)
}

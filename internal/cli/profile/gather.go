package profile

import (
	"cmp"
	"context"

	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/kind"
	"github.com/cairnprof/cairn/internal/profile/rawfiles"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// Gathered selects what Gather merges.
type Gathered struct {
	// Paths are files of any kind that merge accepts, Found the files below directories, whose
	// modules with probes are added, once each.
	Paths, Found []string
	// Objects are the objects and archives below directories: what no module has of them is
	// counted as well, unless OnlyRan is set.
	Objects []string
	Name    string // of what is made, for messages: "the report"
	// OnlyRan leaves out those modules of Found that have no runs.
	OnlyRan bool
}

// Gather merges files into one profile. It also returns the files that were rejected, with the
// reasons.
func Gather(ctx context.Context, s *verb.Streams, g Gathered) (*prof.Profile, []rawfiles.Complaint, error) {
	in := inputs{found: g.Found, objects: g.Objects}
	if err := in.addAll(g.Paths); err != nil {
		return nil, nil, err
	}
	in.dedupe()
	f := mergeFlags{traces: runFlags{rawfiles.Traces{Limit: DefaultTraces, Weight: 1}}, onlyRan: g.OnlyRan}
	p := new(prof.Profile)
	sum, err := f.mergeInputs(ctx, s, p, &in, cmp.Or(g.Name, "the profile"))
	if err != nil {
		return nil, nil, err
	}
	return p, sum.Refused, nil
}

// HasMap reports whether the file at path is a map, or a binary that has one.
func HasMap(path string) bool {
	head, err := verb.ReadHead(path)
	if err != nil {
		return false
	}
	if kind.Of(head) == kind.Map {
		return true
	}
	bin, err := objfile.Open(path)
	if err != nil {
		return false
	}
	defer bin.Close()
	data, err := MapSection(bin)
	return err == nil && data != nil
}

// Package gather makes profiles of what commands are given in any order: raw files and packs of them, programs and their
// maps, profiles, objects, and directories with all of these.
package gather

import (
	"cmp"
	"context"

	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/kind"
	"github.com/cairnprof/cairn/internal/profile/rawfiles"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// DefaultTraces is the number of traces that a profile keeps: with two bytes per function and
// a few thousand functions, a few megabytes.
const DefaultTraces = 1000

// Files is what Profile merges.
type Files struct {
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

// Profile merges files into one profile. It also returns the files that were rejected, with the
// reasons.
func Profile(ctx context.Context, s *verb.Streams, g Files) (*prof.Profile, []rawfiles.Complaint, error) {
	in := Inputs{found: g.Found, objects: g.Objects}
	if err := in.AddAll(g.Paths); err != nil {
		return nil, nil, err
	}
	in.Dedupe()
	p := new(prof.Profile)
	opt := Options{Traces: rawfiles.Traces{Limit: DefaultTraces, Weight: 1}, OnlyRan: g.OnlyRan}
	sum, err := in.Merge(ctx, s, p, cmp.Or(g.Name, "the profile"), opt)
	if err != nil {
		return nil, nil, err
	}
	noteBuilds(s, p)
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

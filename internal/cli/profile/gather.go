package profile

import (
	"context"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/profile/rawfiles"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// Gather merges files of any kind that merge accepts into one profile. It also returns the
// files that were rejected, with the reasons.
func Gather(ctx context.Context, s *verb.Streams, paths []string) (*prof.Profile, []rawfiles.Complaint, error) {
	var in inputs
	for _, path := range paths {
		if err := in.add(path); err != nil {
			return nil, nil, err
		}
	}
	in.chooseParts()
	in.dedupe()
	f := mergeFlags{traces: runFlags{rawfiles.Traces{Limit: DefaultTraces, Weight: 1}}}
	p := new(prof.Profile)
	sum, err := f.mergeInputs(ctx, s, p, &in, "the report")
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
	if mip.Detect(head) == mip.KindMap {
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

package gather

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/cairnprof/cairn/internal/profile/merge"
	"github.com/cairnprof/cairn/internal/profile/rawfiles"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// Lock reads the profile at path and locks it until unlock is called. It returns the
// path of the file to be replaced, with all links resolved.
func Lock(ctx context.Context, path string) (file string, p *prof.Profile, unlock func(), err error) {
	if verb.IsURL(path) {
		return "", nil, nil, fmt.Errorf("%s: a collector's profile cannot be changed here: cairn push sends raw files to it", path)
	}
	file, err = filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil, nil, fmt.Errorf("%s: profile does not exist: create it first (cairn create -o %s BINARY), or use -o", path, path)
	} else if err != nil {
		return "", nil, nil, err
	}
	if unlock, err = verb.LockProfile(ctx, file); err != nil {
		return "", nil, nil, err
	}
	if p, err = verb.ReadProfile(file); err != nil {
		unlock()
		return "", nil, nil, err
	}
	return file, p, unlock, nil
}

// Options are how files are merged.
type Options struct {
	Traces  rawfiles.Traces
	Again   bool // merge runs again that the profile contains already
	OnlyRan bool // leave out those modules of directories that have no runs
}

// Merge adds the inputs to p: maps first, as raw files need them, then
// profiles, which may bring more maps, then raw files.
func (in *Inputs) Merge(ctx context.Context, s *verb.Streams, p *prof.Profile, name string, opt Options) (*Summary, error) {
	sum := &Summary{Profile: name}
	for _, path := range in.Maps {
		if err := AddMap(s, p, path); err != nil {
			return nil, err
		}
	}
	for _, path := range in.Profiles {
		other, err := verb.ReadProfile(path)
		if err != nil {
			in.addError(path, rawfiles.Damaged, verb.TrimPath(err, path))
			continue
		}
		add := merge.Join
		if opt.Again {
			add = merge.Profiles
		}
		switch err := add(p, other); {
		case errors.Is(err, merge.ErrHeld):
			sum.Repeated++
		case errors.Is(err, merge.ErrMachine):
			return nil, fmt.Errorf("%s: %w: merge those of each into a separate profile", path, err)
		case errors.Is(err, merge.ErrPartly):
			in.addError(path, rawfiles.Repeated, err.Error()+": merge raw files, or give --again to count these runs twice")
		case err != nil:
			in.addError(path, rawfiles.Conflict, err.Error())
		default:
			sum.Profiles++
		}
	}
	found := in.addFound(s, p)
	in.nameModules(p)
	raws := rawfiles.New(in.Raws, in.packed, p, name, opt.Traces)
	raws.Again = opt.Again
	stop := verb.StartProgress(s, "raw files", &raws.Done, len(in.Raws))
	added, bad := raws.Run(ctx)
	stop()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("interrupted; %s is unchanged", name)
	}
	if err := merge.Profiles(p, added); err != nil {
		return nil, err
	}
	for i := range p.Modules {
		merge.Sample(&p.Modules[i], opt.Traces.Limit)
	}
	sum.Raws = len(in.Raws) - len(bad) - raws.Repeated
	sum.Repeated += raws.Repeated
	sum.Running, sum.Changed = raws.Running, raws.Changed
	sum.Refused = append(in.Bad, bad...)
	sum.Idle = idle(p, found, opt.OnlyRan)
	if !opt.OnlyRan {
		var err error
		if sum.Unlinked, err = in.addObjects(s, p); err != nil {
			return nil, err
		}
	}
	sum.modules(p, added)
	return sum, nil
}

package cli

import (
	"fmt"

	"github.com/cairnprof/cairn/format/sampleprof"
	"github.com/cairnprof/cairn/internal/logfile"
)

// mergeProfiles sums the profiles that are given in place of samples.
func (f *profgenFlags) mergeProfiles(s *Streams, args []string) error {
	if err := f.checkMerge(args); err != nil {
		return err
	}
	paths, err := logfile.Expand(args)
	if err != nil {
		return err
	}
	var m sampleprof.Merger
	differ := 0
	for _, path := range paths {
		p, err := readSampleProfile(s, path)
		if err != nil {
			return err
		}
		n, err := m.Add(p)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		differ += n
	}
	if differ > 0 {
		note(s, "left out, of other code than before, as checksums say: %s", plural(differ, "function"))
	}
	sum := m.Sum()
	if sum.HasContexts {
		return writeFile(s, f.out, f.writeContexts(s, sum.Contexts, f.format))
	}
	return writeFile(s, f.out, f.writeFlat(s, sum.Profile(), f.format))
}

// readSampleProfile reads a profile that is text.
func readSampleProfile(s *Streams, path string) (*sampleprof.File, error) {
	stream, err := logfile.OpenStream(path, s.In)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	p, err := sampleprof.Read(stream)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", stream.Name, err)
	}
	return p, nil
}

// checkMerge checks the flags of a run that sums profiles.
func (f *profgenFlags) checkMerge(args []string) error {
	switch {
	case len(args) == 0:
		return usagef("profgen --merge: which profiles?")
	case len(f.binaries) > 0 || len(f.perfData) > 0 || len(f.perfScript) > 0 || f.unsymbolized != "":
		return usagef("profgen --merge sums profiles: it takes no samples and no binary")
	case f.explained || f.onlyCount:
		return usagef("profgen --merge sums profiles: leave out --explain and --skip-symbolization")
	case f.format != formatText && f.format != formatExtBinary:
		return usagef("--format %s: profiles are summed to text or extbinary", f.format)
	}
	return f.check()
}

package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/format/sampleprof"
	"github.com/cairnprof/cairn/internal/calls/logfile"
)

// mergeProfiles sums the profiles that are given in place of samples.
func (f *profgenFlags) mergeProfiles(s *Streams, args []string) error {
	if err := f.checkMerge(args); err != nil {
		return err
	}
	inputs, err := f.weighted(args)
	if err != nil {
		return err
	}
	var m sampleprof.Merger
	differ := 0
	for _, in := range inputs {
		p, err := readSampleProfile(s, in.path)
		if err != nil {
			return err
		}
		p.Scale(in.weight)
		n, err := m.Add(p)
		if err != nil {
			return fmt.Errorf("%s: %w", in.path, err)
		}
		differ += n
	}
	if differ > 0 {
		note(s, "left out, of other code than before, as checksums say: %s", plural(differ, "function"))
	}
	sum := m.Sum()
	if len(sum.Contexts) == 0 {
		return fmt.Errorf("%s: there is no function in it, nor in what else is to be summed", inputs[0].path)
	}
	return writeFile(s, f.out, f.write(s, sum, f.format))
}

// weightedInput is a profile to be summed.
type weightedInput struct {
	path   string
	weight uint64 // what all counts are multiplied by
}

// weighted returns the profiles to be summed.
func (f *profgenFlags) weighted(args []string) ([]weightedInput, error) {
	var inputs []weightedInput
	for _, x := range f.weights {
		number, path, _ := strings.Cut(x, ",")
		weight, err := strconv.ParseUint(number, 10, 64)
		if err != nil || weight == 0 || path == "" {
			return nil, usagef("--weighted-input %s: give a number of 1 or more, a comma and a file", x)
		}
		inputs = append(inputs, weightedInput{path, weight})
	}
	paths, err := logfile.Expand(args)
	for _, path := range paths {
		inputs = append(inputs, weightedInput{path, 1})
	}
	return inputs, err
}

// readSampleProfile reads a profile.
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
	case len(args) == 0 && len(f.weights) == 0:
		return usagef("profgen --merge: which profiles?")
	case len(f.binaries) > 0 || len(f.perfData) > 0 || len(f.perfScript) > 0 || f.unsymbolized != "":
		return usagef("profgen --merge sums profiles: it takes no samples and no binary")
	case f.explained || f.onlyCount:
		return usagef("profgen --merge sums profiles: leave out --explain and --skip-symbolization")
	case f.json || f.inlines || f.minPercent != 0 || f.debugBinary != "" || f.recount:
		return usagef("profgen --merge sums profiles: leave out --json, --inlines, --min-percent, --debug-binary and --update-total-samples")
	case f.format != formatText && f.format != formatExtBinary:
		return usagef("--format %s: profiles are summed to text or extbinary", f.format)
	}
	return f.check()
}

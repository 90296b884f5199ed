package samples

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/format/sampleprof"
	"github.com/cairnprof/cairn/internal/logfile"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/samples/profgen"
	"github.com/cairnprof/cairn/internal/samples/unwind"
	"github.com/cairnprof/cairn/internal/verb"
)

// mergeProfiles sums the profiles that are given in place of samples.
func (f *ProfgenFlags) mergeProfiles(s *verb.Streams, args []string) error {
	if f.from != "" && !f.merge {
		args = append(args, f.from)
	}
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
		verb.Note(s, "left out, of other code than before, as checksums say: %s", report.Plural(differ, "function"))
	}
	sum := m.Sum()
	if len(sum.Contexts) == 0 {
		return fmt.Errorf("%s: there is no function in it, nor in what else is to be summed", inputs[0].path)
	}
	if f.from != "" && !sum.HasContexts {
		functions := sum.Profile()
		profgen.DropAmbiguous(functions)
		sum.SetProfile(functions)
	}
	if f.preinline && sum.HasContexts {
		if err := f.preinlineProfile(s, sum); err != nil {
			return err
		}
	}
	return verb.WriteFile(s, f.out, f.write(s, sum, f.Format))
}

// preinlineProfile runs the pre-inliner on a profile, by the sizes of the binaries that it
// is of.
func (f *ProfgenFlags) preinlineProfile(s *verb.Streams, p *sampleprof.File) error {
	r := ProfgenRun{ProfgenFlags: f}
	if err := r.loadBinaries(s); err != nil {
		return err
	}
	all := &unwind.Result{Contexts: []unwind.Context{{}}}
	for _, b := range r.code.Binaries() {
		for _, x := range b.Ranges() {
			if at := b.From(x.Lo); at < b.End {
				all.Contexts[0].Ranges = append(all.Contexts[0].Ranges, unwind.Count{From: at, To: at, Count: 1})
			}
		}
	}
	var probes *profgen.Probes
	if r.lines == nil {
		var err error
		if probes, err = profgen.ReadProbes(r.code, r.programs, nil); err != nil {
			return err
		}
	}
	p.Contexts, p.PreInlined = r.preinlined(s, p.Contexts, all, probes), true
	f.before = r.before
	return nil
}

// weightedInput is a profile to be summed.
type weightedInput struct {
	path   string
	weight uint64 // what all counts are multiplied by
}

// weighted returns the profiles to be summed.
func (f *ProfgenFlags) weighted(args []string) ([]weightedInput, error) {
	var inputs []weightedInput
	for _, x := range f.weights {
		number, path, _ := strings.Cut(x, ",")
		weight, err := strconv.ParseUint(number, 10, 64)
		if err != nil || weight == 0 || path == "" {
			return nil, verb.Usagef("--weighted-input %s: give a number of 1 or more, a comma and a file", x)
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
func readSampleProfile(s *verb.Streams, path string) (*sampleprof.File, error) {
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
func (f *ProfgenFlags) checkMerge(args []string) error {
	switch {
	case len(args) == 0 && len(f.weights) == 0:
		return verb.Usagef("profgen --merge: which profiles?")
	case f.from != "" && f.merge:
		return verb.Usagef("--%s takes the place of samples: with --merge, write %s behind the flags", llvmProfileFlag, f.from)
	case len(f.Binaries) > 0 && f.from == "" || len(f.perfData) > 0 || len(f.perfScript) > 0 || f.unsymbolized != "":
		return verb.Usagef("profgen --merge sums profiles: it takes no samples and no binary")
	case f.explained || f.onlyCount:
		return verb.Usagef("profgen --merge sums profiles: leave out --explain and --skip-symbolization")
	case f.json || f.inlines || f.minPercent != 0 || f.debugBinary != "" || f.recount:
		return verb.Usagef("profgen --merge sums profiles: leave out --json, --inlines, --min-percent, --debug-binary and --update-total-samples")
	case f.Format != formatText && f.Format != formatExtBinary:
		return verb.Usagef("--format %s: profiles are summed to text or extbinary", f.Format)
	}
	return f.check()
}

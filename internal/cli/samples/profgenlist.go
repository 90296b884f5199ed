package samples

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cairnprof/cairn/internal/binary/asmtext"
	"github.com/cairnprof/cairn/internal/inputs/sampleset"
	"github.com/cairnprof/cairn/internal/samples/listing"
	"github.com/cairnprof/cairn/internal/samples/pipeline"
	"github.com/cairnprof/cairn/internal/samples/profgen"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/sample"
)

// listFlags are the flags of llvm-profgen that print the code of the binaries, or data of the
// samples beside the profile.
type listFlags struct {
	disassembly bool
	functions   []string
	sources     bool
	canonical   bool
	probes      bool
	syntax      string
	maps        bool
	density     bool
	cutoff      uint64  // of the density
	enough      float64 // density
	failed      error   // to print mappings
}

const disassemblyFlag = "show-disassembly-only"

func (f *listFlags) register(c *cobra.Command, fl *pflag.FlagSet) {
	fl.BoolVar(&f.disassembly, disassemblyFlag, false, "instead of a profile, print the machine code of the binaries; needs no INPUT")
	fl.StringSliceVar(&f.functions, "disassemble-functions", nil, "with --show-disassembly-only: only the symbols with these `names`")
	fl.BoolVar(&f.sources, "show-source-locations", false, "with --show-disassembly-only: also print functions and relative lines")
	fl.BoolVar(&f.canonical, "show-canonical-fname", false, "with --show-disassembly-only: print names without the suffixes of compilers")
	fl.BoolVar(&f.probes, "show-pseudo-probe", false, "with --show-disassembly-only: also print pseudo probes; otherwise print which functions have some")
	fl.StringVar(&f.syntax, "x86-asm-syntax", "att", "with --show-disassembly-only: the `syntax`, att or intel")
	verb.Values(c, "x86-asm-syntax", "att", "intel")
	verb.Rules(c, verb.Needs("show-source-locations", disassemblyFlag), verb.Needs("disassemble-functions", disassemblyFlag))
	fl.BoolVar(&f.maps, "show-mmap-events", false, "print the mappings of the input to standard output")
	fl.BoolVar(&f.density, "show-density", false, "print how many samples the hot functions have per location")
	fl.Uint64Var(&f.cutoff, "profile-density-cutoff-hot", 990000, "with --show-density: hot functions have this `share` of all counts, in millionths")
	fl.Float64Var(&f.enough, "profile-density-threshold", 0, "suggest more samples if the density is below this `number`")
	for _, name := range []string{"disassemble-functions", "show-source-locations", "show-canonical-fname", "show-pseudo-probe", "x86-asm-syntax", "show-mmap-events", "show-density", "profile-density-cutoff-hot", "profile-density-threshold"} {
		fl.Lookup(name).Hidden = true // docs/profgen-reference.md lists them
	}
}

// check validates the values of flags.
func (f *listFlags) check() error {
	switch {
	case f.syntax != "att" && f.syntax != "intel":
		return verb.Usagef("--x86-asm-syntax %s: must be att or intel", f.syntax)
	case f.cutoff > 1e6:
		return verb.Usagef("--profile-density-cutoff-hot %d: must be at most 1000000", f.cutoff)
	}
	return nil
}

// printMapping prints a mapping as llvm-profgen does, unless printing failed before.
func (f *listFlags) printMapping(w io.Writer, m *sample.Mapping) {
	if f.failed == nil {
		_, f.failed = fmt.Fprintf(w, "Mmap: Binary %s loaded at %#x: \n", m.Path, m.Start)
	}
}

// show prints the data requested beside a profile.
func (f *listFlags) show(s *verb.Streams, made *pipeline.Result) error {
	if f.failed != nil || made.Profile == nil {
		return f.failed
	}
	if f.probes {
		for _, p := range made.Programs {
			if err := listing.WriteDescriptions(s.Out, p); err != nil {
				return err
			}
		}
	}
	if !f.density && f.enough == 0 {
		return nil
	}
	density := profgen.Density(made.Profile.Contexts, f.cutoff)
	if density < f.enough {
		verb.Note(s, "the profile has %.1f samples per location in its hot functions, and %.1f are wanted: record %.1f times as many samples", density, f.enough, f.enough/density)
	}
	if !f.density {
		return nil
	}
	_, err := fmt.Fprintf(s.Out, "Functions with density >= %.1f account for %.2f%% total sample counts.\n", density, float64(f.cutoff)/1e4)
	return err
}

// list prints the code of the binaries.
func (f *profgenFlags) list(s *verb.Streams) error {
	if len(f.binaries) == 0 {
		return verb.Usagef("profgen: no binary given: name the program")
	}
	plan := &pipeline.Plan{Inputs: pipeline.Inputs{Binaries: f.binaries, DebugFile: f.debugBinary, SplitFile: f.dwp}}
	if err := f.checkDebugFiles(); err != nil {
		return err
	}
	o := pipeline.Listing{Functions: f.functions, Canonical: f.canonical, Probes: f.probes, Source: f.sources}
	if f.syntax == "intel" {
		o.Syntax = asmtext.Intel
	}
	out := f.out
	if f.like { // llvm-profgen takes --output and writes to standard output
		out = "-"
	}
	return verb.WriteFile(s, out, func(w io.Writer) error { return pipeline.List(plan, sampleset.Host(s), o, w) })
}

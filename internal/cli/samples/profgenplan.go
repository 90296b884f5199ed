package samples

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/internal/inputs/sampleset"
	"github.com/cairnprof/cairn/internal/output"
	"github.com/cairnprof/cairn/internal/samples/pipeline"
	"github.com/cairnprof/cairn/internal/samples/profgen"
	"github.com/cairnprof/cairn/internal/verb"
)

// The output formats: profiles for compilers, formats of stacks of samples, and call graphs.
const (
	formatText      = "text"
	formatExtBinary = "extbinary"
	formatGCC       = "gcc"

	formatFolded = "folded"
	formatPprof  = "pprof"
	formatOTLP   = "otlp"
	formatFlame  = "flame"

	formatCallgraph = "callgraph"
	formatDot       = "dot"
	formatMermaid   = "mermaid"

	formatFdata = "fdata"
	formatMip   = "mip"
)

// formats are the formats of cairn profgen, and the products that they show.
var formats = output.Formats[pipeline.Product]{
	{Name: formatText, Rules: pipeline.Profile},
	{Name: formatExtBinary, Rules: pipeline.Profile},
	{Name: formatGCC, Rules: pipeline.Profile},
	{Name: formatFolded, Rules: pipeline.Stacks},
	{Name: formatPprof, Rules: pipeline.Stacks},
	{Name: formatOTLP, Rules: pipeline.Stacks},
	{Name: formatFlame, Rules: pipeline.Stacks},
	{Name: formatFdata, Rules: pipeline.Branches},
	{Name: formatMip, Rules: pipeline.Executions},
	{Name: formatCallgraph, Rules: pipeline.Calls},
	{Name: formatDot, Rules: pipeline.Calls},
	{Name: formatMermaid, Rules: pipeline.Calls},
}

// product returns what the format shows; a profile if there is no such format.
func (f *profgenFlags) product() pipeline.Product {
	if x, err := formats.Named(f.format); err == nil {
		return x.Rules
	}
	return pipeline.Profile
}

// complete returns the flags with those that others imply. given reports the flags on the
// command line.
func (f profgenFlags) complete(given func(name string) bool) (profgenFlags, error) {
	how, err := sampleset.ParseInference(f.infer)
	if err != nil {
		return f, err
	}
	f.infer = string(how)
	f.likeLLVM(given)
	if err := f.set(given); err != nil {
		return f, err
	}
	return f, f.checkPreinline(given)
}

// misplaced returns an error for an argument that is not a file, but a value of
// --infer-missing-frames.
func misplaced(args []string) error {
	for _, how := range pipeline.Inferences {
		if _, err := os.Stat(string(how)); slices.Contains(args, string(how)) && err != nil {
			return verb.Usagef("%s is not a file: write --infer-missing-frames=%s, with =", how, how)
		}
	}
	return nil
}

// plan converts the flags to a plan.
func (f profgenFlags) plan(args []string) (*pipeline.Plan, error) {
	if f.coldDepth < 1 {
		return nil, verb.Usagef("--csprof-max-cold-context-depth %d: must be at least 1", f.coldDepth)
	}
	p := &pipeline.Plan{
		Product: f.product(),
		Inputs: pipeline.Inputs{
			Samples: slices.Concat(args, f.perfData, f.perfScript), Counted: f.unsymbolized,
			Binaries: f.binaries, DebugFile: f.debugBinary, SplitFile: f.dwp,
		},
		Unwinding: pipeline.Unwinding{
			PID: f.pid, IgnoreStacks: f.ignoreStacks, KeepTailJumps: f.keepTailJumps, CheckStacks: f.like,
			CountedDepth: contextLimit(f.countedDepth), Depth: contextLimit(f.contextDepth), Recursion: contextLimit(f.recursion),
			Infer: pipeline.Inference(f.infer), SearchDepth: max(f.searchDepth, 0),
		},
		Content: pipeline.Content{
			ByLines: f.byLines, Recount: f.recount, FillZero: f.fillZero,
			HashNames: f.hashNames && f.format == formatExtBinary, ListNames: f.listSymbols && f.format == formatExtBinary,
		},
		Processing: pipeline.Processing{
			BySize: f.bySize, Nest: f.nested, Quiet: f.quiet,
			Cold: profgen.Cold{Merge: f.mergeCold, Depth: f.coldDepth, Trim: f.trimCold, Own: f.preinline, Thresholds: f.Thresholds},
		},
	}
	f.addChoices(p)
	if f.merge || f.from != "" {
		return f.planSum(p, args)
	}
	return p, f.checkSampled(p)
}

// addChoices adds the fields that depend on several flags.
func (f *profgenFlags) addChoices(p *pipeline.Plan) {
	if f.format == formatGCC { // which has no contexts, and gcc no probes
		p.IgnoreStacks, p.ByLines = true, true
	}
	switch {
	case f.onlyCount:
		p.Product = pipeline.Addresses
	case f.explained:
		p.Product = pipeline.Explanation
	}
	switch {
	case f.format == formatPprof, f.format == formatOTLP:
		p.Detail = profgen.Addresses
	case f.inlines:
		p.Detail = profgen.Inlined
	}
	switch {
	case !f.offsets:
		p.Base = pipeline.NoBase
	case f.firstBase:
		p.Base = pipeline.FirstBase
	}
	if f.preinline {
		decide := f.decide
		decide.Thresholds = f.Thresholds
		p.Preinline = &decide
	}
}

// checkSampled validates flags and files for products from samples.
func (f *profgenFlags) checkSampled(p *pipeline.Plan) error {
	switch {
	case len(f.weights) > 0:
		return verb.Usagef("--weighted-input needs --merge")
	case f.json && !f.explained && f.format != formatCallgraph:
		return verb.Usagef("--json needs --explain or --format callgraph; a profile is text or extbinary")
	case f.explained && (p.Infer == pipeline.InferNone || f.onlyCount):
		return verb.Usagef("--explain cannot be used with --infer-missing-frames=none")
	case len(f.binaries) == 0:
		return verb.Usagef("profgen: no binary given: name the program that ran, and its libraries, beside the samples")
	case f.unsymbolized == "" && len(p.Samples) == 0:
		return verb.Usagef("profgen: no input given: give the output of perf record or cairn record (see cairn profgen -h)")
	case f.unsymbolized != "" && len(p.Samples) > 0:
		return verb.Usagef("profgen: --unsymbolized-profile replaces samples: omit %s", p.Samples[0])
	case f.unsymbolized != "" && f.onlyCount:
		return verb.Usagef("profgen: --skip-symbolization cannot be used with --unsymbolized-profile, which is its output")
	case f.onlyCount && len(f.binaries) > 1, f.unsymbolized != "" && len(f.binaries) > 1:
		return verb.Usagef("profgen: counts of addresses need exactly one binary, not %d", len(f.binaries))
	}
	if err := f.checkDebugFiles(); err != nil {
		return err
	}
	if err := f.checkForm(); err != nil {
		return err
	}
	return f.checkDepths()
}

// checkDebugFiles finds files that belong to one binary where there are several.
func (f *profgenFlags) checkDebugFiles() error {
	switch {
	case f.debugBinary != "" && len(f.binaries) > 1:
		return verb.Usagef("--debug-binary: needs exactly one binary, not %d", len(f.binaries))
	case f.dwp != "" && len(f.binaries) > 1:
		return verb.Usagef("--dwp: needs exactly one binary, not %d", len(f.binaries))
	}
	return nil
}

// checkForm rejects flags that do not apply to --format.
func (f *profgenFlags) checkForm() error {
	x, err := formats.Named(f.format)
	if err != nil {
		return err
	}
	product := x.Rules
	switch {
	case f.minPercent != 0 && product != pipeline.Calls:
		return verb.Usagef("--min-percent needs --format callgraph, dot or mermaid")
	case !(f.minPercent >= 0 && f.minPercent <= 100):
		return verb.Usagef("--min-percent %v is not between 0 and 100", f.minPercent)
	case f.inlines && f.format != formatFolded && f.format != formatFlame:
		return verb.Usagef("--inlines needs --format folded or flame, not %s", f.format)
	case f.format != formatText && f.onlyCount:
		return verb.Usagef("--skip-symbolization writes text, not %s", f.format)
	case f.format == formatGCC && (f.nested || f.mergeCold || f.trimCold || f.preinline || f.contextDepth != -1):
		return verb.Usagef("--format gcc: gcc reads no contexts: options for them need --format text or extbinary")
	case product == pipeline.Profile:
		return nil
	case f.explained:
		return verb.Usagef("--explain needs a profile for compilers, not --format %s", f.format)
	case f.nested || f.mergeCold || f.trimCold || f.contextDepth != -1:
		return verb.Usagef("--format %s: options for contexts need a profile for compilers", f.format)
	case product == pipeline.Branches && len(f.binaries) > 1:
		return verb.Usagef("--format fdata: needs exactly one binary, not %d", len(f.binaries))
	case product == pipeline.Executions && len(f.binaries) > 1:
		return verb.Usagef("--format mip: needs exactly one binary, not %d", len(f.binaries))
	case product == pipeline.Stacks && f.ignoreStacks:
		return verb.Usagef("--format %s needs stacks: omit --ignore-stack-samples", f.format)
	case product == pipeline.Stacks && f.unsymbolized != "":
		return verb.Usagef("--format %s needs stacks, but %s has only counts", f.format, f.unsymbolized)
	}
	return nil
}

func (f *profgenFlags) checkDepths() error {
	for _, x := range []struct {
		name  string
		depth int
	}{
		{"csprof-max-context-depth", f.contextDepth},
		{"csprof-max-unsymbolized-context-depth", f.countedDepth},
		{"compress-recursion", f.recursion},
	} {
		if x.depth < -1 {
			return verb.Usagef("--%s %d: must be at least 0, or -1 for no limit", x.name, x.depth)
		}
	}
	if f.searchDepth < -1 || f.searchDepth == 0 {
		return verb.Usagef("--max-search-depth %d: must be at least 1, or -1 for no limit", f.searchDepth)
	}
	return nil
}

// contextLimit converts a depth of -1 to 0, no limit in unwind.Innermost, and 0 to -1, which
// keeps nothing.
func contextLimit(depth int) int {
	if depth <= 0 {
		return -1 - depth
	}
	return depth
}

// planSum makes the plan sum profiles, which are given instead of samples.
func (f *profgenFlags) planSum(p *pipeline.Plan, args []string) (*pipeline.Plan, error) {
	p.Samples = nil
	p.Sum = &pipeline.Sum{Files: args, DropAmbiguous: f.from != ""}
	if f.from != "" && !f.merge {
		p.Sum.Files = append(slices.Clone(args), f.from)
	}
	switch {
	case len(p.Sum.Files) == 0 && len(f.weights) == 0:
		return nil, verb.Usagef("profgen --merge: no profile given")
	case f.from != "" && f.merge:
		return nil, verb.Usagef("--%s replaces samples: with --merge, give %s as an argument", llvmProfileFlag, f.from)
	case len(f.binaries) > 0 && f.from == "" || len(f.perfData) > 0 || len(f.perfScript) > 0 || f.unsymbolized != "":
		return nil, verb.Usagef("profgen --merge sums profiles: omit samples and binaries")
	case f.explained || f.onlyCount:
		return nil, verb.Usagef("profgen --merge sums profiles: omit --explain and --skip-symbolization")
	case f.json || f.inlines || f.minPercent != 0 || f.debugBinary != "" || f.dwp != "" || f.recount:
		return nil, verb.Usagef("profgen --merge sums profiles: omit --json, --inlines, --min-percent, --debug-binary, --dwp and --update-total-samples")
	case f.format != formatText && f.format != formatExtBinary:
		return nil, verb.Usagef("--format %s: --merge writes text or extbinary", f.format)
	}
	for _, x := range f.weights {
		number, path, _ := strings.Cut(x, ",")
		weight, err := strconv.ParseUint(number, 10, 64)
		if err != nil || weight == 0 || path == "" {
			return nil, verb.Usagef("--weighted-input %s: must be N,FILE with N at least 1", x)
		}
		p.Sum.Weighted = append(p.Sum.Weighted, pipeline.Weighted{Path: path, Weight: weight})
	}
	return p, nil
}

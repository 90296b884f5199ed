package samples

import (
	"github.com/spf13/pflag"

	"github.com/cairnprof/cairn/internal/samples/pipeline"
	"github.com/cairnprof/cairn/internal/samples/profgen"
	"github.com/cairnprof/cairn/internal/verb"
)

// preinlineFlags are the flags of the pre-inliner.
type preinlineFlags struct {
	preinline bool
	bySize    bool
	decide    profgen.Preinline
}

const preinlineFlag = "csspgo-preinliner"

func (f *preinlineFlags) register(fl *pflag.FlagSet) {
	f.decide = profgen.NewPreinline()
	fl.BoolVar(&f.preinline, preinlineFlag, false, "decide which calls should be inlined, and keep only their contexts; implies --gen-cs-nested-profile")
	fl.BoolVar(&f.bySize, "use-context-cost-for-preinliner", true, "with --csspgo-preinliner: the cost of inlining is the size of machine code, not the number of locations with counts")
	fl.BoolVar(&f.decide.Replay, "csspgo-replay-preinline", false, "with --csspgo-preinliner: inline what was inlined in the binary")
	for _, x := range f.limits() {
		fl.IntVar(x.value, x.name, *x.value, x.help)
		// They are for tuning LLVM, and have LLVM's names.
		fl.Lookup(x.name).Hidden = true
	}
}

type preinlineLimit struct {
	name, help string
	value      *int
}

// limits returns the flags that are numbers.
func (f *preinlineFlags) limits() []preinlineLimit {
	return []preinlineLimit{
		{"sample-profile-hot-inline-threshold", "inline callees smaller than this at the hottest calls, in hundreds of `bytes`", &f.decide.HotSize},
		{"sample-profile-cold-inline-threshold", "inline callees smaller than this at cold calls, in `bytes`", &f.decide.ColdSize},
		{"csspgo-preinliner-multiplier-for-previous-inlining", "callees that were inlined in the binary may be larger by this `factor`", &f.decide.Again},
		{"sample-profile-inline-growth-limit", "inline until a function has grown by this `factor`", &f.decide.Growth},
		{"sample-profile-inline-limit-min", "do not limit the growth of a function smaller than this many `bytes`", &f.decide.MinLimit},
		{"sample-profile-inline-limit-max", "stop inlining into a function when it has this many `bytes`", &f.decide.MaxLimit},
	}
}

// preinlineMost is the maximum of sizes and factors: their products fit in 64 bits.
const preinlineMost = 1_000_000

// checkPreinline rejects flags that exclude each other, and sets those that are implied. given
// reports which flags were given.
func (f *profgenFlags) checkPreinline(given func(name string) bool) error {
	names := []string{"use-context-cost-for-preinliner", "csspgo-replay-preinline"}
	for _, x := range f.limits() {
		if *x.value < 0 || *x.value > preinlineMost {
			return verb.Usagef("--%s %d: must be from 0 to %d", x.name, *x.value, preinlineMost)
		}
		names = append(names, x.name)
	}
	for _, name := range names {
		if given(name) && !f.preinline && !f.like {
			return verb.Usagef("--%s needs --%s", name, preinlineFlag)
		}
	}
	switch {
	case !f.preinline:
		return nil
	case f.merge, f.from != "" && len(f.binaries) == 0:
		return verb.Usagef("--%s needs the sampled code: it cannot be used with --merge", preinlineFlag)
	case f.onlyCount, f.explained, f.product() != pipeline.Profile:
		return verb.Usagef("--%s needs a profile for compilers", preinlineFlag)
	}
	if !given("gen-cs-nested-profile") {
		f.nested = true
	}
	return nil
}

// profgenStages are the steps between counting and writing a profile.
type profgenStages struct {
	preinlineFlags
	thresholds
	nested    bool
	mergeCold bool
	trimCold  bool
	coldDepth int
	recount   bool // totals

	hashNames, listSymbols bool
	quiet                  bool // about steps that were not requested
}

func (f *profgenStages) register(fl *pflag.FlagSet) {
	f.preinlineFlags.register(fl)
	f.thresholds.register(fl)
	fl.BoolVar(&f.hashNames, "use-md5", false, "with --format extbinary: write MD5 hashes instead of names")
	fl.BoolVar(&f.listSymbols, "populate-profile-symbol-list", false, "with --format extbinary: list the functions of the binaries, so that compilers know which never ran")
	fl.BoolVar(&f.nested, "gen-cs-nested-profile", false, "nest contexts in their callers, as if calls had been inlined")
	fl.BoolVar(&f.mergeCold, "csprof-merge-cold-context", false, "merge contexts with few samples into their function's own profile")
	fl.IntVar(&f.coldDepth, "csprof-max-cold-context-depth", 1, "with --csprof-merge-cold-context: keep the innermost `n` functions, of which 1 is the function itself")
	fl.BoolVar(&f.trimCold, "trim-cold-profile", false, "omit contexts with few samples, or functions if the profile has no contexts")
	fl.BoolVar(&f.recount, "update-total-samples", false, "by lines: the total of a function is the sum of its counts, not of the executions of its instructions")
}

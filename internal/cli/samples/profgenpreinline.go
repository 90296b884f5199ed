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

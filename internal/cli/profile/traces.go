package profile

import (
	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/internal/profile/rawfiles"
	"github.com/cairnprof/cairn/internal/verb"
)

// DefaultTraces is how many traces a profile keeps: at two bytes for a function
// and a few thousand functions, a few megabytes.
const DefaultTraces = 1000

// runFlags say what becomes of the traces of runs.
type runFlags struct{ rawfiles.Traces }

func (f *runFlags) register(c *cobra.Command) {
	c.Flags().IntVar(&f.Limit, "traces", DefaultTraces, "keep the traces of at most so many runs, a uniform sample of all")
	c.Flags().Uint64Var(&f.Seed, "seed", 0, "choose another sample")
	c.Flags().StringVar(&f.Scenario, "scenario", "", "`name` the runs' scenario, instead of what CAIRN_SCENARIO was")
	c.Flags().Uint64Var(&f.Weight, "weight", 1, "let the traces of these runs count so many times")
}

func (f *runFlags) check() error {
	switch {
	case f.Limit < 0 || f.Limit > mip.MaxTraces:
		return verb.Usagef("--traces %d: 0 to %d can be kept", f.Limit, mip.MaxTraces)
	case f.Weight == 0:
		return verb.Usagef("--weight 0: leave the files out instead")
	}
	return nil
}

package profile

import (
	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/internal/inputs/gather"
	"github.com/cairnprof/cairn/internal/profile/rawfiles"
	"github.com/cairnprof/cairn/internal/verb"
)

// runFlags specify how the traces of runs are stored.
type runFlags struct{ rawfiles.Traces }

func (f *runFlags) register(c *cobra.Command) {
	c.Flags().IntVar(&f.Limit, "orders", gather.DefaultTraces, "keep the recorded orders of at most this many runs, a uniform sample of all")
	c.Flags().IntVar(&f.Limit, "traces", gather.DefaultTraces, "the same as --orders")
	verb.Hide(c, "traces")
	c.Flags().Uint64Var(&f.Seed, "seed", 0, "seed for the choice of the sample")
	c.Flags().StringVar(&f.Scenario, "scenario", "", "scenario `name` of the runs, overriding CAIRN_SCENARIO")
	c.Flags().Uint64Var(&f.Weight, "weight", 1, "weight of the recorded orders of these runs")
	c.Flags().Uint64Var(&f.MaxCalls, "max-calls", 0, "scale a run with more calls down to `n`, as cairn collect does; 0 for no bound")
}

func (f *runFlags) check() error {
	switch {
	case f.Limit < 0 || f.Limit > mip.MaxTraces:
		return verb.Usagef("--orders %d: must be from 0 to %d", f.Limit, mip.MaxTraces)
	case f.Weight == 0:
		return verb.Usagef("--weight 0: must be at least 1; omit the files instead")
	}
	return nil
}

package build

import (
	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/layout/order"
	"github.com/cairnprof/cairn/internal/verb"
)

// arrangeFlags has help group the flags that cc and build share, and shells complete their values.
func arrangeFlags(c *cobra.Command) {
	verb.Values(c, "mode", "cover", "block", "count", "full", "order", "block+order", "edge", "spike", "stacks", "trace")
	verb.Values(c, "clock", "coarse", "exact")
	verb.Values(c, "tick", "thread", "signal")
	verb.Values(c, "algorithm", order.Algorithms()...)
	verb.Directories(c, "shared-runtime")
	verb.FilesOf(c, "use", "mip")
	verb.Group(c, "Of modes spike, stacks and trace", "small", "clock", "tick", "threshold", "counts", "max", "depth", "flight", "frames", "control")
	verb.Group(c, "Build by a profile", "use", "fast-start", "no-split", "data-order", "algorithm")
	verb.Seldom(c, "order-slots", "min-instructions", "groups", "group", "small", "tick", "control", "shared-runtime", "lenient",
		"no-split", "data-order", "algorithm")
}

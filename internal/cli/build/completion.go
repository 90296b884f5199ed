package build

import (
	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/layout/order"
	"github.com/cairnprof/cairn/internal/verb"
)

// completeValues has shells complete the values of the flags that cc and build share.
func completeValues(c *cobra.Command) {
	verb.Values(c, "mode", "cover", "block", "count", "full", "order", "block+order", "spike", "stacks", "trace")
	verb.Values(c, "clock", "coarse", "exact")
	verb.Values(c, "tick", "thread", "signal")
	verb.Values(c, "algorithm", order.Algorithms()...)
	verb.Directories(c, "shared-runtime")
	verb.FilesOf(c, "use", "mip")
}

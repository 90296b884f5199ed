package build

import (
	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/runtime/nativert"
	"github.com/cairnprof/cairn/internal/verb"
)

// Header returns the command cairn header.
func Header(s *verb.Streams) *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "header [-o cairn.h]",
		Short: "Print cairn.h, the header for instrumented programs",
		Long: `header prints cairn.h, which declares cairn_dump, cairn_reset, CAIRN_SKIP and the
marks for spikes that docs/markup.md lists. Compilers run through cairn cc or cairn
build find <cairn.h> without further flags; keep a copy in your sources so that they
also compile without cairn.`,
		Example: "  cairn header -o include/cairn.h",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return verb.WriteBytes(s, out, nativert.Header())
		},
	}
	c.Flags().StringVarP(&out, "output", "o", "-", "`file` to write; - for standard output")
	return c
}

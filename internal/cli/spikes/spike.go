package spikes

import (
	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/verb"
)

// spikeVerbs are what can be done with running programs of mode spike.
var spikeVerbs = []func(*verb.Streams) *cobra.Command{newSpikeShowCmd, newSpikeSetCmd, newSpikeRunCmd, newSpikeAttachCmd, newSpikeDetachCmd}

// Spike returns the command cairn spike.
func Spike(s *verb.Streams) *cobra.Command {
	c := &cobra.Command{
		Use:   "spike",
		Short: "Control how running programs look for spikes",
		Long: `spike controls how running programs look for spikes. cairn spikes shows the spikes
that they found.`,
		Example: `  cairn spike --attach-by-preload ./app args
  cairn spike show`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return verb.Usagef("spike: unknown command %q (see cairn spike -h; cairn spikes shows logs)", args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	attachByPreload(s, c)
	for _, verb := range spikeVerbs {
		c.AddCommand(verb(s))
	}
	return c
}

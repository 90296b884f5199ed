package spikes

import (
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/verb"
)

// watchVerbs are the subcommands for running programs of mode spike.
var watchVerbs = []func(*verb.Streams) *cobra.Command{newSpikeShowCmd, newSpikeSetCmd, newSpikeOpenCmd, newSpikeRunCmd, newSpikePlanCmd, newSpikeAttachCmd, newSpikeDetachCmd}

// Watch returns the command cairn watch.
func Watch(s *verb.Streams) *cobra.Command {
	c := &cobra.Command{
		Use:   "watch",
		Short: "Find spikes in unmodified programs, or change the settings of running ones",
		Long: `watch finds spikes in programs that were not built with cairn, before they start or
while they run, and changes how running programs look for spikes. cairn spikes shows the
spikes that were found.`,
		Example: `  cairn watch --attach-by-preload ./app args
  cairn watch show`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				if _, err := os.Stat(args[0]); err == nil {
					return verb.Usagef("watch: %s is not a command: cairn spikes shows logs", args[0])
				}
				return verb.UnknownCommand(c, args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	if runtime.GOOS != "windows" {
		attachByPreload(s, c)
	}
	for _, verb := range watchVerbs {
		c.AddCommand(verb(s))
	}
	return c
}

// Spike returns cairn watch by its old name, which is easily taken for cairn spikes.
func Spike(s *verb.Streams) *cobra.Command {
	c := Watch(s)
	c.Use, c.Hidden = "spike", true
	return c
}

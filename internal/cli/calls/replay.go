package calls

import (
	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/output/calllist"
	"github.com/cairnprof/cairn/internal/verb"
)

// Replay returns the command cairn replay, the former name of cairn stacks calls.
func Replay(s *verb.Streams) *cobra.Command { return formerly("replay", each(s)) }

// each returns the command cairn stacks calls.
func each(s *verb.Streams) *cobra.Command {
	var f calllist.Choice
	c := &cobra.Command{
		Use:   "calls LOG...",
		Short: "Print the calls of a log in time order, indented by depth",
		Long: `calls prints the calls of logs one by one: the time, the thread, and on the line
where the call ends its duration. A call without callees has one line. The threads of
a log are merged in time order; several logs are printed one after the other.
A log of a second has millions of lines: --from and --to, --within, --longer, --depth
and --thread select what to print. Calls whose end is not in the log are marked.`,
		Example: `  cairn stacks calls ./app --from 1.2s --to 1.21s xray-log.app.*
  cairn stacks calls ./app --within handle_request --longer 1ms log | less`,
		Args: verb.ExactFiles("stacks calls", "a log of calls", 1, -1),
		RunE: func(c *cobra.Command, args []string) error { return f.Write(c.Context(), s, args) },
	}
	RegisterLogs(c, &f.Choice)
	f.RegisterNames(c)
	f.RegisterColor(c)
	c.Flags().StringVarP(&f.Out, "output", "o", "-", "write to this `file`")
	c.Flags().BoolVar(&f.Json, "json", false, "print JSON: a list with an object for each line of the text")
	f.RegisterLines(c)
	return c
}

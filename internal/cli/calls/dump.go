package calls

import (
	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/output/callrecords"
	"github.com/cairnprof/cairn/internal/verb"
)

// Dump returns the command cairn dump.
func Dump(s *verb.Streams) *cobra.Command {
	var f callrecords.Choice
	c := &cobra.Command{
		Use:   "dump LOG...",
		Short: "Print the records of a log in file order",
		Long: `dump prints every record of XRay logs, basic or FDR, and of logs of mode trace, in
file order: its offset, process, thread and content. Of logs of mode stacks it prints
the stacks, thread by thread: a number, the number of the caller's stack, the
function, and its counts and times.
Damage is printed at its place in the file, with the number of bytes that cannot be
read. Blocks that occur twice are printed twice; other commands read them once.
Times are ticks of the log's clock. --summary counts records, threads and damage
instead. --json prints a list of objects, one on each line; data is in base64.`,
		Example: `  cairn dump xray-log.app.Ab3xYz | less
  cairn dump --summary xray-log.app.*
  cairn dump --thread 4711 --from 0x4020 --to 0x8040 ./app xray-log.app.Ab3xYz
  cairn dump --jsonl log.zst | jq 'select(.damage)'`,
		Args: verb.ExactFiles("dump", "a log", 1, -1),
		RunE: func(c *cobra.Command, args []string) error { return f.Write(c.Context(), s, args) },
	}
	registerLogs(c, &f.Choice)
	f.DisplayFlags.Register(c)
	f.RegisterLines(c)
	f.RegisterShort(c)
	c.Flags().StringVar(&f.From, "from", "", "start at the first record at or after this `offset`")
	c.Flags().StringVar(&f.To, "to", "", "stop before this `offset`")
	c.Flags().BoolVar(&f.Summary, "summary", false, "print a summary of each log, not its records")
	return c
}

package calls

import (
	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/output/callfile"
	"github.com/cairnprof/cairn/internal/verb"
)

// Convert returns the command cairn convert.
func Convert(s *verb.Streams) *cobra.Command {
	var f callfile.Choice
	formats := callfile.Formats()
	c := &cobra.Command{
		Use:   "convert LOG... {-o FILE | --otlp URL | --pyroscope URL | --parca URL}",
		Short: "Convert logs of calls to formats of other tools",
		Long: `convert writes logs of calls in another format, selected by the suffix of FILE or by
--format; a further suffix .gz or .zst compresses the file.

` + formats.Help() + `
The first four contain every call, to the nanosecond; chrome and perfetto also contain
arguments and custom and typed events, firefox the names of the events. Calls without
an exit end as in cairn stacks. Browsers get slow with some millions of calls: perfetto
can handle the most, and speedscope with --sums has the stacks of a log of any length.

pprof, otlp, folded and --sums contain one entry per stack: the number of calls and the
time spent in the innermost function itself. In stacks deeper than 512 the middle is
omitted.

yaml and raw contain one log, record by record in time order, with the log's ticks;
raw has no arguments and events.

--otlp, --pyroscope and --parca send what pprof contains to a profile store; see
cairn export -h.`,
		Example: `  cairn convert ./app xray-log.app.* -o app.json.gz
  cairn convert ./app log -o app.pb.gz && go tool pprof -http : app.pb.gz
  cairn convert ./app log --format folded | flamegraph.pl > app.svg`,
		Args: verb.ExactFiles("convert", "a log", 1, -1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.Stores.Check(c, "format", "output"); err != nil {
				return err
			}
			found, err := f.Format()
			if err != nil {
				return err
			}
			f.To = found.Name
			x, err := f.Check(&found.Rules, c.Flags().Changed("by"))
			if err != nil {
				return err
			}
			return f.Write(c.Context(), s, x, args)
		},
	}
	RegisterLogs(c, &f.Choice)
	formats.Register(c, &f.To, "", "")
	c.Flags().StringVarP(&f.Out, "output", "o", "-", "write to this `file`")
	c.Flags().StringVar(&f.By, "by", "self", "folded and --sums: weight of stacks: `key` is self or calls")
	verb.Values(c, "by", "self", "calls")
	c.Flags().BoolVar(&f.Summed, "sums", false, "speedscope: write sums of stacks instead of every call")
	c.Flags().BoolVar(&f.PerThread, "per-thread", false, "separate threads. pprof, otlp: as labels; folded: as the outermost frame;\n--sums: as profiles; yaml: one after the other")
	f.Names.RegisterNames(c)
	f.Stores.Register(c)
	return c
}

package layout

import (
	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/cli/profile"
	"github.com/cairnprof/cairn/internal/output/pagemap"
	"github.com/cairnprof/cairn/internal/verb"
)

// Pages returns the command cairn pages.
func Pages(s *verb.Streams) *cobra.Command {
	var f pagemap.Choice
	c := &cobra.Command{
		Use:   "pages FILE.mip BINARY [--before BINARY] [flags] [-- ARGS...]",
		Short: "Show the pages of a binary that the runs of a profile touch",
		Long: `pages predicts which pages of a binary's code each scenario of a profile touches: a
page is touched when a function on it runs. Functions are found by name, so the
binary need not be the one that ran: give one that was linked in another order, and
the old one with --before.

The columns:
  functions, bytes  the functions that ran, and the size of their code
  before, pages     pages touched in the --before binary and in this one
  least             the fewest pages in which these bytes fit
  by block          pages with a block that any run ran, if blocks are recorded
  64K               windows of 64 KiB: Linux maps these whole from a warm cache

--svg and --html draw the pages as a map. With --measure, pages runs the binaries with
the arguments after -- and shows the pages that they touch beside the prediction.`,
		Example: `  cairn pages app.mip app --before app.old --html pages.html
  cairn pages app.mip app --scenario open --measure -- open file.txt`,
		RunE: func(c *cobra.Command, args []string) error {
			if dash := c.ArgsLenAtDash(); dash >= 0 {
				args, f.Args = args[:dash], args[dash:]
			}
			f.Choose = c.Flags().Changed("scenario")
			f.Take(args)
			if len(f.Binaries) != 1 {
				return verb.Usagef("pages: give one binary (see cairn pages -h)")
			}
			return f.Write(c.Context(), s, f.Binaries[0])
		},
	}
	profile.RegisterProfile(c, &f.Choice)
	f.DisplayFlags.Register(c)
	c.Flags().StringVar(&f.Before, "before", "", "compare with this `binary`, the same program in another layout")
	c.Flags().StringVar(&f.Scenario, "scenario", "", "only the scenario of this `name`")
	c.Flags().Uint64Var(&f.PageSize, "page-size", 4096, "size of a page in `bytes`")
	c.Flags().StringVar(&f.SVG, "svg", "", "draw one scenario into this SVG `file`, - for standard output")
	c.Flags().StringVar(&f.HTML, "html", "", "draw all scenarios into this HTML `file`, - for standard output")
	c.Flags().BoolVar(&f.LeaveOneOut, "loo", false, "also evaluate each scenario by an order computed without it")
	c.Flags().BoolVar(&f.Measure, "measure", false, "run the binaries and measure the pages that they touch")
	c.Flags().DurationVar(&f.Latency, "latency", 0, "also compute how long a start waits for a device with this `latency` of a read, such as 1ms, if no page is in memory")
	c.Flags().Uint64Var(&f.Ahead, "read-ahead", 128, "with --latency: the device's read-ahead in `KiB`, 0 for none, as in /sys/block/DEVICE/queue/read_ahead_kb")
	c.Flags().BoolVar(&f.Around, "read-around", false, "with --latency: the read-ahead is around a page, as on Linux before 6.16, and not behind it")
	verb.Rules(c, verb.Needs("read-ahead", "latency"), verb.Needs("read-around", "latency"))
	return c
}

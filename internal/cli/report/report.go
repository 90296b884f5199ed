// Package report has the commands that show all data of a program in one page: as a file, or
// served while runs come in.
package report

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/inputs/reportset"
	"github.com/cairnprof/cairn/internal/page"
	"github.com/cairnprof/cairn/internal/page/model"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
)

func register(c *cobra.Command, f *reportset.Choice) {
	c.Flags().StringVar(&f.Title, "title", "", "title of the report; the default is the names of the programs")
	c.Flags().StringVar(&f.Against, "against", "", "also compare with this `file`: a profile (.mip), or a log of calls, whose stacks are then compared")
	verb.FilesOf(c, "against", "mip", "cairnlog")
	c.Flags().StringArrayVar(&f.Paths, "source-path", nil, "read sources whose path begins with FROM below TO: `FROM=TO`; repeatable")
	c.Flags().BoolVar(&f.OnlyRan, "only-ran", false, "of the binaries below directories, show only those that have runs")
	c.Flags().BoolVar(&f.NoSources, "no-sources", false, "omit the text of source files")
	c.Flags().BoolVar(&f.System, "system-headers", false, "also count the lines of headers of the compiler and the system")
	c.Flags().BoolVar(&f.NoMarkers, "no-markers", false, "also count lines that markers in the source exclude (LCOV_EXCL_LINE and others)")
	verb.Files(c, "mip", "mipraw", "mippack", "cairnlog", "perf", "data")
}

// about describes the inputs of both commands.
const about = `An input is a profile (.mip), raw files, a binary or its debug file, a log of calls or of
spikes (.cairnlog, or of XRay), samples of perf or cairn record, or a directory, which
stands for all of these below it. Files are recognised by their content. The
report omits what no input contains.

Source lines, inlined functions and pages need the binary that ran; logs name the
programs that wrote them. Sources are read at the paths in the debug information.`

type reportFlags struct {
	reportset.Choice
	out   string
	json  bool
	allow bool
}

// Report returns the command cairn report.
func Report(s *verb.Streams) *cobra.Command {
	var f reportFlags
	c := &cobra.Command{
		Use:   "report FILE|DIR... [-o FILE.html]",
		Short: "Show all that was recorded of a program in one HTML file",
		Long: `report writes an HTML page with all that was recorded of a program: functions with
their counts, callers and callees, sources with coverage, the pages of the binary, spikes
and samples. The page is one file that loads nothing from elsewhere.

` + about + ` If an input is left out, as it is
damaged or of another build, the page is written, and the exit code is 3, or 0 with --allow-omitted.`,
		Example: `  cairn report app.mip app -o report.html
  cairn report app raws/ -o report.html
  cairn report app.mip app --against yesterday.mip -o report.html
  cairn report app.mip app --json | jq '.functions[] | select(.runs == null) | .symbol'`,
		Args: verb.ExactFiles("report", "a profile, a log or a directory", 1, -1),
		RunE: func(c *cobra.Command, args []string) error { return f.run(c.Context(), s, args) },
	}
	c.Flags().StringVarP(&f.out, "output", "o", "", "write to this `file`, - for standard output; the default is report.html, or - with --json")
	c.Flags().BoolVar(&f.json, "json", false, "write the model of the page as JSON (docs/report-model.md)")
	c.Flags().BoolVar(&f.allow, "allow-omitted", false, "exit with 0 if inputs were omitted, rather than with 3")
	register(c, &f.Choice)
	return c
}

func (f *reportFlags) run(ctx context.Context, s *verb.Streams, args []string) error {
	r, omitted, err := f.Build(ctx, s, args)
	if err != nil {
		return err
	}
	defer r.Close()
	return f.finish(s, r, omitted)
}

// finish writes the report, of which inputs were omitted.
func (f *reportFlags) finish(s *verb.Streams, r *model.Report, omitted int) error {
	if err := f.write(s, r); err != nil {
		return err
	}
	if omitted > 0 && !f.allow {
		return verb.Partialf("%s left out of the report (--allow-omitted accepts this)", report.Plural(omitted, "input"))
	}
	return nil
}

// write writes the page, or its model.
func (f *reportFlags) write(s *verb.Streams, r *model.Report) error {
	if f.json {
		if f.out == "" {
			f.out = "-"
		}
		return verb.WriteFile(s, f.out, r.WriteModel)
	}
	if f.out == "" {
		f.out = "report.html"
	}
	if err := verb.NotOnTerminal(s, f.out, "an HTML page", "-o"); err != nil {
		return err
	}
	size := &counter{}
	err := verb.WriteFile(s, f.out, func(w io.Writer) error {
		size.to = w
		out := bufio.NewWriterSize(size, 1<<16)
		if err := page.WriteHTML(out, &page.Document{Title: r.Model.Title, Model: r.WriteModel, Data: r.Data()}); err != nil {
			return err
		}
		return out.Flush()
	})
	if err == nil && f.out != "-" {
		fmt.Fprintf(s.Err, "%s: %s, %.1f MB\n", f.out, functionsText(r.Model), float64(size.n)/1e6)
	}
	return err
}

// functionsText describes the functions of a report as its table does.
func functionsText(m *model.Model) string {
	own, inlined, others := 0, 0, 0
	for i := range m.Functions {
		switch f := &m.Functions[i]; {
		case f.Mode != "" || f.Absent != "":
			own++
		case f.Inlined != nil:
			inlined++
		default:
			others++
		}
	}
	if own+inlined == 0 { // logs and samples do not say which functions have probes
		return report.Plural(others, "function")
	}
	text := report.Plural(own, "function")
	if n := len(m.Modules); n > 1 {
		text += fmt.Sprintf(" of %d binaries", n) // a function of two of them is counted twice
	}
	if inlined > 0 {
		text += fmt.Sprintf(", %s only inlined", report.Count(inlined))
	}
	if others > 0 {
		text += fmt.Sprintf(", %s without probes", report.Count(others))
	}
	return text
}

// counter counts written bytes.
type counter struct {
	to io.Writer
	n  int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.to.Write(b)
	c.n += int64(n)
	return n, err
}

package coverlist

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/cairnprof/cairn/format/junit"
	"github.com/cairnprof/cairn/format/sarif"
	"github.com/cairnprof/cairn/internal/profile/coverage"
	"github.com/cairnprof/cairn/internal/report"
)

// diffText lists the changed lines that did not run, and a total.
func (r *lineReport) diffText(w io.Writer) error {
	t := report.NewTable("/file", ">ran", ">", "did not run", "unknown")
	for i := range r.changed {
		c := &r.changed[i]
		if len(c.Lines) == 0 {
			continue
		}
		cells := append([]report.Cell{report.Text(c.File)}, tallyCells(c.Tally.Tally())...)
		t.Add(append(cells, report.Cell{Text: rangesText(c.Ranges(coverage.Missed)), Color: report.Red},
			report.Cell{Text: rangesText(c.Ranges(coverage.Unknown)), Color: report.Dim})...)
	}
	if t.Len() > 0 {
		if err := t.Write(w, r.style); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "changed since %s: %s\n", report.Printable(r.base), tallyText(r.tally()))
	return err
}

func (r *lineReport) diffMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### Coverage of changed lines: %s\n\n", tallyText(r.tally()))
	rows := 0
	for i := range r.changed {
		c := &r.changed[i]
		if len(c.Lines) == 0 {
			continue
		}
		if rows++; rows == 1 {
			b.WriteString("| file | ran | did not run | unknown |\n|---|---:|---|---|\n")
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", markdownCode(c.File), shareText(c.Tally.Tally()),
			rangesText(c.Ranges(coverage.Missed)), rangesText(c.Ranges(coverage.Unknown)))
	}
	fmt.Fprintf(&b, "\nChanged since %s.\n", markdownCode(r.base))
	_, err := io.WriteString(w, b.String())
	return err
}

type rangeJSON struct {
	From int `json:"from"`
	To   int `json:"to"`
}

type lineTallyJSON struct {
	Ran     int      `json:"ran"`
	Missed  int      `json:"missed"`
	Unknown int      `json:"unknown"`
	Percent *float64 `json:"percent,omitempty"` // of lines in known state
}

func newLineTallyJSON(t coverage.LineTally) lineTallyJSON {
	j := lineTallyJSON{Ran: t.Ran, Missed: t.Missed, Unknown: t.Unknown}
	if all := t.Tally(); all.Total > 0 {
		percent := all.Percent()
		j.Percent = &percent
	}
	return j
}

func rangesJSON(ranges []coverage.Range) []rangeJSON {
	out := []rangeJSON{}
	for _, r := range ranges {
		out = append(out, rangeJSON(r))
	}
	return out
}

func (r *lineReport) diffJSON(w io.Writer) error {
	type fileJSON struct {
		File    string        `json:"file"`
		Known   bool          `json:"known"` // the profile has the file
		Lines   lineTallyJSON `json:"lines"`
		Missed  []rangeJSON   `json:"missed"`
		Unknown []rangeJSON   `json:"unknown"`
	}
	files := []fileJSON{}
	for i := range r.changed {
		c := &r.changed[i]
		files = append(files, fileJSON{c.File, c.Known, newLineTallyJSON(c.Tally), rangesJSON(c.Ranges(coverage.Missed)), rangesJSON(c.Ranges(coverage.Unknown))})
	}
	return report.WriteJSON(w, struct {
		Base  string        `json:"base"`
		Lines lineTallyJSON `json:"lines"`
		Files []fileJSON    `json:"files"`
	}{r.base, newLineTallyJSON(r.tally()), files})
}

func (r *lineReport) diffSARIF(w io.Writer) error {
	x := sarif.NewWriter(w, coverageTool())
	for i := range r.changed {
		c := &r.changed[i]
		for _, m := range c.Ranges(coverage.Missed) {
			err := x.Write(&sarif.Result{
				Rule: ruleLines, Level: sarif.Warning, Text: "Changed " + linesText([]coverage.Range{m}) + " did not run.",
				Places: []sarif.Place{{File: c.File, From: m.From, To: m.To}},
			})
			if err != nil {
				return err
			}
		}
	}
	return x.Close()
}

func (r *lineReport) diffJUnit(w io.Writer) error {
	suite := junit.Suite{Name: "coverage of changed lines"}
	for i := range r.changed {
		c := &r.changed[i]
		suite.Cases = append(suite.Cases, r.testCase(c.File, c.Ranges(coverage.Missed), c.Tally))
	}
	return junit.Write(w, []junit.Suite{suite})
}

// sourceDate is the time that reports name: SOURCE_DATE_EPOCH, or now.
func sourceDate() time.Time {
	if n, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64); err == nil {
		return time.Unix(n, 0)
	}
	return time.Now()
}

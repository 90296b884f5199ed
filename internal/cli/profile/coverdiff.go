package profile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/cairnprof/cairn/format/junit"
	"github.com/cairnprof/cairn/format/sarif"
	"github.com/cairnprof/cairn/format/udiff"
	"github.com/cairnprof/cairn/internal/profile/coverage"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
)

// diffText lists the changed lines that did not run, and a total.
func (r *lineReport) diffText(w io.Writer) error {
	t := report.Table{Columns: []report.Column{
		{Title: "file", Shrink: report.ShortenPath},
		{Title: "ran", Align: report.Right},
		{Align: report.Right},
		{Title: "did not run"},
		{Title: "unknown"},
	}}
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

// changes returns the changes since a revision of git, or of a diff, and a description.
func changes(ctx context.Context, s *verb.Streams, diff string) (base string, files []udiff.File, err error) {
	if diff == "-" {
		files, err = readDiff(s.In, "standard input")
		return "standard input", files, err
	}
	if _, err := git(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", diff+"^{commit}"); err != nil {
		if st, statErr := os.Stat(diff); statErr == nil && st.Mode().IsRegular() {
			f, err := os.Open(diff)
			if err != nil {
				return "", nil, err
			}
			defer f.Close()
			files, err = readDiff(f, diff)
			return diff, files, err
		}
		if errors.Is(err, exec.ErrNotFound) {
			return "", nil, fmt.Errorf("--diff %s: git is not installed: give a unified diff, as a file or - for standard input", diff)
		}
		return "", nil, fmt.Errorf("--diff %s: neither a revision of git here (in a shallow clone, fetch it first) nor a file", diff)
	}
	from, err := git(ctx, "merge-base", diff, "HEAD")
	if err != nil {
		verb.Note(s, "%s and HEAD have no common ancestor here, perhaps as the clone is shallow: comparing with %[1]s itself", diff)
		from = []byte(diff)
	}
	text, err := git(ctx, "-c", "core.quotePath=true", "diff", "-U0", "--no-color", "--no-ext-diff", "--no-textconv", "--no-relative", "--src-prefix=a/", "--dst-prefix=b/",
		"--find-renames", strings.TrimSpace(string(from)), "--")
	if err != nil {
		return "", nil, fmt.Errorf("git diff: %w", err)
	}
	files, err = udiff.Read(bytes.NewReader(text))
	if err != nil {
		return "", nil, fmt.Errorf("git diff: %w", err)
	}
	return diff, files, nil
}

func readDiff(r io.Reader, name string) ([]udiff.File, error) {
	in := &countingReader{r: r}
	files, err := udiff.Read(in)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	case len(files) == 0 && in.n > 0:
		return nil, fmt.Errorf("%s: not a unified diff (diff -u, git diff)", name)
	}
	return files, nil
}

// countingReader counts the bytes read: an empty diff has no changes.
type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// git returns the output of a command of git. Its error has git's message.
func git(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return nil, errors.New(strings.TrimSpace(string(exit.Stderr)))
	}
	return out, err
}

// workTree returns the top of git's work tree, under the names that the working directory has with
// and without symbolic links; without one, the working directory. Bazel's compilers call it /proc/self/cwd.
func workTree() (tops []string) {
	here, err := os.Getwd()
	if err != nil {
		return nil
	}
	prefix, err := git(context.Background(), "rev-parse", "--show-prefix")
	if err == nil {
		for range strings.Count(string(prefix), "/") {
			here = filepath.Dir(here)
		}
	}
	tops = append(tops, filepath.ToSlash(here)) // as the names of source files
	if real, err := filepath.EvalSymlinks(here); err == nil && real != here {
		tops = append(tops, filepath.ToSlash(real))
	}
	return append(tops, "/proc/self/cwd")
}

// relative returns path relative to the first of the directories that it is below.
func relative(path string, tops []string) string {
	for _, top := range tops {
		if rest, ok := strings.CutPrefix(path, strings.TrimSuffix(top, "/")+"/"); ok {
			return rest
		}
	}
	return path
}

// sourceDate is the time that reports name: SOURCE_DATE_EPOCH, or now.
func sourceDate() time.Time {
	if n, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64); err == nil {
		return time.Unix(n, 0)
	}
	return time.Now()
}

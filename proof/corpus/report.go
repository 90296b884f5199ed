package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// rowsFile keeps what is in the table.
const rowsFile = "rows.json"

func readRows(path string) ([]row, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var rows []row
	if err := json.Unmarshal(text, &rows); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return rows, nil
}

func writeRows(path string, rows []row) error {
	text, err := json.MarshalIndent(rows, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

// replaced returns rows with those of a guest in the place of its earlier ones: of the
// same case, or all where it was not run.
func replaced(rows, found []row) []row {
	rows = slices.DeleteFunc(rows, func(old row) bool {
		return slices.ContainsFunc(found, func(r row) bool {
			return r.Guest == old.Guest && (r.Variant == old.Variant || r.Variant == "" || old.Variant == "")
		})
	})
	return append(rows, found...)
}

// table returns the report. What an earlier one says of programs of which there are no
// rows, as their trees are gone, stays.
func table(rows []row, earlier []byte) []byte {
	var b bytes.Buffer
	b.WriteString(`# Real programs, built as they come

` + "`make corpus`" + ` wrote this. Each program is built by its own build system under
` + "`cairn build`" + `, its own tests run without cairn and with it, and what they print is
compared. Sizes are of the stripped program, against a plain build.

| program | built by | case | files | functions | ran | size | answers | left alone | revision |
|---|---|---|---:|---:|---:|---|---|---|---|
`)
	var rest []string
	for i := range guests {
		g := &guests[i]
		known := false
		for _, v := range g.variants() {
			for _, r := range rows {
				if r.Guest == g.name && r.Variant == v.name {
					known = true
					if r.Why == "" || r.Bad {
						b.WriteString(r.line())
					} else {
						rest = append(rest, g.name+", "+v.name+": "+r.Why)
					}
				}
			}
		}
		if known {
			continue
		}
		if lines := linesOf(earlier, g.name); len(lines) > 0 && !slices.ContainsFunc(rows, func(r row) bool { return r.Guest == g.name }) {
			b.WriteString(lines)
			continue
		}
		why := "left out of the last run"
		if j := slices.IndexFunc(rows, func(r row) bool { return r.Guest == g.name }); j >= 0 {
			why = rows[j].Why
		}
		rest = append(rest, fmt.Sprintf("%s (%s): %s", g.name, g.system, why))
	}
	if len(rest) > 0 {
		b.WriteString("\nNot run:\n\n")
	}
	for _, what := range rest {
		fmt.Fprintf(&b, "- %s\n", cell(what))
	}
	return b.Bytes()
}

// linesOf returns the rows of a program in a report.
func linesOf(report []byte, guest string) string {
	var b strings.Builder
	for line := range strings.Lines(string(report)) {
		if strings.HasPrefix(line, "| "+guest+" | ") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// line is the row in the table.
func (r *row) line() string {
	files, answers := strconv.Itoa(r.Summary.Files), "equal"
	if use := r.Summary.Use; use != nil {
		files = strconv.Itoa(use.Files)
		if use.Files == 0 {
			files = count(use.Laid) + " modules"
		}
	}
	if r.Bad {
		answers = "FAILED: " + cell(r.Why)
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", r.Guest, r.System, r.Variant, files,
		count(r.Summary.Functions), count(r.Ran), growth(r.Size), answers, left(&r.Summary), r.Revision)
}

// count is a number where there is one.
func count(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// growth is the size of the stripped program, with probes and against a plain build.
func growth(size [2]int64) string {
	if size[0] == 0 || size[1] == 0 {
		return ""
	}
	return fmt.Sprintf("%d (%+.1f %%)", size[1], 100*(float64(size[1])/float64(size[0])-1))
}

// left names the files without probes, and why they have none.
func left(s *summary) string {
	var parts []string
	for _, why := range slices.Sorted(maps.Keys(s.Untouched)) {
		parts = append(parts, fmt.Sprintf("%d files: %s", len(s.Untouched[why]), why))
	}
	for _, why := range slices.Sorted(maps.Keys(s.Skipped)) {
		parts = append(parts, fmt.Sprintf("%d functions: %s", len(s.Skipped[why]), why))
	}
	return cell(strings.Join(parts, "; "))
}

// cell is text that does not end a cell of a table.
func cell(text string) string {
	return strings.NewReplacer("\n", " ", "|", "/").Replace(text)
}

func revision() string {
	out, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	return string(bytes.TrimSpace(out))
}

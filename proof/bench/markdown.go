package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"unicode/utf8"
)

// table writes rows as a Markdown table that also reads well as text. The
// first row is the head; all columns but the first are numbers.
func table(w io.Writer, rows [][]string) {
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	for k, row := range rows {
		for i, cell := range row {
			if i == 0 {
				fmt.Fprintf(w, "| %-*s ", width[i], cell)
			} else {
				fmt.Fprintf(w, "| %*s ", width[i], cell)
			}
		}
		fmt.Fprintln(w, "|")
		if k > 0 {
			continue
		}
		for i, n := range width {
			if i == 0 {
				fmt.Fprintf(w, "|%s", strings.Repeat("-", n+2))
			} else {
				fmt.Fprintf(w, "|%s:", strings.Repeat("-", n+1))
			}
		}
		fmt.Fprintln(w, "|")
	}
	fmt.Fprintln(w)
}

// thousands returns n with commas.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// target is one promise of the project and whether it is kept.
type target struct {
	What  string
	Limit string
	Found string
	Pass  bool
}

// atMost records a promise about a growth.
func (b *bench) atMost(what string, found, limit float64) {
	b.targets = append(b.targets, atMost(what, found, limit))
}

func atMost(what string, found, limit float64) target {
	return target{what, "<= " + percent(limit), percent(found), found <= limit}
}

func atLeast(what string, found, limit float64) target {
	return target{what, ">= " + percent(limit), percent(found), found >= limit}
}

func writeTargets(w io.Writer, targets []target) {
	rows := [][]string{{"target", "limit", "measured", ""}}
	for _, t := range targets {
		verdict := "MISS"
		if t.Pass {
			verdict = "PASS"
		}
		rows = append(rows, []string{t.What, t.Limit, t.Found, verdict})
	}
	fmt.Fprint(w, "## Targets\n\n")
	table(w, rows)
}

// headNotes say how far the figures of most reports can be trusted.
const headNotes = `Sizes repeat exactly with the same compilers, instruction
counts within a hundred. Times are processor time, as ratios of interleaved pairs of runs.`

// headTools are what most reports are about, each with how to ask for its version.
var headTools = [][]string{
	{"gcc", "gcc", "--version"},
	{"clang", "clang-22", "--version"},
	{"linker", "ld", "--version"},
	{"llvm-profdata", "llvm-profdata-22", "merge", "--version"},
	{"valgrind", "valgrind", "--version"},
}

// writeHead says what was measured, where and with what.
func (b *bench) writeHead(ctx context.Context, w io.Writer, title, notes string, tools [][]string) {
	fmt.Fprintf(w, "# %s\n\nWritten by `make bench`. %s\n\n", title, notes)
	fmt.Fprintf(w, "## Where\n\n- machine: %s\n- Go: %s\n", machine(), runtime.Version())
	for _, tool := range tools {
		fmt.Fprintf(w, "- %s: %s\n", tool[0], version(ctx, tool[1:]...))
	}
	fmt.Fprintf(w, "- cairn: revision %s\n\n", strings.TrimSpace(b.revision))
}

// version returns the line of a tool's answer that has a version in it.
func version(ctx context.Context, argv ...string) string {
	out, err := output(ctx, "", argv...)
	if err != nil {
		return "unknown"
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	for _, line := range lines[:min(2, len(lines))] {
		if strings.Contains(line, "version") {
			return strings.TrimSpace(line)
		}
	}
	return lines[0]
}

// machine names the processor and how many of it there are.
func machine() string {
	model := "unknown processor"
	if f, err := os.Open("/proc/cpuinfo"); err == nil {
		defer f.Close()
		for s := bufio.NewScanner(f); s.Scan(); {
			if name, value, _ := strings.Cut(s.Text(), ":"); strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
			}
		}
	}
	return fmt.Sprintf("%s, %d processors", model, runtime.NumCPU())
}

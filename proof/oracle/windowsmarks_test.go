//go:build linux && amd64

package oracle

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/shorttest"
)

// A markedCall is a call of which marks say something, as cairn spikes describes it.
type markedCall struct {
	Thread   string
	Frame    uint64
	Snapshot bool
	Desc     string
	Msgs     []string
	Stack    []markedFrame
	Children []markedFrame
	Parents  []markedFrame
}

type markedFrame struct {
	Function, Section, File string
	SoFar                   *[2]uint64 `json:"so_far_ns"`
}

// name returns a frame's section or function, or "" for those of the system.
func (f *markedFrame) name() string {
	switch {
	case filepath.Base(f.File) != "marks.c":
		return ""
	case f.Section != "":
		return "[" + f.Section + "]"
	}
	name, _, _ := strings.Cut(f.Function, "(")
	return name
}

// row returns what is known of the call, in a line.
func (c *markedCall) row() string {
	var b strings.Builder
	for _, list := range []struct {
		sign   string
		frames []markedFrame
	}{{" > ", c.Stack}, {" <", c.Children}, {" ^", c.Parents}} {
		for _, f := range list.frames {
			if name := f.name(); name != "" && (f.SoFar != nil || list.sign != " > ") {
				fmt.Fprintf(&b, "%s%s", list.sign, name)
			}
		}
	}
	for _, text := range append([]string{c.Desc}, c.Msgs...) {
		if text == "" {
			continue
		}
		text, _, _ = strings.Cut(text, ", 7 x ") // of addresses there are two forms
		fmt.Fprintf(&b, " %q", text)
	}
	if c.Frame != 0 {
		fmt.Fprintf(&b, " in frame %d of %s", c.Frame, c.Thread)
	}
	if c.Snapshot {
		b.WriteString(" snapshot")
	}
	return b.String()
}

// A markScenario is one of marks.c: what is found, and what the program prints.
type markScenario struct {
	name, answer string
	rows         []string
}

var markScenarios = []markScenario{
	{"nested", "0", []string{` > outer > middle > leaf ^middle ^outer "leaf  12.5% of 30"`}},
	{"section", "0", []string{` > section > [load] ^section`}},
	{"own", "0", []string{` > own > middle > leaf ^middle "leaf  12.5% of 30"`}},
	{"children", "0", []string{` > children <middle <leaf`}},
	{"parents", "0", []string{` > parents > load`}},
	{"ignore", "0", []string{` > ignore > middle > leaf ^middle ^ignore "leaf  12.5% of 30"`}},
	{"ignore_children", "0", []string{` > ignore_children <middle <leaf`}},
	{"pause", "0", nil},
	{"inactive", "0", nil},
	{"channel", "0", []string{` > [on]`}},
	{"frames", "0", []string{` > leaf "leaf  12.5% of 30" in frame 2 of renderer`}},
	{"snapshot", "0", []string{` > snapshot > [shot] snapshot`, ` > snapshot > [shot] ^snapshot`}},
	{"below", "0", []string{` > below <[inner]`}},
	{"messages", "22", []string{` > overtime "n 30" "waited 30"`}},
	{"jumps", "0", []string{` > jumps > leaf ^jumps "leaf  12.5% of 30"`}},
	{"hears", "told 1 1 speaker 1 leaf  12.5% of 30", []string{` > leaf "leaf  12.5% of 30"`, ` > leaf "leaf  12.5% of 30"`}},
	{"exception", "0", []string{` > throws "slept 30"`}},
}

// markedPrograms are compilers of marks.c, and options with which they compile it as C or C++.
var markedPrograms = [][]string{
	{mingw + "gcc", "-std=gnu99", "-O2", "-g", "-static"},
	{mingw + "g++", "-x", "c++", "-O0", "-g", "-static"},
	{"clang++-22", "-x", "c++", "--target=x86_64-w64-windows-gnu", "-fuse-ld=lld", "-pthread", "-Wno-unused-command-line-argument", "-O2", "-g", "-static"},
	{"gcc", "-O2", "-g", "-pthread"},
}

// marks looks at what marks say in a program, and in the same program for Linux. Its times are longer until all is found, as the
// clock may be late.
func (w *windows) marks(t *testing.T) {
	source, err := filepath.Abs("../../internal/runtime/nativert/testdata/timed/marks.c")
	if err != nil {
		t.Fatal(err)
	}
	// That of Linux is compared in package nativert as well.
	for i, compiler := range shorttest.Rows(3, markedPrograms...) {
		if _, err := exec.LookPath(compiler[0]); err != nil {
			t.Logf("%s is not installed", compiler[0])
			continue
		}
		dir := t.TempDir()
		program, run := filepath.Join(dir, "marks.exe"), w.run
		if compiler[0] == "gcc" {
			run = runNative
		}
		build := func(exe, source string, options ...string) {
			t.Helper()
			output(t, command(t, cairn, slices.Concat([]string{"cc", "--strict"}, options, compiler, []string{"-Wall", "-Wextra", "-Werror", "-o", exe, source})...))
		}
		build(program, source, "--mode", "spike", "--only", "^$")
		checkScenarios(t, dir, program, scenariosOf(slices.Contains(compiler, "c++"), i), func(logs string, args ...string) string {
			answer, _ := run(t, logs, program, args...)
			return answer
		})
		modes := []string{"spike", "count", "stacks", "trace"} // they do nothing in the last three
		if i > 0 {
			modes = shorttest.Rows(2, modes...)
		}
		for _, mode := range modes {
			exe := filepath.Join(dir, mode+".exe")
			build(exe, filepath.Join("testdata", "windowsspikes", "marked.c"), "--mode", mode)
			want := map[bool]string{false: "off 3\n", true: "on 3\n"}[mode == "spike"]
			if answer, code := run(t, filepath.Join(dir, mode), exe); code != 0 || answer != want {
				t.Errorf("%s, mode %s: %q, exit code %d; want %q", strings.Join(compiler, " "), mode, answer, code, want)
			}
		}
	}
}

// scenariosOf returns the scenarios of the program of a compiler by its number. With -short, the first has all, and others have exceptions
// and some: they differ in what they make of cairn.h.
func scenariosOf(exceptions bool, compiler int) (out []markScenario) {
	const compilers = 4
	for i, s := range markScenarios {
		switch {
		case s.name == "exception":
			if exceptions {
				out = append(out, s)
			}
		case !testing.Short() || compiler == 0 || i%compilers == compiler:
			out = append(out, s)
		}
	}
	return out
}

// checkScenarios runs scenarios of a program.
func checkScenarios(t *testing.T, dir, program string, scenarios []markScenario, run func(logs string, args ...string) string) {
	t.Helper()
	for _, s := range scenarios {
		for factor := 1; ; factor *= 3 {
			logs := filepath.Join(dir, fmt.Sprintf("%s.%d", s.name, factor))
			answer := run(logs, s.name, strconv.Itoa(factor))
			rows := markRows(t, logs, program)
			if strings.HasPrefix(answer, s.answer) && slices.Equal(rows, s.rows) {
				break
			}
			if factor > 80 {
				t.Errorf("%s, %s: %q and\n%s\nwant %q and\n%s", program, s.name, answer, strings.Join(rows, "\n"), s.answer, strings.Join(s.rows, "\n"))
				break
			}
		}
	}
}

// markRows returns the calls of a directory of logs, those of a process in the order of their ends.
func markRows(t *testing.T, logs, program string) (rows []string) {
	t.Helper()
	if found, err := os.ReadDir(logs); err != nil || len(found) == 0 {
		return nil
	}
	for line := range strings.Lines(output(t, command(t, cairn, "spikes", "--jsonl", "--top", "0", "--sort", "time", logs, program))) {
		var c markedCall
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if row := c.row(); row != "" {
			rows = append(rows, row)
		}
	}
	return rows
}

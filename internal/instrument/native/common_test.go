package native

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/instrument/asm"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/shorttest"
)

// eachText visits the files that match a pattern, at least one.
func eachText(t testing.TB, pattern string, visit func(file string, src []byte)) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no testdata: %v", err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		visit(file, src)
	}
}

// assemble holds that the assembler accepts a text without a message, if there is that assembler.
func assemble(t testing.TB, name string, text []byte, as ...string) {
	t.Helper()
	if _, err := exec.LookPath(as[0]); err != nil {
		return
	}
	cmd := exec.Command(as[0], append(as[1:], "-o", filepath.Join(t.TempDir(), "out.o"))...)
	cmd.Stdin = bytes.NewReader(text)
	if msg, err := cmd.CombinedOutput(); err != nil || len(msg) > 0 {
		t.Errorf("%s: %v\n%.500s", name, err, msg)
	}
}

// compiled holds the assembly that tests share, by what compiles it.
var compiled shorttest.Memo[[]byte]

// compile returns the assembly of a program, which is also in a.s of dir. A program is compiled once for all
// tests with the same options.
func compile(t testing.TB, dir, program string, build ...string) []byte {
	t.Helper()
	program, err := filepath.Abs(program)
	if err != nil {
		t.Fatal(err)
	}
	argv := append(slices.Clone(build), "-w", "-S", "-o", "-", program)
	text, err := compiled.Get(strings.Join(argv, "\x00"), func() ([]byte, error) { return outputIn(dir, argv) })
	checkRun(t, err)
	write(t, filepath.Join(dir, "a.s"), text)
	return bytes.Clone(text)
}

var insnLine = regexp.MustCompile(`(?m)^\t[a-z]`)

// mark puts a numbered label, of a kind that compilers write, before each instruction and directive.
func mark(src []byte) []byte {
	n := 0
	return insnLine.ReplaceAllFunc(src, func(line []byte) []byte {
		n++
		return fmt.Appendf(nil, ".LVLmark%d:\n%s", n, line)
	})
}

// checkRows compares the unwind rows at marks with those of the program without changes.
func checkRows(t *testing.T, got, want map[string]string) {
	t.Helper()
	if len(want) < 1000 || len(got) != len(want) {
		t.Fatalf("%d instructions, were %d", len(got), len(want))
	}
	bad := 0
	for mark, row := range want {
		if got[mark] != row {
			if bad++; bad < 4 {
				t.Errorf("%s: %s, was %s", mark, got[mark], row)
			}
		}
	}
}

// A classified instruction has a kind, and the target of a branch.
type classified struct {
	insn   string
	kind   asm.Flow
	target string
}

func checkClassify(t *testing.T, on isa, tests []classified) {
	t.Helper()
	for _, test := range tests {
		word, rest := test.insn, ""
		if i := strings.IndexAny(test.insn, " \t"); i >= 0 {
			word, rest = test.insn[:i], test.insn[i:]
		}
		kind, target := on.Classify([]byte(word), []byte(rest))
		if kind != test.kind || string(target) != test.target {
			t.Errorf("%s: %d %q, want %d %q", test.insn, kind, target, test.kind, test.target)
		}
	}
}

// A refusal is a text with one function, and a part of the reason why it is not split; "" if it is.
type refusal struct{ text, want string }

func checkSplit(t *testing.T, m machine.Kind, tests []refusal) {
	t.Helper()
	for _, test := range tests {
		_, result := splitFor(t, m, []byte(test.text), atRandom(0, 1))
		switch {
		case test.want == "" && len(result.Split) != 1,
			test.want != "" && (len(result.Refused) != 1 || !strings.Contains(result.Refused[0].Reason, test.want)):
			t.Errorf("%s\nsplit %v, refused %v, want %q", test.text, result.Split, result.Refused, test.want)
		}
	}
}

// rewriteTwice rewrites any text with all options, if it can be parsed.
func rewriteTwice(t *testing.T, src []byte, m machine.Kind, all []Options) {
	for _, opts := range all {
		unit, err := Parse(src, m)
		if err != nil {
			return
		}
		out, _ := Rewrite(unit, opts)
		again, _ := Rewrite(unit, opts)
		if !bytes.Equal(out, again) {
			t.Fatalf("%v: a second rewrite differs", opts.Mode)
		}
	}
}

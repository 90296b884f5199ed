// Package asmtest has what tests of packages that change assembly share: texts, compilers and assemblers, and the unwind rows
// of linked programs.
package asmtest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/shorttest"
)

// EachText visits the files that match a pattern, at least one.
func EachText(t testing.TB, pattern string, visit func(file string, src []byte)) {
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

// Assemble holds that the assembler accepts a text without a message, if there is that assembler.
func Assemble(t testing.TB, name string, text []byte, as ...string) {
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

// Compile returns the assembly of a program, which is also in a.s of dir. A program is compiled once for all
// tests with the same options.
func Compile(t testing.TB, dir, program string, build ...string) []byte {
	t.Helper()
	program, err := filepath.Abs(program)
	if err != nil {
		t.Fatal(err)
	}
	argv := append(slices.Clone(build), "-w", "-S", "-o", "-", program)
	text, err := compiled.Get(strings.Join(argv, "\x00"), func() ([]byte, error) { return outputIn(dir, argv) })
	checkRun(t, err)
	Write(t, filepath.Join(dir, "a.s"), text)
	return bytes.Clone(text)
}

// InsnLine begins a line with an instruction or a directive.
var InsnLine = regexp.MustCompile(`(?m)^\t[a-z]`)

// Mark puts a numbered label, of a kind that compilers write, before each instruction and directive.
func Mark(src []byte) []byte {
	n := 0
	return InsnLine.ReplaceAllFunc(src, func(line []byte) []byte {
		n++
		return fmt.Appendf(nil, ".LVLmark%d:\n%s", n, line)
	})
}

// Command runs a tool in dir, or skips the test where it is not installed.
func Command(t testing.TB, dir string, args ...string) []byte {
	t.Helper()
	out, err := outputIn(dir, args)
	checkRun(t, err)
	return out
}

// outputIn runs a command in a directory.
func outputIn(dir string, args []string) ([]byte, error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	var msg bytes.Buffer
	cmd.Stderr = &msg
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, &msg)
	}
	return out, err
}

// checkRun skips a test whose command is not installed, and fails one whose command failed.
func checkRun(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Write writes a file.
func Write(t testing.TB, file string, text []byte) {
	t.Helper()
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// Builds returns compilers and options that the tests below compile with.
func Builds() [][]string {
	return shorttest.Rows(
		4,
		[]string{"g++", "-O3", "-g", "-fPIC", "-fcf-protection", "-ffunction-sections"},
		// Functions have local aliases, as with -flto=thin.
		[]string{"clang++-22", "-O3", "-g", "-fPIC", "-fno-semantic-interposition", "-fcf-protection", "-fno-integrated-as"},
		[]string{"g++", "-Os", "-fno-omit-frame-pointer", "-mavx2", "-mstackrealign"},
		[]string{"g++", "-O2", "-fno-asynchronous-unwind-tables"},
		[]string{"g++", "-O2"},
		[]string{"g++", "-O0", "-g"},
		[]string{"clang++-22", "-O2", "-fno-integrated-as"},
		[]string{"clang++-22", "-O0", "-ffunction-sections", "-fno-integrated-as"},
	)
}

// Lost returns why out is not src with lines inserted, or "".
func Lost(src, out []byte) string {
	have := bytes.Split(out, []byte("\n"))
	for n, want := range bytes.Split(bytes.TrimSuffix(src, []byte("\n")), []byte("\n")) {
		for len(have) > 0 && !bytes.Equal(have[0], want) {
			have = have[1:]
		}
		if len(have) == 0 {
			return fmt.Sprintf("line %d is lost: %s", n+1, want)
		}
		have = have[1:]
	}
	return ""
}

// AssembleArm has text assembled, if there is an assembler.
func AssembleArm(t *testing.T, name string, text []byte) {
	t.Helper()
	Assemble(t, name, text, "arm-linux-gnueabihf-as", "-march=armv7-a", "-mfpu=neon", "-meabi=5")
}

//go:build linux && amd64

package oracle

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// windowsTools are programs for Windows that have the compilers of Linux do the work (testdata/windowsbuild), in a directory with
// a space in its name, and cairn.exe beside them.
type windowsTools struct {
	*windows
	dir, program string
}

func newWindowsTools(t *testing.T) *windowsTools {
	t.Helper()
	w := newWindows(t)
	tools := filepath.Join(t.TempDir(), "tool chain")
	first := filepath.Join(tools, "gcc.exe")
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", first, filepath.Join("testdata", "windowsbuild", "tool.go"))
	cmd.Env = append(os.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	for _, name := range []string{"g++", "as", "ld", "clang", "clang-cl", "lld-link"} {
		if err := os.Link(first, filepath.Join(tools, name+".exe")); err != nil {
			t.Fatal(err)
		}
	}
	here := &windows{append(w.env, "WINEPATH="+onWine(tools), "CAIRN_CACHE="+onWine(filepath.Join(t.TempDir(), "the cache")), "TMPDIR="+t.TempDir())}
	return &windowsTools{here, t.TempDir(), here.cairnForWindows(t)}
}

// onWine returns a path as programs for Windows have it.
func onWine(path string) string { return "Z:" + strings.ReplaceAll(path, "/", `\`) }

// cairn runs cairn.exe and returns what it says, and its exit code.
func (w *windowsTools) cairn(t *testing.T, args ...string) (said string, code int) {
	t.Helper()
	cmd := w.command(t, "", w.program, args...)
	cmd.Dir = w.dir
	text, _ := cmd.CombinedOutput()
	return strings.ReplaceAll(string(text), "\r\n", "\n"), cmd.ProcessState.ExitCode()
}

// calls runs a program and returns what cairn says of its calls.
func (w *windowsTools) calls(t *testing.T, program, want string) string {
	t.Helper()
	raws := t.TempDir()
	path := filepath.Join(w.dir, program)
	if answer, code := w.run(t, raws, path); answer != want || code != 0 {
		t.Errorf("%s answers %q, code %d", program, answer, code)
	}
	return recordedBy(t, path, raws)
}

// recordedBy returns the functions that a program's raw files have, with their runs and calls.
func recordedBy(t *testing.T, program, raws string) string {
	t.Helper()
	profile := filepath.Join(filepath.Dir(program), "run.mip")
	os.Remove(profile) // of another program
	output(t, command(t, cairn, "merge", "-o", profile, program, raws))
	var calls strings.Builder
	for line := range strings.Lines(string(output(t, command(t, cairn, "yaml", profile)))) {
		switch key, value, _ := strings.Cut(strings.TrimSpace(line), ": "); key {
		case "- name", "runs", "count":
			calls.WriteString(value + " ")
		}
	}
	return calls.String()
}

const (
	answerC = `#include <stdio.h>
int __attribute__((noinline)) answer(int x) { return x > 1 ? answer(x - 1) + 21 : 21; }
int answer_never(void) { return answer(3); }
int main(void) { printf("%s %d\n", NAME, answer(2)); return 0; }
`
	answerText = "a \"b\\c\" 42\n"
	nameOption = `-DNAME="a \"b\\c\""` // to whose parts each program on the way may add backslashes, or remove them
)

// TestWindowsBuild compiles by cairn.exe in Wine, where compilers and the programs that they start are found by the rules of Windows.
func TestWindowsBuild(t *testing.T) {
	t.Parallel()
	w := newWindowsTools(t)
	if err := os.Mkdir(filepath.Join(w.dir, "the sources"), 0o777); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"the sources/answer.c": answerC,
		"bad.c":                "int main(void) { return }\n",
		"bare.c":               "int answer(int x) { return x > 1 ? answer(x - 1) : 42; }\nint answer_start(void) { return answer(2); }\n",
		"words.rsp":            "-O1\n\"-DNAME=\\\"a \\\\\\\"b\\\\\\\\c\\\\\\\"\\\"\"\n\"the\\ sources\\\\answer.c\"\n",
		"build.bat": "@echo off\r\ngcc -O1 @words.rsp -c -o made.o\r\nif errorlevel 1 exit /b 1\r\n" +
			"g++ -O1 -static -o made.exe made.o\r\n",
	} {
		if err := os.WriteFile(filepath.Join(w.dir, filepath.FromSlash(name)), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	onLinux := filepath.Join(w.dir, "linux.exe")
	output(t, command(t, cairn, "cc", "--mode", "full", mingw+"gcc", "-O1", nameOption, "-o", onLinux, filepath.Join(w.dir, "the sources", "answer.c")))
	want := w.calls(t, "linux.exe", answerText)
	if want != "printf 1 1 1 answer 1 2 1 answer_never 0 main 1 1 1 " {
		t.Fatalf("the calls of the program built on Linux: %q", want)
	}
	same := func(program string) {
		t.Helper()
		if got := w.calls(t, program, answerText); got != want {
			t.Errorf("%s recorded %q, the one built on Linux %q", program, got, want)
		}
	}
	t.Run("cc", func(t *testing.T) {
		if said, code := w.cairn(t, "cc", "--mode", "full", "gcc", "-O1", nameOption, "-o", `direct.exe`, `the sources\answer.c`); code != 0 || said != "" {
			t.Fatalf("code %d: %s", code, said)
		}
		same("direct.exe")
		if testing.Short() {
			return
		}
		if said, code := w.cairn(t, "build", "--mode", "full", "--skip", "the sources/ans", "--", "gcc", nameOption, "-c", "-o", "skipped.o", `the sources\answer.c`); code != 0 || !strings.Contains(said, "4 functions, filtered by --only or --skip") {
			t.Errorf("a filter by a path with slashes: code %d, %q", code, said)
		}
		if said, code := w.cairn(t, "cc", "gcc", "-c", "bad.c"); code != 1 || !strings.Contains(said, "expected expression") || strings.Contains(said, "cairn:") {
			t.Errorf("an error of the compiler: code %d, %q", code, said)
		}
		if said, code := w.cairn(t, "cc", "nosuch", "-c", "bad.c"); code != 2 || !strings.Contains(said, `compiler "nosuch" not found`) {
			t.Errorf("no compiler: code %d, %q", code, said)
		}
	})
	if testing.Short() {
		return
	}
	t.Run("long", func(t *testing.T) {
		args := []string{"cc", "--mode", "full", "gcc", "-O1", nameOption, "-c", "-o", "long.o", `the sources\answer.c`}
		for i := range 950 {
			args = append(args, fmt.Sprintf("-DDEFINITION_%03d=%s", i, strings.Repeat("x", 15)))
		}
		if said, code := w.cairn(t, args...); code != 0 || said != "" {
			t.Errorf("code %d: %s", code, said)
		}
	})
	t.Run("build", func(t *testing.T) {
		said, code := w.cairn(t, "build", "--mode", "full", "--", "cmd", "/c", "build.bat")
		if code != 0 || said != "cairn: build: instrumented 1 file in mode full: 4 functions, 6 blocks\n" {
			t.Fatalf("code %d: %s", code, said)
		}
		same("made.exe")
		if said, code := w.cairn(t, "build", "--catch", "preload", "--", "cmd", "/c", "build.bat"); code != 2 || !strings.Contains(said, "use --catch path") {
			t.Errorf("--catch preload: code %d, %q", code, said)
		}
	})
	t.Run("use", func(t *testing.T) {
		if said, code := w.cairn(t, "cc", "--use", "run.mip", "gcc", "-O1", nameOption, "-o", "used.exe", `the sources\answer.c`); code != 0 || said != "" {
			t.Fatalf("code %d: %s", code, said)
		}
		if answer, code := w.run(t, "", filepath.Join(w.dir, "used.exe")); answer != answerText || code != 0 {
			t.Errorf("answer %q, code %d", answer, code)
		}
		if never, main := addressOf(t, filepath.Join(w.dir, "used.exe"), "answer_never"), addressOf(t, filepath.Join(w.dir, "used.exe"), "main"); never > main {
			t.Errorf("answer_never is at %s, main at %s", never, main)
		}
	})
	t.Run("clang", w.clang)
	t.Run("ended", w.ended)
	t.Run("interrupt", func(t *testing.T) {
		if _, err := exec.LookPath("script"); err != nil {
			t.Skip("script is not installed")
		}
		text := w.interrupted(t, w.program, w.dir, `wine "$PROGRAM" cc gcc -E -`)
		if !strings.Contains(text, "code 77") || strings.Contains(text, "cairn:") {
			t.Errorf("Ctrl-C: %q", text)
		}
	})
}

// ended ends cairn.exe while a compiler runs: that ends as well, and what both write to has its end.
func (w *windowsTools) ended(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "waits.c")
	if err := os.WriteFile(source, []byte("#include <stdio.h>\n#include <windows.h>\nint main(void) { puts(\"waits\"); fflush(stdout); Sleep(INFINITE); }\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	compiler := filepath.Join(dir, "gcc.exe")
	output(t, command(t, mingw+"gcc", "-o", compiler, source))
	cmd := w.command(t, "", w.program, "cc", onWine(compiler), "--version")
	said, err := cmd.StdoutPipe()
	if err := errors.Join(err, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(said).ReadString('\n'); err != nil || strings.TrimSpace(line) != "waits" {
		t.Errorf("%q, %v", line, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	if rest, err := io.ReadAll(said); err != nil || len(rest) > 0 {
		t.Errorf("behind the end: %q, %v", rest, err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("it was not ended")
	}
}

// addressOf returns the address of a function, as nm prints it.
func addressOf(t *testing.T, program, name string) string {
	t.Helper()
	for line := range strings.Lines(string(output(t, command(t, mingw+"nm", program)))) {
		if f := strings.Fields(line); len(f) == 3 && f[2] == name {
			return f[0]
		}
	}
	t.Fatalf("%s has no %s", program, name)
	return ""
}

// clang compiles for both systems.
func (w *windowsTools) clang(t *testing.T) {
	for _, tool := range []string{"clang-22", "clang-cl-22", "lld-link-22"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
	for _, line := range []string{
		"clang --target=x86_64-w64-windows-gnu -O1 -c -o bare1.o bare.c",
		"clang-cl /O1 /c /Fobare3.o bare.c",
	} {
		if said, code := w.cairn(t, append([]string{"cc", "--mode", "full"}, strings.Fields(line)...)...); code != 0 || said != "" {
			t.Errorf("%s: code %d: %s", line, code, said)
			continue
		}
		name := strings.Fields(line[strings.Index(line, "bare"):])[0]
		if object, err := os.ReadFile(filepath.Join(w.dir, name)); err != nil || bytes.Count(object, []byte("__cairn_record")) == 0 && !bytes.Contains(object, []byte("__cairn_link_with_cairn_cc")) {
			t.Errorf("%s: no probes: %v", line, err)
		}
	}
}

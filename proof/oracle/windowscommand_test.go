//go:build linux && amd64

package oracle

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// goPrograms makes programs of Go run.
func (w *windows) goPrograms(t *testing.T) {
	t.Helper()
	prefix, _ := strings.CutPrefix(w.env[0], "WINEPREFIX=")
	library := filepath.Join(prefix, "drive_c", "windows", "system32", "bcryptprimitives.dll")
	source := filepath.Join("testdata", "windows", "bcryptprimitives.c")
	output(t, command(t, mingw+"gcc", "-shared", "-nostdlib", "-e", "DllMain", "-o", library, source, "-ladvapi32", "-lkernel32"))
}

// cairnForWindows builds the command for Windows.
func (w *windows) cairnForWindows(t *testing.T) string {
	t.Helper()
	w.goPrograms(t)
	program := filepath.Join(t.TempDir(), "cairn.exe")
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", program, "./cmd/cairn")
	cmd.Dir = filepath.Join("..", "..")
	cmd.Env = append(os.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	return program
}

// windowsCommands are run by cairn for Linux and for Windows on the same files, and write to the directory OUT. Those of analyses
// write no files, and know nothing of systems: they are not run in short tests.
var windowsCommands = []string{
	"merge -o OUT/run.mip app raws",
	"merge -o OUT/run.mip OUT/run.mip app raws",
	`merge -o OUT/order.mip .\app-order .\raws-order`,
	`merge -o OUT/windows.mip app.exe raws-windows`,
	"covered -o OUT/run.info app OUT/run.mip",
	"covered -o OUT/cobertura.xml app OUT/run.mip",
	"covered --lines app.exe OUT/windows.mip",
	"covered -o OUT/windows.info app.exe OUT/windows.mip",
	"report app OUT/run.mip -o OUT/report.html",
	"map app.exe -o OUT/app.mipmap",
	"diff OUT/run.mip OUT/order.mip",
	"order OUT/order.mip -o OUT/order.txt",
	"info app app.exe OUT/run.mip raws log",
	"stacks log",
	"flame log -o OUT/flame.svg",
	"convert log -o OUT/trace.json",
	"convert log -o OUT/trace.parquet",
	"spikes log",
	"pack -o OUT/raws.mippack raws",
	"merge -o OUT/none.mip nosuch",
	"nosuch",
}

var windowsAnalyses = []string{
	"covered app OUT/run.mip",
	"covered --lines app OUT/run.mip",
	"covered --json app OUT/run.mip",
	"show --json OUT/run.mip",
	"show OUT/run.mip",
	"callgraph OUT/run.mip",
	"pages app-order OUT/order.mip",
	"yaml OUT/run.mip",
	"stacks --json log",
	"account log",
	"graph log",
	"replay log",
	"dump log",
	"header",
	"covered app.exe OUT/run.mip",
	"show",
}

// varying is what of a command's answers is not the same: times, names of directories, and the system's messages.
var varying = regexp.MustCompile(`timestamp="[0-9]+"|<source>[^<]*|no such file or directory|(File|Path) not found\.`)

// commands runs cairn.exe and the command for Linux on the same files.
func (w *windows) commands(t *testing.T) {
	program := w.cairnForWindows(t)
	dir := w.inputs(t)
	lines := windowsCommands
	if !testing.Short() {
		lines = slices.Concat(lines, windowsAnalyses)
	}
	for _, line := range lines {
		fields := strings.Fields(line)
		var answers [2][]byte
		for i, out := range []string{"linux", "windows"} {
			if err := os.MkdirAll(filepath.Join(dir, out), 0o777); err != nil {
				t.Fatal(err)
			}
			args := make([]string, len(fields))
			for k, f := range fields {
				args[k] = strings.ReplaceAll(f, "OUT", out)
				if i == 0 {
					args[k] = strings.ReplaceAll(args[k], `\`, "/")
				}
			}
			cmd := command(t, cairn, args...)
			if i == 1 {
				cmd = w.command(t, "", program, args...)
			}
			cmd.Dir = dir
			text, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			text = append(text, byte('0'+cmd.ProcessState.ExitCode()))
			answers[i] = plainAnswer(text)
		}
		if !bytes.Equal(answers[0], answers[1]) {
			t.Errorf("cairn %s: on Windows %s\non Linux %s", line, answers[1], answers[0])
		}
	}
	sameTrees(t, filepath.Join(dir, "linux"), filepath.Join(dir, "windows"))
	if text, err := os.ReadFile(filepath.Join(dir, "windows", "windows.info")); !bytes.Contains(text, []byte("SF:C:/sources/source.c\n")) {
		t.Errorf("the source of a program that was compiled on Windows: %s, %v", text, err)
	}
	w.inUse(t, program, dir)
	w.console(t, program, dir)
}

// inUse writes a profile that another program has open: the message says so, and nothing is left behind.
func (w *windows) inUse(t *testing.T, program, dir string) {
	holder, held := filepath.Join(dir, "hold.exe"), filepath.Join("windows", "run.mip")
	output(t, command(t, mingw+"gcc", "-O1", "-Wall", "-Werror", "-o", holder, filepath.Join("testdata", "windows", "hold.c")))
	cmd := w.command(t, "", holder, held)
	cmd.Dir = dir
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
	merge := w.command(t, "", program, "merge", "-o", held, "app", "raws")
	merge.Dir = dir
	text, err := merge.CombinedOutput()
	const want = "cairn: writing windows/run.mip: the file cannot be replaced: another program has it open, or it is read-only\n"
	if err == nil || string(text) != want {
		t.Errorf("a profile that is open: %q, %v", text, err)
	}
	if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
		t.Error(err)
	}
	// Windows denies the file beside the profile that is its lock, as it does in a directory in which nothing may be written.
	lock := filepath.Join(dir, held+".lock")
	if err := os.Mkdir(lock, 0o777); err != nil {
		t.Fatal(err)
	}
	merge = w.command(t, "", program, "merge", "-o", held, held, "raws")
	merge.Dir = dir
	if text, err := merge.CombinedOutput(); err == nil || string(text) != "cairn: lock windows\\run.mip.lock: Access denied.\n" {
		t.Errorf("a lock that cannot be made: %q, %v", text, err)
	}
	if err := os.Remove(lock); err != nil {
		t.Error(err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "windows", ".*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

// console presses Ctrl-C in a console in which the command reads its input, and looks at colours there.
func (w *windows) console(t *testing.T, program, dir string) {
	if _, err := exec.LookPath("script"); err != nil {
		t.Log("script is not installed")
		return
	}
	cmd := w.onTerminal(t, program, dir, `wine "$PROGRAM" diff windows/run.mip windows/order.mip`)
	if answer, err := cmd.Output(); err != nil || !bytes.Contains(answer, []byte("\x1b[33m")) {
		t.Errorf("no colours on a console: %q, %v", answer, err)
	}
	if text := w.interrupted(t, program, dir, `wine "$PROGRAM" stacks -`); !strings.Contains(text, "cairn: interrupted") || !strings.Contains(text, "code 130") {
		t.Errorf("Ctrl-C: %q", text)
	}
}

// onTerminal returns a command that runs a line of a shell on a terminal, in a directory.
func (w *windows) onTerminal(t *testing.T, program, dir, line string) *exec.Cmd {
	cmd := command(t, "script", "-qec", line, os.DevNull)
	cmd.Env = append(w.command(t, "", "").Env, "TERM=xterm", "PROGRAM="+program)
	cmd.Dir = dir
	return cmd
}

// interrupted presses Ctrl-C while a command reads the keys, and returns what the terminal then shows, with its exit code.
func (w *windows) interrupted(t *testing.T, program, dir, line string) string {
	// The terminal repeats nothing itself: what it shows of the keys comes from the console of the program that reads them.
	// The shell survives a Ctrl-C that comes after the program.
	cmd, answer := w.onTerminal(t, program, dir, `trap : INT; stty -echo; echo ready; `+line+` ; echo code $?`), new(bytes.Buffer)
	shown, err1 := cmd.StdoutPipe()
	keys, err2 := cmd.StdinPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	ready, reading, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go press(keys, ready, reading, ended)
	signs := map[string]chan struct{}{"ready": ready, "~": reading}
	for piece, err := make([]byte, 4096), error(nil); err == nil; {
		var n int
		n, err = shown.Read(piece)
		answer.Write(piece[:n])
		for sign, seen := range signs {
			if bytes.Contains(answer.Bytes(), []byte(sign)) {
				close(seen)
				delete(signs, sign)
			}
		}
	}
	close(ended)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	return answer.String()
}

// press presses a key until the program reads, and Ctrl-C until it has ended: one that comes too early is lost.
func press(keys io.Writer, ready, reading, ended <-chan struct{}) {
	key := byte('~')
	for next := ready; ; {
		select {
		case <-next:
			next = nil
		case <-reading:
			key, reading = 3, nil
		case <-ended:
			return
		case <-time.After(time.Second):
		}
		if next == nil {
			keys.Write([]byte{key}) // fails once the program has ended
		}
	}
}

// plainAnswer replaces what differs between the systems and the directories.
func plainAnswer(text []byte) []byte {
	text = varying.ReplaceAll(text, nil)
	text = bytes.ReplaceAll(text, []byte(`\\`), []byte("/"))
	text = bytes.ReplaceAll(text, []byte(`\`), []byte("/"))
	return bytes.ReplaceAll(text, []byte("windows/"), []byte("linux/"))
}

// sameTrees compares the files of two directories. Those that embed compressed data have the same names only.
func sameTrees(t *testing.T, want, got string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(want, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(want, path)
		if err != nil {
			return err
		}
		a, err1 := os.ReadFile(path)
		b, err2 := os.ReadFile(filepath.Join(got, name))
		files++
		switch err := errors.Join(err1, err2); {
		case err != nil:
			t.Error(err)
		case strings.HasSuffix(name, ".html") || strings.HasSuffix(name, ".parquet"):
			if len(b) < len(a)/2 {
				t.Errorf("%s has %d bytes on Windows, and %d on Linux", name, len(b), len(a))
			}
		case !bytes.Equal(plainAnswer(a), plainAnswer(b)):
			t.Errorf("%s is not the same on Windows", name)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if files < 12 {
		t.Errorf("only %d files", files)
	}
}

// inputs makes what the commands read, below a directory whose name has spaces.
func (w *windows) inputs(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "in the middle")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(dir, "source.c")
	text, err := os.ReadFile(filepath.Join("testdata", "windows", "inputs.c"))
	if err == nil {
		err = os.WriteFile(source, text, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []struct{ mode, program, raws string }{{"full", "app", "raws"}, {"block+order", "app-order", "raws-order"}, {"trace", "app-trace", "log"}} {
		program := filepath.Join(dir, p.program)
		output(t, command(t, cairn, "cc", "--mode", p.mode, "gcc", "-g", "-O1", "-ffile-prefix-map="+dir+"=.", "-o", program, source))
		cmd := command(t, program)
		cmd.Env = append(cmd.Env, "CAIRN_DIR="+filepath.Join(dir, p.raws))
		output(t, cmd)
	}
	program := filepath.Join(dir, "app.exe")
	output(t, command(t, cairn, "cc", "--mode", "full", mingw+"gcc", "-g", "-O1", `-ffile-prefix-map=`+dir+`=C:\sources`, "-o", program, source))
	w.run(t, filepath.Join(dir, "raws-windows"), program)
	return dir
}

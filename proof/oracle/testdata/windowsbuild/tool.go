// Command tool is a compiler for Windows that runs in Wine: under the name of one of LLVM's or mingw-w64's tools it has that of Linux
// do the work. A driver asks that of Linux which programs it would start (-###), and starts them as it would on Windows: an
// assembler in a directory of -B, and a part of clang, are programs for Windows; all others are those of Linux.
package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	go func() { // Wine ends a program that does not care with 0
		<-interrupts
		os.Exit(77)
	}()
	self, err := os.Executable()
	check(err)
	name := strings.TrimSuffix(filepath.Base(self), ".exe")
	args := toUnix(expand(os.Args[1:]))
	switch name {
	case "as", "ld":
		os.Exit(pass(onLinux("", "x86_64-w64-mingw32-"+name, args, true)))
	case "lld-link":
		os.Exit(pass(onLinux("", name+"-22", args, false)))
	case "gcc", "g++":
		os.Exit(drive("x86_64-w64-mingw32-"+name, args))
	}
	mode := map[string]string{"clang": "gcc", "clang++": "g++", "clang-cl": "cl"}[name]
	if len(args) == 0 || !strings.HasPrefix(args[0], "-cc1") {
		args = append([]string{"--driver-mode=" + mode}, args...)
	}
	os.Exit(drive(name+"-22", args))
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "tool:", err)
		os.Exit(99)
	}
}

// expand puts response files in place of their names.
func expand(args []string) (out []string) {
	for _, a := range args {
		text, err := os.ReadFile(strings.TrimPrefix(a, "@"))
		if !strings.HasPrefix(a, "@") || err != nil {
			out = append(out, a)
			continue
		}
		out = append(out, words(string(text))...)
	}
	return out
}

// words splits text at white space outside of quotes, with backslashes, as gcc does, and reads what -### prints as well.
func words(text string) (out []string) {
	word, in, quoted := "", false, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			i++
			word, in = word+text[i:i+1], true
		case c == '"':
			quoted, in = !quoted, true
		case strings.ContainsRune(" \t\r\n", rune(c)) && !quoted:
			if in {
				out = append(out, word)
			}
			word, in = "", false
		default:
			word, in = word+text[i:i+1], true
		}
	}
	if in {
		out = append(out, word)
	}
	return out
}

// drives are those of Wine.
var drives = strings.NewReplacer("Z:/", "/", "z:/", "/", "C:/", os.Getenv("WINEPREFIX")+"/drive_c/")

// toUnix translates paths in arguments.
func toUnix(args []string) []string {
	out := slices.Clone(args)
	for i, a := range out {
		if a == "NUL" {
			out[i] = os.DevNull
			if os.DevNull == "NUL" {
				out[i] = "/dev/null"
			}
		} else if !strings.HasPrefix(a, "-D") {
			out[i] = drives.Replace(strings.ReplaceAll(a, `\`, "/"))
		}
	}
	return out
}

// toWindows translates those that begin at the root.
func toWindows(args []string) []string {
	out := slices.Clone(args)
	for i, a := range out {
		if strings.HasPrefix(a, "/") && strings.Count(a, "/") > 1 {
			out[i] = "Z:" + filepath.FromSlash(a)
		}
	}
	return out
}

type answer struct {
	out, err []byte
	code     int
}

// pass repeats what a program said.
func pass(a answer) int {
	os.Stdout.Write(a.out)
	os.Stderr.Write(a.err)
	return a.code
}

// onLinux runs a program of Linux under a name, or its own for "". Wine gives it no pipes and does not say when it has ended: files do.
func onLinux(name, program string, args []string, input bool) answer {
	dir, err := os.MkdirTemp(`Z:`+filepath.FromSlash(os.Getenv("TMPDIR")), "tool-")
	check(err)
	defer func() { // os.RemoveAll removes nothing in Wine
		for _, name := range []string{"in", "out", "err", "job", "code", "."} {
			os.Remove(filepath.Join(dir, name))
		}
	}()
	unixDir := toUnix([]string{dir})[0]
	here, err := os.Getwd()
	check(err)
	from := "/dev/null"
	if input {
		text, err := io.ReadAll(os.Stdin)
		check(err)
		if info, err := os.Stdin.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			select {} // Ctrl-C also ends what a console has to read
		}
		check(os.WriteFile(filepath.Join(dir, "in"), text, 0o600))
		from = "in"
	}
	script := "exec <" + from + " >out 2>err\nPATH=/usr/local/bin:/usr/bin:/bin; export PATH\ndir=$PWD\ncd " + quote(toUnix([]string{here})[0]) + "\nexec_as() (exec -a " + quote(cmp.Or(name, program)) + " \"$@\")\nexec_as " + quote(program)
	for _, a := range args {
		script += " " + quote(a)
	}
	check(os.WriteFile(filepath.Join(dir, "job"), []byte("cd "+quote(unixDir)+"\n"+script+"\necho $? >\"$dir/ended\"\nmv \"$dir/ended\" \"$dir/code\"\n"), 0o600))
	app, err1 := syscall.UTF16PtrFromString(`\\?\unix\bin\bash`)
	line, err2 := syscall.UTF16PtrFromString(`bash "` + unixDir + `/job"`)
	check(errors.Join(err1, err2))
	info := syscall.StartupInfo{}
	info.Cb = 104
	check(syscall.CreateProcess(app, line, nil, nil, false, 0, nil, nil, &info, new(syscall.ProcessInformation)))
	code, err := os.ReadFile(filepath.Join(dir, "code"))
	for ; errors.Is(err, fs.ErrNotExist); code, err = os.ReadFile(filepath.Join(dir, "code")) {
		time.Sleep(2 * time.Millisecond)
	}
	check(err)
	if i := slices.Index(args, "-o") + 1; i > 0 && i < len(args) && strings.HasSuffix(args[i], ".s") { // as on Windows
		made := toWindows(args[i : i+1])[0]
		text, err := os.ReadFile(made)
		if err == nil {
			err = os.WriteFile(made, bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")), 0o600)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			check(err)
		}
	}
	var a answer
	_, err = fmt.Sscan(string(code), &a.code)
	check(err)
	a.out, err1 = os.ReadFile(filepath.Join(dir, "out"))
	a.err, err2 = os.ReadFile(filepath.Join(dir, "err"))
	check(errors.Join(err1, err2))
	return a
}

func quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// assemblerOf returns the assembler in a directory of -B, "" if there is none.
func assemblerOf(args []string) string {
	for _, a := range args {
		if dir, ok := strings.CutPrefix(a, "-B"); ok {
			if found := filepath.Join(toWindows([]string{dir})[0], "as.exe"); exists(found) {
				return found
			}
		}
	}
	return ""
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// drive is a driver: it returns its exit code.
func drive(driver string, args []string) int {
	as := assemblerOf(args)
	if slices.Contains(args, "-print-prog-name=as") && as != "" {
		fmt.Println(as)
		return 0
	}
	standIn := ""
	if self, err := os.Executable(); err == nil && filepath.IsAbs(os.Args[0]) && !strings.EqualFold(self, os.Args[0]) {
		standIn = toUnix(os.Args[:1])[0]
	}
	for _, a := range args {
		if a == "-###" {
			a := onLinux(standIn, driver, args, false)
			a.err = bytes.ReplaceAll(a.err, []byte(standIn+`"`), []byte(strings.ReplaceAll(os.Args[0], `\`, `\\`)+`"`))
			return pass(a)
		}
		if strings.HasPrefix(a, "-print") || slices.Contains([]string{"--version", "-dumpmachine", "-E", "-Wl,--version"}, a) || strings.HasPrefix(a, "-cc1") {
			return pass(onLinux("", driver, args, slices.Contains(args, "-")))
		}
	}
	plan := onLinux(standIn, driver, append([]string{"-###"}, args...), false)
	if plan.code != 0 {
		return pass(plan)
	}
	var made []string
	defer func() {
		for _, name := range made {
			os.Remove(name)
		}
	}()
	for line := range bytes.Lines(plan.err) {
		if line[0] != ' ' || bytes.HasPrefix(line, []byte(" (in-process)")) {
			continue
		}
		job := words(string(line))
		for _, a := range job {
			if strings.HasPrefix(a, "/tmp/cc") || strings.HasPrefix(a, os.Getenv("TMPDIR")+"/cc") {
				made = append(made, "Z:"+filepath.FromSlash(a))
			}
		}
		if code := start(job, as, slices.Contains(args, "-")); code != 0 {
			return code
		}
	}
	return 0
}

// start runs one program of a driver.
func start(job []string, as string, input bool) int {
	standIn := toWindows(job[:1])[0]
	switch base := path.Base(job[0]); {
	case strings.HasSuffix(base, "as") && as != "":
		standIn = as
	case !strings.HasSuffix(base, ".exe"):
		return pass(onLinux("", job[0], job[1:], input))
	}
	cmd := exec.Command(standIn, toWindows(job[1:])...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		check(err)
	}
	return cmd.ProcessState.ExitCode()
}

//go:build linux && amd64

package oracle

import (
	"bufio"
	"bytes"
	"cmp"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// strangerScript has mawk match, split, print, call functions and start programs.
const strangerScript = `
BEGIN { srand(7); FS = "[ \t]+" }
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) }
{ n[$2]++; s += length($3); gsub(/e+/, "E"); if (match($0, /x.y/)) hits++; split($0, a, /o/); t += a[1] ~ /^[A-Z]/ }
/begin/, /end/ { r++ }
END {
	for (k in n) c++
	printf "%d %d %d %d %.3f %s\n", c, s, hits, t, sqrt(s), toupper(substr("hello", 2, 3))
	print fib(14), r
	while (("echo a b" | getline line) > 0) print line
	print sprintf("%5.2e|%-5d|%x", 3.14159, 42, 255)
	delete n
	print index("abc", "c"), substr("x", 2), 1 / 3
	exit 3
}`

// strangerInput are the lines that it reads.
func strangerInput() string {
	var b strings.Builder
	for i := range 3000 {
		last := "x-y free tree"
		switch i % 50 {
		case 0:
			last = "begin"
		case 20:
			last = "end"
		}
		b.WriteString("w" + strconv.Itoa(i%37) + " k" + strconv.Itoa(i%101) + " text" + strconv.Itoa(i) + " " + last + "\n")
	}
	return b.String()
}

// buildStranger configures and builds Debian's mawk in a directory of its own.
func buildStranger(t *testing.T, env ...string) (dir string) {
	t.Helper()
	script, err := filepath.Abs(filepath.Join("..", "..", "scripts", "debian-source.sh"))
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	if out, err := command(t, script, "mawk", dir).CombinedOutput(); err != nil {
		t.Skipf("%v: %s", err, out)
	}
	for _, argv := range [][]string{{"./configure", "-q"}, {"make", "-s"}} {
		cmd := command(t, argv[0], argv[1:]...)
		cmd.Dir, cmd.Env = dir, append(cmd.Env, env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", cmd, err, out)
		}
	}
	return dir
}

// runStranger runs mawk, which ends with code 3.
func runStranger(t *testing.T, dir string) string {
	t.Helper()
	cmd := command(t, filepath.Join(dir, "mawk"), strangerScript)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(strangerInput())
	cmd.Env = append(cmd.Env, "CAIRN_DIR="+filepath.Join(dir, "raws"))
	out, err := cmd.Output()
	if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != 3 {
		t.Fatalf("%s: %v", cmd, err)
	}
	return string(out)
}

// gcovTimes returns how often each line ran by gcov's text, by base name of the file and number. Of lines that several
// programs have, the larger number counts.
func gcovTimes(text []byte) map[sourceLine]uint64 {
	times := map[sourceLine]uint64{}
	file := ""
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		fields := strings.SplitN(lines.Text(), ":", 3)
		if len(fields) < 3 {
			continue
		}
		count, at := strings.TrimSpace(fields[0]), strings.TrimSpace(fields[1])
		line, err := strconv.Atoi(at)
		switch source, is := strings.CutPrefix(fields[2], "Source:"); {
		case err != nil || count == "-" && !is:
		case line == 0 && is:
			file = filepath.Base(source)
		case strings.Trim(count, "#=") == "":
			times[sourceLine{file, line}] += 0
		default:
			if n, err := strconv.ParseUint(strings.TrimSuffix(count, "*"), 10, 64); err == nil {
				times[sourceLine{file, line}] = max(times[sourceLine{file, line}], n)
			}
		}
	}
	return times
}

// lcovTimes returns the same by a tracefile.
func lcovTimes(text string) map[sourceLine]uint64 {
	times := map[sourceLine]uint64{}
	file := ""
	for l := range strings.Lines(text) {
		l = strings.TrimSpace(l)
		if source, ok := strings.CutPrefix(l, "SF:"); ok {
			file = filepath.Base(source)
		}
		if rest, ok := strings.CutPrefix(l, "DA:"); ok {
			line, count, _ := strings.Cut(rest, ",")
			at, err := strconv.Atoi(line)
			n, err2 := strconv.ParseUint(count, 10, 64)
			if cmp.Or(err, err2) == nil {
				times[sourceLine{file, at}] = n
			}
		}
	}
	return times
}

// TestEdgeStranger compares the executions of the lines of mawk with gcov's, both without optimisation. Of lines with several
// blocks gcov adds up some and cairn has the one that ran most; of the brace that ends a function gcov counts nothing after a
// call that may not return; behind a call of exec gcov counts what did not run. The parser of bison has lines of two files.
func TestEdgeStranger(t *testing.T) {
	skipLong(t)
	t.Parallel()
	mustHave(t, "gcov")
	edge := buildStranger(t, "CC="+cairn+" cc --mode edge gcc", "CFLAGS=-O0 -g")
	plain := buildStranger(t, "CC=gcc", "CFLAGS=-O0 -g --coverage", "LDFLAGS=--coverage")
	if got, want := runStranger(t, edge), runStranger(t, plain); got != want {
		t.Fatalf("it printed %q, without probes %q", got, want)
	}
	sources, err := filepath.Glob(filepath.Join(plain, "*.c"))
	if err != nil {
		t.Fatal(err)
	}
	gcov := command(t, "gcov", append([]string{"-t"}, sources...)...)
	gcov.Dir = plain
	text, _ := gcov.Output() // it fails for sources that the program does not have
	truth := gcovTimes(text)
	ours := lcovTimes(output(t, command(t, cairn, "covered", filepath.Join(edge, "mawk"), filepath.Join(edge, "raws"), "--lcov")))
	same, all := 0, 0
	for line, want := range truth {
		got, known := ours[line]
		if !known || strings.HasPrefix(line.file, "parse.") {
			continue
		}
		if all++; got == want {
			same++
		} else {
			t.Logf("%s:%d ran %d times, by gcov %d", line.file, line.line, got, want)
		}
	}
	t.Logf("%d of %d lines have gcov's number", same, all)
	if least := all * 99 / 100; same < least || all < 5000 {
		t.Errorf("%d of %d lines have gcov's number, at least %d do", same, all, least)
	}
}

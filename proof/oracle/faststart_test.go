//go:build linux && amd64

package oracle

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// started is what a start of a program costs.
type started struct {
	output       string
	faults       int64 // without reading, of the process; the fewest of some runs
	instructions int64 // of user code
}

// collected is callgrind's sum of the instructions that ran.
var collected = regexp.MustCompile(`Collected : (\d+)`)

func startOf(t *testing.T, program string, args ...string) started {
	t.Helper()
	s := started{faults: 1 << 40}
	for range 5 {
		cmd := exec.Command(program, args...)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		err := cmd.Run()
		if _, ended := err.(*exec.ExitError); err != nil && !ended {
			t.Fatal(err)
		}
		s.output = out.String() + cmd.ProcessState.String()
		s.faults = min(s.faults, cmd.ProcessState.SysUsage().(*syscall.Rusage).Minflt)
	}
	out, _ := exec.Command("valgrind", append([]string{"--tool=callgrind", "--callgrind-out-file=/dev/null", program}, args...)...).CombinedOutput()
	m := collected.FindSubmatch(out)
	if m == nil {
		t.Fatalf("callgrind: %s", out)
	}
	s.instructions, _ = strconv.ParseInt(string(m[1]), 10, 64)
	return s
}

// TestFastStart builds a program of C++ by a profile, with --fast-start and without, and holds answers, exceptions among
// them, page faults and instructions of their starts against each other.
func TestFastStart(t *testing.T) {
	t.Parallel()
	mustHave(t, "valgrind")
	mustHave(t, "g++")
	source := filepath.Join("testdata", "faststart.cc")
	args := []string{"one", "two", "one", "throw", "locale"}
	probed, raws := build(t, "full", "g++", "-O2", source), t.TempDir()
	cmd := command(t, probed, args...)
	cmd.Env = append(cmd.Env, "CAIRN_DIR="+raws)
	output(t, cmd)
	profile := filepath.Join(t.TempDir(), "app.mip")
	output(t, command(t, cairn, "merge", "-o", profile, probed, raws))
	var by [2]string
	for i, flags := range [][]string{{"--use", profile}, {"--use", profile, "--fast-start"}} {
		by[i] = filepath.Join(t.TempDir(), "app")
		output(t, command(t, cairn, append(append([]string{"cc"}, flags...), "g++", "-O2", "-o", by[i], source)...))
	}
	for _, run := range [][]string{args, nil, {"throw"}, {"uncaught"}, strings.Split(strings.Repeat("word ", 500), " ")} {
		plain, fast := startOf(t, by[0], run...), startOf(t, by[1], run...)
		t.Logf("%d arguments: faults %d and %d, instructions %d and %d", len(run), plain.faults, fast.faults, plain.instructions, fast.instructions)
		if plain.output != fast.output {
			t.Errorf("%q: %s\nwith --fast-start: %s", run, plain.output, fast.output)
		}
		if fast.faults > plain.faults-20 || fast.instructions > plain.instructions-1_000_000 {
			t.Errorf("%d arguments: the start is not faster", len(run))
		}
	}
}

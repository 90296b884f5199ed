//go:build linux && amd64

package oracle

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/prof"
)

// execution is what callgrind counted in one object, by link-time address.
type execution struct {
	instr map[uint64]uint64    // executions of the instruction there
	calls map[uint64]uint64    // calls, as callgrind understands them, of the code there
	edges map[[2]uint64]uint64 // those from an instruction of the object to the code there
}

// callgrind runs a program with probes on valgrind's processor. It returns its
// answer, and what callgrind and the probes counted in that same run.
func callgrind(t *testing.T, program string, args ...string) (string, execution, *prof.Module) {
	t.Helper()
	return callgrindWith(t, "--skip-plt=yes", program, args...)
}

// callgrindWith is callgrind with another option. Without --skip-plt=no the instructions of the PLT are counted as those
// of the call.
func callgrindWith(t *testing.T, option, program string, args ...string) (string, execution, *prof.Module) {
	t.Helper()
	mustHave(t, "valgrind")
	dir := t.TempDir()
	out, raws := filepath.Join(dir, "callgrind.out"), filepath.Join(dir, "raws")
	argv := slices.Insert(underCallgrind(out, "--dump-instr=yes", program, args...), 2, option)
	cmd := command(t, argv[0], argv[1:]...)
	cmd.Env = append(cmd.Env, "CAIRN_DIR="+raws)
	answer := output(t, cmd)
	return answer, executed(t, out, program), profile(t, program, raws)
}

// underCallgrind is the command that runs a program and writes the file out, which tells
// what option says.
func underCallgrind(out, option, program string, args ...string) []string {
	return append([]string{
		"valgrind", "--tool=callgrind", "-q", option, "--compress-strings=no", "--compress-pos=no",
		"--callgrind-out-file=" + out, program,
	}, args...)
}

// executed reads what a callgrind file says of a program.
func executed(t *testing.T, out, program string) execution {
	t.Helper()
	f, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ran, err := readCallgrind(f, program)
	if err != nil {
		t.Fatal(err)
	}
	return ran
}

// readCallgrind reads what a callgrind file says of one object. The format is
// in valgrind's manual, cl-format. Lines that matter here:
//
//	ob=FILE                   the lines after it are code of FILE
//	0xADDR LINE N             the instruction ran N times
//	cob=FILE                  the next call is to FILE, otherwise to the object of ob
//	calls=N 0xADDR LINE       N calls of the code at ADDR
//	0xADDR LINE N             after calls: the cost of the callee, not of this place
func readCallgrind(r io.Reader, object string) (execution, error) {
	e := execution{instr: map[uint64]uint64{}, calls: map[uint64]uint64{}, edges: map[[2]uint64]uint64{}}
	ob, cob, callCost := "", "", false
	var called, calls uint64 // by the instruction of the next line; 0 for another object
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		name, value, isHeader := strings.Cut(line, "=")
		switch {
		case strings.HasPrefix(line, "0x"):
			addr, count, err := cost(line)
			if err != nil {
				return e, fmt.Errorf("line %d: %w", n, err)
			}
			switch {
			case ob == object && !callCost:
				e.instr[addr] += count
			case ob == object && calls > 0:
				e.edges[[2]uint64{addr, called}] += calls
			}
			callCost, calls = false, 0
		case isHeader && name == "ob":
			ob = value
		case isHeader && name == "cob":
			cob = value
		case isHeader && name == "calls":
			if cob == "" {
				cob = ob
			}
			if cob == object {
				count, addr, err := call(value)
				if err != nil {
					return e, fmt.Errorf("line %d: %w", n, err)
				}
				e.calls[addr] += count
				called, calls = addr, count
			}
			cob, callCost = "", true
		}
	}
	return e, lines.Err()
}

// cost reads "0xADDR LINE N". N may be missing if it is 0.
func cost(line string) (addr, count uint64, err error) {
	f := strings.Fields(line)
	if len(f) < 2 || len(f) > 3 {
		return 0, 0, fmt.Errorf("%q is no cost line", line)
	}
	if addr, err = strconv.ParseUint(f[0], 0, 64); err != nil || len(f) == 2 {
		return addr, 0, err
	}
	count, err = strconv.ParseUint(f[2], 10, 64)
	return addr, count, err
}

// call reads "N 0xADDR LINE".
func call(value string) (count, addr uint64, err error) {
	f := strings.Fields(value)
	if len(f) != 3 {
		return 0, 0, fmt.Errorf("%q is no call", value)
	}
	if count, err = strconv.ParseUint(f[0], 10, 64); err != nil {
		return 0, 0, err
	}
	addr, err = strconv.ParseUint(f[1], 0, 64)
	return count, addr, err
}

func TestReadCallgrind(t *testing.T) {
	t.Parallel()
	const text = `# callgrind format
positions: instr line
events: Ir

ob=/lib/libc.so.6
fl=???
fn=qsort
0x10 0 7
cob=/bin/app
cfn=compare
calls=5 0x10 0
0x12 0 50

ob=/bin/app
fn=compare
0x10 0 5
0x14 0 3
0x18 0
fn=main
0x20 0 1
cfn=compare'2
calls=2 0x10 0
0x24 0 20
cob=/lib/libc.so.6
cfn=qsort
calls=1 0x20 0
0x28 0 70
fn=compare'2
0x10 0 2
0x2c 0 1
totals: 99
`
	got, err := readCallgrind(strings.NewReader(text), "/bin/app")
	if err != nil {
		t.Fatal(err)
	}
	instr := map[uint64]uint64{0x10: 7, 0x14: 3, 0x18: 0, 0x20: 1, 0x2c: 1}
	if !maps.Equal(got.instr, instr) {
		t.Errorf("instructions ran %v, want %v", got.instr, instr)
	}
	if calls := map[uint64]uint64{0x10: 7}; !maps.Equal(got.calls, calls) {
		t.Errorf("calls %v, want %v", got.calls, calls)
	}
	if edges := map[[2]uint64]uint64{{0x24, 0x10}: 2}; !maps.Equal(got.edges, edges) {
		t.Errorf("calls by instruction %v, want %v", got.edges, edges)
	}
	if _, err := readCallgrind(strings.NewReader("0x10 1 2 3\n"), "/bin/app"); err == nil {
		t.Error("took a line with two costs")
	}
}

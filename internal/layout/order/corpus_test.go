package order

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/prof"
)

// The programs of testdata were built with clang 22 -O2 and traced by
// breakpoints on all functions: sqlite 3.40.1 (14 scenarios), lua 5.4.4 (11),
// ninja 1.11.1 (17), CPython 3.11.2 (12). A file has "funcs N", then for each
// function its offset in .text and its size, then lines "trace NAME INDEX...".
var programs = []string{"sqlite", "lua", "ninja", "python"}

// readProgram returns a program of testdata, with the counts that its runs
// would have given.
func readProgram(t testing.TB, name string) *Input {
	t.Helper()
	in, err := loadProgram(filepath.Join("testdata", name+".txt.gz"))
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func loadProgram(path string) (*Input, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	in := &Input{}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		switch fields[0] {
		case "funcs":
		case "trace":
			tr := prof.Trace{Scenario: fields[1], Weight: 1}
			for _, s := range fields[2:] {
				n, err := strconv.ParseUint(s, 10, 32)
				if err != nil {
					return nil, err
				}
				tr.Funcs = append(tr.Funcs, uint32(n))
			}
			in.Traces = append(in.Traces, tr)
		default:
			var fn Func
			if _, err := fmt.Sscan(lines.Text(), &fn.Addr, &fn.Size); err != nil {
				return nil, err
			}
			in.Funcs = append(in.Funcs, fn)
		}
	}
	setMeanOrder(in)
	return in, lines.Err()
}

//go:build linux && amd64

package oracle

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/format/perfdata"
)

// recordingsDir names the directory of a copy of src/quipper/testdata of github.com/google/perf_data_converter, or any other
// with files of perf record.
const recordingsDir = "CAIRN_RECORDINGS"

// TestPublicRecordings compares the samples of recordings that others made with the dump that perf report -D writes of them:
// their threads, addresses, stacks and branches. (perf script prints addresses of stacks as offsets in files in some versions.)
func TestPublicRecordings(t *testing.T) {
	t.Parallel()
	mustHave(t, "perf")
	dir := os.Getenv(recordingsDir)
	if dir == "" {
		t.Skipf("%s does not say where recordings are", recordingsDir)
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*.data*"))
	if err != nil {
		t.Fatal(err)
	}
	compared, all, branches := 0, 0, 0
	for _, path := range paths {
		name := filepath.Base(path)
		text, err := exec.Command("perf", "report", "-D", "-i", path).Output()
		theirs := dumpedSamples(string(text))
		if err != nil || len(theirs) == 0 {
			t.Logf("%s: perf reads no sample of it", name)
			continue
		}
		ours, n := ourSamples(t, path)
		if d := onlyInOne(ours, theirs); d != "" {
			t.Errorf("%s: %d samples, perf has %d: %s", name, len(ours), len(theirs), d)
		}
		compared, all, branches = compared+1, all+len(ours), branches+n
	}
	if compared == 0 {
		t.Fatalf("no recording in %s", dir)
	}
	t.Logf("%d recordings, %d samples, %d branches", compared, all, branches)
}

// ourSamples returns a line for each sample of a file, ascending, and the number of branches.
func ourSamples(t *testing.T, path string) (out []string, branches int) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	in, err := perfdata.Open(f, info.Size(), path)
	if err != nil {
		t.Fatal(err)
	}
	for b, err := range in.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range b.Samples {
			line := fmt.Sprintf("%d/%d", s.PID, s.TID)
			for _, addr := range s.Stack {
				line += fmt.Sprintf(" %x", addr)
			}
			for i, x := range s.Branches {
				line += fmt.Sprintf(" %x>%x%s", x.From, x.To, map[uint64]string{1: "M"}[s.Mispredicted>>i&1])
			}
			out = append(out, line)
			branches += len(s.Branches)
		}
		b.Release()
	}
	slices.Sort(out)
	return out, branches
}

var (
	dumpedSample = regexp.MustCompile(`PERF_RECORD_SAMPLE\([^)]*\): (-?\d+/-?\d+): (?:0x)?([0-9a-f]+) `)
	dumpedFrame  = regexp.MustCompile(`^\.+ +\d+: ([0-9a-f]{16})$`)
	dumpedBranch = regexp.MustCompile(`^\.+ +\d+: 0*([0-9a-f]+) -> 0*([0-9a-f]+) \d+ cycles +(M?)`)
)

// dumpedSamples returns the same lines of a dump.
func dumpedSamples(text string) (out []string) {
	var ids, ip string
	var frames, branches []string
	end := func() {
		if len(frames) == 0 && len(branches) == 0 && ids != "" {
			frames = []string{ip} // a sample without a stack
		}
		if ids != "" {
			out = append(out, strings.Join(slices.Concat([]string{ids}, frames, branches), " "))
		}
		ids, frames, branches = "", nil, nil
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \n")
		if m := dumpedSample.FindStringSubmatch(line); m != nil {
			end()
			ids, ip = m[1], m[2]
		} else if m := dumpedBranch.FindStringSubmatch(line); m != nil {
			branches = append(branches, m[1]+">"+m[2]+m[3])
		} else if m := dumpedFrame.FindStringSubmatch(line); m != nil && !strings.HasPrefix(m[1], "fffffffffffff") {
			addr := strings.TrimLeft(m[1], "0")
			frames = append(frames, cmp.Or(addr, "0"))
		}
	}
	end()
	slices.Sort(out)
	return out
}

// onlyInOne shows the first line that only one of two lists has, "" if there is none.
func onlyInOne(a, b []string) string {
	for i := range max(len(a), len(b)) {
		switch {
		case i >= len(a), i < len(b) && b[i] < a[i]:
			return "only perf: " + strings.TrimSpace(b[i])
		case i >= len(b), a[i] < b[i]:
			return "only cairn: " + strings.TrimSpace(a[i])
		}
	}
	return ""
}

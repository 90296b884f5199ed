//go:build linux && amd64

package oracle

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
)

// lineWays are the ways of the branches of a line.
type lineWays struct {
	taken, missed int
	branches      map[string]bool // of covered, by number
}

// TestBranches compares branches with gcov, which counts each way in the source: no way that was taken is called
// missed, and none that was not is called taken. Compilers make other branches of a switch than gcov counts, so of
// lines with another number of branches only those are compared whose ways were all taken, or none was.
func TestBranches(t *testing.T) {
	t.Parallel()
	mustHave(t, "gcov")
	var files []string
	for _, dir := range []string{"branches", "states"} {
		found, err := filepath.Glob("testdata/" + dir + "/*.txtar")
		if err != nil || len(found) == 0 {
			t.Fatalf("no samples: %v", err)
		}
		files = append(files, found...)
	}
	for i, file := range files {
		s := readSample(t, file)
		t.Run(s.name, func(t *testing.T) {
			if i > 0 {
				skipLong(t)
			}
			t.Parallel()
			truth := s.gcovWays(t)
			for i, v := range []variant{{"gcc", "-O0"}, {"clang-22", "-O0"}, {"gcc", "-O2"}, {"clang-22", "-O2"}} {
				t.Run(v.compiler+v.flags, func(t *testing.T) {
					if i > 2 {
						skipLong(t)
					}
					t.Parallel()
					mustHave(t, v.compiler)
					judgeWays(t, truth, tracefileWays(s.tracefile(t, v)), v)
				})
			}
		})
	}
}

// gcovWays returns the ways of branches that gcov says were taken or not, without those of exceptions.
func (s *stateSample) gcovWays(t *testing.T) map[sourceLine]*lineWays {
	t.Helper()
	ways := map[sourceLine]*lineWays{}
	s.eachGcov(t, func(dir, text string) {
		d := json.NewDecoder(strings.NewReader(text))
		for {
			var report struct {
				Files []struct {
					File  string
					Lines []struct {
						Number   int `json:"line_number"`
						Branches []gcovWay
					}
				}
			}
			if err := d.Decode(&report); errors.Is(err, io.EOF) {
				return
			} else if err != nil {
				t.Fatal(err)
			}
			for _, f := range report.Files {
				for _, l := range f.Lines {
					for _, taken := range conditions(l.Branches) {
						addWay(ways, sourceLine{within(dir, f.File), l.Number}, taken)
					}
				}
			}
		}
	})
	return ways
}

type gcovWay struct {
	Count uint64
	Throw bool
}

// conditions returns whether the ways of conditions were taken. After a call there is a way if it returns, and one if
// it throws.
func conditions(list []gcovWay) (taken []bool) {
	for i, w := range list {
		if !w.Throw && (i+1 == len(list) || !list[i+1].Throw) {
			taken = append(taken, w.Count > 0)
		}
	}
	return taken
}

func addWay(ways map[sourceLine]*lineWays, at sourceLine, taken bool) *lineWays {
	w := ways[at]
	if w == nil {
		w = &lineWays{branches: map[string]bool{}}
		ways[at] = w
	}
	if taken {
		w.taken++
	} else {
		w.missed++
	}
	return w
}

// tracefileWays returns the ways of branches that a tracefile has.
func tracefileWays(text string) map[sourceLine]*lineWays {
	ways := map[sourceLine]*lineWays{}
	file := ""
	for s := bufio.NewScanner(strings.NewReader(text)); s.Scan(); {
		if name, ok := strings.CutPrefix(s.Text(), "SF:"); ok {
			file = name
		}
		if rest, ok := strings.CutPrefix(s.Text(), "BRDA:"); ok {
			f := strings.Split(rest, ",")
			line := 0
			for _, c := range f[0] {
				line = 10*line + int(c-'0')
			}
			addWay(ways, sourceLine{file, line}, f[3] != "0" && f[3] != "-").branches[f[1]] = true
		}
	}
	return ways
}

func judgeWays(t *testing.T, truth, got map[sourceLine]*lineWays, v variant) {
	t.Helper()
	known, all := 0, 0
	for at, want := range truth {
		all += want.taken + want.missed
		w := got[at]
		if w == nil {
			continue
		}
		known += w.taken + w.missed
		if want.taken+want.missed < 2 {
			continue // the code of exceptions and coroutines
		}
		same := 2*len(w.branches) == want.taken+want.missed
		switch {
		case same && w.missed > want.missed, !same && want.missed == 0 && w.missed > 0:
			t.Errorf("%s:%d: %d of %d ways were taken, and covered says that %d were not", at.file, at.line, want.taken, want.taken+want.missed, w.missed)
		case same && w.taken > want.taken, !same && want.taken == 0 && w.taken > 0:
			t.Errorf("%s:%d: %d of %d ways were taken, and covered says that %d were", at.file, at.line, want.taken, want.taken+want.missed, w.taken)
		}
	}
	if known == 0 || v == (variant{"gcc", "-O0"}) && known < all*3/10 {
		t.Errorf("%d of %d ways are known", known, all)
	}
	t.Logf("%d of %d ways are known", known, all)
}

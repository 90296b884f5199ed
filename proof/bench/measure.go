package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// measureSizes strips a copy of the program and fills in its sizes.
func (r *built) measureSizes(ctx context.Context) error {
	stripped := r.path + ".stripped"
	if _, err := output(ctx, "", "strip", "-o", stripped, r.path); err != nil {
		return err
	}
	info, err := os.Stat(stripped)
	if err != nil {
		return err
	}
	r.file = info.Size()
	out, err := output(ctx, "", "size", stripped)
	if err != nil {
		return err
	}
	lines := strings.Split(out, "\n")
	if len(lines) < 2 {
		return fmt.Errorf("size %s printed %q", stripped, out)
	}
	var numbers [3]int64
	for i, field := range strings.Fields(lines[1])[:3] {
		if numbers[i], err = strconv.ParseInt(field, 10, 64); err != nil {
			return err
		}
	}
	r.text, r.initialized, r.data = numbers[0], numbers[1], numbers[1]+numbers[2]
	return nil
}

var collected = regexp.MustCompile(`Collected : (\d+)`)

// countInstructions runs the program under callgrind.
func (r *built) countInstructions(ctx context.Context, args ...string) error {
	dir := filepath.Dir(r.path)
	log := filepath.Join(dir, "callgrind.log")
	argv := append([]string{"valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--log-file=" + log, r.path}, args...)
	if err := os.RemoveAll(filepath.Join(dir, "raws")); err != nil {
		return err
	}
	if _, err := finish(command(ctx, dir, r.runtimeEnv(), argv...)); err != nil {
		return err
	}
	text, err := os.ReadFile(log)
	if err != nil {
		return err
	}
	m := collected.FindSubmatch(text)
	if m == nil {
		return fmt.Errorf("callgrind counted nothing: %s", text)
	}
	r.instr, err = strconv.ParseInt(string(m[1]), 10, 64)
	return err
}

// growth returns by how much a is more than base, as 0.01 for one percent.
func growth(a, base int64) float64 { return float64(a)/float64(base) - 1 }

func percent(g float64) string { return fmt.Sprintf("%+.2f %%", 100*g) }

// median returns the middle one of values, which must not be empty.
func median(values []float64) float64 {
	s := slices.Sorted(slices.Values(values))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

// spread returns the median and the range of values.
func spread(values []float64) string {
	return fmt.Sprintf("%.3f (%.2f-%.2f)", median(values), slices.Min(values), slices.Max(values))
}

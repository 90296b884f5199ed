package order

import (
	"os"
	"slices"
	"testing"
)

func meanPages(stats []TraceStats) (pages, area, bound float64) {
	for _, s := range stats {
		pages += float64(s.Pages) / float64(len(stats))
		area += s.Area / float64(len(stats))
		bound += float64(s.Bound) / float64(len(stats))
	}
	return pages, area, bound
}

// overBorders returns the means over the traces and over eight positions of the
// page borders.
func overBorders(in *Input, order []uint32) (pages, area float64) {
	const positions = 8
	for i := range uint64(positions) {
		shifted := &Input{Funcs: append(slices.Clone(in.Funcs), Func{Size: 1 + i*4096/positions}), Traces: in.Traces}
		p, a, _ := meanPages(Evaluate(shifted, append([]uint32{uint32(len(in.Funcs))}, order...), 0))
		pages += p / positions
		area += a / positions
	}
	return pages, area
}

// TestMeasure prints the table in the package comment.
func TestMeasure(t *testing.T) {
	if os.Getenv("MEASURE") == "" {
		t.Skip("set MEASURE=1 to print the table of the package comment")
	}
	for _, name := range programs {
		in := readProgram(t, name)
		_, _, bound := meanPages(Evaluate(in, nil, 0))
		pages, area := overBorders(in, ByAddress(in))
		t.Logf("%-8s %-10s %6.1f %6.1f (bound %.1f)", name, "default", pages, area, bound)
		counts, err := Compute(&Input{Funcs: in.Funcs}, Startup, Options{})
		if err != nil {
			t.Fatal(err)
		}
		countPages, countArea := overBorders(in, counts.Order)
		t.Logf("%-8s %-10s %6.1f %6.1f  no traces", name, Startup, countPages, countArea)
		for _, alg := range Algorithms() {
			for _, filter := range []bool{false, true} {
				if filter && alg != BP {
					continue
				}
				opts := Options{OutlierFilter: filter}
				r, err := Compute(in, alg, opts)
				if err != nil {
					t.Fatal(err)
				}
				pages, area := overBorders(in, r.Order)
				var held, unseen float64
				h := LeaveOneOut(in, alg, opts, 0)
				for i := range h {
					held += h[i].Pages / float64(len(h))
					unseen += h[i].UnseenBytes / float64(len(h))
				}
				t.Logf("%-8s %-10s %6.1f %6.1f  held out %6.1f, unseen %.1f%%  filter %v", name, alg, pages, area, held, 100*unseen, filter)
			}
		}
	}
}

package pages

import (
	"cmp"

	"github.com/cairnprof/cairn/internal/stablesort"
)

// Device is what pages are read from that are not in memory.
type Device struct {
	Ahead uint64 // bytes that are read for one missing page: read_ahead_kb of the device, times 1024
	// Around reports that these lie around the page, and not behind it. Linux reads around a page up to 6.15. From 6.16 on
	// it reads ahead of pages of code (observed on 6.18, by mincore).
	Around bool
}

// Cold is what a run reads if no page of the program is in memory: weighted means over the runs of a scenario.
type Cold struct {
	Reads float64 // each one a wait for the device
	Bytes float64 // read, also what no one needed
}

// Cold returns what the runs of s read. Code alone counts, not data, and pages are touched by the rules of Compute. What
// Linux reads at the same time as the program runs is not taken into account.
func (p *Program) Cold(s *Scenario, pageSize uint64, d Device) Cold {
	var c Cold
	weights := 0.0
	for i := range s.Traces {
		run, _, _ := p.Trace(&s.Traces[i], pageSize)
		reads, read := run.cold(d)
		w := float64(max(s.Traces[i].Weight, 1))
		weights += w
		c.Reads += w * float64(reads)
		c.Bytes += w * float64(uint64(read)*pageSize)
	}
	c.Reads /= cmp.Or(weights, 1)
	c.Bytes /= cmp.Or(weights, 1)
	return c
}

// cold returns the number of reads, and of pages that are read.
func (r *Run) cold(d Device) (reads, read int) {
	var touched []int
	for i := range r.Pages {
		if r.Pages[i].Step > 0 {
			touched = append(touched, i)
		}
	}
	stablesort.Func(touched, func(a, b int) int { return cmp.Compare(r.Pages[a].Step, r.Pages[b].Step) })
	window := max(1, int(min(d.Ahead/r.PageSize, uint64(2*len(r.Pages))))) // as much as all
	inMemory := make([]bool, len(r.Pages))
	for _, at := range touched {
		if inMemory[at] {
			continue
		}
		reads++
		from := at
		if d.Around {
			from = max(0, at-window/2)
		}
		for i := from; i < min(from+window, len(r.Pages)); i++ {
			if !inMemory[i] {
				inMemory[i] = true
				read++
			}
		}
	}
	return reads, read
}

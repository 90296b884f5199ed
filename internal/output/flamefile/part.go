package flamefile

import (
	"fmt"
	"slices"

	"github.com/cairnprof/cairn/internal/calls/waiting"
	"github.com/cairnprof/cairn/internal/inputs/logset"
	"github.com/cairnprof/cairn/internal/report"
)

// AllParts is the value of --part for a graph of all time.
const AllParts = "all"

// waitTimes are the times of the parts of several tries.
type waitTimes [3]uint64

func (t *waitTimes) add(d *waiting.Division) {
	for p := range t {
		t[p] += d.Time(waiting.Part(p))
	}
}

// part returns the part with a name, Processor for "".
func (*waitTimes) part(name string) waiting.Part {
	return waiting.Part(max(0, slices.Index(waiting.PartNames[:], name)))
}

// notes say which part is drawn, and what the others are.
func (t *waitTimes) notes(name string, set *logset.Set) []string {
	all := t[0] + t[1] + t[2]
	if all == 0 {
		return nil
	}
	drawn := t.part(name)
	share := func(p waiting.Part) string {
		return fmt.Sprintf("%s (%s %%)", set.Duration(t[p]), report.Decimal(100*float64(t[p])/float64(all)))
	}
	list := []string{fmt.Sprintf("Drawn: %s %s, of the %s of all threads.", set.PartName(drawn), share(drawn), set.Duration(all))}
	for p := range t {
		if other := waiting.Part(p); other != drawn && t[p] > 0 {
			list = append(list, fmt.Sprintf("Not drawn: %s %s, with --part %s.", set.PartName(other), share(other), waiting.PartNames[p]))
		}
	}
	return list
}

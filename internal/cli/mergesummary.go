package cli

import (
	"fmt"
	"strings"

	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/prof"
)

// mergeSummary is what merge has to say in the end.
type mergeSummary struct {
	Profile  string          `json:"profile"`
	Raws     int             `json:"raws"`     // raw files merged
	Profiles int             `json:"profiles"` // profiles merged
	Refused  []complaint     `json:"refused"`
	Modules  []moduleSummary `json:"modules"`
}

type moduleSummary struct {
	Module    string `json:"module"`
	BuildID   string `json:"build_id"`
	Added     uint64 `json:"added"` // raw files merged now
	Raws      uint64 `json:"raws"`  // raw files in the profile
	Functions int    `json:"functions"`
	Ran       int    `json:"ran"` // functions that ran
}

// modules fills in what became of p when added was merged into it.
func (sum *mergeSummary) modules(p, added *prof.Profile) {
	raws := make(map[prof.BuildID]uint64)
	for i := range added.Modules {
		raws[added.Modules[i].BuildID] = added.Modules[i].Raws
	}
	sum.Modules = []moduleSummary{}
	if sum.Refused == nil {
		sum.Refused = []complaint{}
	}
	for i := range p.Modules {
		m := &p.Modules[i]
		ms := moduleSummary{
			Module: m.Module, BuildID: m.BuildID.String(),
			Added: raws[m.BuildID], Raws: m.Raws, Functions: len(m.Funcs),
		}
		for k := range m.Counts {
			if m.Counts[k].Runs > 0 {
				ms.Ran++
			}
		}
		sum.Modules = append(sum.Modules, ms)
	}
}

// print names the files that were not merged, of each kind the first few.
func (sum *mergeSummary) print(s *Streams) {
	seen := make(map[string]int)
	for _, c := range sum.Refused {
		if seen[c.Kind]++; seen[c.Kind] <= maxListed {
			fmt.Fprintf(s.Err, "cairn: %s: %s\n", c.File, c.Reason)
		}
	}
	for _, kind := range []string{complaintUnreadable, complaintUnknown, complaintDamaged, complaintBuild, complaintConflict} {
		if more := seen[kind] - maxListed; more > 0 {
			fmt.Fprintf(s.Err, "cairn: and %d more %s\n", more, map[string]string{
				complaintUnreadable: "that cannot be read",
				complaintUnknown:    "that are nothing that cairn knows",
				complaintDamaged:    "that are damaged",
				complaintBuild:      "of other builds",
				complaintConflict:   "with other maps",
			}[kind])
		}
	}
}

// printTotal says what was written.
func (sum *mergeSummary) printTotal(s *Streams) {
	var what []string
	if sum.Raws > 0 {
		what = append(what, plural(sum.Raws, "raw file"))
	}
	if sum.Profiles > 0 {
		what = append(what, plural(sum.Profiles, "profile"))
	}
	refused := ""
	if n := len(sum.Refused); n > 0 {
		refused = fmt.Sprintf(", %s left out", plural(n, "file"))
	}
	fmt.Fprintf(s.Err, "%s: merged %s%s\n", sum.Profile, strings.Join(what, " and "), refused)
	for i := range sum.Modules {
		m := &sum.Modules[i]
		fmt.Fprintf(s.Err, "  %s (%.12s): %s, %d new; %d of %d functions ran\n", m.Module, m.BuildID, plural(int(m.Raws), "raw file"), m.Added, m.Ran, m.Functions)
	}
}

// trimPath returns err without the path in front of it.
func trimPath(err error, path string) string {
	return strings.TrimPrefix(err.Error(), path+": ")
}

// plural counts things whose name takes an s.
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return report.Count(n) + " " + what + "s"
}

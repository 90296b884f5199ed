package profile

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/profile/rawfiles"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// MaxListed is how many complaints of a kind are printed.
const MaxListed = 10

// refusedSuffix is the suffix, after the profile's name, of the file with all complaints.
const refusedSuffix = ".refused"

// MergeSummary is the summary that merge prints.
type MergeSummary struct {
	Profile  string               `json:"profile"`
	Raws     int                  `json:"raws"`              // raw files merged
	Profiles int                  `json:"profiles"`          // profiles merged
	Repeated int                  `json:"repeated"`          // files of which all runs were there already
	Running  []string             `json:"running,omitempty"` // files that processes still count into
	Changed  []string             `json:"changed,omitempty"` // files that are not as their processes left them
	Refused  []rawfiles.Complaint `json:"refused"`
	Modules  []moduleSummary      `json:"modules"`

	idle     []string // modules below directories that have no runs
	unlinked []string // source files of objects below directories that no program has
}

type moduleSummary struct {
	Module    string `json:"module"`
	BuildID   string `json:"build_id"`
	Added     uint64 `json:"added"` // raw files merged now
	Raws      uint64 `json:"raws"`  // raw files in the profile
	Functions int    `json:"functions"`
	Ran       int    `json:"ran"`                // functions that ran
	Absent    int    `json:"absent,omitempty"`   // functions that were compiled and are not in the module
	Unprobed  int    `json:"unprobed,omitempty"` // functions that were compiled without probes
}

// modules sets the results for p after added was merged into it.
func (sum *MergeSummary) modules(p, added *prof.Profile) {
	raws := make(map[prof.BuildID]uint64)
	for i := range added.Modules {
		raws[added.Modules[i].BuildID] = added.Modules[i].Raws
	}
	sum.Modules = []moduleSummary{}
	if sum.Refused == nil {
		sum.Refused = []rawfiles.Complaint{}
	}
	for i := range p.Modules {
		m := &p.Modules[i]
		ms := moduleSummary{
			Module: m.Module, BuildID: m.BuildID.String(),
			Added: raws[m.BuildID], Raws: m.Raws, Functions: len(m.Funcs), Absent: len(m.Absent) - unprobed(m.Absent), Unprobed: unprobed(m.Absent),
		}
		for k := range m.Counts {
			if m.Counts[k].Runs > 0 {
				ms.Ran++
			}
		}
		sum.Modules = append(sum.Modules, ms)
	}
}

// joined sets the results for the modules of p after joining.
func (sum *MergeSummary) joined(p *prof.Profile) {
	added := make(map[string]uint64)
	for i := range sum.Modules {
		added[sum.Modules[i].Module] += sum.Modules[i].Added
	}
	sum.modules(p, new(prof.Profile))
	for i := range sum.Modules {
		sum.Modules[i].Added = added[sum.Modules[i].Module]
	}
}

// print lists the files that were not merged: the first few of each kind, and one line for all raw files of other
// builds. If there are more, all are in a file beside the profile.
func (sum *MergeSummary) print(s *verb.Streams) error {
	st, err := os.Stat(sum.Profile)
	if beside := sum.Profile != "-" && (err != nil || st.Mode().IsRegular()); !beside {
		for _, c := range sum.Refused {
			fmt.Fprintf(s.Err, "cairn: %s: %s\n", c.File, c.Reason)
		}
		return nil
	}
	if named := printFirst(s.Err, sum.Refused); named == len(sum.Refused) {
		return nil
	}
	list := sum.Profile + refusedSuffix
	fmt.Fprintf(s.Err, "cairn: all %s that were omitted are listed in %s\n", report.Plural(len(sum.Refused), "file"), list)
	return verb.WriteFile(s, list, func(w io.Writer) error {
		for _, c := range sum.Refused {
			if _, err := fmt.Fprintf(w, "%s: %s\n", c.File, c.Reason); err != nil {
				return err
			}
		}
		return nil
	})
}

// Foreign describes the raw files of other builds in one line; "" if there are fewer than two, each of which has a
// reason of its own. A plug-in that was not given may have written one in each of a hundred processes.
func Foreign(refused []rawfiles.Complaint) string {
	files := 0
	var builds []prof.BuildID
	var names []string
	for _, c := range refused {
		if c.Kind != rawfiles.OtherBuild {
			continue
		}
		if files++; slices.Contains(builds, c.Build) {
			continue
		}
		builds = append(builds, c.Build)
		name := c.Build.Short()
		if module, _, ok := strings.Cut(filepath.Base(c.File), "."+c.Build.String()+"."); ok {
			name = module + " " + name
		}
		names = append(names, name)
	}
	if files < 2 {
		return ""
	}
	return fmt.Sprintf("%s of %s omitted (%s): merge them with their own binaries", report.Plural(files, "raw file"), report.Plural(len(builds), "other build"), report.First(names, mostNames))
}

// printFirst prints the first few complaints of each kind and how many there are beside, and returns how many it
// printed.
func printFirst(w io.Writer, refused []rawfiles.Complaint) (named int) {
	foreign := Foreign(refused)
	if foreign != "" {
		fmt.Fprintf(w, "cairn: %s\n", foreign)
	}
	lines, more := make(map[string]int), make(map[string]int)
	for _, c := range refused {
		if c.Kind == rawfiles.OtherBuild && foreign != "" {
			continue
		}
		if lines[c.Kind]++; lines[c.Kind] > MaxListed {
			more[c.Kind]++
			continue
		}
		named++
		fmt.Fprintf(w, "cairn: %s: %s\n", c.File, c.Reason)
	}
	for _, kind := range []string{rawfiles.Unreadable, rawfiles.Unknown, rawfiles.Damaged, rawfiles.Conflict, rawfiles.Repeated} {
		if more[kind] > 0 {
			fmt.Fprintf(w, "cairn: and %d more %s\n", more[kind], map[string]string{
				rawfiles.Unreadable: "that cannot be read",
				rawfiles.Unknown:    "in formats that cairn does not know",
				rawfiles.Damaged:    "that are damaged",
				rawfiles.Conflict:   "with other maps",
				rawfiles.Repeated:   "with some runs that the profile already contains",
			}[kind])
		}
	}
	return named
}

// printTotal prints what was written.
func (sum *MergeSummary) printTotal(s *verb.Streams) {
	var what []string
	if sum.Raws > 0 {
		what = append(what, report.Plural(sum.Raws, "raw file"))
	}
	if sum.Profiles > 0 {
		what = append(what, report.Plural(sum.Profiles, "profile"))
	}
	refused := ""
	if n := len(sum.Refused); n > 0 {
		refused = fmt.Sprintf(", %s omitted", report.Plural(n, "file"))
	}
	if sum.Repeated > 0 {
		verb.Note(s, "%s omitted: all runs are already in %s (--again merges them again)", report.Plural(sum.Repeated, "file"), sum.Profile)
	}
	if n := len(sum.Changed); n > 0 {
		slices.Sort(sum.Changed)
		verb.Note(s, "%s changed after the process had ended, or damaged, %s: of their counts only that functions ran is used", report.Plural(n, "file"), sum.Changed[0])
	}
	if n := len(sum.Running); n > 0 {
		slices.Sort(sum.Running)
		verb.Note(s, "%s of programs that are still running, %s: later counts will be omitted if these files are merged into %s again", report.Plural(n, "file"), sum.Running[0], sum.Profile)
	}
	if len(what) == 0 {
		what = append(what, "nothing")
	}
	fmt.Fprintf(s.Remarks(), "%s: merged %s%s\n", sum.Profile, strings.Join(what, " and "), refused)
	for i := range sum.Modules {
		m := &sum.Modules[i]
		more := ""
		if m.Absent > 0 {
			more = fmt.Sprintf("; %s not in it", report.Plural(m.Absent, "compiled function"))
		}
		if m.Unprobed > 0 {
			more += fmt.Sprintf("; %s without probes", report.Plural(m.Unprobed, "function"))
		}
		fmt.Fprintf(s.Remarks(), "  %s (%.12s): %s, %d new; %d of %d functions ran%s\n", m.Module, m.BuildID, report.Plural(int(m.Raws), "raw file"), m.Added, m.Ran, m.Functions, more)
	}
}

// unprobed counts the functions that were compiled without probes.
func unprobed(list []prof.Absent) (n int) {
	for i := range list {
		if list[i].Why == prof.Unprobed {
			n++
		}
	}
	return n
}

package gather

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/profile/coverage"
	"github.com/cairnprof/cairn/internal/profile/rawfiles"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// Summary is what Merge did.
type Summary struct {
	Profile  string               `json:"profile"`
	Raws     int                  `json:"raws"`              // raw files merged
	Profiles int                  `json:"profiles"`          // profiles merged
	Repeated int                  `json:"repeated"`          // files of which all runs were there already
	Running  []string             `json:"running,omitempty"` // files that processes still count into
	Changed  []string             `json:"changed,omitempty"` // files that are not as their processes left them
	Refused  []rawfiles.Complaint `json:"refused"`
	Modules  []ModuleSummary      `json:"modules"`

	Idle     []string `json:"-"` // modules below directories that have no runs
	Unlinked []string `json:"-"` // source files of objects below directories that no program has
}

// ModuleSummary is what was merged of a module.
type ModuleSummary struct {
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
func (sum *Summary) modules(p, added *prof.Profile) {
	raws := make(map[prof.BuildID]uint64)
	for i := range added.Modules {
		raws[added.Modules[i].BuildID] = added.Modules[i].Raws
	}
	sum.Modules = []ModuleSummary{}
	if sum.Refused == nil {
		sum.Refused = []rawfiles.Complaint{}
	}
	for i := range p.Modules {
		m := &p.Modules[i]
		ms := ModuleSummary{
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

// Joined sets the results for the modules of p after joining.
func (sum *Summary) Joined(p *prof.Profile) {
	added := make(map[string]uint64)
	for i := range sum.Modules {
		added[sum.Modules[i].Module] += sum.Modules[i].Added
	}
	sum.modules(p, new(prof.Profile))
	for i := range sum.Modules {
		sum.Modules[i].Added = added[sum.Modules[i].Module]
	}
}

// Foreign describes the raw files of other builds in one line; "" if there are fewer than two, each of which has a
// Reason of its own. A plug-in that was not given may have written one in each of a hundred processes.
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
	return fmt.Sprintf("%s of %s omitted (%s): merge them with their own binaries", report.Plural(files, "raw file"), report.Plural(len(builds), "other build"), report.First(names, MostNames))
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

// MaxListed is how many complaints of a kind are printed.
const MaxListed = 10

// NoEstimates is the error of a module of a profile whose counts are estimated from samples, for what asks whether code ran.
func NoEstimates(path string, m *prof.Module) error {
	if slices.ContainsFunc(m.Funcs, func(f prof.Func) bool { return f.Mode.Estimated() }) {
		return fmt.Errorf("%s: its counts are estimated from samples: what was not sampled may have run, so it says nothing of coverage; cairn show prints them", path)
	}
	return nil
}

// NoteInexact prints how many counts of m are lower bounds, for outputs that cannot mark each.
func NoteInexact(s *verb.Streams, m *prof.Module) {
	if line := coverage.InexactText(m); line != "" {
		verb.Note(s, "%s", line)
	}
}

// NoteNoLines reports the modules without lines.
func NoteNoLines(s *verb.Streams, modules []coverage.Module) {
	builds := make(map[string]int)
	for i := range modules {
		builds[modules[i].Module.Module]++
	}
	var names []string
	for i := range modules {
		m := modules[i].Module
		if modules[i].Lines != nil || len(m.Funcs) == 0 {
			continue
		}
		name := m.Module
		if builds[name] > 1 { // one of another build may have been given
			name += " of build " + m.BuildID.Short()
		}
		names = append(names, name)
	}
	if len(names) > 0 {
		verb.Note(s, "the lines of %s are not counted: no debug information was given for %s (name the program, compiled with -g)", report.First(names, MostNames), report.Plural(len(names), "module"))
	}
}

// noteBuilds reports programs that were given without runs beside another build of them that has some: usually they were
// built again since, and all figures count both.
func noteBuilds(s *verb.Streams, p *prof.Profile) {
	ran := make(map[string]*prof.Module)
	for i := range p.Modules {
		if m := &p.Modules[i]; m.Raws > 0 {
			ran[m.Module] = m
		}
	}
	var names []string
	for i := range p.Modules {
		m := &p.Modules[i]
		if other := ran[m.Module]; m.Raws == 0 && other != nil {
			names = append(names, fmt.Sprintf("%s %s beside %s", m.Module, m.BuildID.Short(), other.BuildID.Short()))
		}
	}
	if len(names) > 0 {
		verb.Note(s, "a build without runs is counted beside the one that ran, as if it were another program: %s", report.First(names, MostNames))
	}
}

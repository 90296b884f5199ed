package cli

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/cairnprof/cairn/internal/detour"
	"github.com/cairnprof/cairn/internal/detourfile"
	"github.com/cairnprof/cairn/internal/objfile"
	"github.com/cairnprof/cairn/internal/report"
)

// detourFlags choose what is hooked of a program as it is.
type detourFlags struct {
	only, skip []string
	small      int
	verbose    bool
}

func (f *detourFlags) register(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.only, "only", nil, "with --detours: hook only functions whose name (mangled or demangled) matches this `regexp`; repeatable")
	flags.StringArrayVar(&f.skip, "skip", nil, "with --detours: leave out functions whose name matches this `regexp`; repeatable")
	flags.IntVar(&f.small, "small", defaultSmall, "with --detours: leave out functions with fewer than `n` instructions and no loop; 0 for none")
	flags.BoolVar(&f.verbose, "verbose", false, "with --detours: say why functions are not hooked, and name some")
}

// detours are the hooks of one program.
type detours struct {
	plan *detour.Plan
	file []byte // for the library in the process
}

// planDetours plans the hooks of the program at path.
func (f *detourFlags) planDetours(path string) (*detours, error) {
	if f.small < 0 {
		return nil, usagef("--small %d: the least is 0, for all functions", f.small)
	}
	chosen, err := f.chosen()
	if err != nil {
		return nil, err
	}
	file, err := openHookable(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	module, err := detourfile.Read(file)
	if err != nil {
		return nil, err
	}
	id, err := file.BuildID()
	if err != nil && !errors.Is(err, objfile.ErrNoBuildID) {
		return nil, err
	}
	d := &detours{plan: detour.Make(module, detour.Options{Chosen: chosen, Small: f.small})}
	if len(d.plan.Sites) == 0 {
		return nil, fmt.Errorf("%s: none of %s can be hooked:%s", path, plural(len(d.plan.Refused), "function"), reasonList(d.plan))
	}
	d.file = detour.Encode([]detour.Planned{{Plan: d.plan, BuildID: []byte(id), Main: true}})
	return d, nil
}

// openHookable opens a program; of a script it says what to do.
func openHookable(path string) (*objfile.File, error) {
	found, err := exec.LookPath(path)
	if err != nil {
		return nil, usagef("no program %q found", path)
	}
	if head, err := os.Open(found); err == nil {
		var b [2]byte
		n, _ := head.Read(b[:])
		head.Close()
		if n == 2 && string(b[:]) == "#!" {
			return nil, usagef("%s is a script: name the program that runs it, with the script as its argument", found)
		}
	}
	return objfile.Open(found)
}

// chosen returns the rule of --only and --skip, nil for none.
func (f *detourFlags) chosen() (func(string) bool, error) {
	only, err := compileAll(f.only)
	if err != nil {
		return nil, err
	}
	skip, err := compileAll(f.skip)
	if err != nil || len(only)+len(skip) == 0 {
		return nil, err
	}
	var shown report.Names
	return func(name string) bool {
		names := []string{name, shown.Show(name)}
		return (len(only) == 0 || matches(only, names)) && !matches(skip, names)
	}, nil
}

func matches(patterns []*regexp.Regexp, names []string) bool {
	return slices.ContainsFunc(patterns, func(re *regexp.Regexp) bool { return slices.ContainsFunc(names, re.MatchString) })
}

// refusals returns the functions that are not hooked by reason, the most frequent
// reason first.
func refusals(p *detour.Plan) ([]detour.Reason, map[detour.Reason][]detour.Refusal) {
	by := map[detour.Reason][]detour.Refusal{}
	for _, r := range p.Refused {
		by[r.Reason] = append(by[r.Reason], r)
	}
	reasons := slices.SortedFunc(maps.Keys(by), func(a, b detour.Reason) int {
		return cmp.Or(cmp.Compare(len(by[b]), len(by[a])), cmp.Compare(a, b))
	})
	return reasons, by
}

// reasonList is one line for each reason.
func reasonList(p *detour.Plan) string {
	var b strings.Builder
	reasons, by := refusals(p)
	for _, r := range reasons {
		fmt.Fprintf(&b, "\n  %s: %s", plural(len(by[r]), "function"), r)
	}
	return b.String()
}

// namedExamples is how many functions --verbose names for a reason.
const namedExamples = 3

// tell says what is hooked: how many functions, and with --verbose why the others
// are not.
func (f *detourFlags) tell(s *Streams, d *detours) error {
	note(s, "%s to be hooked, %s left alone%s", plural(len(d.plan.Sites), "function"), report.Count(len(d.plan.Refused)), f.hint(d))
	if !f.verbose || len(d.plan.Refused) == 0 {
		return nil
	}
	table := &report.Table{Columns: []report.Column{{Title: "functions", Align: report.Right}, {Title: "not hooked because"}, {Title: "such as", Shrink: report.Shorten}}}
	var shown report.Names
	reasons, by := refusals(d.plan)
	for _, r := range reasons {
		var names []string
		for _, refused := range by[r][:min(len(by[r]), namedExamples)] {
			names = append(names, cmp.Or(shown.Show(refused.Name), fmt.Sprintf("%#x", refused.Addr)))
		}
		table.Add(report.Text(report.Count(len(by[r]))), report.Text(string(r)), report.Text(strings.Join(names, ", ")))
	}
	return table.Write(s.Err, report.Style{})
}

func (f *detourFlags) hint(d *detours) string {
	if f.verbose || len(d.plan.Refused) == 0 {
		return ""
	}
	return " (--verbose says why)"
}

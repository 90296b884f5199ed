package spikes

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/instrument/detour"
	"github.com/cairnprof/cairn/internal/instrument/detourfile"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/internal/toolchain"
	"github.com/cairnprof/cairn/internal/verb"
)

// detourFlags select the functions to hook in an unmodified program.
type detourFlags struct {
	verb       string // whose flags they are
	only, skip []string
	small      int
	verbose    bool
	also       []string // programs and DLLs for Windows
}

// register registers the flags of a verb. with is the prefix of each description.
func (f *detourFlags) register(flags *pflag.FlagSet, verb, with string) {
	f.verb = verb
	flags.StringArrayVar(&f.only, "only", nil, with+"hook only functions whose name (mangled or demangled) matches this `regexp`; repeatable")
	flags.StringArrayVar(&f.skip, "skip", nil, with+"omit functions whose name matches this `regexp`; repeatable")
	flags.IntVar(&f.small, "small", toolchain.DefaultSmall, with+"omit functions with fewer than `n` instructions and no loop; 0 for none")
	flags.BoolVar(&f.verbose, "verbose", false, with+"print why functions are not hooked, with examples")
}

// detourFlagNames are the names of these flags.
var detourFlagNames = []string{"only", "skip", "small", "verbose"}

// refuseFlags rejects flags of c that are given without the one they require.
func refuseFlags(c *cobra.Command, command, with string, names ...string) error {
	for _, name := range names {
		if c.Flags().Changed(name) {
			return verb.Usagef("%s: --%s needs %s", command, name, with)
		}
	}
	return nil
}

// attachByPreload adds watch run --detours to watch, under a descriptive name. Its flags are
// listed by that verb.
func attachByPreload(s *verb.Streams, c *cobra.Command) {
	const name = "attach-by-preload"
	f := spikeRunFlags{detours: true}
	f.register(c)
	names := []string{}
	c.LocalFlags().VisitAll(func(flag *pflag.Flag) {
		flag.Hidden = true
		names = append(names, flag.Name)
	})
	attach := c.Flags().Bool(name, false, "run the given program with its functions hooked: the same as watch run --detours,\nand with the same flags")
	c.Flags().SetInterspersed(false)
	verbs, help := c.Args, c.RunE
	c.Args = func(c *cobra.Command, args []string) error {
		switch {
		case !*attach:
			return cmp.Or(refuseFlags(c, "spike", "--"+name, names...), verbs(c, args))
		case len(args) == 0:
			return verb.Usagef("watch --%s: no program given; use: cairn watch --%[1]s ./app", name)
		}
		return nil
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		if !*attach {
			return help(c, args)
		}
		return f.run(c.Context(), s, args)
	}
}

// alsoFlag is the name of the flag that registerAlso registers.
const alsoFlag = "also"

// registerAlso registers the flag that a program for Windows has besides.
func (f *detourFlags) registerAlso(flags *pflag.FlagSet, with string) {
	flags.StringArrayVar(&f.also, alsoFlag, nil, with+"hook functions of this DLL or program for Windows as well, when it is loaded or started; repeatable")
}

// detours are the hooks of one program and, for Windows, of others.
type detours struct {
	plan  *detour.Plan
	entry uint64 // link-time address at which the program starts
	file  []byte // for the library in the process
	// For Windows.
	also       []planned
	unhookable []error // of files of which nothing is hooked
}

// planned are the hooks of a program or DLL for Windows that is loaded or started.
type planned struct {
	path string
	plan *detour.Plan
}

// planDetours plans the hooks of the program at path.
func (f *detourFlags) planDetours(path string) (*detours, error) {
	if f.small < 0 {
		return nil, verb.Usagef("--small %d: must not be negative; 0 instruments all functions", f.small)
	}
	chosen, err := f.chosen()
	if err != nil {
		return nil, err
	}
	file, err := objfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	options := detour.Options{Chosen: chosen, Small: f.small}
	if file.Windows() != nil {
		return f.planImages(file, options)
	}
	if len(f.also) > 0 {
		return nil, verb.Usagef("%s: --%s is for programs for Windows; %s is none", f.verb, alsoFlag, path)
	}
	module, err := detourfile.Read(file)
	if err != nil {
		return nil, err
	}
	d := &detours{plan: detour.Make(module, options), entry: module.Entry}
	if len(d.plan.Sites) == 0 {
		return nil, f.noneOf(path, d.plan)
	}
	id, err := file.BuildID()
	if err != nil && !errors.Is(err, objfile.ErrNoBuildID) {
		return nil, err
	}
	d.file = detour.Encode([]detour.Planned{{Plan: d.plan, BuildID: []byte(id), Main: true}})
	return d, nil
}

// noneOf reports that no function of a program can be hooked.
func (f *detourFlags) noneOf(path string, plan *detour.Plan) error {
	return fmt.Errorf("%s: %s: none of %s can be hooked:%s", f.verb, path, report.Plural(len(plan.Refused), "function"), reasonList(plan))
}

// chosen returns the rule of --only and --skip, nil for none.
func (f *detourFlags) chosen() (func(string) bool, error) {
	only, err := toolchain.CompileAll(f.only)
	if err != nil {
		return nil, err
	}
	skip, err := toolchain.CompileAll(f.skip)
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
	reasons := stablesort.Sorted(maps.Keys(by), func(a, b detour.Reason) int {
		return cmp.Or(cmp.Compare(len(by[b]), len(by[a])), cmp.Compare(a, b))
	})
	return reasons, by
}

// reasonList is one line for each reason.
func reasonList(p *detour.Plan) string {
	var b strings.Builder
	reasons, by := refusals(p)
	for _, r := range reasons {
		fmt.Fprintf(&b, "\n  %s: %s", report.Plural(len(by[r]), "function"), r)
	}
	return b.String()
}

// namedExamples is how many functions --verbose names for a reason.
const namedExamples = 3

// summarize prints how many functions are hooked, and with --verbose why the others are not.
func (f *detourFlags) summarize(s *verb.Streams, d *detours) error {
	for _, err := range d.unhookable {
		verb.Note(s, "not hooking %v", err)
	}
	var err error
	if len(d.plan.Sites)+len(d.plan.Refused) > 0 {
		err = f.summarizePlan(s, d.plan, "")
	}
	for _, p := range d.also {
		err = cmp.Or(err, f.summarizePlan(s, p.plan, " of "+filepath.Base(p.path)))
	}
	return err
}

// summarizePlan does that for the functions of one program or DLL.
func (f *detourFlags) summarizePlan(s *verb.Streams, p *detour.Plan, of string) error {
	verb.Note(s, "hooking %s%s, not hooking %s%s", report.Plural(len(p.Sites), "function"), of, report.Count(len(p.Refused)), f.hint(p))
	if !f.verbose || len(p.Refused) == 0 {
		return nil
	}
	table := report.NewTable(">functions", "not hooked because", "~such as")
	var shown report.Names
	reasons, by := refusals(p)
	for _, r := range reasons {
		var names []string
		for _, refused := range by[r][:min(len(by[r]), namedExamples)] {
			names = append(names, cmp.Or(shown.Show(refused.Name), fmt.Sprintf("%#x", refused.Addr)))
		}
		table.Row(report.Count(len(by[r])), string(r), strings.Join(names, ", "))
	}
	return table.Write(s.Err, report.Style{})
}

func (f *detourFlags) hint(p *detour.Plan) string {
	if f.verbose || len(p.Refused) == 0 {
		return ""
	}
	return " (--verbose prints why)"
}

package spikes

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
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

// detours are the hooks of one program.
type detours struct {
	plan  *detour.Plan
	entry uint64 // link-time address at which the program starts
	file  []byte // for the library in the process
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
	read := detourfile.Read
	if file.Windows() != nil {
		read = detourfile.ReadImage
	}
	module, err := read(file)
	if err != nil {
		return nil, err
	}
	d := &detours{plan: detour.Make(module, detour.Options{Chosen: chosen, Small: f.small}), entry: module.Entry}
	if len(d.plan.Sites) == 0 {
		return nil, fmt.Errorf("%s: %s: none of %s can be hooked:%s", f.verb, path, report.Plural(len(d.plan.Refused), "function"), reasonList(d.plan))
	}
	d.file, err = encodePlan(file, d.plan)
	return d, err
}

// encodePlan returns the file of a plan, with the identity of its program.
func encodePlan(f *objfile.File, plan *detour.Plan) ([]byte, error) {
	if w := f.Windows(); w != nil {
		id, derived, err := f.LogID()
		return detour.EncodeImage(plan, detour.Image{Base: w.Base, Size: w.Size, Stamp: w.Stamp, ID: []byte(id), Derived: derived}), err
	}
	id, err := f.BuildID()
	if err != nil && !errors.Is(err, objfile.ErrNoBuildID) {
		return nil, err
	}
	return detour.Encode([]detour.Planned{{Plan: plan, BuildID: []byte(id), Main: true}}), nil
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
	verb.Note(s, "hooking %s, not hooking %s%s", report.Plural(len(d.plan.Sites), "function"), report.Count(len(d.plan.Refused)), f.hint(d))
	if !f.verbose || len(d.plan.Refused) == 0 {
		return nil
	}
	table := report.NewTable(">functions", "not hooked because", "~such as")
	var shown report.Names
	reasons, by := refusals(d.plan)
	for _, r := range reasons {
		var names []string
		for _, refused := range by[r][:min(len(by[r]), namedExamples)] {
			names = append(names, cmp.Or(shown.Show(refused.Name), fmt.Sprintf("%#x", refused.Addr)))
		}
		table.Row(report.Count(len(by[r])), string(r), strings.Join(names, ", "))
	}
	return table.Write(s.Err, report.Style{})
}

func (f *detourFlags) hint(d *detours) string {
	if f.verbose || len(d.plan.Refused) == 0 {
		return ""
	}
	return " (--verbose prints why)"
}

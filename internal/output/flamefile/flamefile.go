// Package flamefile draws logs of calls, samples and stacks with names as flame graphs.
package flamefile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/perfdata"
	"github.com/cairnprof/cairn/internal/calls/account"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
	"github.com/cairnprof/cairn/internal/calls/flamegraph"
	"github.com/cairnprof/cairn/internal/calls/waiting"
	"github.com/cairnprof/cairn/internal/inputs/logset"
	"github.com/cairnprof/cairn/internal/inputs/sampleset"
	"github.com/cairnprof/cairn/internal/logfile"
	"github.com/cairnprof/cairn/internal/output"
	"github.com/cairnprof/cairn/internal/page/single"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/samples/carried"
	"github.com/cairnprof/cairn/internal/samples/pipeline"
	"github.com/cairnprof/cairn/internal/samples/samplefile"
	"github.com/cairnprof/cairn/internal/samples/stackfile"
	"github.com/cairnprof/cairn/internal/verb"
)

// Choice is what is drawn, and how.
type Choice struct {
	logset.Choice
	Names      verb.DisplayFlags
	Out        string
	Format     string
	write      writeGraph
	By         string
	Title      string
	Regexp     string
	PerThread  bool
	MinPercent float64
	MaxStacks  int
	Width      int
	TimePart   string

	// Of samples in place of logs.
	Binaries []string
	tables   *pipeline.Tables // of the files that were found without binaries
	kept     *samplefile.Kept // the samples, if they were read to find the files
	Infer    string
	// Of stacks with names.
	Event  string
	Kernel string
	marked func(calllog.FuncID) string // names for other tools, nil for those that are shown
}

// writeGraph writes a graph in a format.
type writeGraph func(*Choice, io.Writer, flamegraph.Document, flamegraph.Options) (flamegraph.Summary, error)

// Formats returns the formats of cairn flame.
func Formats() output.Formats[writeGraph] {
	return output.Formats[writeGraph]{
		{Name: "html", Suffixes: []string{".html", ".htm"}, Rules: func(_ *Choice, w io.Writer, doc flamegraph.Document, opt flamegraph.Options) (flamegraph.Summary, error) {
			return single.Flame(w, doc, opt)
		}},
		{Name: "svg", Suffixes: []string{".svg"}, Rules: func(_ *Choice, w io.Writer, doc flamegraph.Document, opt flamegraph.Options) (flamegraph.Summary, error) {
			return flamegraph.WriteSVG(w, doc, opt)
		}},
		{Name: "folded", Suffixes: []string{".folded"}, Rules: (*Choice).writeFolded},
	}
}

// check validates the flags before a long log is read, and sets the format.
func (f *Choice) check() error {
	x, err := Formats().Select(f.Format, f.Out, "html")
	if err != nil {
		return err
	}
	f.Format, f.write = x.Name, x.Rules
	if !slices.Contains([]string{KernelAll, KernelOne, KernelNone}, f.Kernel) {
		return verb.Usagef("--kernel-frames %s: must be all, one or none", f.Kernel)
	}
	if !slices.Contains(flamegraph.Measures(), flamegraph.Measure(f.By)) {
		return verb.Usagef("--by %s: must be total, self or calls", f.By)
	}
	if math.IsNaN(f.MinPercent) || f.MinPercent < 0 || f.MinPercent > 100 {
		return verb.Usagef("--min-percent %v: must be from 0 to 100", f.MinPercent)
	}
	const most = 1_000_000
	if f.MaxStacks < 1 || f.MaxStacks > most {
		return verb.Usagef("--max-stacks %d: must be from 1 to %d", f.MaxStacks, most)
	}
	if f.TimePart != "" && f.TimePart != AllParts && !slices.Contains(waiting.PartNames[:], f.TimePart) {
		return verb.Usagef("--part %s: must be processor, waiting, idle or all", f.TimePart)
	}
	if f.Width < 200 || f.Width > 20_000 {
		return verb.Usagef("--width %d: must be from 200 to 20000", f.Width)
	}
	return nil
}

// Write draws the logs, samples or stacks among args.
func (f *Choice) Write(ctx context.Context, s *verb.Streams, args []string) error {
	if err := f.check(); err != nil {
		return err
	}
	filter, err := verb.NewNameFilter(f.Regexp)
	if err != nil {
		return err
	}
	doc, err := f.document(ctx, s, args, filter)
	if err != nil {
		return err
	}
	if doc.Groups == nil {
		verb.Note(s, "no calls to draw")
	}
	opt := flamegraph.Options{By: flamegraph.Measure(f.By), MinShare: f.MinPercent / 100, MaxNodes: f.MaxStacks, Width: f.Width}
	var sum flamegraph.Summary
	err = verb.WriteFile(s, f.Out, func(w io.Writer) (err error) {
		sum, err = f.write(f, w, doc, opt)
		return err
	})
	if err != nil {
		return err
	}
	f.say(s, sum, doc.Unit)
	return nil
}

// document returns the graph of any kind of inputs, without groups if it is empty.
func (f *Choice) document(ctx context.Context, s *verb.Streams, args []string, filter verb.NameFilter) (*flamegraph.Profile, error) {
	if len(f.Binaries) > 0 {
		return f.ofSamples(ctx, s, args, filter)
	}
	args, named := logset.SplitNames(args)
	if len(args) == 0 {
		return f.ofLogs(ctx, s, named, filter) // which says what is missing
	}
	args, err := expandSampled(args)
	if err != nil {
		return nil, err
	}
	s, head := peek(s, args[0])
	switch {
	case !perfdata.Detect(head) && stackfile.Detect(head), carried.Detect(head) && args[0] != logfile.Stdin && len(named) == 0:
		return f.ofNamed(ctx, s, args, filter)
	case samplefile.Detect(head) && args[0] == logfile.Stdin && len(named) == 0:
		return nil, errors.New("standard input: samples without names are read twice: give a file, or name the binaries")
	case samplefile.Detect(head) && len(named) > 0:
		f.Binaries = named
		return f.ofSamples(ctx, s, args, filter)
	case samplefile.Detect(head):
		found, err := sampleset.FindBinaries(ctx, s, args)
		if err != nil {
			return nil, err
		}
		f.Binaries, f.tables, f.kept = found.Binaries, found.Tables, found.Kept
		return f.ofSamples(ctx, s, args, filter)
	}
	return f.ofLogs(ctx, s, append(args, named...), filter)
}

// ofLogs returns the calls of logs.
func (f *Choice) ofLogs(ctx context.Context, s *verb.Streams, args []string, filter verb.NameFilter) (*flamegraph.Profile, error) {
	f.Sums, f.Unlike = true, "neither a log of calls nor samples nor stacks"
	set, err := f.Open(s, args, f.Names.Names())
	if err != nil {
		return nil, err
	}
	defer set.Close()
	f.By = set.Known(f.By)
	results, err := set.Account(ctx, f.Options)
	if err != nil {
		return nil, err
	}
	doc, err := f.profile(set, results, filter)
	if err != nil {
		return nil, err
	}
	if doc.Groups == nil && hasCalls(results) { // a page without them is no use, and may replace one
		return nil, fmt.Errorf("%s: no calls of functions that match %s", set.Logs[0].Info().File, f.Regexp)
	}
	return doc, nil
}

func hasCalls(results []*account.Result) bool {
	return slices.ContainsFunc(results, func(r *account.Result) bool {
		return slices.ContainsFunc(r.Threads, func(th account.Thread) bool { return th.Trie.Len() > 1 })
	})
}

// say prints the path of the drawing and what was omitted.
func (f *Choice) say(s *verb.Streams, sum flamegraph.Summary, unit string) {
	text := report.Plural(sum.Stacks, "stack")
	if sum.Merged > 0 {
		what := "time"
		switch {
		case f.By == string(flamegraph.ByCalls):
			what = "calls"
		case unit != report.Nanoseconds && unit != "ticks":
			what = unit
		}
		text += fmt.Sprintf(" (%s merged, with %.2g%% of the %s)", report.Count(sum.Merged), 100*sum.MergedShare, what)
	}
	where := f.Out
	if where == "-" {
		where = f.Format
	}
	fmt.Fprintf(s.Remarks(), "%s: %s\n", where, text)
}

// profile returns the graph of logs, without groups if it is empty.
func (f *Choice) profile(set *logset.Set, results []*account.Result, filter verb.NameFilter) (*flamegraph.Profile, error) {
	doc := &flamegraph.Profile{Title: set.Title(), Unit: set.Clock.Unit(), Step: set.Clock.Step, Name: set.Name}
	var times waitTimes
	for _, g := range set.MarkedGroups(results, f.PerThread) {
		if d := waiting.Divide(g.Trie, set.WaitOf); d != nil && f.TimePart != AllParts {
			times.add(d)
			g.Trie = d.Split(times.part(f.TimePart))
		} else if f.TimePart != "" && f.TimePart != AllParts && f.TimePart != waiting.PartNames[waiting.Processor] {
			continue
		}
		doc.Groups = append(doc.Groups, flamegraph.Group{Label: g.Label, Trie: g.Trie})
	}
	f.choose(doc, func(id calllog.FuncID) bool { return filter.Match(set.Funcs.Name(id)) })
	doc.Notes = slices.Concat(times.notes(f.TimePart, set), flameNotes(set, results, doc), doc.Notes)
	if doc.Groups == nil && f.Regexp == "" && f.TimePart != "" && hasCalls(results) {
		return nil, fmt.Errorf("%s: the logs have no such part: --part %s", set.Logs[0].Info().File, f.TimePart)
	}
	return doc, nil
}

// choose keeps the selected part of a document.
func (f *Choice) choose(doc *flamegraph.Profile, match func(calllog.FuncID) bool) {
	if f.Title != "" {
		doc.Title = f.Title
	}
	var kept []flamegraph.Group
	for _, g := range doc.Groups {
		if f.Regexp != "" {
			g.Trie = flamegraph.Below(g.Trie, match)
		}
		if g.Trie.Len() > 1 {
			kept = append(kept, g)
		}
	}
	doc.Groups = kept
	if f.Regexp != "" {
		doc.Notes = append(doc.Notes, "Only calls of functions that match "+f.Regexp+".")
	}
}

// flameNotes describe how much was drawn and the accuracy of its numbers.
func flameNotes(set *logset.Set, results []*account.Result, doc *flamegraph.Profile) []string {
	if doc.Groups == nil {
		return []string{"There are no calls to draw."}
	}
	var made, deduced, open uint64
	what := "call"
	for _, g := range doc.Groups {
		for _, n := range g.Trie.Nodes() {
			if n.Parent == calltrie.Root && set.WaitOf(n.Func) != "" {
				what = "wait"
			}
			if what == "wait" && n.Parent != calltrie.Root {
				continue
			}
			made += n.Calls
			deduced += n.Deduced
			open += n.Open
		}
	}
	threads := 0
	for _, r := range results {
		threads += len(r.Threads)
	}
	notes := []string{fmt.Sprintf("%s in %s.", report.Plural(int(made), what), report.Plural(threads, "thread"))}
	if deduced > 0 {
		notes = append(notes, fmt.Sprintf("%s no exit in the log: the time is a lower bound.",
			report.Count(deduced)+" "+report.Either(deduced, "call has", "calls have")))
	}
	if open > 0 {
		notes = append(notes, fmt.Sprintf("%s still running at the end.",
			report.Count(open)+" "+report.Either(open, "call was", "calls were")))
	}
	if set.Clock.Hz == 0 {
		notes = append(notes, "The log does not say how long a tick is.")
	}
	return notes
}

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

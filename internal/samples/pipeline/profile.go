package pipeline

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/format/sampleprof"
	"github.com/cairnprof/cairn/format/unsymbolized"
	"github.com/cairnprof/cairn/internal/logfile"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/samples/profgen"
	"github.com/cairnprof/cairn/internal/samples/tailcall"
)

// otherProduct makes the products that are not profiles for compilers.
func (r run) otherProduct(b *binaries, c counts, f frames) (*Result, error) {
	out := &Result{Programs: b.programs, Code: b.code, Source: b.source, Graph: f.graph}
	switch r.Product {
	case Addresses:
		out.Addresses = r.addresses(b, c)
	case Explanation:
		if f.by == nil {
			return nil, errors.New("--explain: frames are restored only in contexts that are keyed by pseudo probes")
		}
		out.Missing = tailcall.Explain(f.graph, f.by, c.Contexts)
	case Stacks:
		out.Stacks = profgen.SampledStacks(c.Result, b.code, profgen.StackOptions{Inferrer: f.by, Source: b.source, Detail: r.Detail})
		if text := lackingTotals(&c.Stats); text != "" {
			out.Stacks.Notes = append(out.Stacks.Notes, text)
		}
		if n := out.Stacks.Inferred; n > 0 {
			r.Note("samples with restored frames: %s (%s)", report.Count(n), report.Share(n, out.Stacks.Samples))
		}
	case Calls:
		out.Calls = profgen.Calls(c.Result, b.code, f.by)
		if len(out.Calls.Edges) == 0 {
			return nil, fmt.Errorf("%s: the samples show no call", strings.Join(r.Binaries, ", "))
		}
	case Branches:
		out.Branches = profgen.Branches(c.Result, b.code)
	case Executions:
		out.Executions = profgen.NewExecutions(c.Result, b.code)
	}
	return out, nil
}

// options returns the options for contexts.
func (r run) options(c counts, by tailcall.Inferrer) profgen.Options {
	return profgen.Options{Inferrer: by, MaxDepth: r.Depth, Recursion: r.Recursion, Recount: r.Recount, Named: c.named}
}

// addresses returns the counts unchanged, for a profile to be made later.
func (r run) addresses(b *binaries, c counts) *unsymbolized.Profile {
	p := &unsymbolized.Profile{HasContexts: !c.flat}
	result := c.Result
	if b.lines != nil && !c.flat {
		result, p.Names = profgen.NamedContexts(result, b.lines, r.options(c, nil))
	}
	p.Counts = result.Counts(b.code, r.base(b))
	return p
}

// attribute attributes the counts to functions and locations.
func (r run) attribute(b *binaries, c counts, f frames) *sampleprof.File {
	p := &sampleprof.File{FS: b.fs, HasContexts: !c.flat}
	switch {
	case c.flat && b.lines != nil:
		if r.FillZero {
			profgen.AllFunctions(c.Result, b.code)
		}
		p.SetProfile(profgen.FlatByLines(c.Result, b.lines))
	case c.flat:
		p.SetProfile(profgen.FlatByProbes(c.Result, f.probes))
	case b.lines != nil:
		p.Contexts = profgen.ContextsByLines(c.Result, b.lines, r.options(c, nil))
	default:
		if !f.probes.HaveCalls() {
			r.Note("no pseudo probes of calls, and so no callers: compile with -g1 as well")
		}
		p.Contexts = profgen.ContextsByProbes(c.Result, f.probes, r.options(c, f.by))
	}
	if c.flat && r.Recount {
		for _, x := range p.Contexts {
			x.Samples.RecountTotal()
		}
	}
	return p
}

// sumProfiles sums the profiles that are given instead of samples.
func (r run) sumProfiles() (*sampleprof.File, error) {
	inputs := slices.Clone(r.Sum.Weighted)
	paths, err := logfile.ExpandDirs(r.Sum.Files, "sample profile", sampleprof.Detect)
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		inputs = append(inputs, Weighted{path, 1})
	}
	var m sampleprof.Merger
	differ := 0
	for _, in := range inputs {
		p, err := r.readProfile(in.Path)
		if err != nil {
			return nil, err
		}
		p.Scale(in.Weight)
		n, err := m.Add(p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", in.Path, err)
		}
		differ += n
	}
	if differ > 0 {
		r.Note("omitted because their checksums differ from those of an earlier profile: %s", report.Plural(differ, "function"))
	}
	sum := m.Sum()
	if len(sum.Contexts) == 0 {
		return nil, fmt.Errorf("%s: neither this profile nor the others to be summed contain a function", inputs[0].Path)
	}
	if r.Sum.DropAmbiguous && !sum.HasContexts {
		functions := sum.Profile()
		profgen.DropAmbiguous(functions)
		sum.SetProfile(functions)
	}
	return sum, nil
}

func (r run) readProfile(path string) (*sampleprof.File, error) {
	stream, err := logfile.OpenStream(path, r.In)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	p, err := sampleprof.Read(stream)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", stream.Name, err)
	}
	return p, nil
}

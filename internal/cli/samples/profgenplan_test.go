package samples

import (
	"io"
	"reflect"
	"slices"
	"testing"

	"github.com/cairnprof/cairn/internal/samples/pipeline"
	"github.com/cairnprof/cairn/internal/samples/profgen"
	"github.com/cairnprof/cairn/internal/verb"
)

// planned is the plan of a command line, made of flags as cobra parses them.
func planned(t *testing.T, args []string) (*pipeline.Plan, error) {
	t.Helper()
	c, f := newProfgen(&verb.Streams{In: nil, Out: io.Discard, Err: io.Discard})
	if err := c.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	before := *f
	flags, err := f.complete(c.Flags().Changed)
	if err != nil {
		return nil, err
	}
	p, err := flags.plan(c.Flags().Args())
	if !reflect.DeepEqual(before, *f) {
		t.Errorf("%q: planning changed the flags", args)
	}
	return p, err
}

// TestPlan checks the combined effect of flags, as the difference from the plan without flags.
func TestPlan(t *testing.T) {
	t.Parallel()
	base := []string{"--binary", "app", "in.perf"}
	for _, x := range []struct {
		args   []string
		change func(p *pipeline.Plan)
	}{
		{nil, func(*pipeline.Plan) {}},
		{[]string{"--ps", "b.perf", "--perfdata=c"}, func(p *pipeline.Plan) { p.Samples = []string{"in.perf", "c", "b.perf"} }},
		{[]string{"--format", "pprof"}, func(p *pipeline.Plan) { p.Product, p.Detail = pipeline.Stacks, profgen.Addresses }},
		{[]string{"--format", "flame", "--inlines"}, func(p *pipeline.Plan) { p.Product, p.Detail = pipeline.Stacks, profgen.Inlined }},
		{[]string{"--format", "dot"}, func(p *pipeline.Plan) { p.Product = pipeline.Calls }},
		{[]string{"--explain"}, func(p *pipeline.Plan) { p.Product = pipeline.Explanation }},
		{[]string{"--skip-symbolization", "--use-offset=0"}, func(p *pipeline.Plan) { p.Product, p.Base = pipeline.Addresses, pipeline.NoBase }},
		{[]string{"--infer-missing-frames=0"}, func(p *pipeline.Plan) { p.Infer = pipeline.InferNone }},
		{[]string{"--csprof-max-context-depth", "0", "--compress-recursion", "3"}, func(p *pipeline.Plan) { p.Depth, p.Recursion = -1, 3 }},
		{[]string{"--use-md5"}, func(*pipeline.Plan) {}}, // text has names
		{[]string{"--use-md5", "--format", "extbinary"}, func(p *pipeline.Plan) { p.HashNames = true }},
		{[]string{"--csspgo-preinliner"}, func(p *pipeline.Plan) {
			decide := profgen.NewPreinline()
			decide.Thresholds = p.Cold.Thresholds
			p.Preinline, p.Nest, p.Cold.Own = &decide, true, true
		}},
		{[]string{"--llvm-defaults", "--csspgo-preinliner=0"}, func(p *pipeline.Plan) {
			p.Infer, p.KeepTailJumps, p.CheckStacks, p.Quiet = pipeline.InferLLVM, true, true, true
			p.Nest, p.Cold.Merge = true, true
		}},
	} {
		want, err := planned(t, base)
		if err != nil {
			t.Fatal(err)
		}
		x.change(want)
		got, err := planned(t, slices.Concat(base, x.args))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %+v, %v\nwant %+v", x.args, got, err, want)
		}
	}
}

// TestPlanSum checks that profiles replace samples as inputs.
func TestPlanSum(t *testing.T) {
	t.Parallel()
	p, err := planned(t, []string{"--merge", "--weighted-input", "3,new", "old", "older"})
	want := &pipeline.Sum{Weighted: []pipeline.Weighted{{Path: "new", Weight: 3}}, Files: []string{"old", "older"}}
	if err != nil || !reflect.DeepEqual(p.Sum, want) || p.Samples != nil {
		t.Errorf("got %+v, %v", p, err)
	}
	p, err = planned(t, []string{"--llvm-sample-profile", "a", "--binary", "app", "--csspgo-preinliner"})
	if err != nil || !reflect.DeepEqual(p.Sum, &pipeline.Sum{Files: []string{"a"}, DropAmbiguous: true}) || p.Preinline == nil {
		t.Errorf("got %+v, %v", p, err)
	}
}

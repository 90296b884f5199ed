package profgen

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
	"github.com/cairnprof/cairn/internal/export"
	"github.com/cairnprof/cairn/internal/samples/tailcall"
	"github.com/cairnprof/cairn/internal/samples/unwind"
	"github.com/cairnprof/cairn/sample"
)

// stackCode is a program: main calls f and h, f calls g, h jumps to g.
func stackCode(t *testing.T) *machinecode.Set {
	t.Helper()
	c := slices.Repeat([]byte{0x90}, 0x50)
	copy(c[0x02:], []byte{0xe8, 0x19, 0, 0, 0}) // main: call f
	copy(c[0x08:], []byte{0xe8, 0x33, 0, 0, 0}) // call h
	copy(c[0x22:], []byte{0xe8, 0x09, 0, 0, 0}) // f: call g
	copy(c[0x42:], []byte{0x5d, 0xeb, 0xeb})    // h: pop %rbp; jmp g
	symbol := func(name string, at, size uint64) objfile.TableSymbol {
		return objfile.TableSymbol{Symbol: objfile.Symbol{Name: name, Addr: 0x1000 + at, Size: size}, Func: true, Section: 1}
	}
	set, err := machinecode.NewSet(&objfile.Program{
		Path:     "bin/prog",
		Segments: []objfile.Segment{{Addr: 0x1000, Size: uint64(len(c)), Exec: true}},
		Code:     []objfile.CodeSection{{Name: ".text", Index: 1, Addr: 0x1000, Data: c}},
		Symbols:  []objfile.TableSymbol{symbol("main", 0, 0x18), symbol("f", 0x20, 9), symbol("g", 0x30, 5), symbol("h", 0x40, 5)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// TestSampledStacks checks that stacks keep recursion and frames outside of the binary, and
// that restored frames are marked with their rule.
func TestSampledStacks(t *testing.T) {
	t.Parallel()
	const outside = 0x7f0000000000
	for name, c := range map[string]struct {
		stack    []uint64
		branches []sample.Branch
		none     bool // no inference
		want     string
	}{
		"calls":                 {stack: []uint64{0x1032, 0x1027, 0x1007}, want: "main;f;g"},
		"recursion":             {stack: []uint64{0x1032, 0x1027, 0x1027, 0x1007}, want: "main;f;f;g"},
		"by the code":           {stack: []uint64{0x1032, 0x100d}, want: "main;h [inferred];g: static"},
		"by a branch":           {stack: []uint64{0x1032, 0x100d}, branches: []sample.Branch{{From: 0x1043, To: 0x1030}, {From: 0x1008, To: 0x1040}}, want: "main;h [inferred];g: window"},
		"not asked for":         {stack: []uint64{0x1032, 0x100d}, none: true, want: "main;g"},
		"in a library":          {stack: []uint64{outside, outside, 0x1027, 0x1007}, want: "main;f;[outside]"},
		"called by a library":   {stack: []uint64{0x1032, outside, 0x1027, 0x1007, outside}, want: "main;f;[outside];g"},
		"a library, and jumped": {stack: []uint64{outside, 0x1027, 0x100d}, want: "main;f;[outside]"},
		"no function":           {stack: []uint64{0x101c, 0x1007}, want: "main;[prog]"},
		"nothing of the binary": {stack: []uint64{outside}, want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code := stackCode(t)
			u := unwind.New(code, unwind.Options{Moments: true, TailCalls: !c.none})
			u.Add(&sample.Batch{Samples: []sample.Sample{{Stack: c.stack, Branches: c.branches, Count: 3}}})
			r := u.Result()
			var by tailcall.Inferrer
			if !c.none {
				by = tailcall.NewFull(tailcall.NewGraph(code, r.Contexts), nil)
			}
			s := SampledStacks(r, code, StackOptions{Inferrer: by})
			if got := showStacks(t, s); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if used := r.Stats.Used; s.Samples != used || used+r.Stats.Elsewhere != 3 {
				t.Errorf("%d samples, stats %+v", s.Samples, r.Stats)
			}
			if inferred := strings.Contains(c.want, "[inferred]"); inferred != (s.Inferred == 3) {
				t.Errorf("%d samples with frames that were put back", s.Inferred)
			}
		})
	}
}

// showStacks writes the stacks, each of 3 samples, and their rules.
func showStacks(t *testing.T, s *Stacks) string {
	t.Helper()
	var lines []string
	for _, rules := range slices.Sorted(maps.Keys(s.ByRules)) {
		export.EachStack(s.ByRules[rules], export.MaxFrames, func(stack []calllog.FuncID, n *calltrie.Node) error {
			var names []string
			for _, fn := range stack {
				names = append(names, s.Funcs.Name(fn))
			}
			line := strings.Join(names, ";")
			if rules != "" {
				line += ": " + rules
			}
			if n.Self != 3 || n.Calls != 0 {
				t.Errorf("%s: %+v", line, n.Stats)
			}
			lines = append(lines, line)
			return nil
		})
	}
	return strings.Join(lines, ", ")
}

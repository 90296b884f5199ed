package export

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/cairnprof/cairn/format/pprof"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
)

var stackFuncs = calllog.Funcs{
	1:                        {Name: "main", File: "a.cc", Line: 10, Addr: 0x1000, Object: "app"},
	2:                        {Name: "_Z4worki", File: "a.cc", Line: 20, Addr: 0x1100, Object: "app"},
	calllog.MakeFuncID(3, 1): {Name: "leaf", Addr: 0x1000, Object: "lib.so"},
}

// stackTrie returns the stacks of main, which called work twice and itself once; work called
// leaf of a library three times.
func stackTrie() *calltrie.Trie {
	t := calltrie.New()
	add := func(parent calltrie.NodeID, fn calllog.FuncID, totals, selfs []uint64) calltrie.NodeID {
		id := t.Child(parent, fn)
		for i := range totals {
			t.Node(id).Add(totals[i], selfs[i])
		}
		return id
	}
	main := add(calltrie.Root, 1, []uint64{1000}, []uint64{200})
	work := add(main, 2, []uint64{500, 300}, []uint64{100, 150})
	add(work, calllog.MakeFuncID(3, 1), []uint64{100, 150, 150}, []uint64{100, 150, 150})
	add(work, 2, []uint64{150}, []uint64{150})
	add(work, 9, nil, nil) // dropped: no calls, no sample
	return t
}

func stackProfile(groups ...Stacks) *pprof.Profile {
	return StackPprof(groups, stackFuncs, StackOptions{
		Unit: "nanoseconds", Start: 1795176873250907427, Duration: 1000,
		Name: stackFuncs.Name,
		Show: func(s string) string {
			if s == "_Z4worki" {
				return "work(int)"
			}
			return s
		},
	})
}

const outermostFrames = MaxFrames / 4

func TestStackPprof(t *testing.T) {
	t.Parallel()
	written := stackProfile(Stacks{Trie: stackTrie(), Labels: map[string]string{"log": "a"}, Numbers: map[string]uint32{"thread": 7}}, Stacks{Trie: stackTrie()})
	var b bytes.Buffer
	if err := written.Write(&b); err != nil {
		t.Fatal(err)
	}
	p, err := profile.Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.CheckValid(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range p.Sample[:4] {
		var names []string
		for _, loc := range s.Location {
			fn := loc.Line[0].Function
			names = append(names, fmt.Sprintf("%s=%s@%s:%d", fn.Name, fn.SystemName, filepath.Base(loc.Mapping.File), loc.Line[0].Line))
		}
		got = append(got, fmt.Sprint(names, s.Value, s.NumLabel["thread"]))
	}
	want := []string{
		"[main=main@app:10] [1 200] [7]",
		"[work(int)=_Z4worki@app:20 main=main@app:10] [2 250] [7]",
		"[leaf=leaf@lib.so:0 work(int)=_Z4worki@app:20 main=main@app:10] [3 400] [7]",
		"[work(int)=_Z4worki@app:20 work(int)=_Z4worki@app:20 main=main@app:10] [1 150] [7]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("samples are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(p.Sample) != 8 || p.Sample[4].Label != nil {
		t.Errorf("there are %d samples, want 8; the fifth has the labels %v", len(p.Sample), p.Sample[4].Label)
	}
	if p.TimeNanos != 1795176873250907427 || p.DurationNanos != 1000 {
		t.Errorf("the profile begins at %d and takes %d", p.TimeNanos, p.DurationNanos)
	}
}

func TestStackPprofTool(t *testing.T) {
	t.Parallel()
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go command")
	}
	file := filepath.Join(t.TempDir(), "stacks.pb.gz")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := stackProfile(Stacks{Trie: stackTrie(), Labels: map[string]string{"log": "a"}, Numbers: map[string]uint32{"thread": 7}}).Write(f); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args []string
		want []string
	}{
		{[]string{"-top"}, []string{"Type: time", "400ns 40.00% 40.00%", "leaf", "800ns 80.00%  work(int)", "1000ns   100%  main"}},
		{[]string{"-top", "-sample_index=calls"}, []string{"3 42.86%", "work(int)"}},
		{[]string{"-traces"}, []string{"thread:  7", "400ns   leaf\n             work(int)\n             main"}},
		{[]string{"-raw"}, []string{"calls/count time/nanoseconds", "work(int) a.cc:20"}},
		{[]string{"-tags"}, []string{"thread: Total"}},
	} {
		cmd := exec.Command(goTool, append(append([]string{"tool", "pprof", "-symbolize=none"}, test.args...), file)...)
		cmd.Env = append(os.Environ(), "PPROF_TMPDIR="+t.TempDir())
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("pprof %v: %v\n%s", test.args, err, out)
			continue
		}
		for _, want := range test.want {
			if !strings.Contains(string(out), want) {
				t.Errorf("pprof %v prints no %q:\n%s", test.args, want, out)
			}
		}
	}
}

// TestStackPprofHuge checks that no sum overflows, and that no stack is longer than the format
// permits.
func TestStackPprofHuge(t *testing.T) {
	t.Parallel()
	trie := calltrie.New()
	at := calltrie.Root
	const depth = 3 * MaxFrames
	for i := range depth {
		at = trie.Child(at, calllog.FuncID(i+1))
		trie.Node(at).Add(1<<63, 1<<63)
	}
	p := StackPprof([]Stacks{{Trie: trie}}, nil, StackOptions{Unit: "ticks", Name: calllog.Funcs(nil).Name})
	if err := p.CheckValid(); err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	for _, s := range p.Sample {
		if sum += s.Value[1]; sum < 0 {
			t.Fatal("the sum of times overflows")
		}
	}
	var names []string
	for _, loc := range p.Sample[depth-1].Location {
		names = append(names, loc.Line[0].Function.Name)
	}
	slices.Reverse(names)
	if len(names) != MaxFrames || names[0] != "#1" || names[outermostFrames-1] != "#128" ||
		names[outermostFrames] != LeftOutName || names[outermostFrames+1] != fmt.Sprintf("#%d", depth-(MaxFrames-outermostFrames-1)+1) ||
		names[MaxFrames-1] != fmt.Sprintf("#%d", depth) {
		t.Errorf("the deepest stack is %v", names)
	}
	if got := len(p.Sample[MaxFrames-1].Location); got != MaxFrames || p.Sample[MaxFrames-1].Location[MaxFrames-1-outermostFrames].Line[0].Function.Name == LeftOutName {
		t.Errorf("a stack of %d frames is cut", MaxFrames)
	}
}

// TestFrameLimit checks that a deep recursion does not use all memory.
func TestFrameLimit(t *testing.T) {
	t.Parallel()
	trie := calltrie.New()
	at := calltrie.Root
	for range 1 << 16 {
		at = trie.Child(at, 1)
	}
	deep := []Stacks{{Trie: trie}}
	if got := frameLimit(deep); got != MaxFrames/2 {
		t.Errorf("stacks of one recursion may have %d frames, want %d", got, MaxFrames/2)
	}
	if got := frameLimit([]Stacks{{Trie: stackTrie()}}); got != MaxFrames {
		t.Errorf("a few stacks may have %d frames, want %d", got, MaxFrames)
	}
	for range 100 {
		deep = append(deep, deep[0])
	}
	if got := frameLimit(deep); got != 32 {
		t.Errorf("stacks of a hundred recursions may have %d frames, want 32", got)
	}
}

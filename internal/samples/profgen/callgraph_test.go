package profgen

import (
	"bufio"
	"bytes"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/samples/tailcall"
	"github.com/cairnprof/cairn/internal/samples/unwind"
	"github.com/cairnprof/cairn/sample"
)

// TestCallsAgainstObjdump counts the branches in the text of samples, with the instructions and
// functions that objdump lists.
func TestCallsAgainstObjdump(t *testing.T) {
	t.Parallel()
	r := recordings()[1] // it is loaded where it was linked to
	r.record(t)
	l := r.load(t, false)
	l.program.Ranges, l.program.Probes = nil, nil // functions are those of symbols
	var err error
	if l.code, err = machinecode.NewSet(l.program); err != nil {
		t.Fatal(err)
	}
	text := withoutStacks(r.text)
	want := map[string]uint64{}
	starts, mnemonics, within := disassembly(t, r.program)
	for _, m := range branch.FindAllSubmatch(text, -1) {
		from, _ := strconv.ParseUint(string(m[1]), 16, 64)
		to, _ := strconv.ParseUint(string(m[2]), 16, 64)
		caller, kind := within[from], "call"
		switch op := mnemonics[from]; {
		case starts[to] == "" || strings.HasPrefix(op, "ret"):
			continue
		case op == "":
			caller = outsideName
		case !strings.HasPrefix(op, "call"):
			kind = "tail call"
		}
		if kind == "call" || caller != starts[to] {
			want[caller+" "+kind+" "+starts[to]]++
		}
	}
	g := Calls(l.unwind(t, text, true, 2), l.code, nil)
	got := map[string]uint64{}
	tails := 0
	for _, e := range g.Edges {
		if e.Kind == TailCall {
			tails++
		}
		got[g.Nodes[e.Caller].Name+" "+e.Kind.String()+" "+g.Nodes[e.Callee].Name] = e.Calls
		if e.Samples != 0 || e.Inferred() {
			t.Errorf("%+v without stacks", e)
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) || tails < 5 {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// disassembly returns the names of functions by where they start, and the mnemonics and
// functions of instructions.
func disassembly(t *testing.T, program string) (starts, mnemonics, within map[uint64]string) {
	t.Helper()
	out, err := exec.Command("objdump", "-d", "--no-show-raw-insn", program).Output()
	if err != nil {
		t.Skip(err)
	}
	starts, mnemonics, within = map[uint64]string{}, map[uint64]string{}, map[uint64]string{}
	name := ""
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		left, right, ok := strings.Cut(s.Text(), ":")
		at, err := strconv.ParseUint(strings.TrimSpace(strings.Fields(left + " x")[0]), 16, 64)
		switch {
		case err != nil || strings.Contains(left, "@plt"):
		case strings.HasSuffix(left, ">"):
			name, _, _ = strings.Cut(left[strings.Index(left, "<")+1:len(left)-1], ".cold")
			if !strings.Contains(left, ".cold") && name != "__do_global_dtors_aux" { // a label without a size
				starts[at] = name
			}
		case ok && right != "":
			mnemonics[at], within[at] = strings.Fields(right)[0], name
		}
	}
	return starts, mnemonics, within
}

// TestCalls checks that calls in branches and in stacks are edges, and that restored frames are
// marked.
func TestCalls(t *testing.T) {
	t.Parallel()
	const outside = 0x7f0000000000
	for name, c := range map[string]struct {
		stack    []uint64
		branches []sample.Branch
		none     bool // no inference
		want     []string
	}{
		"a stack":         {stack: []uint64{0x1032, 0x1027, 0x1007}, want: []string{"main call f 0 3 []", "f call g 0 3 []"}},
		"recursion":       {stack: []uint64{0x1032, 0x1027, 0x1027, 0x1007}, want: []string{"main call f 0 3 []", "f frames missing f 0 3 []", "f call g 0 3 []"}},
		"by the code":     {stack: []uint64{0x1032, 0x100d}, want: []string{"main call h 0 3 []", "h tail call g 0 3 [static] inferred"}},
		"by branches":     {stack: []uint64{0x1032, 0x100d}, branches: []sample.Branch{{From: 0x1043, To: 0x1030}, {From: 0x1008, To: 0x1040}}, want: []string{"main call h 3 3 []", "h tail call g 3 3 [window]"}},
		"not inferred":    {stack: []uint64{0x1032, 0x100d}, none: true, want: []string{"main frames missing g 0 3 []"}},
		"of a library":    {stack: []uint64{outside, 0x1027, 0x1007}, want: []string{"main call f 0 3 []", "f frames missing [outside] 0 3 []"}},
		"from one":        {stack: []uint64{0x1032, 0x1027, 0x1007}, branches: []sample.Branch{{From: outside, To: 0x1030}}, want: []string{"main call f 0 3 []", "f call g 0 3 []", "[outside] call g 3 0 []"}},
		"a loop is none":  {stack: []uint64{0x1042, 0x100d}, branches: []sample.Branch{{From: 0x1043, To: 0x1040}}, want: []string{"main call h 0 3 []"}},
		"a return either": {stack: []uint64{0x100a}, branches: []sample.Branch{{From: 0x1034, To: 0x1007}}, want: nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code := stackCode(t)
			u := unwind.New(code, unwind.Options{Moments: true, TailCalls: true})
			u.Add(&sample.Batch{Samples: []sample.Sample{{Stack: c.stack, Branches: c.branches, Count: 3}}})
			r := u.Result()
			var by tailcall.Inferrer
			if !c.none {
				by = tailcall.NewFull(tailcall.NewGraph(code, r.Contexts), nil)
			}
			g := Calls(r, code, by)
			var got []string
			for _, e := range g.Edges {
				line := fmt.Sprint(g.Nodes[e.Caller].Name, " ", e.Kind, " ", g.Nodes[e.Callee].Name, " ", e.Calls, " ", e.Samples, " ", e.Rules)
				if e.Inferred() {
					line += " inferred"
				}
				got = append(got, line)
			}
			slices.Sort(got)
			slices.Sort(c.want)
			if !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

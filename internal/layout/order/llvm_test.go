package order

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// tool returns the path of one of LLVM's programs and skips without it.
func tool(t *testing.T, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skipf("%s is not installed", names[0])
	return ""
}

// temporalProfile writes traces in LLVM's text profile format, with functions
// named f0, f1, ....
func temporalProfile(in *Input) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, ":ir\n:temporal_prof_traces\n%d\n%d\n", len(in.Traces), len(in.Traces))
	used := make([]bool, len(in.Funcs))
	for _, t := range in.Traces {
		b.WriteString("1\n")
		for _, f := range t.Funcs {
			fmt.Fprintf(&b, "f%d,", f)
			used[f] = true
		}
		b.WriteString("\n")
	}
	for f, ok := range used {
		if ok {
			fmt.Fprintf(&b, "\nf%d\n1\n1\n1\n", f)
		}
	}
	return b.Bytes()
}

// profdataOrder returns the order of llvm-profdata.
func profdataOrder(t *testing.T, profdata string, in *Input) []uint32 {
	t.Helper()
	file := filepath.Join(t.TempDir(), "traces.proftext")
	if err := os.WriteFile(file, temporalProfile(in), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), profdata, "order", file)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var order []uint32
	for line := range strings.Lines(string(out)) {
		name, ok := strings.CutPrefix(strings.TrimSpace(line), "f")
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(name, 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		order = append(order, uint32(n))
	}
	return order
}

// TestAgainstProfdata compares the number of pages with that of the order of llvm-profdata,
// which has the same algorithm but other random numbers.
func TestAgainstProfdata(t *testing.T) {
	t.Parallel()
	profdata := tool(t, "llvm-profdata-22", "llvm-profdata")
	for _, name := range programs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := readProgram(t, name)
			theirs := profdataOrder(t, profdata, in)
			r, err := Compute(in, BP, Options{OutlierFilter: true})
			if err != nil {
				t.Fatal(err)
			}
			if len(theirs) != r.Startup {
				t.Fatalf("llvm-profdata orders %d functions, we order %d", len(theirs), r.Startup)
			}
			theirPages, theirArea, _ := meanPages(Evaluate(in, theirs, 0))
			pages, area, _ := meanPages(Evaluate(in, r.Order, 0))
			t.Logf("pages %.1f, area %.1f; llvm-profdata %.1f, %.1f", pages, area, theirPages, theirArea)
			if limit := max(2, theirPages/50); math.Abs(pages-theirPages) > limit || math.Abs(area-theirArea) > limit {
				t.Errorf("more than %.1f pages from llvm-profdata's", limit)
			}
		})
	}
}

// program writes an assembly file with functions of the given sizes, each in a
// section of its own.
func program(in *Input) string {
	var b strings.Builder
	for i, f := range in.Funcs {
		fmt.Fprintf(&b, ".section .text.f%d,\"ax\",@progbits\n.globl f%d\n.type f%d,@function\nf%d: .skip %d,0x90\n.size f%d,.-f%d\n", i, i, i, i, f.Size, i, i)
	}
	return b.String()
}

// lldOrder links in with lld and its call graph and returns the order of the
// functions in the program.
func lldOrder(t *testing.T, in *Input, sort string) []uint32 {
	t.Helper()
	clang, lld, nm := tool(t, "clang-22", "clang"), tool(t, "ld.lld-22", "ld.lld"), tool(t, "nm")
	dir := t.TempDir()
	var edges strings.Builder
	for _, e := range in.Edges {
		fmt.Fprintf(&edges, "f%d f%d %d\n", e.Caller, e.Callee, e.Weight)
	}
	for name, content := range map[string]string{"p.s": program(in), "edges": edges.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	run := func(name string, args ...string) string {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir, cmd.Stderr = dir, os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(name, err)
		}
		return string(out)
	}
	run(clang, "--target=x86_64-linux-gnu", "-c", "p.s", "-o", "p.o")
	run(lld, "p.o", "-o", "p", "-e", "f0", "--call-graph-ordering-file=edges", "--call-graph-profile-sort="+sort)
	var order []uint32
	for line := range strings.Lines(run(nm, "-n", "p")) {
		fields := strings.Fields(line)
		if n, err := strconv.ParseUint(strings.TrimPrefix(fields[2], "f"), 10, 32); err == nil {
			order = append(order, uint32(n))
		}
	}
	return order
}

// randomCalls returns a program whose calls have distinct weights, so that there is one optimal
// order.
func randomCalls(funcs int, seed generator) *Input {
	in := &Input{}
	for i := range funcs {
		in.Funcs = append(in.Funcs, Func{Addr: uint64(i), Size: 16 + seed.next()%4000})
	}
	for i := 1; i < funcs; i++ {
		for k := range 1 + seed.next()%3 {
			// Callers come from before mostly, and weights spread widely.
			caller := seed.next() % uint64(i)
			if k == 2 {
				caller = seed.next() % uint64(funcs)
			}
			weight := 1 + seed.next()%(1<<(4+seed.next()%20))
			in.Edges = append(in.Edges, Edge{uint32(caller), uint32(i), weight})
		}
	}
	return in
}

func TestAgainstLLD(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		alg  Algorithm
		sort string
	}{{C3, "hfsort"}, {Hot, "cdsort"}} {
		t.Run(test.sort, func(t *testing.T) {
			t.Parallel()
			same, all := 0, 0
			for seed := range generator(3) {
				in := randomCalls(300, seed)
				theirs := lldOrder(t, in, test.sort)
				r, err := Compute(in, test.alg, Options{})
				if err != nil {
					t.Fatal(err)
				}
				if len(theirs) != len(r.Order) {
					t.Fatalf("lld has %d functions, we have %d", len(theirs), len(r.Order))
				}
				next := make(map[uint32]uint32)
				for i := 1; i < len(theirs); i++ {
					next[theirs[i-1]] = theirs[i]
				}
				for i := 1; i < len(r.Order); i++ {
					all++
					if next[r.Order[i-1]] == r.Order[i] {
						same++
					}
				}
			}
			t.Logf("%d of %d neighbours are those of lld", same, all)
			if same*100 < all*99 {
				t.Errorf("only %d of %d neighbours are those of lld", same, all)
			}
		})
	}
}

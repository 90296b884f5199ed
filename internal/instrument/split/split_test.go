package split

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/golden"
	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/asmtest"
	"github.com/cairnprof/cairn/internal/instrument/isa"
	"github.com/cairnprof/cairn/internal/instrument/probe"
	"github.com/cairnprof/cairn/internal/instrument/prove"
	"github.com/cairnprof/cairn/prof"
)

// atRandom marks blocks other than the entry as cold with a probability, the same ones for the
// same seed.
func atRandom(seed uint64, share float64) ColdBlocks {
	return func(f FuncInfo) ([]bool, bool) {
		h := fnv.New64a()
		h.Write([]byte(f.Name))
		r := rand.New(rand.NewPCG(seed, h.Sum64()))
		cold := make([]bool, f.Blocks)
		for i := 1; i < len(cold); i++ {
			cold[i] = r.Float64() < share
		}
		return cold, true
	}
}

// flowAtRandom has executions of all blocks, and of all edges that a function of as many blocks can have.
func flowAtRandom(seed uint64) func(FuncInfo) *Flow {
	return func(f FuncInfo) *Flow {
		h := fnv.New64a()
		h.Write([]byte(f.Name))
		r := rand.New(rand.NewPCG(seed, h.Sum64()))
		flow := &Flow{Times: make([]uint64, f.Blocks)}
		for b := range flow.Times {
			flow.Times[b] = r.Uint64N(1000)
			for to := max(0, b-20); to < min(b+20, f.Blocks); to++ {
				flow.Edges = append(flow.Edges, Edge{b, to, r.Uint64N(1000)})
			}
		}
		return flow
	}
}

// ordered splits functions and orders their blocks at random.
func ordered(t testing.TB, m machine.Kind, src []byte, seed uint64, share float64) ([]byte, Result) {
	t.Helper()
	unit, err := isa.Parse(src, m)
	if err != nil {
		t.Fatal(err)
	}
	return Split(unit, atRandom(seed, share), Options{Flow: flowAtRandom(seed)})
}

func split(t testing.TB, src []byte, cold ColdBlocks) ([]byte, Result) {
	t.Helper()
	return splitFor(t, machine.X86_64, src, cold)
}

func splitFor(t testing.TB, m machine.Kind, src []byte, cold ColdBlocks) ([]byte, Result) {
	t.Helper()
	unit, err := isa.Parse(src, m)
	if err != nil {
		t.Fatal(err)
	}
	return Split(unit, cold, Options{})
}

// everyOther marks every other block as cold.
func everyOther(f FuncInfo) ([]bool, bool) {
	out := make([]bool, f.Blocks)
	for i := range out {
		out[i] = i%2 == 1
	}
	return out, true
}

// TestSplitGolden splits what gcc and clang made of testdata at every other
// block and has it assembled.
func TestSplitGolden(t *testing.T) {
	t.Parallel()
	asmtest.EachText(t, "../native/testdata/*.s", func(file string, src []byte) {
		out, result := split(t, src, everyOther)
		for _, f := range result.Refused {
			out = fmt.Appendf(out, "# %s: %s\n", f.Name, f.Reason)
		}
		golden.Compare(t, filepath.Join("testdata", strings.TrimSuffix(filepath.Base(file), ".s")+".golden"), out)
		dir := t.TempDir()
		asmtest.Write(t, filepath.Join(dir, "a.s"), out)
		asmtest.Command(t, dir, "as", "--64", "-o", "a.o", "a.s")
	})
}

// eachBuild compiles the program of exceptions with each of the builds.
func eachBuild(t *testing.T, test func(t *testing.T, dir string, src []byte)) {
	for _, build := range asmtest.Builds() {
		t.Run(strings.Join(build, " "), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			src := asmtest.Compile(t, dir, "testdata/exceptions.cc", build...)
			test(t, dir, src)
		})
	}
}

// TestSplitRuns throws, catches and unwinds through functions split at random,
// and compares the output with that of the program as it was.
func TestSplitRuns(t *testing.T) {
	t.Parallel()
	eachBuild(t, func(t *testing.T, dir string, src []byte) {
		run := func(text []byte) string {
			asmtest.Write(t, filepath.Join(dir, "b.s"), text)
			asmtest.Command(t, dir, "g++", "-o", "b", "b.s")
			out, err := exec.Command(filepath.Join(dir, "b")).CombinedOutput()
			return fmt.Sprintf("%s%v", out, err)
		}
		want := run(src)
		if !strings.Contains(want, "terminated") {
			t.Fatalf("the program as it was: %s", want)
		}
		for i, share := range []float64{0.5, 0.9, 1} {
			out, result := split(t, src, atRandom(uint64(i), share))
			if len(result.Split) < 20 || len(result.Refused) > 0 {
				t.Errorf("split %d functions, refused %v", len(result.Split), result.Refused)
			}
			checkProved(t, dir, src, out)
			if got := run(out); got != want {
				t.Errorf("%v: the output differs:\n%s\nwant\n%s", share, got, want)
			}
		}
		for i, share := range []float64{0, 0.3} {
			out, result := ordered(t, machine.X86_64, src, uint64(i), share)
			if len(result.Ordered) < 9 || len(result.Refused) > 0 {
				t.Errorf("ordered %d functions, refused %v", len(result.Ordered), result.Refused)
			}
			checkProved(t, dir, src, out)
			if got := run(out); got != want {
				t.Errorf("in another order, %v cold: the output differs:\n%s\nwant\n%s", share, got, want)
			}
		}
	})
}

// checkProved checks that a layout is proved, every function of it.
func checkProved(t *testing.T, dir string, plain, laid []byte) {
	t.Helper()
	object := func(text []byte) *objfile.Relocatable {
		asmtest.Write(t, filepath.Join(dir, "p.s"), text)
		asmtest.Command(t, dir, "as", "--64", "-o", "p.o", "p.s")
		o, err := objfile.OpenRelocatable(filepath.Join(dir, "p.o"))
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	c := prove.Layouts(object(plain), object(laid), ColdSection, func(name string) bool { return !NeverReturns(name) })
	if c.Proved != c.Functions || c.Functions == 0 || len(c.Findings) > 0 {
		t.Errorf("%d of %d functions are proved: %+v", c.Proved, c.Functions, c.Findings[:min(8, len(c.Findings))])
	}
}

// TestSplitUnwind compares, at each instruction, the row of the unwind table
// as readelf sees it with that of the program as it was. Labels of a kind that
// the compilers write lead from one to the other.
func TestSplitUnwind(t *testing.T) {
	t.Parallel()
	eachBuild(t, func(t *testing.T, dir string, src []byte) {
		src = asmtest.Mark(src)
		want := asmtest.UnwindRows(t, dir, src)
		out, _ := split(t, src, atRandom(7, 0.5))
		got := asmtest.UnwindRows(t, dir, out)
		asmtest.CheckRows(t, got, want)
		out, _ = ordered(t, machine.X86_64, src, 7, 0.2)
		asmtest.CheckRows(t, asmtest.UnwindRows(t, dir, out), want)
	})
}

// TestSplitRefuses has a function for each thing that is not understood.
func TestSplitRefuses(t *testing.T) {
	t.Parallel()
	const (
		head = "\t.file\t\"a.c\"\n\t.text\n\t.type\tf, @function\nf:\n\ttestl\t%edi, %edi\n\tje\t.L2\n"
		tail = ".L2:\n\tcall\tg\n\tret\n\t.size\tf, .-f\n"
	)
	checkSplit(t, machine.X86_64, []refusal{
		{head + "\tret\n" + tail, ""},
		{head + "\tloop\t.L2\n\tret\n" + tail, "limited range"},
		{head + "\tret\n" + tail + "\t.section .rodata\n\t.quad .L2-.L9\n", "computes"},
		{head + "\tret\n" + tail + "\t.section .rodata\n.L9:\n\t.long .L2-.L9\n", ""},
		{head + "\tret\n" + tail + "\t.section .rodata\n.L9:\n\t.long .L9-.L2\n", "distance"},
		{head + "\tret\n" + tail + "\t.section .rodata\n\t.uleb128 .L2\n", "computes"},
		{head + "\tret\n" + tail + "\t.set x, .L2\n", "directive .set"},
		{head + "\tmovl\t$.L2-.L3, %eax\n.L3:\n\tret\n" + tail, "computes"},
		{head + "\tret\n\taddl\t%eax, %eax\n" + tail, "unreachable code"},
		{head + "\thlt\n" + tail, "hlt"},
		{head + "\tret\n.L3:\n\t.long\t.L2-.L3\n" + tail, "table"},
		{head + "#APP\n\tjmp .L2\n#NO_APP\n\tret\n" + tail, "inline assembly"},
		{head + "#APP\n1:\tjmp 1b\n#NO_APP\n\tret\n" + tail, ""},
		{head + "#APP\n\tjmp 1f\n#NO_APP\n\tret\n" + tail, "a label elsewhere"},
		{head + "#APP\n\t.pushsection x\n\t.popsection\n#NO_APP\n\tret\n" + tail, ".pushsection"},
		{head + "\tret\ng2:\n\tnop\n" + tail, "second symbol"},
		{strings.Replace(head+"\tret\n"+tail, ".text", ".section .init.text,\"ax\"", 1), "section .init.text"},
		{head + "\t.cfi_window_save\n\tret\n" + tail, "outside"},
		{head + "\tjmp\t.+2\n\tret\n" + tail, "expression"},
		{head + "\tret\n.L3:\n\tnop\n\t{vex} vpdpbusd %ymm1, %ymm0, %ymm0\n" + tail, "unknown statement"},
		{head + "\tret\n" + strings.Replace(tail, "\tret\n", "\tnop\n\taddl %eax, %eax\n", 1), "falls through"},
		{head + "\tret\n" + strings.Replace(tail, "\tret\n", "", 1), ""},
		{head + "\tret\n\t.text 1\n\tnop\n\t.text 0\n" + tail, "subsection"},
		{head + "\tmovl -4(%rip), %eax\n\tret\n" + tail, "relative to the place"},
		{head + "\tmovl x-4(%rip), %eax\n\tret\n" + tail, ""},
		{head + "\tx = 4\n\tret\n" + tail, "given a value"},
		{head + "#APP\n1:\tnop\n#NO_APP\n\tret\n.L3:\n#APP\n\tjmp 1b\n1:\n#NO_APP\n\tret\n" + tail, "a label elsewhere"},
		{head + "\tret\n" + tail + "\t.section .rodata\nx:\t.long .L2-x\n", "after a label"},
		{strings.Replace(head, "f:\n", "f:\n.Lf$local:\n\t.type\t.Lf$local,@function\n\t.cfi_startproc\n", 1) + "\tret\n" + tail + "\t.size\t.Lf$local, .-f\n\t.cfi_endproc\n", ""},
		{head + "\tret\n" + tail + "\t.type\t.L2, @function\n", "directive .type"},
		{head + "\t.p2align 1\n.Lxray_sled_1:\n\tret\n" + tail, "patches"},
	})
}

// TestSplitJumpState checks the unwind state of a jump that was added behind an
// instruction that changes it.
func TestSplitJumpState(t *testing.T) {
	t.Parallel()
	src := "\t.file\t\"a.c\"\n\t.text\n\t.type\tf, @function\nf:\n\t.cfi_startproc\n\ttestl\t%edi, %edi\n\tje\t.L2\n" +
		"\tpushq\t%rax\n\t.cfi_def_cfa_offset 16\n.L3:\n\tcall\tg\n\tjmp\t.L3\n" +
		".L2:\n\t.cfi_def_cfa_offset 8\n\tret\n\t.cfi_endproc\n\t.size\tf, .-f\n"
	out, result := split(t, []byte(src), func(FuncInfo) ([]bool, bool) { return []bool{false, false, true, false}, true })
	if want := "\tpushq\t%rax\n\t.cfi_def_cfa_offset 16\n\tjmp\t.L3\n"; len(result.Split) != 1 || !strings.Contains(string(out), want) {
		t.Errorf("refused %v; no %q in\n%s", result.Refused, want, out)
	}
}

// never says that nothing ran.
func never(f FuncInfo) ([]bool, bool) { return slices.Repeat([]bool{true}, f.Blocks), true }

// TestSplitWhole moves a function that never ran.
func TestSplitWhole(t *testing.T) {
	t.Parallel()
	src := "\t.file\t\"a.c\"\n\t.section\t.text.f,\"ax\",@progbits\n\t.type\tf, @function\nf:\n\tret\n\t.size\tf, .-f\n"
	unit, err := isa.Parse([]byte(src), machine.X86_64)
	if err != nil {
		t.Fatal(err)
	}
	if out, _ := Split(unit, never, Options{}); string(out) != src {
		t.Errorf("without Whole: %s", out)
	}
	out, result := Split(unit, never, Options{Whole: true})
	if want := strings.Replace(src, ".text.f", ColdSection+"f", 1); string(out) != want || len(result.Moved) != 1 {
		t.Errorf("got %s\nwant %s", out, want)
	}
}

// FuzzSplit checks that any text is split or refused without a panic, and the
// same way each time.
func FuzzSplit(f *testing.F) {
	asmtest.EachText(f, "../native/testdata/*.s", func(_ string, src []byte) { f.Add(src, uint64(1)) })
	f.Add([]byte("\t.file\t\"a.c\"\n\t.type\tf, @function\nf:\n\tje .L1\n\tret\n.L1:\n\tret\n.size f,.-f"), uint64(2))
	f.Fuzz(func(t *testing.T, src []byte, seed uint64) { splitsTheSame(t, src, machine.X86_64, seed) })
}

// splitsTheSame splits text twice.
func splitsTheSame(t *testing.T, src []byte, m machine.Kind, seed uint64) {
	unit, err := isa.Parse(src, m)
	if err != nil {
		return
	}
	opts := Options{MinInsns: int(seed % 4), Whole: seed%2 == 0}
	if seed%3 == 0 {
		opts.Flow = flowAtRandom(seed)
	}
	out, result := Split(unit, atRandom(seed, 0.7), opts)
	again, _ := Split(unit, atRandom(seed, 0.7), opts)
	if !bytes.Equal(out, again) {
		t.Fatal("a second split differs")
	}
	if len(result.Split)+len(result.Moved)+len(result.Ordered) == 0 && !bytes.Equal(out, src) {
		t.Fatal("text without split functions changed")
	}
}

// A refusal is a text with one function, and a part of the reason why it is not split; "" if it is.
type refusal struct{ text, want string }

func checkSplit(t *testing.T, m machine.Kind, tests []refusal) {
	t.Helper()
	for _, test := range tests {
		_, result := splitFor(t, m, []byte(test.text), atRandom(0, 1))
		switch {
		case test.want == "" && len(result.Split) != 1,
			test.want != "" && (len(result.Refused) != 1 || !strings.Contains(result.Refused[0].Reason, test.want)):
			t.Errorf("%s\nsplit %v, refused %v, want %q", test.text, result.Split, result.Refused, test.want)
		}
	}
}

// TestEdgesSplit checks that a profile of blocks with edges has the numbers of blocks that Split expects, without edges.
func TestEdgesSplit(t *testing.T) {
	t.Parallel()
	const code = ".text\n.type f, @function\nf:\ntestl %eax, %eax\njne .L2\nmovl $1, %ebx\nmovl $2, %ecx\nmovl $3, %edx\nmovl $4, %esi\n.L2:\nret\n"
	u, err := isa.ParseAs(asm.ParseOptions{Plain: true}, []byte(code), machine.X86_64)
	if err != nil {
		t.Fatal(err)
	}
	_, result := probe.Rewrite(u, probe.Options{Mode: prof.ModeBlock})
	var asked FuncInfo
	Split(u, func(f FuncInfo) ([]bool, bool) {
		asked = f
		return make([]bool, f.Blocks), true
	}, Options{})
	if want := probe.WithEdges(u.Funcs[0], u).Signature(); asked.Blocks != result.Blocks || asked.Signature != want {
		t.Errorf("Split asks for %d blocks of signature %#x; the map has %d of %#x", asked.Blocks, asked.Signature, result.Blocks, want)
	}
	fn := probe.WithEdges(u.Funcs[0], u)
	if got := probe.WithoutEdges(fn, []bool{false, true, true, false}); len(fn.Main().Blocks) != 4 || len(got) != 3 || got[0] || !got[1] || got[2] {
		t.Errorf("of %d blocks with edges, %v are those without", len(fn.Main().Blocks), got)
	}
}

// TestUnaligned: what never ran has no aligned loops. The function stays aligned, and so do data and space for patches.
func TestUnaligned(t *testing.T) {
	t.Parallel()
	const (
		head = "\t.file\t\"a.c\"\n\t.section\t.text.f,\"ax\",@progbits\n\t.p2align 4\n\t.type\tf, @function\nf:\n"
		loop = "\t.p2align 4,,10\n\t.p2align 3\n.L2:\n\tdecl\t%edi\n\tjne\t.L2\n"
		tail = "\tret\n\t.size\tf, .-f\n"
	)
	bare := strings.ReplaceAll(loop, "\t.p2align 4,,10\n\t.p2align 3\n", "")
	for _, test := range []struct{ src, want string }{
		{head + loop + tail, head + bare + tail},
		{head + "#APP\n" + loop + "#NO_APP\n" + tail, head + "#APP\n" + loop + "#NO_APP\n" + tail},
		{head + loop + "\tjmp\t.L2\n\t.p2align 3\n\t.quad\t0\n" + tail, ""},
		{head + "\t.p2align 1\n.Lxray_sled_0:\n" + loop + tail, head + "\t.p2align 1\n.Lxray_sled_0:\n" + bare + tail},
	} {
		unit, err := isa.Parse([]byte(test.src), machine.X86_64)
		if err != nil {
			t.Fatal(err)
		}
		out, result := Split(unit, never, Options{Whole: true})
		want := test.want
		if want == "" {
			want = test.src
		}
		if want = strings.Replace(want, ".text.f", ColdSection+"f", 1); string(out) != want || len(result.Moved) != 1 {
			t.Errorf("%s\nwant\n%s", out, want)
		}
	}
}

// TestAlignsHotLoops has two loops in a function whose blocks are in the best order already: the one that runs often stays aligned,
// and neither the other one nor what a jump leads to.
func TestAlignsHotLoops(t *testing.T) {
	t.Parallel()
	const (
		align = "\t.p2align 4,,10\n\t.p2align 3\n"
		text  = "\t.file\t\"a.c\"\n\t.text\n\t.p2align 4\n\t.type\tf, @function\nf:\n\txorl\t%eax, %eax\n" +
			"HOT.L2:\n\tdecl\t%edi\n\tjne\t.L2\n\tmovl\t$3, %esi\n" +
			"COLD.L3:\n\tdecl\t%esi\n\tjne\t.L3\n\tret\n\t.size\tf, .-f\n"
	)
	with := func(hot, cold string) string {
		return strings.ReplaceAll(strings.ReplaceAll(text, "HOT", hot), "COLD", cold)
	}
	flow := &Flow{
		Times: []uint64{10, 90000, 10, 30, 10},
		Edges: []Edge{{0, 1, 10}, {1, 1, 89990}, {1, 2, 10}, {2, 3, 10}, {3, 3, 20}, {3, 4, 10}},
	}
	for name, tt := range map[string]struct {
		flow *Flow
		want string
	}{
		"by executions": {flow, with(align, "")},
		"not known":     {nil, with(align, align)},
	} {
		unit, err := isa.Parse([]byte(with(align, align)), machine.X86_64)
		if err != nil {
			t.Fatal(err)
		}
		out, result := Split(unit, func(f FuncInfo) ([]bool, bool) { return make([]bool, f.Blocks), true }, Options{Flow: func(FuncInfo) *Flow { return tt.flow }})
		if string(out) != tt.want || len(result.Split)+len(result.Ordered)+len(result.Refused) > 0 {
			t.Errorf("%s: %s\n%+v\nwant\n%s", name, out, result, tt.want)
		}
	}
}

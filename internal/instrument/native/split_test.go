package native

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/golden"
	"github.com/cairnprof/cairn/internal/shorttest"
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

func split(t testing.TB, src []byte, cold ColdBlocks) ([]byte, SplitResult) {
	t.Helper()
	return splitFor(t, machine.X86_64, src, cold)
}

func splitFor(t testing.TB, m machine.Kind, src []byte, cold ColdBlocks) ([]byte, SplitResult) {
	t.Helper()
	unit, err := Parse(src, m)
	if err != nil {
		t.Fatal(err)
	}
	return Split(unit, cold, SplitOptions{})
}

// command runs a tool in dir, or skips the test where it is not installed.
func command(t testing.TB, dir string, args ...string) []byte {
	t.Helper()
	out, err := outputIn(dir, args)
	checkRun(t, err)
	return out
}

// outputIn runs a command in a directory.
func outputIn(dir string, args []string) ([]byte, error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	var msg bytes.Buffer
	cmd.Stderr = &msg
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, &msg)
	}
	return out, err
}

// checkRun skips a test whose command is not installed, and fails one whose command failed.
func checkRun(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
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
	eachText(t, "testdata/*.s", func(file string, src []byte) {
		out, result := split(t, src, everyOther)
		for _, f := range result.Refused {
			out = fmt.Appendf(out, "# %s: %s\n", f.Name, f.Reason)
		}
		golden.Compare(t, strings.TrimSuffix(file, ".s")+".split.golden", out)
		dir := t.TempDir()
		write(t, filepath.Join(dir, "a.s"), out)
		command(t, dir, "as", "--64", "-o", "a.o", "a.s")
	})
}

func write(t testing.TB, file string, text []byte) {
	t.Helper()
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// builds returns compilers and options that the tests below compile with.
func builds() [][]string {
	return shorttest.Rows(
		4,
		[]string{"g++", "-O3", "-g", "-fPIC", "-fcf-protection", "-ffunction-sections"},
		// Functions have local aliases, as with -flto=thin.
		[]string{"clang++-22", "-O3", "-g", "-fPIC", "-fno-semantic-interposition", "-fcf-protection", "-fno-integrated-as"},
		[]string{"g++", "-Os", "-fno-omit-frame-pointer", "-mavx2", "-mstackrealign"},
		[]string{"g++", "-O2", "-fno-asynchronous-unwind-tables"},
		[]string{"g++", "-O2"},
		[]string{"g++", "-O0", "-g"},
		[]string{"clang++-22", "-O2", "-fno-integrated-as"},
		[]string{"clang++-22", "-O0", "-ffunction-sections", "-fno-integrated-as"},
	)
}

// eachBuild compiles the program of exceptions with each of the builds.
func eachBuild(t *testing.T, test func(t *testing.T, dir string, src []byte)) {
	for _, build := range builds() {
		t.Run(strings.Join(build, " "), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			src := compile(t, dir, "testdata/split/exceptions.cc", build...)
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
			write(t, filepath.Join(dir, "b.s"), text)
			command(t, dir, "g++", "-o", "b", "b.s")
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
			if got := run(out); got != want {
				t.Errorf("%v: the output differs:\n%s\nwant\n%s", share, got, want)
			}
		}
	})
}

// TestSplitUnwind compares, at each instruction, the row of the unwind table
// as readelf sees it with that of the program as it was. Labels of a kind that
// the compilers write lead from one to the other.
func TestSplitUnwind(t *testing.T) {
	t.Parallel()
	eachBuild(t, func(t *testing.T, dir string, src []byte) {
		src = mark(src)
		want := unwindRows(t, dir, src)
		out, _ := split(t, src, atRandom(7, 0.5))
		got := unwindRows(t, dir, out)
		checkRows(t, got, want)
	})
}

var fdeLine = regexp.MustCompile(`FDE .*pc=([0-9a-f]+)\.\.([0-9a-f]+)`)

type unwindRow struct {
	at  uint64
	row string
}

// unwindRows links text and returns the unwind row at each mark.
func unwindRows(t *testing.T, dir string, text []byte) map[string]string {
	t.Helper()
	write(t, filepath.Join(dir, "m.s"), text)
	command(t, dir, "as", "-L", "--64", "-o", "m.o", "m.s")
	command(t, dir, "ld", "-e", "0", "--unresolved-symbols=ignore-all", "-o", "m", "m.o")
	var rows []unwindRow
	var names []string
	var end uint64
	for line := range strings.Lines(string(command(t, dir, "readelf", "-wF", "m"))) {
		f := strings.Fields(line)
		switch m := fdeLine.FindStringSubmatch(line); {
		case m != nil:
			at, _ := strconv.ParseUint(m[1], 16, 64)
			end, _ = strconv.ParseUint(m[2], 16, 64)
			names = []string{"CFA", "ra"}
			rows = append(rows, unwindRow{at, "CFA=rsp+8 ra=c-8 "}, unwindRow{end, ""})
		case strings.Contains(line, " CIE "):
			names = nil
		case len(f) > 0 && f[0] == "LOC":
			names = f[1:]
		case names != nil && len(f) == len(names)+1 && len(f[0]) == 16:
			at, _ := strconv.ParseUint(f[0], 16, 64)
			var cols []string
			for i, v := range f[1:] {
				if v != "u" {
					cols = append(cols, names[i]+"="+v)
				}
			}
			slices.Sort(cols)
			rows = append(rows, unwindRow{at, strings.Join(cols, " ") + " "})
		}
	}
	sortRows(rows)
	return marked(t, dir, rows)
}

// sortRows sorts rows by address. An end gives way to the row that begins there; later rows
// of an address to none.
func sortRows(rows []unwindRow) {
	slices.SortStableFunc(rows, func(a, b unwindRow) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(min(len(a.row), 1), min(len(b.row), 1)))
	})
}

// marked returns the row at each mark of the program m.
func marked(t *testing.T, dir string, rows []unwindRow) map[string]string {
	t.Helper()
	marks := map[string]string{}
	for line := range strings.Lines(string(command(t, dir, "nm", "m"))) {
		f := strings.Fields(line)
		if len(f) != 3 || !strings.HasPrefix(f[2], ".LVLmark") {
			continue
		}
		at, _ := strconv.ParseUint(f[0], 16, 64)
		i, _ := slices.BinarySearchFunc(rows, at+1, func(r unwindRow, at uint64) int { return cmp.Compare(r.at, at) })
		marks[f[2]] = ""
		if i > 0 {
			marks[f[2]] = rows[i-1].row
		}
	}
	return marks
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

// TestSplitWhole moves a function that never ran.
func TestSplitWhole(t *testing.T) {
	t.Parallel()
	src := "\t.file\t\"a.c\"\n\t.section\t.text.f,\"ax\",@progbits\n\t.type\tf, @function\nf:\n\tret\n\t.size\tf, .-f\n"
	unit, err := Parse([]byte(src), machine.X86_64)
	if err != nil {
		t.Fatal(err)
	}
	never := func(f FuncInfo) ([]bool, bool) { return slices.Repeat([]bool{true}, f.Blocks), true }
	if out, _ := Split(unit, never, SplitOptions{}); string(out) != src {
		t.Errorf("without Whole: %s", out)
	}
	out, result := Split(unit, never, SplitOptions{Whole: true})
	if want := strings.Replace(src, ".text.f", ColdSection+"f", 1); string(out) != want || len(result.Moved) != 1 {
		t.Errorf("got %s\nwant %s", out, want)
	}
}

// FuzzSplit checks that any text is split or refused without a panic, and the
// same way each time.
func FuzzSplit(f *testing.F) {
	eachText(f, "testdata/*.s", func(_ string, src []byte) { f.Add(src, uint64(1)) })
	f.Add([]byte("\t.file\t\"a.c\"\n\t.type\tf, @function\nf:\n\tje .L1\n\tret\n.L1:\n\tret\n.size f,.-f"), uint64(2))
	f.Fuzz(func(t *testing.T, src []byte, seed uint64) { splitsTheSame(t, src, machine.X86_64, seed) })
}

// splitsTheSame splits text twice.
func splitsTheSame(t *testing.T, src []byte, m machine.Kind, seed uint64) {
	unit, err := Parse(src, m)
	if err != nil {
		return
	}
	opts := SplitOptions{MinInsns: int(seed % 4), Whole: seed%2 == 0}
	out, result := Split(unit, atRandom(seed, 0.7), opts)
	again, _ := Split(unit, atRandom(seed, 0.7), opts)
	if !bytes.Equal(out, again) {
		t.Fatal("a second split differs")
	}
	if len(result.Split)+len(result.Moved) == 0 && !bytes.Equal(out, src) {
		t.Fatal("text without split functions changed")
	}
}

package split

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/instrument/asmtest"
)

// TestSplitRefusesAArch64 has a function for each thing that is not understood, or that would
// not be in reach.
func TestSplitRefusesAArch64(t *testing.T) {
	t.Parallel()
	const (
		head = "\t.file\t\"a.c\"\n\t.text\n\t.type\tf, %function\nf:\n\tcbz\tw0, .L2\n"
		tail = ".L2:\n\tstp\tx29, x30, [sp, -16]!\n\tbl\tg\n\tldp\tx29, x30, [sp], 16\n\tret\n\t.size\tf, .-f\n"
		// A jump table of bytes, as gcc writes them. The last case is 4 * 200 bytes behind the first.
		table = "\t.file\t\"a.c\"\n\t.text\n\t.type\tf, %function\nf:\n\tcmp\tw0, 1\n\tbhi\t.L9\n" +
			"\tadrp\tx1, .L4\n\tadd\tx1, x1, :lo12:.L4\n\tldrb\tw0, [x1, w0, uxtw]\n\tadr\tx1, .Lrtx4\n\tadd\tx0, x1, w0, sxtb 2\n\tbr\tx0\n.Lrtx4:\n" +
			"\t.section\t.rodata\n\t.p2align\t0\n.L4:\n\t.byte\t(.L5 - .Lrtx4) / 4\n\t.byte\t(.L6 - .Lrtx4) / 4\n\t.text\n.L5:\n"
		cases = ".L6:\n\tret\n.L9:\n\tmov\tw0, 7\n\tret\n\t.size\tf, .-f\n"
	)
	long := strings.Repeat("\tadd\tw0, w0, 1\n", 200)
	checkSplit(t, machine.AArch64, []refusal{
		{head + "\tret\n" + tail, ""},
		{head + "\tret\n" + tail + "\t.section .rodata\n\t.xword .L2-.L9\n", "computes"},
		{head + "\tret\n" + tail + "\t.section .rodata\n.L9:\n\t.word .L2-.L9\n", ""},
		{head + "\tret\n" + tail + "\t.section .rodata\n.L9:\n\t.word .L9-.L2\n", "leads elsewhere"},
		{head + "\tret\n" + tail + "\t.section .rodata\n\t.uleb128 .L2\n", "computes"},
		{head + "\tret\n" + tail + "\t.section .rodata\n\t.hword .L2\n", "computes"},
		{head + "\tret\n.L3:\n\tnop\n" + tail + "\t.section .rodata\n\t.byte (.L2 - elsewhere) / 4\n", "computes"},
		{head + "\tret\n" + tail + "\t.set x, .L2\n", "directive .set"},
		{head + "\tmov\tx0, .L2-.L3\n.L3:\n\tret\n" + tail, "computes"},
		{head + "\tret\n\tadd\tw0, w0, w0\n" + tail, "unreachable code"},
		{head + "\tret\n.L3:\n\t.word\t.L2-.L3\n" + tail, "table"},
		{head + "#APP\n\tb .L2\n#NO_APP\n\tret\n" + tail, "inline assembly"},
		{head + "#APP\n1:\tb 1b\n#NO_APP\n\tret\n" + tail, ""},
		{head + "#APP\n\tb 1f\n#NO_APP\n\tret\n" + tail, "a label elsewhere"},
		{head + "#APP\n\t.pushsection x\n\t.popsection\n#NO_APP\n\tret\n" + tail, ".pushsection"},
		{head + "\tret\ng2:\n\tnop\n" + tail, "second symbol"},
		{strings.Replace(head+"\tret\n"+tail, ".text", ".section .init.text,\"ax\"", 1), "section .init.text"},
		{head + "\t.cfi_window_save\n\tret\n" + tail, "outside"},
		{head + "\tb\t.+8\n\tret\n" + tail, "expression"},
		{head + "\tadr\tx0, .\n\tret\n" + tail, "relative to the place"},
		{head + "\tret\n" + strings.Replace(tail, "\tret\n", "\tadd\tw0, w0, w0\n", 1), "falls through"},
		{head + "\tret\n" + strings.Replace(tail, "\tldp\tx29, x30, [sp], 16\n\tret\n", "", 1), ""},
		{head + "\tret\n\t.text 1\n\tnop\n\t.text 0\n" + tail, "subsection"},
		{head + "\tx = 4\n\tret\n" + tail, "given a value"},
		{head + "\t.p2align 2\n.Lxray_sled_1:\n\tret\n" + tail, "patches"},
		{table + "\tret\n" + cases, ""},
		{table + long + "\tret\n" + cases, "a jump table that might not reach"},
		{table + "#APP\n\tnop\n#NO_APP\n\tret\n" + cases, "inline assembly in a function with a compressed jump table"},
	})
}

// TestSplitUnwindAArch64 compares the unwind row at each instruction, as llvm-dwarfdump prints
// it, with that of the original program. The row says whether the return address is signed
// there.
func TestSplitUnwindAArch64(t *testing.T) {
	t.Parallel()
	crossTools(t, "aarch64-linux-gnu-g++", "llvm-dwarfdump-22")
	for i, build := range crossBuilds {
		if testing.Short() && i%5 != 1 {
			continue // one of gcc and one of clang, both of which sign
		}
		t.Run(strings.Join(build, " "), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			src := asmtest.Mark(asmtest.Compile(t, dir, "testdata/exceptions.cc", build...))
			clang := strings.HasPrefix(build[0], "clang")
			want := crossRows(t, dir, src, clang)
			out, result := splitFor(t, machine.AArch64, src, atRandom(7, 0.5))
			if len(result.Split) < 20 {
				t.Errorf("%d functions are split, %v refused: that proves little", len(result.Split), result.Refused)
			}
			got := crossRows(t, dir, out, clang)
			asmtest.CheckRows(t, got, want)
			out, result = ordered(t, machine.AArch64, src, 7, 0.3)
			if len(result.Ordered) < 9 {
				t.Errorf("%d functions are ordered, %v refused", len(result.Ordered), result.Refused)
			}
			got = crossRows(t, dir, out, clang)
			forgetJumps(src, out, got, want)
			asmtest.CheckRows(t, got, want)
			signed := 0
			for _, row := range want {
				if strings.Contains(row, "=1") {
					signed++
				}
			}
			if protected := strings.Contains(strings.Join(build, " "), "protection"); protected != (signed > 100) {
				t.Errorf("%d instructions have a signed return address", signed)
			}
		})
	}
}

var markedJump = regexp.MustCompile(`(\.LVLmark[0-9]+):\n\tb\t`)

// forgetJumps deletes the rows of jumps that are not in the new text. Their marks are on what follows, of which the compiler
// may have described the same frame by another register.
func forgetJumps(before, after []byte, rows ...map[string]string) {
	kept := map[string]bool{}
	for _, m := range markedJump.FindAllSubmatch(after, -1) {
		kept[string(m[1])] = true
	}
	for _, m := range markedJump.FindAllSubmatch(before, -1) {
		for _, r := range rows {
			if !kept[string(m[1])] {
				delete(r, string(m[1]))
			}
		}
	}
}

var (
	dumpedFrame = regexp.MustCompile(` FDE .*pc=([0-9a-f]+)\.\.\.([0-9a-f]+)$`)
	dumpedRow   = regexp.MustCompile(`^  0x([0-9a-f]+): (CFA=.*)$`)
	signedState = regexp.MustCompile(`(?:: |, )(?:reg34|RA_SIGN_STATE)=0`)
)

// crossRows links text and returns the unwind row at each mark.
func crossRows(t *testing.T, dir string, text []byte, clang bool) map[string]string {
	t.Helper()
	asmtest.Write(t, filepath.Join(dir, "m.s"), text)
	if clang {
		asmtest.Command(t, dir, "clang++-22", "--target=aarch64-linux-gnu", "-c", "-Wa,-L", "-o", "m.o", "m.s")
	} else {
		asmtest.Command(t, dir, "aarch64-linux-gnu-as", "-L", "-o", "m.o", "m.s")
	}
	asmtest.Command(t, dir, "aarch64-linux-gnu-ld", "-e", "0", "--unresolved-symbols=ignore-all", "-o", "m", "m.o")
	var rows []asmtest.UnwindRow
	for line := range strings.Lines(string(asmtest.Command(t, dir, "llvm-dwarfdump-22", "--eh-frame", "m"))) {
		line = strings.TrimRight(line, "\n")
		if m := dumpedFrame.FindStringSubmatch(line); m != nil {
			end, _ := strconv.ParseUint(m[2], 16, 64)
			rows = append(rows, asmtest.UnwindRow{At: end, Row: ""})
		} else if m := dumpedRow.FindStringSubmatch(line); m != nil {
			at, _ := strconv.ParseUint(m[1], 16, 64)
			// A state of 0 is that of a row which says nothing of it.
			rows = append(rows, asmtest.UnwindRow{At: at, Row: signedState.ReplaceAllString(m[2], "")})
		}
	}
	asmtest.SortRows(rows)
	return asmtest.Marked(t, dir, rows)
}

// farBranches is the text of a function whose parts are too large for tbz, or for cbz.
func farBranches(size int) string {
	far := strings.Repeat("\tadd\tw0, w0, 1\n", size)
	return "\t.file\t\"a.c\"\n\t.text\n\t.globl\tf\n\t.type\tf, %function\nf:\n\t.cfi_startproc\n\tmov\tw1, w0\n" +
		"\ttbz\tw1, 0, .L1\n\tadd\tw0, w0, 3\n\tcbz\tw1, .L2\n" + far +
		"\ttbnz\tw1, 1, .L2\n\tadd\tw0, w0, 5\n\tb\t.L3\n" +
		".L1:\n\tadd\tw0, w0, 7\n\ttbz\tw1, 2, .L3\n" + far +
		".L2:\n\tadd\tw0, w0, 11\n\tcmp\tw1, 9\n\tbhi\t.L4\n\tadd\tw0, w0, 13\n" + far +
		".L3:\n\tadd\tw0, w0, 17\n\tcbnz\tw1, .L5\n\tadd\tw0, w0, 19\n" +
		".L4:\n\tadd\tw0, w0, 23\n\ttbz\tw1, 3, .L5\n\tadd\tw0, w0, 29\n" +
		".L5:\n\tadd\tw0, w0, 31\n\tret\n\t.cfi_endproc\n\t.size\tf, .-f\n"
}

// TestSplitFarAArch64 splits functions whose parts are larger than the reach of conditional
// branches, which are inverted and jump. Answers on an emulator are compared with those of the
// original function, in which far branches are handwritten jumps.
func TestSplitFarAArch64(t *testing.T) {
	t.Parallel()
	crossTools(t, "aarch64-linux-gnu-gcc", "qemu-aarch64")
	const main = "int printf(const char *, ...); int f(int); int main(void) { for (int i = 0; i < 16; i++) printf(\"%d\\n\", f(i)); return 0; }\n"
	for name, size := range map[string]int{"tbz": 1 << 13, "cbz": 1 << 18} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "cbz" && testing.Short() {
				t.Skip("text of 17 MB")
			}
			seeds := uint64(12)
			if testing.Short() {
				seeds = 3
			}
			dir := t.TempDir()
			asmtest.Write(t, filepath.Join(dir, "main.c"), []byte(main))
			answer := func(text []byte) string {
				asmtest.Write(t, filepath.Join(dir, "b.s"), text)
				asmtest.Command(t, dir, "aarch64-linux-gnu-gcc", "-static", "-o", "b", "main.c", "b.s")
				return string(asmtest.Command(t, dir, "qemu-aarch64", filepath.Join(dir, "b")))
			}
			var want strings.Builder
			for i := range 16 {
				fmt.Fprintln(&want, farAnswer(i, size))
			}
			inverted, arranged := 0, 0
			for seed := range seeds {
				out, result := splitFor(t, machine.AArch64, []byte(farBranches(size)), atRandom(seed, 0.2+0.6*rand.New(rand.NewPCG(seed, 1)).Float64()))
				if len(result.Split) != 1 {
					continue // no block is cold
				}
				inverted += bytes.Count(out, []byte("\n.Lcairn_o"))
				if got := answer(out); got != want.String() {
					t.Errorf("seed %d: answers %q, want %q", seed, got, want.String())
				}
				if out, result = ordered(t, machine.AArch64, []byte(farBranches(size)), seed, 0.2); len(result.Ordered) == 0 {
					continue // the text's order is as good, or too much is out of reach
				}
				arranged++
				if got := answer(out); got != want.String() {
					t.Errorf("seed %d, in another order: answers %q, want %q", seed, got, want.String())
				}
			}
			if large := name == "cbz"; large != (arranged == 0) {
				t.Errorf("%d functions are in another order", arranged)
			}
			if inverted < int(seeds) {
				t.Errorf("%d branches of %d functions are inverted", inverted, seeds)
			}
		})
	}
}

// farAnswer is what the function of farBranches returns.
func farAnswer(i, size int) int {
	sum, bit := i, func(n int) bool { return i>>n&1 == 1 }
	at := 1
	if bit(0) {
		at = 0
	}
	for {
		switch at {
		case 0:
			if sum += 3; i == 0 {
				at = 2
			} else if sum += size; bit(1) {
				at = 2
			} else {
				sum, at = sum+5, 3
			}
		case 1:
			if sum += 7; bit(2) {
				sum, at = sum+size, 2
			} else {
				at = 3
			}
		case 2:
			if sum += 11; i > 9 {
				at = 4
			} else {
				sum, at = sum+13+size, 3
			}
		case 3:
			if sum += 17; i != 0 {
				at = 5
			} else {
				sum, at = sum+19, 4
			}
		case 4:
			if sum += 23; bit(3) {
				sum += 29
			}
			at = 5
		default:
			return sum + 31
		}
	}
}

// FuzzSplitAArch64 checks that any text is split or refused without a panic, and the same
// way each time.
func FuzzSplitAArch64(f *testing.F) {
	asmtest.EachText(f, "testdata/aarch64/*.s", func(_ string, src []byte) { f.Add(src, uint64(1)) })
	f.Add([]byte("\t.file\t\"a.c\"\n\t.type\tf, %function\nf:\n\ttbz w0, 1, .L1\n\tret\n.L1:\n\tret\n.size f,.-f"), uint64(2))
	f.Fuzz(func(t *testing.T, src []byte, seed uint64) { splitsTheSame(t, src, machine.AArch64, seed) })
}

package split

import (
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/instrument/isa"
)

// interpreter has three handlers, of which one runs on and two jump back to the two blocks that read the next opcode; ONE is in the first of them. The
// second, which jumps through a table, is copied with it.
const (
	interpreter = "\t.file\t\"a.c\"\n\t.text\n\t.globl\tf\n\t.type\tf, @function\nf:\n\t.cfi_startproc\n\tpushq\t%rbx\n\t.cfi_def_cfa_offset 16\n" +
		"\t.cfi_offset 3, -16\n\tmovq\t%rdi, %rbx\n.L2:\n\tmovzbl\t(%rbx), %eax\n.LVL1:\n\tincq\t%rbx\nONE\tcmpb\t$2, %al\n\tja\t.L9\n\tjmp\t*.L4(,%rax,8)\n" +
		".L5:\n\tincl\t%esi\n\tjmp\t.L2\n.L6:\n\taddl\t%esi, %esi\n\tjmp\t.L2\n.L7:\n\tdecl\t%esi\n\tjmp\t.L2\n" +
		".L9:\n\tmovl\t%esi, %eax\n\tpopq\t%rbx\n\t.cfi_def_cfa_offset 8\n\tret\n\t.cfi_endproc\n\t.size\tf, .-f\n" +
		"\t.section\t.rodata\n\t.align 8\n.L4:\n\t.quad\t.L5\n\t.quad\t.L6\n\t.quad\t.L7\n"
)

var interpreted = &Flow{
	Times: []uint64{10, 1000, 990, 500, 300, 190, 10},
	Edges: []Edge{{0, 1, 10}, {1, 2, 990}, {1, 6, 10}, {2, 3, 500}, {2, 4, 300}, {2, 5, 190}, {3, 1, 500}, {4, 1, 300}, {5, 1, 190}},
}

// TestCopies copies the dispatch of an interpreter to the ends of its handlers, unless it has something that cannot be in two
// places, or is too long, or too little is saved of what the program executed.
func TestCopies(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		one      string
		executed uint64
		copies   int // of the two blocks
	}{
		"hot":                  {"", 20 * copiedShare, 2},
		"a directive of lines": {"\t.loc 1 3 5 view .LVU3\n", 20 * copiedShare, 2},
		"all but one hot":      {"", 250 * copiedShare, 1},
		"cold":                 {"", 1000 * copiedShare, 0},
		"inline assembly":      {"#APP\n\tnop\n#NO_APP\n", 20 * copiedShare, 0},
		"data":                 {"\t.byte\t0x66\n", 20 * copiedShare, 0},
		"long":                 {strings.Repeat("\tincl\t%edx\n", maxCopied/4), 20 * copiedShare, 0},
	} {
		text := strings.Replace(interpreter, "ONE", test.one, 1)
		unit, err := isa.Parse([]byte(text), machine.X86_64)
		if err != nil {
			t.Fatal(err)
		}
		out, result := Split(unit, func(f FuncInfo) ([]bool, bool) { return make([]bool, f.Blocks), true },
			Options{Flow: func(FuncInfo) *Flow { return interpreted }, Executed: test.executed})
		tables, backs := strings.Count(string(out), "\tjmp\t*"), strings.Count(string(out), "\tjmp\t.L2")
		if len(result.Refused) > 0 || result.Copied != 2*test.copies || tables != 1+test.copies || backs != 3-test.copies && test.copies > 0 {
			t.Errorf("%s: %d blocks copied, %d jumps by the table and %d back, refused %v, in\n%s", name, result.Copied, tables, backs, result.Refused, out)
		}
		if test.copies > 0 && strings.Count(string(out), ".LVL1:") != 1 {
			t.Errorf("%s: a label of debug information is there several times:\n%s", name, out)
		}
		if !strings.Contains(test.one, ".loc") {
			checkProved(t, t.TempDir(), []byte(text), out)
		}
	}
}

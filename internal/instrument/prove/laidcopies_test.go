package prove

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	kinds "github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/instrument/isa"
	"github.com/cairnprof/cairn/internal/instrument/split"
)

// copiedPrograms are interpreters with three handlers, two of which get a copy of the code that reads the next opcode. The last copy
// in the text has the faults.
var copiedPrograms = []struct {
	machine   kinds.Kind
	assembler []string
	text      string
	faults    map[string][2]string // the last place with one is replaced by the other
}{
	{
		kinds.X86_64,
		[]string{"as", "--64"},
		"\t.file\t\"a.c\"\n\t.text\n\t.globl\tf\n\t.type\tf, @function\nf:\n\t.cfi_startproc\n\tpushq\t%rbx\n\t.cfi_def_cfa_offset 16\n" +
			"\t.cfi_offset 3, -16\n\tmovq\t%rdi, %rbx\n.L2:\n\tmovzbl\t(%rbx), %eax\n\tincq\t%rbx\n\tcmpb\t$2, %al\n\tja\t.L9\n\tjmp\t*.L4(,%rax,8)\n" +
			".L5:\n\tincl\t%esi\n\tjmp\t.L2\n.L6:\n\taddl\t%esi, %esi\n\tjmp\t.L2\n.L7:\n\tdecl\t%esi\n\tjmp\t.L2\n" +
			".L9:\n\tmovl\t%esi, %eax\n\tpopq\t%rbx\n\t.cfi_def_cfa_offset 8\n\tret\n\t.cfi_endproc\n\t.size\tf, .-f\n" +
			"\t.section\t.rodata\n\t.align 8\n.L4:\n\t.quad\t.L5\n\t.quad\t.L6\n\t.quad\t.L7\n",
		map[string][2]string{
			"an instruction is lost":     {"\tincq\t%rbx\n", ""},
			"an instruction comes twice": {"\tincq\t%rbx\n", "\tincq\t%rbx\n\tincq\t%rbx\n"},
			"another register":           {"(%rbx), %eax", "(%rbx), %ecx"},
			"another constant":           {"$2, %al", "$1, %al"},
			"the opposite condition":     {"\tja\t", "\tjbe\t"},
			"a branch elsewhere":         {"\tja\t.L9", "\tja\t.L7"},
			"another table":              {"*.L4(", "*.L4+8("},
			"no end":                     {"\tjmp\t*.L4(,%rax,8)\n", ""},
			"another end":                {"\tjmp\t*.L4(,%rax,8)\n", "\tjmp\t.L9\n"},
			"a wrong frame":              {"\t.cfi_def_cfa_offset 16\n", ""},
		},
	},
	{
		kinds.AArch64,
		[]string{"aarch64-linux-gnu-as"},
		"\t.file\t\"a.c\"\n\t.text\n\t.globl\tf\n\t.type\tf, %function\nf:\n\t.cfi_startproc\n\tstp\tx19, x30, [sp, -16]!\n\t.cfi_def_cfa_offset 16\n" +
			"\tadrp\tx9, .L4\n\tadd\tx9, x9, :lo12:.L4\n.L2:\n\tldrb\tw8, [x0], 1\n\tcmp\tw8, 2\n\tbhi\t.L9\n\tldrb\tw10, [x9, w8, uxtw]\n\tadr\tx11, .Lrtx4\n\tadd\tx10, x11, w10, sxtb #2\n\tbr\tx10\n.Lrtx4:\n" +
			".L5:\n\tadd\tw1, w1, 1\n\tb\t.L2\n.L6:\n\tadd\tw1, w1, w1\n\tb\t.L2\n.L7:\n\tsub\tw1, w1, 1\n\tb\t.L2\n" +
			".L9:\n\tmov\tw0, w1\n\tldp\tx19, x30, [sp], 16\n\t.cfi_def_cfa_offset 0\n\tret\n\t.cfi_endproc\n\t.size\tf, .-f\n" +
			"\t.section\t.rodata\n.L4:\n\t.byte\t(.L5 - .Lrtx4) / 4\n\t.byte\t(.L6 - .Lrtx4) / 4\n\t.byte\t(.L7 - .Lrtx4) / 4\n",
		map[string][2]string{
			"an instruction is lost": {"\tldrb\tw8, [x0], 1\n", ""},
			"another register":       {"\tldrb\tw8,", "\tldrb\tw7,"},
			"another constant":       {"\tcmp\tw8, 2", "\tcmp\tw8, 1"},
			"the opposite condition": {"\tbhi\t", "\tbls\t"},
			"a branch elsewhere":     {"\tbhi\t.L9", "\tbhi\t.L7"},
			"another base":           {"\tadr\tx11, .Lrtx4\n", "\tadr\tx11, .L9\n"},
			"another end":            {"\tbr\tx10\n", "\tb\t.L9\n"},
			"a wrong frame":          {"\t.cfi_def_cfa_offset 16\n", ""},
		},
	},
}

// TestCopied proves copies of blocks, and finds faults in them.
func TestCopied(t *testing.T) {
	t.Parallel()
	flow := &split.Flow{
		Times: []uint64{10, 1000, 990, 500, 300, 190, 10},
		Edges: []split.Edge{
			{From: 0, To: 1, Times: 10},
			{From: 1, To: 2, Times: 990},
			{From: 1, To: 6, Times: 10},
			{From: 2, To: 3, Times: 500},
			{From: 2, To: 4, Times: 300},
			{From: 2, To: 5, Times: 190},
			{From: 3, To: 1, Times: 500},
			{From: 4, To: 1, Times: 300},
			{From: 5, To: 1, Times: 190},
		},
	}
	for _, program := range copiedPrograms {
		t.Run(fmt.Sprint(program.machine), func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(program.assembler[0]); err != nil {
				t.Skip(err)
			}
			u, err := isa.Parse([]byte(program.text), program.machine)
			if err != nil {
				t.Fatal(err)
			}
			out, result := split.Split(u, func(f split.FuncInfo) ([]bool, bool) { return make([]bool, f.Blocks), true },
				split.Options{Flow: func(split.FuncInfo) *split.Flow { return flow }, Executed: 1 << 17})
			if result.Copied != 4 {
				t.Fatalf("%d blocks were copied: %+v", result.Copied, result)
			}
			plain, good := assembleBy(t, []byte(program.text), program.assembler...), string(out)
			if c := layouts(plain, assembleBy(t, out, program.assembler...)); len(c.Findings) > 0 || c.Proved != c.Functions {
				t.Fatalf("without a fault: %+v in\n%s", c, good)
			}
			for name, fault := range program.faults {
				at := strings.LastIndex(good, fault[0])
				if at < 0 {
					t.Fatalf("%s: %q is not in\n%s", name, fault[0], good)
				}
				bad := good[:at] + fault[1] + good[at+len(fault[0]):]
				if c := layouts(plain, assembleBy(t, []byte(bad), program.assembler...)); !c.Different() {
					t.Errorf("%s is not found: %+v in\n%s", name, c, bad)
				}
			}
		})
	}
}

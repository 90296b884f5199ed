package prove

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	kinds "github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/instrument/isa"
	"github.com/cairnprof/cairn/internal/instrument/split"
)

// lay returns text with a part of its blocks moved away, and the others in another order, at random.
func lay(t *testing.T, text []byte, seed uint64, share float64) []byte {
	t.Helper()
	return layFor(t, kinds.X86_64, text, seed, share)
}

func layFor(t *testing.T, of kinds.Kind, text []byte, seed uint64, share float64) []byte {
	t.Helper()
	u, err := isa.Parse(text, of)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(seed, 1))
	cold := func(f split.FuncInfo) ([]bool, bool) {
		cold := make([]bool, f.Blocks)
		for b := 1; b < len(cold); b++ {
			cold[b] = r.Float64() < share
		}
		return cold, true
	}
	flow := func(f split.FuncInfo) *split.Flow {
		flow := &split.Flow{Times: make([]uint64, f.Blocks)}
		for from := range f.Blocks {
			flow.Times[from] = r.Uint64N(1000)
			for to := range f.Blocks {
				flow.Edges = append(flow.Edges, split.Edge{From: from, To: to, Times: r.Uint64N(1000)})
			}
		}
		return flow
	}
	out, _ := split.Split(u, cold, split.Options{Flow: flow})
	return out
}

func layouts(plain, laid *objfile.Relocatable) Certificate {
	return Layouts(plain, laid, split.ColdSection, func(name string) bool { return !split.NeverReturns(name) })
}

// TestLayouts checks the code that compilers made, in other orders.
func TestLayouts(t *testing.T) {
	t.Parallel()
	needAssembler(t)
	files, err := filepath.Glob("../native/testdata/*.s")
	if err != nil || len(files) < 5 {
		t.Fatal(len(files), err)
	}
	changed := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		plain := assemble(t, text)
		for seed, share := range []float64{0, 0.3, 0.8} {
			laid := lay(t, text, uint64(seed), share)
			if string(laid) != string(text) {
				changed++
			}
			if c := layouts(plain, assemble(t, laid)); len(c.Findings) > 0 || c.Proved != c.Functions || c.Instructions == 0 {
				t.Errorf("%s, %v cold: %+v", file, share, c)
			}
		}
	}
	if changed < 15 {
		t.Errorf("only %d texts are changed", changed)
	}
}

// TestLLVMLabels checks a layout that LLVM's assembler reads, as it does in a link of -flto: it keeps labels that a .reloc
// names.
func TestLLVMLabels(t *testing.T) {
	t.Parallel()
	llvm := []string{"clang-22", "-x", "assembler", "-c", "-"}
	if _, err := exec.LookPath(llvm[0]); err != nil {
		t.Skip("needs clang")
	}
	text, err := os.ReadFile("../native/testdata/gcc_switch.s")
	if err != nil {
		t.Fatal(err)
	}
	plain, laid := assembleBy(t, text, llvm...), assembleBy(t, lay(t, text, 1, 0.5), llvm...)
	kept := func(s objfile.ObjectSymbol) bool { return strings.HasPrefix(s.Name, ".Lcairn_") }
	if !slices.ContainsFunc(laid.Symbols, kept) {
		t.Error("the assembler kept no label: nothing is tested")
	}
	if c := layouts(plain, laid); len(c.Findings) > 0 || c.Proved != c.Functions {
		t.Errorf("%+v", c)
	}
}

// laidMutants are faults that a layout could have, each as a replacement of the first match in the text that is laid out.
var laidMutants = map[string]struct{ file, old, new string }{
	"the opposite condition":      {"gcc_switch", `\tja\t`, "\tjbe\t"},
	"another condition":           {"gcc_switch", `\tja\t`, "\tjs\t"},
	"a return is lost":            {"gcc_switch", `\tret\n`, ""},
	"a jump leads elsewhere":      {"gcc_switch", `\tjg\t\.L10`, "\tjg\t.L2"},
	"an instruction is lost":      {"gcc_switch", `\tpopq\t%rbx\n`, ""},
	"an instruction comes twice":  {"gcc_switch", `\tpopq\t%rbx\n`, "$0$0"},
	"another register":            {"gcc_switch", `leaq\t\.LC2\(%rip\), %rdi`, "leaq\t.LC2(%rip), %rsi"},
	"another constant":            {"gcc_switch", `cmpl\t\$7,`, "cmpl\t$$8,"},
	"another string":              {"gcc_switch", `leaq\t\.LC2`, "leaq\t.LC1"},
	"another callee":              {"gcc_switch", `call\tputs`, "call\tgets"},
	"a table leads elsewhere":     {"gcc_switch", `\.long\t\.L9-\.L4`, ".long\t.L8-.L4"},
	"other data":                  {"gcc_switch", `"three"`, `"eerht"`},
	"a symbol elsewhere":          {"gcc_switch", `(?s)pick:\n(.*?)(\tpushq[^\n]*\n)`, "$1${2}pick:\n"},
	"a section is lost":           {"gcc_switch", `\.rodata\.str1\.1`, ".rodata.str1.8"},
	"a new global symbol":         {"gcc_switch", `(?m)^pick:\n`, "pick:\n\t.globl\tpicked\npicked:\n"},
	"a wrong frame":               {"gcc_switch", `\.cfi_def_cfa_offset 16`, ".cfi_def_cfa_offset 24"},
	"no landing pad":              {"clang_throw", `(?m)^\t\.uleb128 \.Ltmp\d+-\S+\n`, "\t.uleb128 0\n"},
	"another personality":         {"gcc_throw", `\.cfi_personality 0x9b, ?DW\.ref\.__gxx_personality_v0`, ".cfi_personality 0x9b,_ZTIi"},
	"code before the landing pad": {"clang_throw", `(?m)^(\.Ltmp\d+:[^\n]*\n)(\tmovq\t%rax)`, "$1\tincl\t%ebx\n$2"},
}

// TestLaidMutants checks that these faults are found.
func TestLaidMutants(t *testing.T) {
	t.Parallel()
	needAssembler(t)
	for name, m := range laidMutants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile("../native/testdata/" + m.file + ".s")
			if err != nil {
				t.Fatal(err)
			}
			good := string(lay(t, text, 1, 0.2))
			at := regexp.MustCompile(m.old).FindStringSubmatchIndex(good)
			if at == nil {
				t.Fatalf("nothing matches %s in\n%s", m.old, good)
			}
			bad := good[:at[0]] + string(regexp.MustCompile(m.old).ExpandString(nil, m.new, good, at)) + good[at[1]:]
			if bad == good {
				t.Fatal("nothing changed")
			}
			plain := assemble(t, text)
			if c := layouts(plain, assemble(t, []byte(good))); len(c.Findings) > 0 {
				t.Fatalf("without the fault: %+v", c)
			}
			c := layouts(plain, assemble(t, []byte(bad)))
			if !c.Different() {
				t.Fatalf("not found: %+v in\n%s", c, strings.TrimSpace(bad))
			}
			t.Log(c.Findings[0].Why)
		})
	}
}

// TestEndless lays out code behind a call of a function of the same file, which never returns if its name says so. What follows
// the call of any other function is compared.
func TestEndless(t *testing.T) {
	t.Parallel()
	needAssembler(t)
	const (
		plain = "\t.text\n\t.type\tNAME, @function\nNAME:\n\tud2\n\t.size\tNAME, .-NAME\n\t.globl\tf\n\t.type\tf, @function\nf:\n" +
			"\ttestl\t%edi, %edi\n\tjne\t.L3\n\tmovl\t$2, %edi\n\tmovl\t$3, %esi\n\tcall\tNAME\n.L3:\n\tmovl\t$1, %eax\n\tret\n\t.size\tf, .-f\n"
		laid = "\t.text\n\t.type\tNAME, @function\nNAME:\n\tud2\n\t.size\tNAME, .-NAME\n\t.globl\tf\n\t.type\tf, @function\nf:\n" +
			"\ttestl\t%edi, %edi\n\tje\t.L2\n.L3:\n\tmovl\t$1, %eax\n\tret\n.L2:\n\tmovl\t$2, %edi\n\tmovl\t$3, %esi\n\tcall\tNAME\n\t.size\tf, .-f\n"
	)
	for name, different := range map[string]bool{"__clang_call_terminate": false, "_ZSt9terminatev": false, "abort": true, "other": true} {
		c := layouts(assemble(t, []byte(strings.ReplaceAll(plain, "NAME", name))), assemble(t, []byte(strings.ReplaceAll(laid, "NAME", name))))
		if c.Different() != different {
			t.Errorf("%s: %+v", name, c)
		}
		text := lay(t, []byte(strings.ReplaceAll(plain, "NAME", name)), 3, 0.7)
		if c := layouts(assemble(t, []byte(strings.ReplaceAll(plain, "NAME", name))), assemble(t, text)); len(c.Findings) > 0 {
			t.Errorf("%s: %+v of\n%s", name, c, text)
		}
	}
}

// TestLostBehindCall has a symbol inside of a function, behind a call: that control runs on to it is part of the function.
func TestLostBehindCall(t *testing.T) {
	t.Parallel()
	const text = "\t.text\n\t.globl\tf\n\t.type\tf, @function\nf:\n\tpushq\t%rbx\n\tcall\tg\n\t.globl\tmid\nmid:\n\tpopq\t%rbx\n\tret\n\t.size\tf, .-f\n"
	plain := assembleBy(t, []byte(text), "as")
	if c := layouts(plain, plain); len(c.Findings) > 0 {
		t.Errorf("the same object: %+v", c)
	}
	if c := layouts(plain, assembleBy(t, []byte(strings.Replace(text, "\t.globl\tmid", "\tud2\n\t.globl\tmid", 1)), "as")); !c.Different() {
		t.Errorf("what follows the call is lost: %+v", c)
	}
}

// TestOwnTailCall has functions with a jump to the beginning of one, which the assembler resolves where it is and not where it is cold.
func TestOwnTailCall(t *testing.T) {
	t.Parallel()
	needAssembler(t)
	const (
		first = "\t.text\n\t.globl\tf\n\t.type\tf, @function\nf:\n\ttestl\t%edi, %edi\n\tje\t.L2\n\tret\n"
		next  = "\t.globl\tg\n\t.type\tg, @function\ng:\n\tjne\t.L3\n\tret\n"
		coldF = ".L2:\n\tincl\t%edi\n\tmovl\t$3, %esi\n\tjmp\tf\n"
		coldG = ".L3:\n\tincl\t%esi\n\tjmp\tf\n"
		sizeF = "\t.size\tf, .-f\n"
		sizeG = "\t.size\tg, .-g\n"
	)
	plain := assemble(t, []byte(first+coldF+sizeF+next+coldG+sizeG))
	for to, different := range map[string]bool{"f": false, "f+2": true, "h": true, "g": true} {
		for _, of := range []string{coldF, coldG} {
			cold := strings.Replace(coldF+coldG, of, strings.Replace(of, "jmp\tf", "jmp\t"+to, 1), 1)
			laid := first + sizeF + next + sizeG + "\t.section\t" + split.ColdSection + "f,\"ax\",@progbits\n\t.type\tf.cold, @function\nf.cold:\n" + cold + "\t.size\tf.cold, .-f.cold\n"
			if c := layouts(plain, assemble(t, []byte(laid))); c.Different() != different {
				t.Errorf("%+v of\n%s", c, laid)
			}
		}
	}
}

// TestCallsByAddress has calls through stubs of the linker's that take the address of the function in the other layout. Only that very
// function may be called so, by the word that has its address, and not one of the object itself.
func TestCallsByAddress(t *testing.T) {
	t.Parallel()
	needAssembler(t)
	const text = "\t.text\n\t.globl\town\n\t.type\town, @function\nown:\n\tret\n\t.size\town, .-own\n\t.globl\tf\n\t.type\tf, @function\nf:\n" +
		"\tpushq\t%rbx\n\tCALL\n\tcall\town@PLT\n\tpopq\t%rbx\n\tJUMP\n\t.size\tf, .-f\n"
	with := func(call, jump string) []byte {
		return []byte(strings.NewReplacer("CALL", call, "JUMP", jump).Replace(text))
	}
	plain := assemble(t, with("call\tmemcpy@PLT", "jmp\tfree@PLT"))
	const call, jump = "call\t*memcpy@GOTPCREL(%rip)", "jmp\t*free@GOTPCREL(%rip)"
	for _, test := range []struct {
		laid  []byte
		wrong bool
	}{
		{with(call, jump), false},
		{with(call, "jmp\tfree@PLT"), false},
		{with("call\tmemcpy", jump), false},
		{with("call\t*free@GOTPCREL(%rip)", jump), true},
		{with("call\t*memcpy(%rip)", jump), true},
		{with("call\t*memcpy@GOTPCREL+8(%rip)", jump), true},
		{with("lcall\t*memcpy@GOTPCREL(%rip)", jump), true},
		{with("jmp\t*memcpy@GOTPCREL(%rip)", jump), true},
		{with("movq\tmemcpy@GOTPCREL(%rip), %rax\n\tcall\t*%rax", jump), true},
		{with(call, "jmp\t*memcpy@GOTPCREL(%rip)"), true},
		{with(call, "call\t*free@GOTPCREL(%rip)"), true},
		{with(call, "jmp\t*free(%rip)"), true},
		{[]byte(strings.Replace(string(with(call, jump)), "call\town@PLT", "call\t*own@GOTPCREL(%rip)", 1)), true},
		{with(call+"\n\tcall\t*memset@GOTPCREL(%rip)", jump), true},
	} {
		if c := layouts(plain, assemble(t, test.laid)); (c.Proved < c.Functions) != test.wrong || c.Functions != 2 {
			t.Errorf("%+v of\n%s", c, test.laid)
		}
	}
}

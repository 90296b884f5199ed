package prove

import (
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	kinds "github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/instrument/asmtest"
)

var (
	crossGCC   = []string{"aarch64-linux-gnu-g++"}
	crossClang = []string{"clang++-22", "--target=aarch64-linux-gnu", "-fno-integrated-as"}
)

// assembleCross makes an object of text for AArch64, by clang what older binutils do not know.
func assembleCross(t *testing.T, text []byte, compiler string) *objfile.Relocatable {
	t.Helper()
	if strings.HasPrefix(compiler, "clang") {
		return assembleBy(t, text, compiler, "--target=aarch64-linux-gnu", "-x", "assembler", "-c", "-")
	}
	return assembleBy(t, text, "aarch64-linux-gnu-as")
}

// TestLayoutsAArch64 checks what gcc and clang made of two programs, in other orders: all functions are proved but those of
// which it is known why not.
func TestLayoutsAArch64(t *testing.T) {
	t.Parallel()
	for i, build := range [][]string{
		append(crossGCC[:1:1], "-O2", "-mbranch-protection=standard"),
		append(crossClang[:3:3], "-O2", "-mbranch-protection=standard"),
		append(crossGCC[:1:1], "-O3", "-g", "-fPIC", "-ffunction-sections"),
		append(crossClang[:3:3], "-O3", "-g", "-fPIC", "-ffunction-sections"),
		append(crossGCC[:1:1], "-O0"),
		append(crossClang[:3:3], "-O0"),
		append(crossGCC[:1:1], "-Os"),
	} {
		if testing.Short() && i > 1 {
			break
		}
		t.Run(strings.Join(build, " "), func(t *testing.T) {
			t.Parallel()
			for _, tool := range []string{build[0], "aarch64-linux-gnu-as"} {
				if _, err := exec.LookPath(tool); err != nil {
					t.Skip(err)
				}
			}
			tables := 0
			for _, program := range []string{"../split/testdata/exceptions.cc", "testdata/tables.cc"} {
				text := asmtest.Compile(t, t.TempDir(), program, build...)
				plain := assembleCross(t, text, build[0])
				for seed, share := range []float64{0, 0.4} {
					laid := layFor(t, kinds.AArch64, text, uint64(seed), share)
					if string(laid) == string(text) {
						t.Errorf("%s, %v cold: nothing has another order", program, share)
					}
					other := assembleCross(t, laid, build[0])
					for i := range plain.Sections {
						if s := &plain.Sections[i]; s.Alloc && !s.Code && !describes(s.Name) && !sameData(s, other) {
							tables++
						}
					}
					if c := layouts(plain, other); len(c.Findings) > 0 || c.Proved != c.Functions || c.Instructions == 0 {
						t.Errorf("%s, %v cold: %+v", program, share, c)
					}
				}
			}
			if tables == 0 {
				t.Error("no jump table has other entries")
			}
		})
	}
}

// sameData reports whether an object has a section with the same name and bytes.
func sameData(s *objfile.ObjectSection, o *objfile.Relocatable) bool {
	for i := range o.Sections {
		if o.Sections[i].Name == s.Name && string(o.Sections[i].Data) == string(s.Data) {
			return true
		}
	}
	return false
}

// TestLaidMutantsAArch64 checks that faults which a layout could have are found, as TestLaidMutants does.
func TestLaidMutantsAArch64(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{crossGCC[0], "aarch64-linux-gnu-as"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	for name, m := range map[string]struct{ program, old, new string }{
		"the opposite condition":       {"tables", `\tb\.ls\t`, "\tb.hi\t"},
		"another condition":            {"tables", `\tb\.ls\t`, "\tb.cc\t"},
		"another bit":                  {"tables", `(\ttbn?z\tx20, )2`, "${1}1"},
		"another tested register":      {"tables", `(\tcbn?z\tw)19,`, "${1}7,"},
		"a return is lost":             {"tables", `\tret\n`, ""},
		"an instruction is lost":       {"tables", `\tbl\toutside\n`, ""},
		"an instruction comes twice":   {"tables", `\tbl\toutside\n`, "$0$0"},
		"another register":             {"tables", `\tmov\tw0, 3\n`, "\tmov\tw1, 3\n"},
		"another constant":             {"tables", `\tmov\tw0, 3\n`, "\tmov\tw0, 4\n"},
		"another callee":               {"tables", `\tbl\toutside\n`, "\tbl\tinside\n"},
		"an entry of a table":          {"tables", `\.byte\t\(\.L20 - `, ".byte\t(.L19 - "},
		"the base of a table":          {"tables", `\tadr\tx1, \.Lrtx5`, "$0+4"},
		"another table":                {"tables", `add\tx0, x0, :lo12:\.L\d+\n`, "add\tx0, x0, :lo12:.L5\n"},
		"entries of another size":      {"tables", `\tldrb\t(w0, \[x23,w0,uxtw)\]`, "\tldrh\t$1 1]"},
		"entries without a sign":       {"tables", `w0, sxtb #2`, "w0, uxtb #2"},
		"a landing is lost":            {"exceptions", `\thint\t36 // bti j\n`, ""},
		"another landing":              {"exceptions", `\thint\t36 // bti j\n`, "\thint\t34\n"},
		"a signature is lost":          {"exceptions", `\thint\t25 // paciasp\n`, ""},
		"a wrong frame":                {"exceptions", `\.cfi_def_cfa_offset 48`, ".cfi_def_cfa_offset 64"},
		"a frame without a signature":  {"exceptions", `\t\.cfi_window_save\n`, ""},
		"no landing pad":               {"exceptions", `(?m)^\t\.uleb128 \.L\d+-\S+\n`, "\t.uleb128 0\n"},
		"a string elsewhere":           {"exceptions", `:lo12:\.LC\d+\n`, "$0\tnop\n\tadd\tx0, x0, 1\n"},
		"code before the landing pad":  {"exceptions", `(?m)^(\.L\d+:\n(\.LEHB\d+:\n)?\thint\t36 // bti j\n)`, "$1\tmov\tw9, w9\n"},
		"a condition always fulfilled": {"tables", `\tb\.ls\t`, "\tb\t"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program, options := "testdata/tables.cc", "-Os"
			if m.program == "exceptions" {
				program, options = "../split/testdata/exceptions.cc", "-mbranch-protection=standard"
			}
			text := asmtest.Compile(t, t.TempDir(), program, crossGCC[0], "-O2", options)
			good := string(layFor(t, kinds.AArch64, text, 1, 0.2))
			at := regexp.MustCompile(m.old).FindStringSubmatchIndex(good)
			if at == nil {
				t.Fatalf("nothing matches %s in\n%s", m.old, good)
			}
			bad := good[:at[0]] + string(regexp.MustCompile(m.old).ExpandString(nil, m.new, good, at)) + good[at[1]:]
			plain := assembleCross(t, text, crossGCC[0])
			if c := layouts(plain, assembleCross(t, []byte(good), crossGCC[0])); len(c.Findings) > 0 {
				t.Fatalf("without the fault: %+v", c)
			}
			c := layouts(plain, assembleCross(t, []byte(bad), crossGCC[0]))
			if !c.Different() {
				t.Fatalf("not found: %+v", c)
			}
			t.Log(c.Findings[0].Why)
		})
	}
}

// TestSpilledTable lays out code that keeps the address of its jump table on the stack. If something else is stored there, the
// table is not known.
func TestSpilledTable(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("aarch64-linux-gnu-as"); err != nil {
		t.Skip(err)
	}
	const text = "\t.file\t\"a.c\"\n\t.text\n\t.globl\tf\n\t.type\tf, %function\nf:\n\tsub\tsp, sp, #32\n" +
		"\tadrp\tx8, .L4\n\tadd\tx8, x8, :lo12:.L4\n\tmov\tx9, x8\n\tstr\tx9, [sp, 16]\n\tcbz\tw1, .L2\n\tSTORE\n" +
		".L2:\n\tbl\tg\n\tldr\tx8, [sp, 16]\n\tldrb\tw8, [x8, w0, uxtw]\n\tadr\tx9, .Lrtx4\n\tadd\tx8, x9, w8, sxtb #2\n\tbr\tx8\n.Lrtx4:\n" +
		"\t.section\t.rodata\n.L4:\n\t.byte\t(.L5 - .Lrtx4) / 4\n\t.byte\t(.L6 - .Lrtx4) / 4\n\t.byte\t(.L7 - .Lrtx4) / 4\n\t.text\n" +
		".L5:\n\tmov\tw0, 5\n\tb\t.L8\n.L6:\n\tmov\tw0, 6\n\tb\t.L2\n.L7:\n\tmov\tw0, 7\n.L8:\n\tadd\tsp, sp, 32\n\tret\n\t.size\tf, .-f\n"
	for store, known := range map[string]bool{"str x0, [sp, 24]": true, "str x0, [sp, 16]": false, "stp x0, x1, [sp, 8]": false, "stp d0, d1, [sp]": true, "str xzr, [sp, 16]": false} {
		text := []byte(strings.ReplaceAll(text, "STORE", store))
		plain := assembleCross(t, text, "as")
		moved := 0
		for seed := range uint64(8) {
			other := assembleCross(t, layFor(t, kinds.AArch64, text, seed, 0), "as")
			for i := range plain.Sections {
				if s := &plain.Sections[i]; s.Name == ".rodata" && !sameData(s, other) {
					moved++
				}
			}
			c := layouts(plain, other)
			if c.Different() || known != (len(c.Findings) == 0) {
				t.Errorf("%s, %d: %+v", store, seed, c)
			}
		}
		if moved == 0 {
			t.Errorf("%s: the table has the same entries in all layouts", store)
		}
	}
}

// TestManyCopies has code in which the address of a table is copied four times, each time on one of many ways: it is not known, and
// that is found before all ways have been gone.
func TestManyCopies(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("aarch64-linux-gnu-as"); err != nil {
		t.Skip(err)
	}
	for ways, known := range map[int]bool{3: true, 24: false} {
		var text strings.Builder
		text.WriteString("\t.file\t\"a.c\"\n\t.text\n\t.globl\tf\n\t.type\tf, %function\nf:\n\tadrp\tx8, .L4\n\tadd\tx8, x8, :lo12:.L4\n")
		for layer := range 4 {
			for range ways {
				fmt.Fprintf(&text, "\tmov\tx%d, x%d\n\tcbnz\tw1, .Lend%d\n", 9+layer, 8+layer, layer)
			}
			fmt.Fprintf(&text, ".Lend%d:\n", layer)
		}
		text.WriteString("\tldrb\tw1, [x12, w0, uxtw]\n\tadr\tx2, .Lrtx4\n\tadd\tx1, x2, w1, sxtb #2\n\tbr\tx1\n.Lrtx4:\n" +
			"\t.section\t.rodata\n.L4:\n\t.byte\t(.L5 - .Lrtx4) / 4\n\t.text\n.L5:\n\tret\n\t.size\tf, .-f\n")
		plain := assembleCross(t, []byte(text.String()), "as")
		if c := layouts(plain, plain); c.Different() || known != (len(c.Findings) == 0) {
			t.Errorf("%d ways: %+v", ways, c)
		}
	}
}

package split

import (
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/instrument/isa"
)

// TestDirectCalls has calls through stubs in a loop, behind it, in a part that the compiler moved away, and in a function of one block.
// Those of the libraries of C and C++ that ran often take the address; the others stay: those that ran seldom, of functions that the
// program has, of other libraries, and of inline assembly.
func TestDirectCalls(t *testing.T) {
	t.Parallel()
	const text = "\t.file\t\"a.c\"\n\t.text\n\t.type\tbcmp, @function\nbcmp:\n\tret\n\t.size\tbcmp, .-bcmp\n\t.globl\tf\n\t.type\tf, @function\nf:\n" +
		"\tpushq\t%rbx\n\tmovl\t%edi, %ebx\n.L2:\n\tCALL\n\tdecl\t%ebx\n\tjs\t.L9\n.L3:\n\ttestl\t%ebx, %ebx\n\tjne\t.L2\n\tcall\tmemset@PLT\n\tpopq\t%rbx\n\tjmp\tmemmove@PLT\n" +
		"\t.section\t.text.unlikely\n\t.type\tf.cold, @function\nf.cold:\n.L9:\n\tcall\tstrchr@PLT\n\tjmp\t.L3\n\t.text\n\t.size\tf, .-f\n\t.section\t.text.unlikely\n\t.size\tf.cold, .-f.cold\n" +
		"\t.text\n\t.type\tg, @function\ng:\n\tcall\t_ZNKSs4findEcm@PLT\n\tret\n\t.size\tg, .-g\n"
	flows := map[string]*Flow{
		"f": {Times: []uint64{10, 90000, 90000, 10, 1000}, Edges: []Edge{{0, 1, 10}, {1, 2, 89000}, {1, 4, 1000}, {4, 2, 1000}, {2, 1, 89990}, {2, 3, 10}}},
		"g": {Times: []uint64{1000}},
	}
	for call, want := range map[string]string{
		"call\tmemcpy@PLT":                  "\tcall\t*memcpy@GOTPCREL(%rip)\n",
		"callq\tstrlen@PLT":                 "\tcall\t*strlen@GOTPCREL(%rip)\n",
		"callq\t_Znwm@PLT  # a comment":     "\tcall\t*_Znwm@GOTPCREL(%rip)\n",
		"call\tmemcpy":                      "\tcall\tmemcpy\n",
		"call\tcalloc@PLT":                  "\tcall\tcalloc@PLT\n",
		"call\tbcmp@PLT":                    "\tcall\tbcmp@PLT\n",
		"call\tof_another_library@PLT":      "\tcall\tof_another_library@PLT\n",
		"call\t__tls_get_addr@PLT":          "\tcall\t__tls_get_addr@PLT\n",
		"#APP\n\tcall\tmemcpy@PLT\n#NO_APP": "\tcall\tmemcpy@PLT\n",
	} {
		for executed, others := range map[uint64]int{5 * directShare: 4, 500 * directShare: 2, 5000 * directShare: 0, 500000 * directShare: 0} {
			plain := strings.Replace(text, "CALL", call, 1)
			unit, err := isa.Parse([]byte(plain), machine.X86_64)
			if err != nil {
				t.Fatal(err)
			}
			out, result := Split(unit, func(f FuncInfo) ([]bool, bool) { return make([]bool, f.Blocks), true }, Options{
				Flow: func(f FuncInfo) *Flow { return flows[f.Name] }, Executed: executed, Inside: func(name string) bool { return name == "calloc" },
			})
			direct := others
			if strings.Contains(want, "GOTPCREL") && executed < 90000*directShare {
				direct++
				if !strings.Contains(string(out), want) {
					t.Errorf("no %q in\n%s", want, out)
				}
			} else if !strings.Contains(string(out), "\t"+strings.TrimPrefix(call, "#APP\n\t")+"\n") {
				t.Errorf("%q is gone in\n%s", call, out)
			}
			if n := strings.Count(string(out), "GOTPCREL"); n != direct || result.Direct != direct || len(result.Refused) > 0 {
				t.Errorf("%s: %d calls by addresses, %d are said, want %d; refused %v, in\n%s", call, n, result.Direct, direct, result.Refused, out)
			}
			checkProved(t, t.TempDir(), []byte(plain), out)
		}
	}
}

package prove

import (
	"os"
	"regexp"
	"testing"

	"github.com/cairnprof/cairn/internal/instrument/probe"
	"github.com/cairnprof/cairn/prof"
)

// mutants are faults that a rewriter could have, each as a replacement of the first match in
// the text with probes.
var mutants = map[string]struct {
	file     string // of the native package's test data
	mode     prof.Mode
	old, new string
}{
	"a register is changed":            {"gcc_switch", prof.ModeFull, `(?m)^\tmovb\t\$1, \.Lcairn_d0\+13`, "\txorl\t%eax, %eax\n$0"},
	"the flags are changed in a block": {"gcc_switch", prof.ModeFull, `movb\t\$1, (\.Lcairn_d0\+13)`, "orb\t$$1, $1"},
	"another value is stored":          {"gcc_switch", prof.ModeFull, `movb\t\$1, (\.Lcairn_d0\+13)`, "movb\t$$2, $1"},
	"more than a byte is stored":       {"gcc_switch", prof.ModeFull, `movb\t\$1, (\.Lcairn_d0\+13)`, "movl\t$$1, $1"},
	"another block's record":           {"gcc_switch", prof.ModeFull, `\.Lcairn_d0\+13`, ".Lcairn_d0+14"},
	"behind the records":               {"gcc_switch", prof.ModeFull, `\.Lcairn_d0\+13`, ".Lcairn_d0+4000"},
	"into the program's data":          {"gcc_switch", prof.ModeFull, `\.Lcairn_d0\+13`, ".LC0"},
	"the probe runs without a branch":  {"gcc_switch", prof.ModeFull, `\tjc\t\.Lcairn_s0\n`, ""},
	"the wrong condition":              {"gcc_switch", prof.ModeFull, `\tjc\t\.Lcairn_s0\n`, "\tjnc\t.Lcairn_s0\n"},
	"two are counted":                  {"gcc_switch", prof.ModeFull, `subl\t\$1`, "subl\t$$2"},
	"the path does not come back":      {"gcc_switch", prof.ModeFull, `\tjmp\t\.Lcairn_r0\n`, ""},
	"the path comes back elsewhere":    {"gcc_switch", prof.ModeFull, `\tjmp\t\.Lcairn_r0\n`, "\tjmp\t.Lcairn_f0\n"},
	"the path calls something else":    {"gcc_switch", prof.ModeFull, `call\t__cairn_first_full`, "call\tputs"},
	"control runs into the path":       {"gcc_switch", prof.ModeFull, `(?s)(\.Lcairn_r0:\n)(.*)(\.Lcairn_s0:\n[^\n]*\n[^\n]*\n)`, "$1$3$2"},
	"the probe is behind the entry":    {"gcc_switch", prof.ModeFull, `(?s)(\tsubl\t.*?\.Lcairn_r0:\n)(\tpushq[^\n]*\n)`, "$2$1"},
	"flags are live":                   {"gcc_switch", prof.ModeFull, `(?s)(\tsubl\t.*?\.Lcairn_r0:\n)(.*?\tcmpl\t\$7, %edi\n)`, "$2$1"},
	"an instruction is lost":           {"gcc_switch", prof.ModeCover, `\tpopq\t%rbx\n`, ""},
	"an instruction comes twice":       {"gcc_switch", prof.ModeCover, `\tpopq\t%rbx\n`, "$0$0"},
	"another register":                 {"gcc_switch", prof.ModeCover, `leaq\t\.LC2\(%rip\), %rdi`, "leaq\t.LC2(%rip), %rsi"},
	"another constant":                 {"gcc_switch", prof.ModeCover, `cmpl\t\$7,`, "cmpl\t$$8,"},
	"another string":                   {"gcc_switch", prof.ModeCover, `leaq\t\.LC2`, "leaq\t.LC1"},
	"another callee":                   {"gcc_switch", prof.ModeCover, `call\tputs`, "call\tgets"},
	"another condition of the program": {"gcc_switch", prof.ModeCover, `\tja\t\.L2`, "\tjae\t.L2"},
	"a branch goes elsewhere":          {"gcc_switch", prof.ModeCover, `\tjg\t\.L10`, "\tjg\t.L11"},
	"a branch into a probe":            {"gcc_switch", prof.ModeFull, `\tjg\t\.L10`, "\tjg\t.L10+1"},
	"a table leads elsewhere":          {"gcc_switch", prof.ModeCover, `\.long\t\.L9-\.L4`, ".long\t.L8-.L4"},
	"other data":                       {"gcc_switch", prof.ModeCover, `"three"`, `"eerht"`},
	"a wrong frame":                    {"gcc_switch", prof.ModeCover, `\.cfi_def_cfa_offset 16`, ".cfi_def_cfa_offset 24"},
	"a lost frame":                     {"gcc_switch", prof.ModeCover, `\t\.cfi_offset 3, -16\n`, ""},
	"a frame that is not restored":     {"gcc_switch", prof.ModeCover, `\t\.cfi_restore_state\n`, "\t.cfi_restore_state\n\t.cfi_remember_state\n\t.cfi_def_cfa_offset 80\n"},
	"the path has the end's frame":     {"clang_switch", prof.ModeFull, `\t\.cfi_restore %rbx\n(\.Lcairn_s0:)`, "$1"},
	"a landing pad elsewhere":          {"clang_throw", prof.ModeCover, `(?m)^(\t\.uleb128 \.Ltmp\d+-\.Lfunc_begin\d+ *#     jumps to \.Ltmp\d+\n)`, "\t.uleb128 3\n"},
	"no landing pad":                   {"clang_throw", prof.ModeCover, `(?m)^(\t\.uleb128 \.Ltmp\d+-\.Lfunc_begin\d+ *#     jumps to \.Ltmp\d+\n)`, "\t.uleb128 0\n"},
	"another personality":              {"gcc_throw", prof.ModeCover, `\.cfi_personality 0x9b,DW\.ref\.__gxx_personality_v0`, ".cfi_personality 0x9b,_ZTIi"},
	"a symbol elsewhere":               {"gcc_switch", prof.ModeCover, `(?m)^pick:\n`, "\tnop\n\tret\npick:\n"},
	"a section is lost":                {"gcc_switch", prof.ModeCover, `\.rodata\.str1\.1`, ".rodata.str1.8"},
}

// TestMutants checks that these faults are found.
func TestMutants(t *testing.T) {
	t.Parallel()
	needAssembler(t)
	for name, m := range mutants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile("../native/testdata/" + m.file + ".s")
			if err != nil {
				t.Fatal(err)
			}
			good := string(rewrite(t, text, probe.Options{Mode: m.mode}))
			re := regexp.MustCompile(m.old)
			at := re.FindStringSubmatchIndex(good)
			if at == nil {
				t.Fatalf("nothing matches %s", m.old)
			}
			bad := good[:at[0]] + string(re.ExpandString(nil, m.new, good, at)) + good[at[1]:]
			if bad == good {
				t.Fatal("nothing changed")
			}
			plain := assemble(t, text)
			if c := Objects(plain, assemble(t, []byte(good))); len(c.Findings) > 0 {
				t.Fatalf("without the fault: %+v", c)
			}
			c := Objects(plain, assemble(t, []byte(bad)))
			if !c.Different() {
				t.Fatalf("not found: %+v", c)
			}
			t.Log(c.Findings[0].Why)
		})
	}
}

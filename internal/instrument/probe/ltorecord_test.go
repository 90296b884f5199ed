package probe

import (
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/prof"
)

// TestLTORecord reads a dump of gcc with the names of sections: of functions of which all calls were inlined, only
// the references count.
func TestLTORecord(t *testing.T) {
	t.Parallel()
	const asm = "\t.file\t\"a.cc\"\n\t.section\t.gnu.debuglto_.debug_info,\"e\",@progbits\n" +
		"\t.section\t.gnu.lto_.inline.9ff,\"e\",@progbits\n\t.section\t.gnu.lto__Z4mainv.1.9ff,\"e\",@progbits\n" +
		"\t.section\t.gnu.lto_named.part.0.3.9ff,\"e\",@progbits\n\t.section\t.gnu.lto_skipped.4.9ff,\"e\",@progbits\n"
	const dump = `
;; Function gone (gone, funcdef_no=0, decl_uid=1, cgraph_uid=1, symbol_order=0)

int gone (int n)
{
  <bb 2> :
  [a.cc:3:2] _1 = computed (n_3(D));
}


;; Function ns::main (_Z4mainv, funcdef_no=1, decl_uid=2, cgraph_uid=2, symbol_order=1) (executed once)

int _Z4mainv ()
{
  <bb 2> [local count: 118111600]:
  [a.cc:7:2] # DEBUG BEGIN_STMT
  [a.cc:8:5] _2 = gone (3);
  [a.cc:9:5 discrim 2] # x_2 = PHI <[./in/b.h:4:1] 0(2), s_7(3)>
  [/abs/c.h:2:1] qsort ([a.cc:11:9] &table, cmp);
}


;; Function named.part.0 (*named.part.0, funcdef_no=4, decl_uid=4, cgraph_uid=4, symbol_order=4)

{
  [a.cc:12:2] return;
}


;; Function skipped (skipped, funcdef_no=5, decl_uid=5, cgraph_uid=5, symbol_order=5)

{
  [a.cc:14:2] return;
}
`
	opts := Options{Origin: Origin{Dir: "/w"}, Selection: Selection{Skip: []*regexp.Regexp{regexp.MustCompile("^skipped$")}}}
	line := func(file string, from, to uint32) prof.LineRange {
		return prof.LineRange{File: file, From: from, To: to}
	}
	want := &prof.Unit{
		File: "a.cc", LTO: true,
		Funcs: []prof.Absent{
			{Name: "_Z4mainv", File: "a.cc", Lines: []prof.LineRange{line("/abs/c.h", 2, 2), line("/w/a.cc", 8, 9), line("/w/a.cc", 11, 11), line("/w/in/b.h", 4, 4)}},
			{Name: "named.part.0", File: "a.cc", Lines: []prof.LineRange{line("/w/a.cc", 12, 12)}},
		},
		Refs: []prof.Refs{{From: "_Z4mainv", To: []string{"cmp", "gone", "qsort", "table"}}, {From: "gone", To: []string{"computed", "n"}}, {From: "named.part.0"}, {From: "skipped"}},
	}
	got := opts.ltoUnit([]byte(asm), []byte(dump), "a.cc")
	for i := range got.Refs {
		if len(got.Refs[i].To) == 0 {
			got.Refs[i].To = nil
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the record is\n%+v, want\n%+v", got, want)
	}
	got = opts.ltoUnit([]byte(strings.Replace(asm, "debuglto_.debug_info", "debuglto_", 1)), []byte(dump), "a.cc")
	if len(got.Funcs) != 2 || got.Funcs[0].Lines != nil {
		t.Errorf("without debug information the functions are %+v", got.Funcs)
	}
	if text := opts.AppendLTO([]byte("x\n"), []byte("x\n"), nil, "a.cc"); string(text) != "x\n" {
		t.Errorf("without a dump the text becomes %q", text)
	}
}

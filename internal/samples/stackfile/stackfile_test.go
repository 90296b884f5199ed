package stackfile

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/sample"
)

func TestOpen(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, text, format, want string }{
		{
			"folded, with marks and comments", "# by a tool\n\na;b_[k];c_[i];d_[j];e [inlined] 12\nnone\n// x\na 1\n", "folded stacks",
			"a0 b1 c2 d3 e2 = 12\n! in: line 4: no value after the stack: it was skipped\na0 = 1\n",
		},
		{"folded, one line that is longer than the head", strings.Repeat("main;", HeadSize/4) + "f 7\n", "folded stacks", "... = 7\n"},
		{"folded, in UTF-16", "\xff\xfea\x00;\x00b\x00 \x002\x00\n\x00", "folded stacks", "a0 b0 = 2\n"},
		{"folded, names with blanks", "main;f(int, char const*) 3\nswapper;[unknown] 4\n", "folded stacks", "main0 f(int, char const*)0 = 3\nswapper0 [unknown]0 = 4\n"},
		{"folded, with fractions", "a;b 1.25\na 2.\nc .5\nc 0.0006\n", "folded stacks", "a0 b0 = 1250\na0 = 2000\n! in: line 3: no value after the stack: it was skipped\nc0 = 1\n"},
		{"folded, with a fraction later", "a;b 3\n" + strings.Repeat("a 1\n", HeadSize/4) + "a 2.5\n", "folded stacks", "LAST ! in: offset 0x0: a value with a fraction was rounded, as the first lines have none\na0 = 3\n"},
		{"folded, before and after", "a;b 31 56\na;f 2 7\n", "folded stacks", "! in: line 1: of two values the second is drawn, which is that after a change\na0 b0 = 56\na0 f0 = 7\n"},
		{"a table", "COST CENTRE   MODULE   %time\n\nMAIN      MAIN      23\n CAF      Main      5\n  run     Main      7\n", "", ""},
		{"perf", "app 71 1.000000: 5 cycles:\n\t          401136 f (/bin/app)\n", "perf script text", "f0 = 5\n"},
		{
			"perf of a system, after its mappings", "# captured on: x\n" + strings.Repeat("sh 71 1.000000: PERF_RECORD_MMAP2 71/71: [0x401000(0x1000) @ 0 fe:00 1 0]: r-xp /bin/sh\n", 2000) +
				"sh 71 1.000000: 5 cycles:\n\t          401136 f (/bin/sh)\n", "perf script text", "f0 = 5\n",
		},
		{"configuration", "version: 2\nupdates:\n  - package: x\n", "", ""},
		{"a sample profile, whose calls could be stacks", "main:2004:0\n 0: 1\n 1: 2\n 2: 7\n 3: 2000\n 4: 5\n", "", ""},
		{"callgrind", "version: 1\nevents: Ir\nfn=main\n16 400\n17 2\n18 5\n19 7\n20 1\n", "", ""},
		{"a long line of JSON", `{"a":"b;c` + strings.Repeat("x;", HeadSize), "", ""},
		{"nothing", "", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f, ok := Open(strings.NewReader(tc.text), "in")
			if ok != (tc.format != "") || ok && f.Format != tc.format {
				t.Fatalf("%v, %+v", ok, f)
			}
			if !ok {
				return
			}
			var b strings.Builder
			for s, err := range f.Stacks {
				var damage *sample.Damage
				if errors.As(err, &damage) {
					fmt.Fprintf(&b, "! %v\n", err)
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				if len(s.Frames) > 100 {
					b.WriteString("... ")
				} else {
					for _, fr := range s.Frames {
						fmt.Fprintf(&b, "%s%d ", fr.Name, fr.Kind)
					}
				}
				fmt.Fprintf(&b, "= %d\n", s.Value)
			}
			if want, last := strings.CutPrefix(tc.want, "LAST "); last && strings.HasSuffix(b.String(), want) {
				return
			}
			if b.String() != tc.want {
				t.Errorf("got\n%swant\n%s", b.String(), tc.want)
			}
		})
	}
}

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
		{"perf", "app 71 1.000000: 5 cycles:\n\t          401136 f (/bin/app)\n", "perf script text", "f0 = 5\n"},
		{"configuration", "version: 2\nupdates:\n  - package: x\n", "", ""},
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
			if b.String() != tc.want {
				t.Errorf("got\n%swant\n%s", b.String(), tc.want)
			}
		})
	}
}

package toolchain

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/cairnprof/cairn/format/inlined"
)

func TestInlinedCalls(t *testing.T) {
	t.Parallel()
	const remarks = `--- !Missed
Pass:            inline
Name:            TooCostly
DebugLoc:        { File: f.c, Line: 27, Column: 10 }
Function:        main
Args:
  - Callee:          large
...
--- !Passed
Pass:            inline
Name:            Inlined
DebugLoc:        { File: 'a b, Line: 9.c', Line: 30, Column: 17 }
Function:        main
Args:
  - String:          ''''
  - Callee:          '_ZN1aC2Ev.llvm.77'
    DebugLoc:        { File: f.c, Line: 5, Column: 0 }
  - String:          ''' inlined into '''
  - Caller:          main
...
--- !Passed
Pass:            inline
Name:            AlwaysInline
DebugLoc:        { File: '/a/directory/with/a/name/that/is/longer/than/a/line/of/yaml/f.c', 
                   Line: 31, Column: 17 }
Function:        main
Args:
  - Callee:          f
    DebugLoc:        { File: '/another/long/directory/f, g.c', 
                       Line: 7, Column: 0 }
...
--- !Passed
Pass:            inline
Function:        main
Args:
  - Callee:          g
...
`
	calls, defs, ok := inlinedCalls([]byte(remarks))
	want := []inlined.Call{{Func: "_ZN1aC4Ev", Line: 30}, {Func: "f", Line: 31}, {Func: "g", Line: 0}}
	if !ok || !slices.Equal(calls, want) {
		t.Errorf("%v (%v), want %v", calls, ok, want)
	}
	file, err := filepath.Abs("f.c")
	if err != nil {
		t.Fatal(err)
	}
	wantDefs := []inlined.Def{{Func: "_ZN1aC2Ev", File: file, Line: 5}, {Func: "f", File: "/another/long/directory/f, g.c", Line: 7}}
	if !slices.Equal(defs, wantDefs) {
		t.Errorf("%v, want %v", defs, wantDefs)
	}
	// What has no name of a function is not understood, and so is no evidence.
	for _, damaged := range []string{"--- !Passed\nPass: inline\n", "--- !Passed\nName: Inlined\n--- !Missed\n"} {
		if calls, _, ok := inlinedCalls([]byte(damaged)); ok {
			t.Errorf("%q: %v", damaged, calls)
		}
	}
}

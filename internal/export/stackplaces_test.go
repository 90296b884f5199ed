package export

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
)

// TestStackPlaces checks that frames of instructions have their addresses, the functions
// inlined there, and mappings.
func TestStackPlaces(t *testing.T) {
	t.Parallel()
	places := map[calllog.FuncID]StackPlace{
		1: {Mapping: 0, Addr: 0x1010, Frames: []Frame{{Func: "main", File: "a.c", Line: 12, Start: 10}}},
		2: {Mapping: 1, Addr: 0x1010, Frames: []Frame{
			{Func: "outer", File: "a.c", Line: 21, Start: 20}, {Func: "inner", File: "b.h", Line: 3, Start: 2},
		}},
		3: {Mapping: 1, Addr: 0x1014, Frames: []Frame{{Func: "outer", File: "b.h", Line: 5}}},
		4: {Mapping: -1, Frames: []Frame{{Func: "[outside]"}}},
	}
	trie := calltrie.New()
	main := trie.Child(calltrie.Root, 1)
	for id := calllog.FuncID(2); id <= 4; id++ {
		trie.Node(trie.Child(main, id)).Self = uint64(id)
	}
	p := StackPprof([]Stacks{{Trie: trie}}, nil, StackOptions{
		Sampled: true,
		Mappings: []StackMapping{
			{File: "/bin/app", BuildID: "ab", Start: 0x1000, Limit: 0x2000, Offset: 0x1000, HasLines: true},
			{File: "/lib/lib.so", Start: 0x1000, Limit: 0x3000},
		},
		Place: func(id calllog.FuncID) StackPlace { return places[id] },
		Show:  strings.ToUpper,
	})
	if err := p.CheckValid(); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	read, err := profile.Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	text := read.String()
	for _, want := range []string{
		"0x1010 M=1 MAIN a.c:12:0 s=10(main)\n",
		"0x1010 M=2 INNER b.h:3:0 s=2(inner)\n",
		"             OUTER a.c:21:0 s=20(outer)\n",
		"0x1014 M=2 OUTER b.h:5:0 s=0(outer)\n",
		"0x0 [OUTSIDE] :0:0 s=0([outside])\n",
		"1: 0x1000/0x2000/0x1000 /bin/app ab [FN][FL][LN][IN]\n",
		"2: 0x1000/0x3000/0x0 /lib/lib.so  [FN]\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if len(p.Function) != 5 { // outer has lines in two files
		t.Errorf("%d functions", len(p.Function))
	}
}

package perfscript

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/sample"
)

// TestBuildIDs reads addresses after build ids, in the forms that llvm-profgen accepts.
func TestBuildIDs(t *testing.T) {
	t.Parallel()
	const a, b = "map -1/-1 1000000000000000+10000000000@0 buildid:aabb1122 aabb1122 true\n",
		"map -1/-1 1000010000000000+10000000000@0 buildid:00112233445566778899aabbccddeeff00112233 00112233445566778899aabbccddeeff00112233 true\n"
	for _, tc := range []struct{ name, text, want, damage string }{
		{
			"hybrid",
			"\t   aabb1122:4005dc\n\t   aabb1122:0x400634\n\t  7f68c5788793\n aabb1122:0x4005c8/aabb1122:0x4005dc aabb1122:0x40062f/0x10/M/-/-/9 0x20/aabb1122:0x30/P\n",
			a + "-1/-1 x1 [10000000004005dc 1000000000400634 7f68c5788793] [{10000000004005c8 10000000004005dc} {100000000040062f 10} {20 1000000000000030}] 10\n", "",
		},
		{
			"branches", "  aabb1122:40062f aabb1122:0x40062f/aabb1122:0x4005b0/P/-/-/9  aabb1122:0x1/aabb1122:0x2/SPEC_WRONG_PATH\n",
			a + "-1/-1 x1 [] [{100000000040062f 10000000004005b0}] 0\n", "",
		},
		{
			"counts, two files", "2\n\t AABB1122:1\n\t 00112233445566778899aabbccddeeff00112233:2\n\n12\n\t aabb1122:3 f+0x1 (/bin/app)\n",
			a + b + "-1/-1 x2 [1000000000000001 1000010000000002] [] 0\n-1/-1 x12 [1000000000000003] [] 0\n", "",
		},
		{
			"fields before", "app 71/72 [003] 1.5: 1 cycles:u:  aabb1122:40062f aabb1122:0x1/aabb1122:0x2/P/-/-/9\n",
			a + "71/72 x1 [] [{1000000000000001 1000000000000002}] 0\n", "",
		},
		{"too large", "\t aabb1122:10000000000\n\t aabb1122:1\n", a + "-1/-1 x1 [1020000000000000 1000000000000001] [] 0\n", badLink},
		{"no process has it", "\t aabb1122:1\n\t 1000000000000001\n", a + "-1/-1 x1 [1000000000000001 1020000000000000] [] 0\n", ""},
		{"source lines", "\t 401136 f\n  abc.c:12\n  cafe:12\n", "-1/-1 x1 [401136] [] 0\n", ""},
	} {
		got, p := read(t, strings.NewReader(tc.text))
		if got != tc.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tc.name, got, tc.want)
		}
		damage := fmt.Sprint(p.Stats().Damage)
		if tc.damage == "" && damage != "[]" || !strings.Contains(damage, tc.damage) {
			t.Errorf("%s: %s", tc.name, damage)
		}
		if !Detect([]byte(tc.text)) || !HasAddresses([]byte(tc.text)) {
			t.Errorf("%s: not detected", tc.name)
		}
	}
}

// TestBuildIDBlocks reads text of several blocks, in which files come in different order, and too many of them.
func TestBuildIDBlocks(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	id := func(i int) string { return fmt.Sprintf("%08x", 0xcc000000+i) }
	const blocks, files = 3, 50
	for part := range blocks {
		for n := 0; text.Len() < (part+1)*blockSize+1; n++ {
			i := (part*7 + n) % files
			fmt.Fprintf(&text, "\t %s:%x\n\n", id(i), i)
		}
	}
	spaces := sample.Spaces{}
	p, err := Open(strings.NewReader(text.String()), "in", 0)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for b, err := range p.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		spaces.Apply(b.Events)
		for i := range b.Samples {
			addr := b.Samples[i].Stack[0]
			m := spaces.Lookup(7, addr)
			if m == nil || m.BuildID != id(int(addr-m.Start)) || !m.Linked {
				t.Fatalf("sample %d: %#x is in %+v", n, addr, m)
			}
			n++
		}
		b.Release()
	}
	if want := strings.Count(text.String(), ":"); n != want || len(p.Stats().Damage) > 0 {
		t.Errorf("%d samples, want %d; %v", n, want, p.Stats().Damage)
	}
	text.Reset()
	for i := range maxBuildIDs + 2 {
		fmt.Fprintf(&text, "\t %s:1\n\n", id(i))
	}
	if _, p := read(t, strings.NewReader(text.String())); len(p.Stats().Damage) != 1 || p.Stats().Damage[0].What != manyBuildIDs || p.Stats().Damage[0].Count != 2 {
		t.Errorf("%v", p.Stats().Damage)
	}
}

package split

import (
	"slices"
	"testing"

	"github.com/cairnprof/cairn/prof"
)

func TestColdProfile(t *testing.T) {
	t.Parallel()
	m := &prof.Module{}
	add := func(name, file string, blocks ...uint64) {
		fr := prof.Fragment{Addr: 1}
		for i := range blocks {
			fr.Blocks = append(fr.Blocks, uint32(i+1))
		}
		m.Funcs = append(m.Funcs, prof.Func{Name: name, File: file, Mode: prof.ModeBlock, Signature: 7, Fragments: []prof.Fragment{fr}})
		m.Counts = append(m.Counts, prof.Counts{Runs: 1, Blocks: blocks})
	}
	add("init", "/old/src/a/init.c", 1, 0)
	add("init", "/old/src/b/init.c", 0, 1)
	add("twice", "/old/src/h.h", 1, 0)
	add("twice", "/old/src/h.h", 0, 0)
	add("nowhere", "", 0)
	add("whole", "/old/src/w.c")
	for signature := range uint32(3) { // static functions of three files, as gcc -flto names them
		add("static", "<artificial>", uint64(signature), 1)
		m.Funcs[len(m.Funcs)-1].Signature = 10 + signature
	}
	for _, tc := range []struct {
		name, file string
		signature  uint32
		want       []bool
	}{
		{"init", "/new/src/a/init.c", 7, []bool{false, false, true}},
		{"init", "/new/src/b/init.c", 7, []bool{false, true, false}},
		{"init", "/old/src/b/init.c", 7, []bool{false, true, false}},
		{"init", "/new/src/b/init.c", 8, nil},
		{"init", "/new/src/b/main.c", 7, nil},
		{"twice", "/new/h.h", 7, []bool{false, false, true}},
		{"nowhere", "", 7, []bool{false, true}},
		{"other", "/old/src/h.h", 7, nil},
		{"whole", "/old/src/w.c", 7, nil},
		{"static", "<artificial>", 10, []bool{false, true, false}},
		{"static", "<artificial>", 11, []bool{false, false, false}},
		{"static", "<artificial>", 13, nil},
	} {
		c := NewColdProfile(m)
		info := FuncInfo{Name: tc.name, Source: tc.file, Signature: tc.signature, Blocks: max(len(tc.want), 3)}
		if tc.want != nil {
			info.Blocks = len(tc.want)
		}
		got, ok := c.Blocks(info)
		if tc.name == "whole" && c.Missing != 1 {
			t.Error("a function without blocks in the profile is called stale")
		}
		if ok != (tc.want != nil) || !slices.Equal(got, tc.want) || !ok && c.Stale+c.Missing != 1 {
			t.Errorf("%s of %s: %v %v, want %v", tc.name, tc.file, got, ok, tc.want)
		}
	}
}

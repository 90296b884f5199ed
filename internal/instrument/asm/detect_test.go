package asm

import "testing"

func TestLacksPatterns(t *testing.T) {
	t.Parallel()
	const (
		head  = "\t.file\t\"a.c\"\n\t.text\n\t.type\tf, @function\nf:\n.LFB0:\n"
		empty = head + ".LFE0:\n\t.size\tf, .-f\n\t.data\nx:\n\t.zero\t4\n"
	)
	for text, want := range map[string]bool{
		empty:                      false, // the compiler proved f unreachable
		empty + "\t.text\n\tret\n": true,
		empty + "\t.text\n\tret\t# 8\t[c=0 l=1]\n": false,
		"\t.text\n\tret\n":                         false,
	} {
		if got := LacksPatterns([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

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
		empty + "\t.text\n\tret\t# 8\t[c=0 l=1]\n":             false,
		empty + "#APP\n\t.text\n\tret\n\n\t.ident\t\"GCC\"\n":  false, // inline assembly alone, as of cairn wrap
		empty + "#APP\n\tnop\n#NO_APP\n\tret\n":                true,
		empty + "#APP\n.text\n#NO_APP\n\tret\n#APP\n#NO_APP\n": true,
		"\t.text\n\tret\n": false,
	} {
		if got := LacksPatterns([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestHoldsNoCode(t *testing.T) {
	t.Parallel()
	const data = "\t.file\t\"a.c\"\n\t.text\n\t.globl\tx\n\t.data\n\t.align 4\n\t.type\tx, @object\n\t.size\tx, 4\nx:\n\t.long\t1\n"
	for text, want := range map[string]bool{
		"":   true,
		data: true, // gcc -fno-ident
		"# 1 \"a.S\"\n.section .rodata\nx: .incbin \"picture\"\n":                     true,
		data + "\t.string\t\"a;b\\\\\"\n\t.section\t.note.GNU-stack,\"\",@progbits\n": true,
		data + "\tret\n":                               false,
		data + "\t.text\n\t.byte\t0xc3\n":              false,
		data + "\t.text\nf:\tret\n":                    false,
		data + "\t.section\t.init\n\t.byte\t0xc3\n":    false,
		data + "\t.section\tx,\"ax\"\n\t.byte\t0xc3\n": false,
		data + "\t.long 2; .text; ret\n":               false,
		data + "\t.ascii \"\\\"\"; .text; ret\n":       false,
		data + "\t.include\t\"more.s\"\n":              false,
		data + "\t.previous\n\t.byte\t0xc3\n":          false,
		data + "/* more */ ret\n":                      false,
		"\t.byte\t0xc3\n":                              false,
	} {
		if got := HoldsNoCode([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

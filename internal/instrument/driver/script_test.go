package driver

import (
	"slices"
	"testing"
)

func TestScriptInputs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":                                    nil,
		"/* INPUT(a.o) */ OUTPUT_FORMAT(elf)": nil,
		"INPUT(\n/usr/lib/crt1.o\nprt0.o\n\"a b.o\"\n)\nINPUT(-lc)\nGROUP ( x.a AS_NEEDED ( y.so ) , x.a )": {"/usr/lib/crt1.o", "prt0.o", "a b.o", "x.a", "y.so"},
		"SECTIONS { .text : { *(.text) } }": nil,
		"INPUT(a.o":                         {"a.o"},
		"INPUT INPUT(b.o)":                  {"b.o"},
		"INPUT(\"open":                      {"open"},
		"/* open":                           nil,
	} {
		if got := ScriptInputs(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func FuzzScriptInputs(f *testing.F) {
	f.Add("INPUT(a.o \"b.o\") GROUP(AS_NEEDED(c.a)) /* x */")
	f.Fuzz(func(_ *testing.T, text string) { ScriptInputs(text) })
}

package coverage

import (
	"strings"
	"testing"
)

func TestOverElse(t *testing.T) {
	t.Parallel()
	// @ is the place of the jump, at the end of the text is the jump that it may lead past.
	for text, want := range map[string]bool{
		"switch (c) { case 1: if (a) { b(); @c = 1; } else { d(); } ":                     true,
		"switch (c) { case 1: if (a) { @c = 1; } else if (e) { d(); } else f(); ":         true,
		"switch (c) { case 1: if (a) @c = 1; else d(); ":                                  true,
		"switch (c) { case 1: if (a) { while (n @> 0) { b(); } } else { d(); } ":          true,
		"switch (c) { case 1: if (a) { for (i = 0; i @< 3; i++) b(); } else { d(); } ":    true,
		"switch (c) { case 1: if (p) d(); else { if (a) { @c = 1; } else { d(); } } ":     true,
		"switch (c) { case 1: if (p) { if (a) { @c = 1; } else { d(); } } else { d(); } ": true,
		"switch (c) { case 1: if (a) { @c = 1; } d(); ":                                   false,
		"switch (c) { case 1: if (a) { @c = 1; } ":                                        false,
		"switch (c) { case 1: if (a) { @break; } else { d(); } ":                          false,
		"switch (c) { case 1: if (a) { @goto out; } else { d(); } ":                       false,
		"for (;;) { while (x) { if (a) @b = 1; else d(); } ":                              false,
		"for (;;) { while (x) { if (a) { @b = 1; } else { d(); } } ":                      false,
		"switch (c) { case 1: if (a) { @c = 1; } else { d(); } f(); ":                     false,
		"switch (c) { case 1: if (a) { @c = 1;\n#if X\n } else { d(); }\n#endif\n ":       false,
		"switch (c) { case 1: if (a) { @c = 1; } else while (x) d(); ":                    false,
		"switch (c) { case 1: do { if (a) { @c = 1; } else { d(); } } while (x); ":        false,
		"switch (c) { case 1: if (a) { @c = 1; d(); } else { d(); } ":                     false,
		"switch (c) { case 1: if (a) b(); else @c = 1; ":                                  false,
		"switch (c) { case 1: if (x) { if (a) b(); else @c = 1; } else { d(); } ":         false,
		"switch (c) { case 1: if (a) { c = @f(1, 2); } else { d(); } ":                    true,
		"switch (c) { case 1: if (a) { if (@x) b(); } else { d(); } ":                     true,
		"switch (c) { case 1: if (a) { b(); @} else { d(); } ":                            true,
	} {
		for i := range text {
			if text[i] == '@' {
				if got := overElse(text[:i], text[i+1:]); got != want {
					t.Errorf("%q: %v, want %v", text, got, want)
				}
			}
		}
	}
}

func TestMayHideJump(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"if (a) { @NEXT(x); ": true, "if (a) { @STOP; ": true, "if (a) @NEXT (x); ": true,
		"if (a) { @c = 1; ": false, "if (a) { c @= 1; ": false, "while (f(@x) > 1) ": false, "{ b(); @} ": false, "{ @p->n = 1; ": false,
	} {
		head, rest, _ := strings.Cut(text, "@")
		if got := mayHideJump(head, rest); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

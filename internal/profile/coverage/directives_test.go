package coverage

import "testing"

func TestWithoutGroups(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"n++; break;", "n++; break;"},
		{"break;\n#ifdef A\ncase 1:\n  n++;\n#endif\ncase 2: }", "break;\ncase 2: }"},
		{"{\n#if A\nn++;\n#elif B\n#else\nn--;\n#endif\n#ifdef C\n#endif\n", "{\n"},
		{"{\n#if A\nfor (;;)\n#else\nwhile (n)\n#endif\n{", ""},
		{"else\n#if A\n;\n#endif\n{", ""},
		{"{\n#if A\nif (n) {\n#endif\nn++;", ""},
		{"{\n#if A\n#if B\nn++;\n#endif\n#endif\n", ""},
		{"{\n#if A \\\n  B\nn++;\n#endif\n", ""},
		{"n++;\n#endif\n}", ""},
		{"n++;\n#ifdef A\nn++;", ""},
		{"n++;\n#line 3\nn++;", ""},
	} {
		want := c.want
		if want == "" {
			want = c.text
		}
		if got := withoutGroups(c.text); got != want {
			t.Errorf("withoutGroups(%q) = %q, want %q", c.text, got, want)
		}
	}
}

package packed

import "testing"

// TestBare has C and assembly, and what is left of them.
func TestBare(t *testing.T) {
	for _, row := range []struct{ name, text, want string }{
		{"a.c", "int a; /* one\n * two */ int b; // three\nint c;", "int a;   int b; \nint c;"},
		{"a.c", `char *s = "/* no */ // no \" /* no */"; /* yes */`, `char *s = "/* no */ // no \" /* no */";  `},
		{"a.c", `if (c == '"' /* one */ || d == '\"') e = f / g; // two`, `if (c == '"'   || d == '\"') e = f / g; `},
		{"a.h", "#define A 1 /* one\n two */ + 2 \\\n  + 3\n", "#define A 1   + 2 \\\n  + 3\n"},
		{"a.S", "  # don't /* one */\n  ret // two\n", "  # don't  \n  ret \n"},
		{"a.S", "/* open", " "},
		{"a.S", "\"open", "\"open"},
		{"c/cairn_mark.h", "/* one */", "/* one */"},
		{"a.ld", "/* one */", "/* one */"},
	} {
		if got := Bare(File{row.name, []byte(row.text)}); string(got.Data) != row.want || got.Name != row.name {
			t.Errorf("%s: %q is %q, want %q", row.name, row.text, got.Data, row.want)
		}
	}
}

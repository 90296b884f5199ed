package toolchain

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// TestParseRust reads command lines of cargo, of rustdoc and of people.
func TestParseRust(t *testing.T) {
	t.Parallel()
	const lib = "--crate-name a_b --edition=2021 src/lib.rs --crate-type lib --emit=dep-info,metadata,link -C opt-level=3 -C metadata=12 -C extra-filename=-12 --out-dir /t/deps -L dependency=/t/deps"
	for _, tt := range []struct {
		args string
		want string
	}{
		{lib, "compiles links"},
		{strings.ReplaceAll(lib, ",link", ""), ""},
		{strings.ReplaceAll(lib, "crate-type lib", "crate-type proc-macro"), "compiles links build"},
		{"--crate-name build_script_build build.rs --crate-type bin --emit=dep-info,link --out-dir /t", "compiles links build"},
		{"--crate-name names src/lib.rs --test --crate-type proc-macro --out-dir /t", "compiles links"},
		{"-O x-y.rs", "compiles links"},
		{"-O -o x x.rs -Clto=thin -C codegen-units=1", "compiles links lto units"},
		{"x.rs --emit obj,link", "compiles"},
		{"x.rs --emit=link=x --emit=asm", "compiles"},
		{"x.rs --emit dep-info,link", "compiles"},
		{"-C linker-plugin-lto -C lto=off x.rs", "compiles links bitcode"},
		{"x.rs --print file-names", ""},
		{"x.rs --print=link-args", "compiles links"},
		{"-vV", ""},
		{"@response", "compiles links"},
		{"- --crate-name ___", "compiles links"},
	} {
		c, err := parseRust(strings.Fields(tt.args), func(string) (string, error) { return "--crate-name\nx y\nsrc/main.rs\n", nil })
		var got []string
		for _, is := range []struct {
			is   bool
			word string
		}{{c.compiles(), "compiles"}, {c.compiles() && c.onlyLinks(), "links"}, {c.ofBuild(), "build"}, {c.lto, "lto"}, {c.units, "units"}, {c.bitcode, "bitcode"}} {
			if is.is {
				got = append(got, is.word)
			}
		}
		if err != nil || strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %q, want %q, error %v", tt.args, got, tt.want, err)
		}
	}
	c, _ := parseRust(strings.Fields(lib), nil)
	if c.stem() != "a_b-12" || c.source != "src/lib.rs" || !slices.Equal(c.deps, []string{"/t/deps"}) {
		t.Errorf("%+v", c)
	}
	c, _ = parseRust([]string{"-o", "out", "x-y.rs", "-oother", "-O"}, nil)
	if c.stem() != "x_y" || c.output != "other" || !slices.Equal(c.without(), []string{"x-y.rs", "-O"}) {
		t.Errorf("%+v without %q", c, c.without())
	}
	if _, err := parseRust([]string{"@none"}, func(string) (string, error) { return "", errors.New("no such file") }); err == nil {
		t.Error("a missing response file is no error")
	}
}

// TestCargoFlag adds a flag to what the configuration has: cargo joins arrays, and replaces strings.
func TestCargoFlag(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		old  any
		want string
	}{
		{nil, `["--cfg=x"]`},
		{[]any{"-C", "opt-level=2"}, `["--cfg=x"]`},
		{`-C link-arg="a b"`, `"-C link-arg=\"a b\" --cfg=x"`},
	} {
		if got := withFlag(tt.old, "--cfg=x"); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.old, got, tt.want)
		}
	}
}

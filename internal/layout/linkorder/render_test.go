package linkorder

import (
	"slices"
	"strings"
	"testing"
)

func TestRender(t *testing.T) {
	t.Parallel()
	entries := []Entry{
		{Symbol: "main", Sections: []string{".text.startup.main"}},
		{
			Symbol: "step", Local: true, Source: "src/one.c", Sections: []string{".text.step"},
			Object: ObjectName{"one.o", "lib/one.o"}, SharedName: true, SharedSection: true,
		},
		{Symbol: "guess", Local: true, Source: "src/two.c", Sections: []string{".text.guess", ".text.hot.guess"}, SharedName: true, SharedSection: true},
		{Symbol: "main", Sections: []string{".text.startup.main"}},
		{Symbol: "far", Sections: []string{".text"}, Object: ObjectName{"my far.o", "my far.o"}, Crowded: true},
	}
	tests := map[Format]string{
		FormatLLD:  "main\nstep\nguess\nfar\n",
		FormatLD64: "_main\none.o:_step\ntwo.o:_guess\ntwo.c.o:_guess\n_far\n",
		FormatGold: ".text.startup.main\n.text.step\n.text.guess\n.text.hot.guess\n",
		FormatLD: `  .text :
  {
    *(.text.startup.main)
    [l]ib/one.o(.text.step) */lib/one.o(.text.step)
    *(.text.guess)
    *(.text.hot.guess)
    "[m]y far.o"(.text) "*/my far.o"(.text)
  }
`,
	}
	for format, want := range tests {
		if got, _ := Render(format, entries); string(got) != want {
			t.Errorf("%s:\n%s\nwant\n%s", format, got, want)
		}
	}
	got, _ := Render(FormatLDScript, entries)
	if s := string(got); !strings.HasPrefix(s, "SECTIONS\n{\n  .text :\n") || !strings.HasSuffix(s, "  }\n}\nINSERT BEFORE .fini;\n") {
		t.Errorf("ld-script:\n%s", s)
	}
	got, _ = Render(FormatPEScript, []Entry{{Symbol: "step", Sections: []string{".text.step", ".text.startup.step"}}})
	if want := "SECTIONS\n{\n  .texto BLOCK(__section_alignment__) :\n  {\n    *(.text$step)\n    *(.text.startup.step)\n  }\n}\nINSERT AFTER .text;\n"; string(got) != want {
		t.Errorf("pe-script:\n%s\nwant\n%s", got, want)
	}
}

// FuzzRender checks names from files of unknown origin: no name may end its line or its
// statement.
func FuzzRender(f *testing.F) {
	for _, name := range []string{"main", "a\nb", "#x", " x", "x\"y", "x)}", "-[A b:]", "x*", "", "\\", ".text"} {
		f.Add(name, name)
	}
	f.Fuzz(func(t *testing.T, name, object string) {
		entries := []Entry{{
			Symbol: name, Local: true, SharedName: true, SharedSection: true,
			Sections: []string{".text." + name}, Object: ObjectName{object, object},
		}}
		for _, format := range []Format{FormatLLD, FormatLD64, FormatGold, FormatLD} {
			text, skipped := Render(format, entries)
			lines := strings.Split(string(text), "\n")
			if format == FormatLD {
				lines = slices.DeleteFunc(lines, func(l string) bool { return !strings.HasPrefix(l, "    ") })
				lines = append(lines, "")
			}
			if want := 2 - len(skipped); len(lines) != want {
				t.Errorf("%s: %d lines, want %d: %q", format, len(lines), want, text)
			}
			if format == FormatLD && len(skipped) == 0 && strings.Count(lines[0], `"`)%2 != 0 {
				t.Errorf("quotes do not match: %s", lines[0])
			}
		}
	})
}

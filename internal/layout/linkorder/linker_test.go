package linkorder

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestDetectLinker(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text    string
		linker  Linker
		version Version
		format  Format
	}{
		{"Debian LLD 22.1.8 (compatible with GNU linkers)\n", LLD, Version{22, 1}, FormatLLD},
		{"LLD 17.0.6 (https://github.com/llvm/llvm-project.git 6009708b4367) (compatible with GNU linkers)", LLD, Version{17, 0}, FormatLLD},
		{"Debian LLD 22.1.8\n", LD64LLD, Version{22, 1}, FormatLD64},
		{"GNU gold (GNU Binutils for Debian 2.40) 1.16\nCopyright", Gold, Version{2, 40}, FormatGold},
		{"GNU ld (GNU Binutils for Debian) 2.40\nCopyright (C) 2023", GNULD, Version{2, 40}, FormatLDScript},
		{"GNU ld (GNU Binutils) 2.44\n", GNULD, Version{2, 44}, FormatLD},
		{"GNU ld version 2.35.2-63.el9\n", GNULD, Version{2, 35}, FormatLDScript},
		{"GNU ld (GNU Binutils; openSUSE Leap 15.6) 2.43.1.20240828-150100.7.52\n", GNULD, Version{2, 43}, FormatLD},
		{"GNU ld (GNU Binutils) 2.43.50.20250105\n", GNULD, Version{2, 43}, FormatLD},
		{"mold 1.10.1 (compatible with GNU ld)\n", Mold, Version{1, 10}, ""},
		{"@(#)PROGRAM:ld  PROJECT:ld64-609.8\nBUILD 15:07", LD64, Version{609, 8}, FormatLD64},
		{"@(#)PROGRAM:ld PROJECT:ld-1115.7.3\nBUILD", LD64, Version{1115, 7}, FormatLD64},
		{"gcc (Debian 12.2.0-14) 12.2.0", "", Version{}, ""},
		{"", "", Version{}, ""},
	}
	for _, test := range tests {
		linker, version := DetectLinker(test.text)
		format, err := linker.Format(version)
		if linker != test.linker || version != test.version || format != test.format || (err == nil) != (format != "") {
			t.Errorf("%q: %s %v, format %s, %v", test.text, linker, version, format, err)
		}
	}
}

// TestDetectInstalled checks that the installed linkers print what the table above says.
func TestDetectInstalled(t *testing.T) {
	t.Parallel()
	for program, want := range map[string]Linker{
		"ld.bfd": GNULD, "ld.gold": Gold, "mold": Mold, "ld.lld": LLD, "ld.lld-22": LLD, "ld64.lld-22": LD64LLD,
	} {
		out, err := exec.Command(program, "--version").CombinedOutput()
		if err != nil {
			continue
		}
		if got, version := DetectLinker(string(out)); got != want || version == (Version{}) {
			t.Errorf("%s is %s %v, by %q", program, got, version, out)
		}
	}
}

func TestArgs(t *testing.T) {
	t.Parallel()
	tests := []struct {
		linker  Linker
		version Version
		path    string
		want    []string
	}{
		{LLD, Version{22, 1}, "a.order", []string{"-Wl,--symbol-ordering-file=a.order", "-Wl,--no-warn-symbol-ordering"}},
		{LD64, Version{609, 8}, "a.order", []string{"-Wl,-order_file", "-Wl,a.order"}},
		{Gold, Version{2, 40}, "a.order", []string{"-Wl,--section-ordering-file=a.order"}},
		{GNULD, Version{2, 40}, "a.order", []string{"-Wl,-T", "-Wl,a.order"}},
		{GNULD, Version{2, 43}, "a,b", []string{"-Xlinker", "--section-ordering-file=a,b"}},
		{Mold, Version{2, 0}, "a.order", nil},
	}
	for _, test := range tests {
		if got := test.linker.Args(test.version, test.path); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.linker, got, test.want)
		}
	}
}

// TestForWindows has the arguments for programs for Windows.
func TestForWindows(t *testing.T) {
	t.Parallel()
	for format, want := range map[Format][]string{
		FormatLLD:      {"-Wl,-Xlink=/order:@a.order", "-Wl,-Xlink=/ignore:4037"},
		FormatLDScript: {"-Wl,-T", "-Wl,a.order"},
		FormatLD:       {"-Wl,-T", "-Wl,a.order"},
	} {
		if got := format.ForWindows().Args("a.order"); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", format, got, want)
		}
	}
}

func TestParseFormat(t *testing.T) {
	t.Parallel()
	if f, err := ParseFormat("sections"); f != FormatGold || err != nil {
		t.Errorf("sections: %s, %v", f, err)
	}
	if _, err := ParseFormat("mold"); err == nil || !strings.Contains(err.Error(), "-fuse-ld=lld") {
		t.Errorf("mold: %v", err)
	}
}

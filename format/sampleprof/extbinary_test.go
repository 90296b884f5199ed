package sampleprof

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// lineProfile is a profile keyed by lines.
func lineProfile() Profile {
	p := Profile{}
	main := p.Func("main")
	main.Head = 3
	main.At(Place{1, 0}).Count = 1000
	main.At(Place{2, 3}).Count = 40
	main.At(Place{2, 3}).Call("_ZL4sortv", 39)
	main.At(Place{2, 3}).Call("qsort", 1)
	in := main.Inline(Place{4, 0}, "_ZL1fi.__uniq.123")
	in.At(Place{1, 0}).Count = 77
	in.Inline(Place{65530, 1}, "g").At(Place{2, 0}).Count = 9
	p.Func("_ZL4sortv").At(Place{}).Count = 1 << 40
	p.Func("_ZL4sortv").Head = 41
	return p
}

// probeContexts has contexts keyed by pseudo probes.
func probeContexts() []Context {
	a, b, c := &Samples{Probes: true, Checksum: 105, Head: 1}, &Samples{Probes: true, Checksum: 1 << 59, Head: 4, Attributes: WasInlined}, &Samples{Probes: true, Checksum: 1 << 59}
	a.At(Place{1, 0}).Count = 5
	a.At(Place{2, 0}).Count = 4
	a.At(Place{2, 0}).Call("leaf", 4)
	b.At(Place{1, 0}).Count = 4
	b.At(Place{2, 0}).Count = 0
	c.At(Place{1, 0}).Count = 40
	return []Context{
		{[]Frame{{Func: "main"}}, a},
		{[]Frame{{"main", Place{2, 0}}, {Func: "leaf"}}, b},
		{[]Frame{{"main", Place{2, 0}}, {"mid", Place{3, 1}}, {Func: "leaf"}}, c},
	}
}

// TestExtBinary converts what is written to text with llvm-profdata, and compares the text and
// the summary with those of the profile.
func TestExtBinary(t *testing.T) {
	t.Parallel()
	tool, err := exec.LookPath("llvm-profdata-22")
	if err != nil {
		t.Skip("needs llvm-profdata-22")
	}
	profdata := func(args ...string) string {
		out, err := exec.CommandContext(t.Context(), tool, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("llvm-profdata %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	for _, c := range []struct {
		name      string
		text, ext func(*bytes.Buffer) error
	}{
		{
			"nested",
			func(b *bytes.Buffer) error { return Write(b, lineProfile()) },
			func(b *bytes.Buffer) error { return fileOf(lineProfile()).WriteExtBinary(b) },
		},
		{
			"contexts",
			func(b *bytes.Buffer) error { return WriteContexts(b, probeContexts()) },
			func(b *bytes.Buffer) error {
				return (&File{Contexts: probeContexts(), HasContexts: true}).WriteExtBinary(b)
			},
		},
		{
			"empty",
			func(b *bytes.Buffer) error { return Write(b, Profile{}) },
			func(b *bytes.Buffer) error { return fileOf(Profile{}).WriteExtBinary(b) },
		},
	} {
		var text, ext bytes.Buffer
		if err := c.text(&text); err != nil {
			t.Fatal(err)
		}
		if err := c.ext(&ext); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		for name, data := range map[string][]byte{"text": text.Bytes(), "ext": ext.Bytes()} {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if c.name == "empty" { // of which LLVM takes no text
			profdata("show", "--sample", filepath.Join(dir, "ext"))
			continue
		}
		for _, args := range [][]string{
			{"merge", "--sample", "--text", "-o", "-"},
			{"show", "--sample"},
			{"show", "--sample", "--detailed-summary"},
			{"show", "--sample", "--hot-func-list"},
		} {
			want, got := profdata(append(args, filepath.Join(dir, "text"))...), profdata(append(args, filepath.Join(dir, "ext"))...)
			if want != got {
				t.Errorf("%s, llvm-profdata %v: it makes of the text\n%s\nand of the binary\n%s", c.name, args, want, got)
			}
		}
		var twice bytes.Buffer
		if err := c.ext(&twice); err != nil || !bytes.Equal(twice.Bytes(), ext.Bytes()) {
			t.Errorf("%s: it is not written twice the same: %v", c.name, err)
		}
	}
}

func fileOf(p Profile) *File {
	var f File
	f.SetProfile(p)
	return &f
}

package objfile

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// object compiles a program of C and returns the object.
func object(t *testing.T, args ...string) []byte {
	t.Helper()
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	src, out := filepath.Join(dir, "a.c"), filepath.Join(dir, "a.o")
	if err := os.WriteFile(src, []byte("int f(void) { return 1; }\nint g(void) { return 2; }\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if text, err := exec.Command(gcc, append(args, "-c", "-o", out, src)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestSectionOf finds the section of an object that OneSection made, and what the reader for all objects finds.
func TestSectionOf(t *testing.T) {
	t.Parallel()
	like := object(t, "-O1", "-ffunction-sections", "-fcf-protection")
	made, err := OneSection(bytes.NewReader(like), ".debug.test", []byte("contents"))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{".debug.test": "contents", ".debug.tes": "", ".none": "", ".note.GNU-stack": ""} {
		if got, err := SectionOf(bytes.NewReader(made), name); err != nil || string(got) != want {
			t.Errorf("SectionOf %s = %q, %v; want %q", name, got, err, want)
		}
	}
	for _, name := range []string{".text.f", ".text.g", ".note.gnu.property", ".comment", ".bss", ".rela.eh_frame"} {
		f, err := openObject(bytes.NewReader(like))
		if err != nil || f == nil {
			t.Fatal(err)
		}
		var want []byte
		if s := f.Section(name); s != nil && s.FileSize > 0 {
			want, _ = s.Data()
		}
		if got, err := SectionOf(bytes.NewReader(like), name); err != nil || name != ".bss" && !bytes.Equal(got, want) {
			t.Errorf("SectionOf %s = %x, %v; want %x", name, got, err, want)
		}
	}
	for n := range len(made) {
		if got, err := SectionOf(bytes.NewReader(made[:n]), ".debug.test"); err == nil && len(got) > 0 && string(got) != "contents" {
			t.Fatalf("SectionOf of %d bytes = %q", n, got)
		}
	}
}

// TestOneSectionStack: an object has the note on its stack also if the one that it is like has none, which linkers then name.
func TestOneSectionStack(t *testing.T) {
	t.Parallel()
	like := object(t, "-O1", "-Wa,--noexecstack")
	for name, object := range map[string][]byte{"with a note": like, "without": bytes.Replace(like, []byte(stackNote), []byte(".note.GNU-stuck"), 1)} {
		made, err := OneSection(bytes.NewReader(object), ".debug.test", []byte("contents"))
		if err != nil {
			t.Fatal(err)
		}
		f, err := elf.NewFile(bytes.NewReader(made))
		if err != nil {
			t.Fatal(err)
		}
		if s := f.Section(stackNote); s == nil || s.Flags != 0 {
			t.Errorf("%s: section %v", name, s)
		}
	}
}

// TestOneSectionLinks links such an object: with --gc-sections, and in a program whose stack is not executable.
func TestOneSectionLinks(t *testing.T) {
	t.Parallel()
	made, err := OneSection(bytes.NewReader(object(t, "-O1")), ".debug.test", []byte("contents"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	main, extra, out := filepath.Join(dir, "main.c"), filepath.Join(dir, "extra.o"), filepath.Join(dir, "main")
	if err := os.WriteFile(main, []byte("int main(void) { return 0; }\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(extra, made, 0o666); err != nil {
		t.Fatal(err)
	}
	text, err := exec.Command("gcc", "-Wl,--gc-sections", "-Wl,--fatal-warnings", "-o", out, main, extra).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	f, err := Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if data, _, _, _, err := f.Section(".debug.test"); err != nil || string(data) != "contents" {
		t.Errorf("the program has %q, %v", data, err)
	}
}

func FuzzSectionOf(f *testing.F) {
	f.Add([]byte("\x7fELF\x02\x01\x01"), ".text")
	f.Fuzz(func(_ *testing.T, data []byte, name string) {
		_, _ = SectionOf(bytes.NewReader(data), name)
	})
}

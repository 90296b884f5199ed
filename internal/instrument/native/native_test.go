package native

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/prof"
)

var update = flag.Bool("update", false, "write the golden files")

// modes are what the tests rewrite with.
var modes = []prof.Mode{prof.ModeCover, prof.ModeBlock, prof.ModeCount, prof.ModeFull, prof.ModeOrder, prof.ModeBlockOrder, prof.ModeSpike}

// compiled returns the compilers' output in testdata.
func compiled(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.s")
	if err != nil || len(files) == 0 {
		t.Fatalf("no testdata: %v", err)
	}
	return files
}

// TestGolden rewrites what gcc and clang made of testdata, compares it in
// modes cover, full, order and spike, and has it assembled in all.
func TestGolden(t *testing.T) {
	t.Parallel()
	as, noAs := exec.LookPath("as")
	for _, file := range compiled(t) {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !IsCompilerOutput(src) {
			t.Errorf("%s: not taken for a compiler's output", file)
		}
		for _, mode := range modes {
			unit, err := Parse(src, machine.X86_64)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			out, _ := Rewrite(unit, Options{Mode: mode})
			if why := lost(src, out); why != "" {
				t.Errorf("%s, %v: %s", file, mode, why)
			}
			if mode == prof.ModeCover || mode == prof.ModeFull || mode == prof.ModeOrder || mode == prof.ModeSpike {
				compareGolden(t, strings.TrimSuffix(file, ".s")+"."+mode.String()+".golden", out)
			}
			if noAs != nil {
				continue
			}
			cmd := exec.Command(as, "--64", "-o", filepath.Join(t.TempDir(), "out.o"))
			cmd.Stdin = bytes.NewReader(out)
			if msg, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s, %v: %v\n%s", file, mode, err, msg)
			}
		}
	}
}

func compareGolden(t *testing.T, golden string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	g, w := bytes.Split(got, []byte("\n")), bytes.Split(want, []byte("\n"))
	for i := range max(len(g), len(w)) {
		if i >= len(g) || i >= len(w) || !bytes.Equal(g[i], w[i]) {
			t.Errorf("%s:%d differs (run with -update if it should):\n got %s\nwant %s",
				golden, i+1, line(g, i), line(w, i))
			return
		}
	}
}

func line(lines [][]byte, i int) []byte {
	if i < len(lines) {
		return lines[i]
	}
	return []byte("the end")
}

// lost returns why out is not src with lines inserted, or "".
func lost(src, out []byte) string {
	have := bytes.Split(out, []byte("\n"))
	for n, want := range bytes.Split(bytes.TrimSuffix(src, []byte("\n")), []byte("\n")) {
		for len(have) > 0 && !bytes.Equal(have[0], want) {
			have = have[1:]
		}
		if len(have) == 0 {
			return fmt.Sprintf("line %d is lost: %s", n+1, want)
		}
		have = have[1:]
	}
	return ""
}

// FuzzParse checks that any text is either refused or comes through whole,
// with lines inserted.
func FuzzParse(f *testing.F) {
	for _, file := range compiled(f) {
		src, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	f.Add([]byte("\t.file\t\"a.c\"\n\t.type\tf, @function\nf:\n\tret"))
	f.Add([]byte(".section .text.f,\"axG\",@progbits,f,comdat\n.type f,@function\nf: jne f\nf.cold: jmp *%rax\n.size f,.-f"))
	f.Fuzz(func(t *testing.T, src []byte) {
		IsCompilerOutput(src)
		for _, mode := range modes {
			unit, err := Parse(src, machine.X86_64)
			if err != nil {
				return
			}
			out, result := Rewrite(unit, Options{Mode: mode, Atomic: mode == prof.ModeCount, MinInsns: 1})
			if result.Functions == 0 && !bytes.Equal(out, src) {
				t.Fatal("text without functions changed")
			}
			if why := lost(src, out); why != "" {
				t.Fatalf("%v: %s\n%s", mode, why, out)
			}
			again, _ := Rewrite(unit, Options{Mode: mode, Atomic: mode == prof.ModeCount, MinInsns: 1})
			if !bytes.Equal(out, again) {
				t.Fatalf("%v: a second rewrite differs", mode)
			}
		}
	})
}

// TestPieces checks which code is a function: what calls enter, whatever its name
// is, and not what its function goes on to.
func TestPieces(t *testing.T) {
	t.Parallel()
	const code = `.text
.type f, @function
f:
	je .L5
	call f.part.0
	call f.cold.1
.L2:
	ret
.type f.cold, @function
f.cold:
.L5:
	jmp .L2
.type f.part.0, @function
f.part.0:
	je .L7
	ret
.type f.part.0.cold, @function
f.part.0.cold:
.L7:
	call abort
.type f.cold.1, @function
f.cold.1:
	ret
.type lost.cold, @function
lost.cold:
	jmp .L9
`
	u, err := Parse([]byte(code), machine.X86_64)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, fn := range u.funcs {
		s := fn.name + ":"
		for _, fr := range fn.frags {
			s += " " + fr.name
		}
		got = append(got, s)
	}
	want := []string{"f: f f.cold", "f.part.0: f.part.0 f.part.0.cold", "f.cold.1: f.cold.1", "lost.cold: lost.cold"}
	if !slices.Equal(got, want) {
		t.Errorf("functions %q, want %q", got, want)
	}
	if _, result := Rewrite(u, Options{Mode: prof.ModeFull}); result.Functions != 3 || len(result.Skipped) != 1 || result.Skipped[0].Reason != SkipOrphan {
		t.Errorf("%d functions, left alone %v", result.Functions, result.Skipped)
	}
}

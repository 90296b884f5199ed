package objfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/shorttest"
)

// compareFrames compares the frames at each address of some functions with llvm-symbolizer. It
// returns how many addresses there are, how many of them are in inlined code, and the greatest
// number of frames.
func compareFrames(t *testing.T, symbolizer, bin string, functions ...string) (compared, inlined, depth int) {
	t.Helper()
	f := open(t, bin)
	scopes, err := f.Scopes()
	if err != nil {
		t.Fatal(err)
	}
	files, err := f.SourceFiles()
	if err != nil {
		t.Fatal(err)
	}
	table := lines(t, bin)
	for _, name := range functions {
		sym := symbolOf(t, bin, name)
		// The rows of one address say the same thing to the symbolizer.
		at := map[uint64]Row{}
		for r := range table.Rows(sym.Addr, sym.Addr+sym.Size) {
			at[r.Addr] = r
		}
		for addr, r := range at {
			got := scopes.At(addr)
			if s, want := frames(files, got, r), symbolize(t, symbolizer, bin, addr); s != want {
				t.Errorf("%s, %#x:\n%s\nllvm-symbolizer:\n%s", name, addr, s, want)
			}
			if len(got) > 1 {
				inlined++
			}
			depth = max(depth, len(got))
			compared++
		}
	}
	return compared, inlined, depth
}

// TestScopes compares functions, inlined copies, start lines and discriminators with
// llvm-symbolizer.
func TestScopes(t *testing.T) {
	t.Parallel()
	symbolizer, err := exec.LookPath("llvm-symbolizer-22")
	if err != nil {
		t.Skip(err)
	}
	for _, cc := range shorttest.Rows(
		3,
		[]string{"gcc", "-g", "-O2", "-gdwarf-4"},
		crossClang("-g", "-O2", "-fdebug-info-for-profiling"),
		[]string{"clang-22", "-g", "-O2", "-fdebug-info-for-profiling"},
		[]string{"gcc", "-g", "-O2"},
		[]string{"gcc", "-g", "-O0"},
		[]string{"clang-22", "-g", "-O2", "-gdwarf-4", "-fdebug-info-for-profiling", "-no-pie"},
		[]string{"aarch64-linux-gnu-gcc", "-g", "-O2", "-mbranch-protection=standard"},
		[]string{"aarch64-linux-gnu-gcc", "-g", "-O0", "-static"},
	) {
		t.Run(strings.Join(cc, " "), func(t *testing.T) {
			t.Parallel()
			needs(t, cc)
			_, bin := build(t, cc[0], cc[1:]...)
			compared, inlined, _ := compareFrames(t, symbolizer, bin, "main", "unused")
			if compared == 0 || inlined > 0 != strings.Contains(strings.Join(cc, " "), "-O2") {
				t.Errorf("%d addresses compared, %d of inlined code", compared, inlined)
			}
		})
	}
}

// frames writes the scopes of an address as symbolize does.
func frames(files *SourceFiles, stack []Scope, r Row) string {
	var b strings.Builder
	file, line, disc := r.File, r.Line, r.Discriminator
	for i := len(stack) - 1; i >= 0; i-- {
		s := stack[i]
		fmt.Fprintf(&b, "%s from %d: %s:%d.%d\n", s.Name, s.Line, filepath.Base(file), line, disc)
		file, line, disc = files.Caller(&s), s.CallLine, s.CallDiscriminator
	}
	return b.String()
}

func symbolize(t *testing.T, tool, bin string, addr uint64) string {
	t.Helper()
	out, err := exec.Command(tool, "--output-style=JSON", "--no-demangle", "-e", bin, fmt.Sprintf("%#x", addr)).Output()
	if err != nil {
		t.Fatal(err)
	}
	var got []struct {
		Symbol []struct {
			FunctionName, FileName         string
			Line, StartLine, Discriminator int
		}
	}
	if err := json.NewDecoder(bytes.NewReader(out)).Decode(&got); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var b strings.Builder
	for _, s := range got[0].Symbol {
		fmt.Fprintf(&b, "%s from %d: %s:%d.%d\n", s.FunctionName, s.StartLine, filepath.Base(s.FileName), s.Line, s.Discriminator)
	}
	return b.String()
}

func TestScopesOfNothing(t *testing.T) {
	t.Parallel()
	_, bin := build(t, "gcc", "-O1")
	if _, err := open(t, bin).Scopes(); err == nil || !strings.HasSuffix(err.Error(), ErrNoScopes.Error()) {
		t.Errorf("%v, want %v", err, ErrNoScopes)
	}
}

// TestCode compares the bytes of functions with the file's .text.
func TestCode(t *testing.T) {
	t.Parallel()
	_, bin := build(t, "gcc", "-O1")
	f := open(t, bin)
	code, err := f.Code()
	if err != nil {
		t.Fatal(err)
	}
	text, addr, size, _, err := f.Section(".text")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(code.Bytes(addr, addr+size), text) || len(text) == 0 {
		t.Error("not the bytes of .text")
	}
	for _, r := range [][2]uint64{{addr, addr + size + 1}, {0, 8}, {addr + 4, addr}, {addr + size + 1<<20, addr + size + 1<<20}} {
		if got := code.Bytes(r[0], r[1]); len(got) > 0 {
			t.Errorf("[%#x, %#x): %d bytes, want none", r[0], r[1], len(got))
		}
	}
}

// TestLinkSymbols checks that equal local symbols are numbered, and that global ones are not.
func TestLinkSymbols(t *testing.T) {
	t.Parallel()
	_, bin := build(t, "gcc", "-O0")
	syms, err := open(t, bin).LinkSymbols()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]LinkSymbol{}
	for _, s := range syms {
		got[s.Name] = s
	}
	if s := got["main"]; s.Ordinal != 0 || s.File != "" {
		t.Errorf("main: %+v", s)
	}
	if s := got["twice"]; s.Ordinal != 1 || s.File != "main.c" {
		t.Errorf("twice: %+v", s)
	}
}

package profgen

import (
	"bytes"
	"fmt"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/binary/objfile"
)

// TestSourceAgainstSymbolizer compares the functions and lines of every instruction with what
// llvm-symbolizer prints as inlined there.
func TestSourceAgainstSymbolizer(t *testing.T) {
	t.Parallel()
	for _, c := range [][]string{
		{"clang++-22", "-O2", "-g", "virtual.cc"},
		{"g++", "-O2", "-g", "-D__builtin_debugtrap=__builtin_trap", "virtual.cc"},
		{"gcc", "-O3", "-g", "-gdwarf-4", "-D__builtin_debugtrap=__builtin_trap", "tail.c"},
		{"clang-22", "-O2", "-g1", "tail.c"},
	} {
		t.Run(strings.Join(c, " "), func(t *testing.T) {
			t.Parallel()
			for _, tool := range []string{c[0], "llvm-symbolizer-22"} {
				if _, err := exec.LookPath(tool); err != nil {
					t.Skip(err)
				}
			}
			program := filepath.Join(t.TempDir(), "app")
			last := len(c) - 1
			run(t, c[0], append(c[1:last:last], "-o", program, "testdata/"+c[last])...)
			compareSource(t, program)
		})
	}
}

func compareSource(t *testing.T, program string) {
	t.Helper()
	code, source := readSource(t, program)
	var asked bytes.Buffer
	var ours []string
	inlined := 0
	b := code.Binaries()[0]
	for r := b.First; r < b.End; r++ {
		frames := source.Frames(r)
		if len(frames) == 0 || frames[0].Func == "" {
			continue // start-up code of the C library
		}
		// Both name the function itself by its symbol, as stacks do.
		frames[0].Func = b.Functions()[b.RangeAt(code.Address(r)).Function].Name
		fmt.Fprintf(&asked, "%#x\n", code.Address(r))
		text := ""
		for i := len(frames) - 1; i >= 0; i-- {
			text += fmt.Sprintf("%s\n%s:%d\n", frames[i].Func, frames[i].File, frames[i].Line)
		}
		ours = append(ours, text)
		if len(frames) > 1 {
			inlined++
		}
	}
	if len(ours) < 100 || inlined == 0 {
		t.Fatalf("%d instructions have lines, %d are inlined", len(ours), inlined)
	}
	cmd := exec.Command("llvm-symbolizer-22", "--obj="+program, "--inlines", "--no-demangle", "--output-style=LLVM")
	cmd.Stdin = bytes.NewReader(asked.Bytes())
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	theirs := strings.Split(strings.TrimSuffix(string(out), "\n\n"), "\n\n")
	addresses := strings.Fields(asked.String())
	if len(theirs) != len(ours) {
		t.Fatalf("%d answers to %d questions", len(theirs), len(ours))
	}
	for i, text := range theirs {
		if want := plain(text); ours[i] != want {
			t.Errorf("%s:\n%swant\n%s", addresses[i], ours[i], want)
		}
	}
}

// plain removes the columns from function and file:line:column, and .. from paths. It removes
// suffixes of optimisers, such as .cold, from the function, and uses the last of the names of a
// destructor.
func plain(text string) string {
	var b strings.Builder
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		switch {
		case i%2 == 1:
			line = path.Clean(line[:strings.LastIndexByte(line, ':')])
		case i == len(lines)-2:
			line, _, _ = strings.Cut(line, ".")
			line = strings.Replace(line, "D1Ev", "D2Ev", 1)
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// readSource reads all that a program's debug information says, as the command does.
func readSource(t *testing.T, program string) (*machinecode.Set, *Source) {
	t.Helper()
	f, err := objfile.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := f.Program()
	if err != nil {
		t.Fatal(err)
	}
	p.Ranges = nil // functions are those of symbols
	code, err := machinecode.NewSet(p)
	if err != nil {
		t.Fatal(err)
	}
	var info DebugInfo
	if info.Lines, err = f.Lines(); err != nil {
		t.Fatal(err)
	}
	if info.Scopes, err = f.Scopes(); err != nil {
		t.Fatal(err)
	}
	files, err := f.SourceFiles()
	if err != nil {
		t.Fatal(err)
	}
	return code, NewSource(code, []DebugInfo{info}, []*objfile.SourceFiles{files})
}

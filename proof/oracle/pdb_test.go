//go:build linux && amd64

package oracle

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/shorttest"
	"github.com/cairnprof/cairn/proof/tailguests"
)

// pdbProgram builds a program for Windows whose names and lines are in a PDB alone.
func pdbProgram(t *testing.T, target, source string, flags ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "app.exe")
	args := []string{"--target=" + target, "-fuse-ld=lld", "-w", "-g", "-gcodeview", "-o", program}
	if strings.HasSuffix(target, "gnu") {
		args = append(args, "-Wl,--pdb="+strings.TrimSuffix(program, ".exe")+".pdb", "-s")
	}
	sources := slices.DeleteFunc(mustGlob(t, source), func(path string) bool { return filepath.Base(path) == "luac.c" })
	output(t, command(t, "clang-22", slices.Concat(args, flags, sources)...))
	return program
}

// TestPDB compares the names and the lines of all instructions, inlined calls included, with those that LLVM finds in the same PDB.
func TestPDB(t *testing.T) {
	t.Parallel()
	shorttest.Proof(t)
	for _, tool := range []string{"clang-22", "llvm-symbolizer-22", "lld-link-22", mingw + "gcc"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	_, _, lua := fetchGuest(t, &tailguests.Guest{Name: "lua5.4", Debian: "lua5.4"})
	for _, c := range []struct {
		name, target, source string
		flags                []string
	}{
		{"Lua", "x86_64-w64-windows-gnu", filepath.Join(lua, "src", "l*.c"), []string{"-O2"}},
		{"freestanding", "x86_64-pc-windows-msvc", filepath.Join("testdata", "windowshooks", "calls.c"), append([]string{"-O1"}, freestanding...)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			program := pdbProgram(t, c.target, c.source, c.flags...)
			comparePDB(t, program)
			wrongPDB(t, program)
		})
	}
}

// wrongPDB replaces the PDB by one that is cut off and by one of another build: neither is used, and what is damaged is named.
func wrongPDB(t *testing.T, program string) {
	t.Helper()
	path := strings.TrimSuffix(program, ".exe") + ".pdb"
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	functions := func(data []byte) error {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := objfile.Open(program)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = f.FunctionMap()
		return err
	}
	if err := functions(data[:len(data)/2]); !errors.Is(err, objfile.ErrNoFunctions) || !strings.Contains(err.Error(), path+" is damaged") {
		t.Errorf("with half of the PDB: %v", err)
	}
	other, err := os.ReadFile(program)
	at := bytes.Index(other, []byte("RSDS"))
	if err != nil || at < 0 {
		t.Fatalf("no identity: %v", err)
	}
	if err := functions(bytes.ReplaceAll(data, other[at+4:at+20], make([]byte, 16))); !errors.Is(err, objfile.ErrNoFunctions) {
		t.Errorf("with the PDB of another build: %v", err)
	}
}

// freestanding are the options for programs for MSVC's system without its library, which a licence keeps from here.
var freestanding = []string{"-nostdlib", "-Wl,/entry:start,/subsystem:console", "/usr/x86_64-w64-mingw32/lib/libkernel32.a"}

// symbolLine is an answer of llvm-symbolizer: a function, and its line.
var symbolLine = regexp.MustCompile(`(?m)^(.*)\n(.*):(\d+):\d+$`)

// comparePDB compares each byte of the code of a program.
func comparePDB(t *testing.T, program string) {
	t.Helper()
	f, err := objfile.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	table, err := f.Lines()
	if err != nil {
		t.Fatal(err)
	}
	scopes, err := f.Scopes()
	if err != nil {
		t.Fatal(err)
	}
	m, err := f.FunctionMap()
	if err != nil {
		t.Fatal(err)
	}
	var asked strings.Builder
	type place struct {
		name string
		addr uint64
	}
	var places []place
	for _, fn := range m.Funcs {
		for _, x := range fn.Fragments {
			for a := x.Addr; a < x.Addr+uint64(x.Size); a++ {
				places = append(places, place{fn.Name, a})
				fmt.Fprintf(&asked, "%#x\n", a)
			}
		}
	}
	cmd := command(t, "llvm-symbolizer-22", "--obj="+program, "--inlining", "--functions=linkage")
	cmd.Stdin = strings.NewReader(asked.String())
	answers := strings.Split(strings.TrimSpace(output(t, cmd)), "\n\n")
	if len(answers) != len(places) || len(places) < 500 {
		t.Fatalf("%d answers for %d places", len(answers), len(places))
	}
	names, lines, inlined := 0, 0, 0
	for i, p := range places {
		want := symbolLine.FindAllStringSubmatch(answers[i], -1)
		got := pdbFrames(table, scopes, p.name, p.addr)
		if len(got) != len(want) {
			if names++; names < 10 {
				t.Errorf("%#x in %s: %d frames, LLVM has %d: %v, %v", p.addr, p.name, len(got), len(want), got, want)
			}
			continue
		}
		inlined += len(got) - 1
		for k, w := range want {
			if g, w := got[k].name, strings.TrimSpace(w[1]); g != w && !strings.HasPrefix(w, g+"(") {
				if names++; names < 10 {
					t.Errorf("%#x: function %q, LLVM has %q", p.addr, g, w)
				}
			}
			file, line := filepath.Base(got[k].file), got[k].line
			number, _ := strconv.Atoi(w[3])
			if line != number && table.Begins(p.addr) { // of two rows LLVM takes the first
				file, line, _ = table.Entry(p.addr)
				file = filepath.Base(file)
			}
			if line != number || k == 0 && line != 0 && file != filepath.Base(strings.ReplaceAll(w[2], `\`, "/")) {
				if lines++; lines < 10 {
					t.Errorf("%#x in %s: %s:%d, LLVM has %s:%d", p.addr, got[k].name, file, line, w[2], number)
				}
			}
		}
	}
	t.Logf("%d places in %d functions with %d inlined frames: %d names and %d lines differ", len(places), len(m.Funcs), inlined, names, lines)
}

// pdbFrame is a function, the place of whose code is known.
type pdbFrame struct {
	name, file string
	line       int
}

// pdbFrames returns the frames of an address, innermost first.
func pdbFrames(table *objfile.LineTable, scopes *objfile.ScopeTable, function string, addr uint64) (out []pdbFrame) {
	file, line, _ := table.Lookup(addr)
	at := scopes.At(addr)
	for i := len(at) - 1; i > 0; i-- {
		out = append(out, pdbFrame{at[i].Name, file, line})
		file, line = "", at[i].CallLine
	}
	return append(out, pdbFrame{function, file, line})
}

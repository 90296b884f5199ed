//go:build linux && amd64

package oracle

import (
	"debug/pe"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/prof"
)

// msvc are the options of clang for MSVC's system, whose library is not here: testdata/windowsmsvc has a start, and msvcrt.dll and
// vcruntime140.dll of Wine the rest.
var msvc = []string{"--target=x86_64-pc-windows-msvc", "-fuse-ld=lld", "-g", "-fms-extensions", "-fexceptions", "-fcxx-exceptions"}

// needMSVC skips a test where the compiler and the linker for MSVC's system are not installed.
func needMSVC(t *testing.T) {
	t.Helper()
	for _, tool := range []string{"clang-22", "lld-link-22", "llvm-dlltool-22", "llvm-ar-22"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed; make proof installs it", tool)
		}
	}
}

// TestWindowsMSVC runs programs by clang for MSVC's system: with the probes of each mode they answer as without, and what they
// recorded is what breakpoints at all blocks found in the same run.
func TestWindowsMSVC(t *testing.T) {
	t.Parallel()
	needMSVC(t)
	w := newWindows(t)
	for i, flags := range [][]string{{"-O1"}, {"-O0"}, {"-O2"}, {"-O2", "-ffunction-sections", "-Wl,-opt:ref,-opt:icf"}, {"-O1", "-flto=thin"}, {"-O2", "-flto"}} {
		modes := []string{"full", "cover", "count", "count --atomic", "block", "order", "block+order"}
		if i > 0 || testing.Short() {
			modes = []string{"full", "block+order"}
		}
		if i > 0 && testing.Short() {
			break
		}
		want, code := w.run(t, "", msvcProgram(t, nil, flags))
		if !strings.Contains(want, "caught 4\nlast 4\n") {
			t.Fatalf("%v: it answers %q, %d", flags, want, code)
		}
		for _, mode := range modes {
			t.Run(strings.Join(append(flags, mode), " "), func(t *testing.T) {
				program := msvcProgram(t, append([]string{cairn, "cc", "--strict", "--mode"}, strings.Fields(mode)...), flags)
				w.checkMSVC(t, program, want, code)
			})
		}
		for _, mode := range []string{"spike", "stacks", "trace --depth 4", flightMode} {
			t.Run(strings.Join(append(flags, mode), " "), func(t *testing.T) {
				program := msvcProgram(t, append([]string{cairn, "cc", "--strict", "--mode"}, strings.Fields(mode)...), flags)
				got, gotCode := w.run(t, t.TempDir(), program)
				if checkAnswer(t, got, want); gotCode != code {
					t.Errorf("exit code %d, without probes %d", gotCode, code)
				}
			})
		}
	}
	for _, flags := range []string{"-O1", "-O0", "-O2"} {
		if flags != "-O1" && testing.Short() {
			break
		}
		for _, mode := range []string{"stacks", "trace", flightMode} {
			t.Run("calls "+flags+" "+mode, func(t *testing.T) { w.callsMSVC(t, mode, flags) })
		}
		t.Run("late "+flags, func(t *testing.T) { w.lateMSVC(t, flags) })
	}
}

// msvcCalls builds the program of testdata/windowsmsvc/calls.cc, whose names are in a PDB or, without -g, in its symbols.
func msvcCalls(t *testing.T, prefix []string, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "calls.exe")
	libraries(t, dir)
	own := slices.Concat(prefix, []string{"clang-22", msvc[0], msvc[1], "-fexceptions", "-fcxx-exceptions", "-Wno-unused-command-line-argument"}, flags)
	for _, args := range [][]string{
		append([]string{"clang-22"}, append(slices.Clone(msvc), "-w", "-O1", "-c", filepath.Join("testdata", "windowsmsvc", "start.c"), "-o", filepath.Join(dir, "start.obj"))...),
		append([]string{"clang-22"}, append(slices.Clone(msvc), "-w", "-O1", "-c", filepath.Join("testdata", "windowsmsvc", "breaks.c"), "-o", filepath.Join(dir, "breaks.obj"))...),
		append(slices.Clone(own), "-c", filepath.Join("testdata", "windowsmsvc", "calls.cc"), "-o", filepath.Join(dir, "calls.obj")),
		append(slices.Clone(own), "-nostdlib", "-L"+dir, "-lvcruntime", "-lmsvcrt", "-lkernel32", "-Wl,-subsystem:console,-include:_tls_used", "-o", program,
			filepath.Join(dir, "calls.obj"), filepath.Join(dir, "start.obj"), filepath.Join(dir, "breaks.obj")),
	} {
		output(t, command(t, args[0], args[1:]...))
	}
	return program
}

// callsMSVC compares a program with the same one for Linux, call by call: also what handlers of exceptions call.
func (w *windows) callsMSVC(t *testing.T, mode, flags string) {
	dir := t.TempDir()
	prefix := append([]string{cairn, "cc", "--strict"}, modeFlags(mode)...)
	elf, own, logs := filepath.Join(dir, "calls"), filepath.Join(dir, "linux"), filepath.Join(dir, "logs")
	output(t, command(t, cairn, append(prefix[1:], "clang-22", flags, "-g", "-o", elf, filepath.Join("testdata", "windowsmsvc", "calls.cc"), "-lstdc++")...))
	program := msvcCalls(t, prefix, flags)
	want, code := w.run(t, "", msvcCalls(t, nil, flags))
	cmd := w.command(t, logs, program)
	cmd.Env = append(cmd.Env, "CAIRN_TRACE=file", "CAIRN_SPIKE="+recordAll)
	got, _ := cmd.Output()
	if checkAnswer(t, strings.ReplaceAll(string(got), "\r\n", "\n"), want); cmd.ProcessState.ExitCode() != code {
		t.Errorf("exit code %d, without probes %d", cmd.ProcessState.ExitCode(), code)
	}
	cmd = command(t, elf)
	cmd.Env = append(cmd.Env, "CAIRN_DIR="+own, "CAIRN_TRACE=file", "CAIRN_SPIKE="+recordAll)
	cmd.Run() // with the sum's last bits
	rows := callRows(t, logs, inMode(mode, program)...)
	compareRows(t, flags, rows, callRows(t, own, inMode(mode, elf)...))
	if len(rows) < 100 {
		t.Errorf("only %d stacks", len(rows))
	}
}

// lateMSVC looks for the two late calls of a program, one of which a handler makes, in a program with a PDB.
func (w *windows) lateMSVC(t *testing.T, flags string) {
	program := msvcCalls(t, []string{cairn, "cc", "--strict", "--mode", "spike"}, flags, "-g")
	own := regexp.MustCompile(`^(main|late|descend|deepest|nap)$`)
	for ms := 60; ; ms *= 3 { // on a loaded machine the clock may be late by more than they take
		logs := t.TempDir()
		w.run(t, logs, program, strconv.Itoa(ms))
		var found []string
		for _, line := range strings.Split(output(t, command(t, cairn, "spikes", "--top", "0", logs, program)), "\nspike ") {
			var names []string
			for _, m := range spikeFrame.FindAllStringSubmatch(line, -1) {
				if own.MatchString(m[1]) {
					names = append(names, m[1])
				}
			}
			found = append(found, strings.Join(names, " "))
		}
		text := strings.Join(found, "\n")
		if strings.Contains(text, "main late descend descend descend deepest nap") && strings.Contains(text, "main late late nap") {
			return
		}
		if ms > 5000 {
			t.Fatalf("found %q", found)
		}
	}
}

// spikeFrame is a function on the stack of a spike.
var spikeFrame = regexp.MustCompile(`(?m)^  +[0-9]+\) ([^ (]+)`)

// libraries makes those that programs for MSVC's system are linked with in a directory.
func libraries(t *testing.T, dir string) {
	t.Helper()
	definitions, err := filepath.Abs(filepath.Join("testdata", "windowsmsvc", "vcruntime.def"))
	if err != nil {
		t.Fatal(err)
	}
	output(t, command(t, "llvm-dlltool-22", "-m", "i386:x86-64", "-d", definitions, "-l", filepath.Join(dir, "vcruntime.lib")))
	for _, name := range []string{"kernel32", "msvcrt"} {
		if err := os.Symlink("/usr/x86_64-w64-mingw32/lib/lib"+name+".a", filepath.Join(dir, name+".lib")); err != nil {
			t.Fatal(err)
		}
	}
}

// msvcProgram builds the program of testdata/windowsmsvc and its library.
func msvcProgram(t *testing.T, prefix, flags []string) string {
	t.Helper()
	dir := t.TempDir()
	sources, err := filepath.Abs(filepath.Join("testdata", "windowsmsvc"))
	if err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) {
		t.Helper()
		cmd := command(t, args[0], args[1:]...)
		cmd.Dir = dir
		output(t, cmd)
	}
	libraries(t, dir)
	for object, source := range map[string]string{"start": "start.c", "starts": "start.c", "breaks": "breaks.c"} {
		args := append([]string{"clang-22"}, msvc...)
		if object == "starts" {
			args = append(args, "-DDLL")
		}
		run(append(args, "-O1", "-c", filepath.Join(sources, source), "-o", object+".obj")...)
	}
	compiler := slices.Concat(prefix, []string{"clang-22"}, msvc)
	flags = append([]string{"-Wno-unused-command-line-argument"}, flags...)
	for _, name := range []string{"main", "other", "lib"} {
		run(slices.Concat(compiler, flags, []string{"-c", filepath.Join(sources, name+".cc"), "-o", name + ".obj"})...)
	}
	run("llvm-ar-22", "rcs", "other.lib", "other.obj")
	link := slices.Concat(compiler, flags, []string{"-nostdlib", "-L.", "-lvcruntime", "-lmsvcrt", "-lkernel32", "-Wl,-subsystem:console", "-Wl,-include:_tls_used"})
	run(slices.Concat(link, []string{"-shared", "-o", "lib.dll", "lib.obj", "starts.obj"})...)
	run(slices.Concat(link, []string{"-o", "app.exe", "main.obj", "other.lib", "start.obj", "breaks.obj"})...)
	return filepath.Join(dir, "app.exe")
}

// checkMSVC runs a program with probes, with breakpoints at its blocks.
func (w *windows) checkMSVC(t *testing.T, program, answer string, code int) {
	t.Helper()
	dir := filepath.Dir(program)
	raws, merged := filepath.Join(dir, "raws"), filepath.Join(dir, "run.mip")
	run := func() {
		t.Helper()
		cmd := w.command(t, raws, program)
		cmd.Dir = dir
		out, _ := cmd.Output()
		checkAnswer(t, strings.ReplaceAll(string(out), "\r\n", "\n"), answer)
		if got := cmd.ProcessState.ExitCode(); got != code {
			t.Errorf("exit code %d, without probes %d", got, code)
		}
		output(t, command(t, cairn, "merge", "-o", merged, program, filepath.Join(dir, "lib.dll"), raws))
	}
	run()
	base := imageBase(t, program)
	m := moduleOf(t, merged, "app.exe")
	var breaks strings.Builder
	for i := range m.Funcs {
		f := &m.Funcs[i]
		for b := range f.NumBlocks() {
			mark := map[bool]string{true: "+", false: "-"}[b == 0]
			fmt.Fprintf(&breaks, "%x%s\n", f.BlockAddr(b)-base, mark)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "breaks"), []byte(breaks.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(raws); err != nil {
		t.Fatal(err)
	}
	run()
	m = moduleOf(t, merged, "app.exe")
	reached, err := os.ReadFile(filepath.Join(dir, "reached"))
	if err != nil {
		t.Fatal(err)
	}
	ran := execution{instr: map[uint64]uint64{}}
	for line := range strings.Lines(string(reached)) {
		var at, count uint64
		if _, err := fmt.Sscanf(line, "%x %d", &at, &count); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		ran.instr[base+at] = count
	}
	checkCovered(t, m, ran)
	calls := uint64(0)
	for i := range m.Funcs {
		f, got := &m.Funcs[i], &m.Counts[i]
		calls += ran.instr[f.Addr()]
		if f.Mode.HasCalls() && got.Calls != ran.instr[f.Addr()] {
			t.Errorf("%s: %d calls, breakpoints %d", f.Name, got.Calls, ran.instr[f.Addr()])
		}
		if strings.HasPrefix(f.Name, "?catch$") || strings.HasPrefix(f.Name, "?dtor$") {
			t.Errorf("%s is a function, not a part of one", f.Name)
		}
	}
	if len(m.Funcs) < 15 || calls < 1000 {
		t.Errorf("%d calls of %d functions: that proves little", calls, len(m.Funcs))
	}
}

// moduleOf returns the module of a profile with a name.
func moduleOf(t *testing.T, profile, name string) *prof.Module {
	t.Helper()
	modules := readModules(t, profile)
	i := slices.IndexFunc(modules, func(m prof.Module) bool { return m.Module == name })
	if i < 0 {
		t.Fatalf("%s has no %s", profile, name)
	}
	return &modules[i]
}

// imageBase returns the address that a program is linked for.
func imageBase(t *testing.T, program string) uint64 {
	t.Helper()
	f, err := pe.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return f.OptionalHeader.(*pe.OptionalHeader64).ImageBase
}

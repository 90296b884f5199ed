//go:build linux && amd64

package oracle

import (
	"debug/pe"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/shorttest"
	"github.com/cairnprof/cairn/proof/tailguests"
)

// detours are the hooks of unmodified programs for Windows, and what counts calls beside them.
type detours struct {
	*windows
	hooks, counts, breaks string // directories with a launcher and a DLL of its name: of cairn, that counts as well, that has breakpoints
	sources               string // of the DLLs
}

// TestWindowsDetours runs programs for Windows that were built without cairn with their functions hooked. They answer as without, and
// the hooks are called as often as the functions, by breakpoints.
func TestWindowsDetours(t *testing.T) {
	t.Parallel()
	shorttest.Proof(t)
	d := newDetours(t)
	t.Run("program", d.program)
	t.Run("exceptions", d.exceptions)
	t.Run("late", d.late)
	t.Run("far", d.far)
	t.Run("children", d.children)
	t.Run("libraries", d.libraries)
	t.Run("msvc", d.msvc)
	t.Run("cost", d.cost)
	t.Run("strangers", d.strangers)
	t.Run("refused", d.refused)
	t.Run("windows", d.forWindows)
}

// forWindows runs a program by cairn.exe, with the files beside it.
func (d *detours) forWindows(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds cairn.exe")
	}
	cairnExe, logs := d.cairnForWindows(t), ""
	if err := os.CopyFS(filepath.Join(filepath.Dir(cairnExe), "hooks"), os.DirFS(d.hooks)); err != nil {
		t.Fatal(err)
	}
	program := d.build(t, "program.cc", mingw+"g++", "-O2", "-g", "-static")
	want, wantCode := d.run(t, "", program)
	d.checkFound(t, []string{program}, func(into string) {
		logs = into
		answer, code := d.run(t, "", cairnExe, "watch", "run", "--detours", "--small", "0", "--dir", "Z:"+logs, "--", "Z:"+program)
		if answer != want || code != wantCode {
			t.Errorf("it answers %q and %d, without hooks %q and %d", answer, code, want, wantCode)
		}
	}, []string{" > outer timed > stall timed, outer ended"})
	if answer, _ := d.run(t, "", cairnExe, "spikes", "Z:"+logs); !strings.Contains(answer, "stall(int)") {
		t.Errorf("cairn.exe spikes says %q", answer)
	}
}

func newDetours(t *testing.T) *detours {
	t.Helper()
	d := &detours{newWindows(t), t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()}
	output(t, command(t, cairn, "hooks", "-o", d.hooks))
	for _, dir := range []string{".", "timed", "hook", "coff"} {
		for _, path := range mustGlob(t, filepath.Join("..", "..", "internal", "runtime", "nativert", "c", dir, "*.*")) {
			copyTo(t, path, d.sources)
		}
	}
	copyTo(t, filepath.Join("testdata", "windowsdetours", "counts.c"), d.sources)
	d.compile(t, d.counts, "counts.c", "-Wl,-e,count_calls")
	output(t, command(t, mingw+"gcc", "-O2", "-DPSAPI_VERSION=2", "-shared", "-static", "-o", filepath.Join(d.breaks, "cairn_detours.dll"), filepath.Join("testdata", "windowsdetours", "breakpoints.c")))
	copyTo(t, filepath.Join(d.hooks, "cairn_detours.exe"), d.counts)
	copyTo(t, filepath.Join(d.hooks, "cairn_detours.exe"), d.breaks)
	return d
}

// compile makes the DLL in a directory of a source among those of cairn.
func (d *detours) compile(t *testing.T, dir, source string, flags ...string) {
	t.Helper()
	args := append(strings.Fields("-Os -ffreestanding -fno-builtin -mgeneral-regs-only -mno-stack-arg-probe -fno-stack-protector -std=gnu11 -w "+
		`-fno-optimize-sibling-calls -DCAIRN_DEFAULT_DIR="" -DCAIRN_DEFAULTS="threshold=10ms" -shared -nostdlib`), flags...)
	cmd := command(t, mingw+"gcc", append(args, "-o", filepath.Join(dir, "cairn_detours.dll"), source, "-lkernel32")...)
	cmd.Dir = d.sources
	output(t, cmd)
}

// copyTo copies a file into a directory.
func copyTo(t *testing.T, path, dir string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, filepath.Base(path)), data, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// build compiles a program of testdata, without cairn.
func (d *detours) build(t *testing.T, source string, compiler ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), strings.TrimSuffix(source, filepath.Ext(source))+".exe")
	if _, err := exec.LookPath(compiler[0]); err != nil {
		t.Skip(err)
	}
	output(t, command(t, compiler[0], append(slices.Clone(compiler[1:]), "-o", program, filepath.Join("testdata", "windowsdetours", source))...))
	return program
}

// hooked runs a program by cairn, with others that it loads or starts, and returns its answer, its exit code and what cairn says.
func (d *detours) hooked(t *testing.T, logs, program string, also ...string) (answer string, code int, notes string) {
	t.Helper()
	args := []string{"watch", "run", "--detours", "--small", "0", "--dir", logs}
	for _, path := range also {
		args = append(args, "--also", path)
	}
	cmd := command(t, cairn, append(args, "--", program)...)
	cmd.Env = append(cmd.Env, d.env...)
	var said strings.Builder
	cmd.Stderr = &said
	out, _ := cmd.Output()
	return strings.ReplaceAll(string(out), "\r\n", "\n"), cmd.ProcessState.ExitCode(), said.String()
}

// counted runs a program whose calls a DLL counts, and returns its answer and the counts by address from the image's base.
func (d *detours) counted(t *testing.T, dir, plan, program string, args ...string) (answer string, counts map[uint64]uint64) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "counts")
	cmd := d.command(t, t.TempDir(), filepath.Join(dir, "cairn_detours.exe"), append([]string{"Z:" + program}, args...)...)
	cmd.Env = append(cmd.Env, "CAIRN_DETOURS=Z:"+plan, "CAIRN_COUNTS=Z:"+file)
	out, _ := cmd.Output()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	counts = map[uint64]uint64{}
	for line := range strings.Lines(string(data)) {
		at, n, _ := strings.Cut(strings.TrimSpace(line), " ")
		key, err := strconv.ParseUint(at, 16, 64)
		value, err2 := strconv.ParseUint(n, 16, 64)
		if err != nil || err2 != nil {
			t.Fatal(line)
		}
		counts[key] += value // a DLL may have been at several places
	}
	return strings.ReplaceAll(string(out), "\r\n", "\n"), counts
}

// plan plans hooks of all functions of a program, and of others.
func (d *detours) plan(t *testing.T, program string, also ...string) string {
	t.Helper()
	plan := filepath.Join(t.TempDir(), "plan")
	args := []string{"watch", "plan", "--small", "0", "-o", plan}
	for _, path := range also {
		args = append(args, "--also", path)
	}
	output(t, command(t, cairn, append(args, program)...))
	return plan
}

// symbolNames returns the names of functions by the keys of counts: of a program, and of its DLLs.
func symbolNames(t *testing.T, program string, also ...string) map[uint64]string {
	t.Helper()
	names := map[uint64]string{}
	for number, path := range append([]string{program}, also...) {
		for name, at := range imageSymbols(t, path) {
			if key := uint64(number)<<40 | at; !slices.Contains(ofThreads, names[key]) { // some have several names
				names[key] = name
			}
		}
	}
	return names
}

// imageSymbols returns the addresses of functions, from the image's base, by their names.
func imageSymbols(t *testing.T, program string) map[string]uint64 {
	t.Helper()
	f, err := pe.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	at, base := map[string]uint64{}, f.OptionalHeader.(*pe.OptionalHeader64).ImageBase
	for line := range strings.Lines(output(t, command(t, mingw+"nm", program))) {
		if f := strings.Fields(line); len(f) == 3 {
			addr, _ := strconv.ParseUint(f[0], 16, 64)
			at[f[2]] = addr - base
		}
	}
	return at
}

// leapt is the call of program.cc that longjmp left late.
const leapt = " > lander timed > middle timed > jumper timed left, middle ended, lander ended"

// programCalls are the calls of program.cc.
var programCalls = map[string]uint64{
	"_Z6workerPv": 4, "_Z7catcheri": 4000, "_Z7throweri": 4000, "_ZN7countedD1Ev": 8000, "_Z6landeri": 4001, "_Z6middleP5placei": 4001,
	"_Z6jumperP5placei": 4001, "_Z4madei": 4000, "_Z4manyiiiiiiiidd": 4000, "_Z4taili": 1, "_Z6targeti": 1,
	"_Z5outeri": 1, "_Z5stalli": 1, "_Z4leafi": 4002, "main": 1,
}

// program runs a program with threads, by several compilers, and looks for its calls and for the one that takes long.
func (d *detours) program(t *testing.T) {
	for _, compiler := range [][]string{
		{mingw + "g++", "-O2", "-static"},
		{mingw + "g++", "-O0", "-g", "-static", "-Wl,--build-id"},
		{"clang++-22", "--target=x86_64-w64-windows-gnu", "-fuse-ld=lld", "-O2", "-static", "-pthread", "-g"},
		// With a longjmp of its own, as of a C library that is linked in.
		{mingw + "g++", "-O2", "-static", "-DOWN_JUMP", "-Wl,--allow-multiple-definition", filepath.Join("testdata", "windowsdetours", "ownjump.S")},
	} {
		program := d.build(t, "program.cc", compiler...)
		late := " > outer timed > stall timed, outer ended"
		if compiler[0] == "clang++-22" { // stall is only a jump to Sleep
			late = " > outer timed"
		}
		want, wantCode := d.run(t, "", program)
		d.checkFound(t, []string{program}, func(logs string) {
			answer, code, notes := d.hooked(t, logs, program)
			if answer != want || code != wantCode || !strings.Contains(notes, "functions hooked\n") {
				t.Errorf("%v: it answers %q and %d, without hooks %q and %d; %s", compiler, answer, code, want, wantCode, notes)
			}
		}, []string{late, leapt})
		answer, counts := d.counted(t, d.counts, d.plan(t, program), program)
		if answer != want {
			t.Errorf("%v: it answers %q, without hooks %q", compiler, answer, want)
		}
		symbols := imageSymbols(t, program)
		for name, n := range programCalls {
			at, known := symbols[name]
			if got, ok := counts[at]; known && ok && got != n {
				t.Errorf("%v: %d calls of %s, want %d", compiler, got, name, n)
			} else if n > 1000 && !ok && known {
				t.Errorf("%v: %s is not hooked", compiler, name)
			}
		}
	}
}

// exceptions runs a program with structured exceptions.
func (d *detours) exceptions(t *testing.T) {
	program := d.build(t, "seh.c", "clang-22", "--target=x86_64-w64-windows-gnu", "-fms-extensions", "-fuse-ld=lld", "-O2", "-w")
	want, wantCode := d.run(t, "", program)
	if answer, code, notes := d.hooked(t, t.TempDir(), program); answer != want || code != wantCode || code != 3 {
		t.Errorf("it answers %q and %d, without hooks %q and %d; %s", answer, code, want, wantCode, notes)
	}
}

// late runs a program that loads the DLL while its threads and fibers run.
func (d *detours) late(t *testing.T) {
	program := d.build(t, "late.c", mingw+"gcc", "-O2", "-static")
	copyTo(t, filepath.Join(d.hooks, "cairn_detours.dll"), filepath.Dir(program))
	for range 5 {
		cmd := d.command(t, t.TempDir(), program)
		cmd.Env = append(cmd.Env, "CAIRN_DETOURS=Z:"+d.plan(t, program))
		if out, _ := cmd.Output(); string(out) != "1 0\r\n" || cmd.ProcessState.ExitCode() != 1 {
			t.Errorf("it answers %q and exit code %d", out, cmd.ProcessState.ExitCode())
		}
	}
}

// far loads a DLL of which the low half of the address is 0, as it may be anywhere above 4 GiB. One that has no room for the threads of a
// program hooks nothing, and says so.
func (d *detours) far(t *testing.T) {
	const enter = "-Wl,-e,__cairn_enter_library"
	dir, program := t.TempDir(), d.build(t, "late.c", mingw+"gcc", "-O2", "-static")
	d.compile(t, dir, "coff_detour.c", enter, "-Wl,--image-base,0x500000000,--disable-dynamicbase")
	copyTo(t, filepath.Join(d.hooks, "cairn_detours.exe"), dir)
	d.compile(t, filepath.Dir(program), "coff_detour.c", enter, "-DOTHERS=3")
	for _, c := range []struct {
		argv []string
		code int
		said string
	}{
		{[]string{filepath.Join(dir, "cairn_detours.exe"), "Z:" + program}, 1, ""},
		{[]string{program}, 0, "cairn: functions are not hooked: it has too many threads"},
	} {
		var said strings.Builder
		cmd := d.command(t, t.TempDir(), c.argv[0], c.argv[1:]...)
		cmd.Env = append(cmd.Env, "CAIRN_DETOURS=Z:"+d.plan(t, program))
		cmd.Stderr = &said
		if out, _ := cmd.Output(); string(out) != "1 0\r\n" || cmd.ProcessState.ExitCode() != c.code || strings.TrimSpace(said.String()) != c.said {
			t.Errorf("%v: it answers %q and exit code %d, and says %q", c.argv, out, cmd.ProcessState.ExitCode(), said.String())
		}
	}
}

// cost counts the instructions that a call of a function executes more with a detour, and with probes, a step at a time. docs/costs.md has
// them.
func (d *detours) cost(t *testing.T) {
	const calls, detour, probes = 20, 64, 10
	program := d.build(t, "cost.c", mingw+"gcc", "-O2", "-static")
	probed, plan := filepath.Join(t.TempDir(), "cost.exe"), filepath.Join(t.TempDir(), "plan")
	output(t, command(t, cairn, "cc", "--mode", "spike", "--small", "0", "--only", "^leaf$", mingw+"gcc", "-O2", "-static", "-o", probed, filepath.Join("testdata", "windowsdetours", "cost.c")))
	output(t, command(t, cairn, "watch", "plan", "--small", "0", "--only", "^leaf$", "-o", plan, program))
	count := func(argv ...string) int {
		cmd := d.command(t, t.TempDir(), argv[0], argv[1:]...)
		cmd.Env = append(cmd.Env, "CAIRN_DETOURS=Z:"+plan, "CAIRN_SPIKE=threshold=900s,period=1s") // no call is judged
		n, err := strconv.Atoi(strings.TrimSpace(output(t, cmd)))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	plain := count(program)
	if n := count(filepath.Join(d.hooks, "cairn_detours.exe"), "Z:"+program) - plain; n != calls*detour {
		t.Errorf("%d instructions by %d detours, want %d for each", n, calls, detour)
	}
	if n := count(probed) - plain; n < calls*probes || n > calls*(probes+2) { // with what the compiler changes around the calls
		t.Errorf("%d instructions by probes of %d calls, want about %d for each", n, calls, probes)
	}
}

// ofThreads are functions that also run in the thread of cairn's clock.
var ofThreads = []string{
	"__dyn_tls_init", "__dyn_tls_dtor", "__dyn_tls_pthread", "__mingw_TLScallback",
	"DllEntryPoint", "DllMainCRTStartup", "__DllMainCRTStartup", "_CRT_INIT", "DllMain", "_pei386_runtime_relocator", // of DLLs
}

// strangers compares calls in programs of others, with their symbols and without, with those that reach breakpoints.
func (d *detours) strangers(t *testing.T) {
	script, input := filepath.Join(t.TempDir(), "a.lua"), filepath.Join(t.TempDir(), "a.txt")
	text := strings.Repeat(windowsScript, 20)
	for path, data := range map[string]string{script: windowsScript, input: text} {
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, g := range []struct {
		debian, compiler string
		files            []string
		without, app     string // app: its source, and the files are a DLL
		flags            []string
		args             []string
		called           int    // functions at least
		calls            uint64 // at least
		long             bool
	}{
		// Lua has seeds and a cache that depend on addresses, which differ from run to run.
		{"lua5.4", "gcc", []string{"src/l*.c"}, "luac.c", "", []string{"-Dluai_makeseed(L)=1", "-DSTRCACHE_N=1", "-DSTRCACHE_M=2"}, []string{"Z:" + script}, 70, 5000, false},
		// These 11,520 bytes are few calls, most of them inlined: by gcov, 442 of zlib's functions in its source.
		{"zlib", "gcc", []string{"*.c"}, "", "test/minigzip.c", nil, []string{"-c", "Z:" + input}, 50, 400, false},
		{"libjsoncpp", "g++", []string{"src/lib_json/*.cpp", "src/test_lib_json/*.cpp"}, "", "", []string{"-Iinclude", "-Isrc/lib_json"}, nil, 70, 5000, true},
	} {
		if g.long && testing.Short() {
			continue
		}
		_, _, sources := fetchGuest(t, &tailguests.Guest{Name: g.debian, Debian: g.debian})
		dir := t.TempDir()
		program, links, also := filepath.Join(dir, "app.exe"), []string{"-static", "-o", filepath.Join(dir, "app.exe")}, []string(nil)
		if g.app != "" {
			also = []string{filepath.Join(dir, "lib.dll")}
			links = []string{"-shared", "-o", also[0]}
		}
		build := func(args ...string) {
			cmd := command(t, mingw+g.compiler, slices.Concat([]string{"-O2", "-w", "-I."}, g.flags, args)...)
			cmd.Dir = sources
			output(t, cmd)
		}
		var files []string
		for _, glob := range g.files {
			for _, name := range mustGlob(t, filepath.Join(sources, glob)) {
				if filepath.Base(name) != g.without {
					files = append(files, name)
				}
			}
		}
		if build(append(links, files...)...); g.app != "" {
			build("-o", program, g.app, also[0])
		}
		names := symbolNames(t, program, also...)
		for _, what := range []string{g.debian, g.debian + ", stripped"} {
			if called, calls := d.stranger(t, what, program, names, g.args, also...); called < g.called || calls < g.calls {
				t.Errorf("%s: %d functions are called %d times: that proves little", what, called, calls)
			}
			output(t, command(t, mingw+"strip", append(also, program)...))
		}
	}
}

// stranger compares the calls of a program, and returns how many there are, and of how many functions.
func (d *detours) stranger(t *testing.T, what, program string, names map[uint64]string, args []string, also ...string) (called int, calls uint64) {
	t.Helper()
	plain, _ := d.run(t, "", program, args...)
	plan := d.plan(t, program, also...)
	answer, counts := d.counted(t, d.counts, plan, program, args...)
	other, want := d.counted(t, d.breaks, plan, program, args...)
	if answer != plain || other != plain {
		t.Errorf("%s: the answer differs", what)
	}
	for at, name := range names {
		if slices.Contains(ofThreads, name) {
			delete(counts, at)
			delete(want, at)
		}
	}
	for at, n := range want {
		if calls += n; n > 0 {
			called++
		}
		if counts[at] != n {
			t.Errorf("%s: %d calls of %s, %d reach a breakpoint", what, counts[at], names[at], n)
		}
	}
	if len(counts) != len(want) {
		t.Errorf("%s: %d functions, by breakpoints %d, of which %d are called %d times", what, len(counts), len(want), called, calls)
	}
	t.Logf("%s: %d calls of %d functions, %d hooked", what, calls, called, len(want))
	return called, calls
}

// refused looks at what is not hooked, and why: the program runs all the same.
func (d *detours) refused(t *testing.T) {
	program := d.build(t, "program.cc", mingw+"g++", "-O2", "-static")
	other := d.build(t, "seh.c", "clang-22", "--target=x86_64-w64-windows-gnu", "-fms-extensions", "-fuse-ld=lld", "-O2", "-w")
	want, code := d.run(t, "", program)
	changed, short := filepath.Join(t.TempDir(), "changed"), filepath.Join(t.TempDir(), "short")
	data, err := os.ReadFile(d.plan(t, program))
	if err != nil {
		t.Fatal(err)
	}
	os.WriteFile(short, data[:len(data)/2], 0o600)
	const head, original = 80, 12
	data[head+original] ^= 1
	os.WriteFile(changed, data, 0o600)
	for _, c := range []struct{ plan, why string }{
		{"Z:" + d.plan(t, other), "its plan is of another program"},
		{"Z:" + changed, "its code differs from its file"},
		{"Z:" + short, "the plan is truncated"},
		{"Z:" + changed + ".none", "the plan cannot be read"},
		{"", "CAIRN_DETOURS does not name a plan"},
	} {
		cmd := d.command(t, t.TempDir(), filepath.Join(d.hooks, "cairn_detours.exe"), "Z:"+program)
		cmd.Env = append(cmd.Env, "CAIRN_DETOURS="+c.plan)
		var said strings.Builder
		cmd.Stderr = &said
		out, _ := cmd.Output()
		if strings.ReplaceAll(string(out), "\r\n", "\n") != want || cmd.ProcessState.ExitCode() != code || !strings.Contains(said.String(), "not hooked: "+c.why) {
			t.Errorf("%s: it answers %q and %d: %s", c.why, out, cmd.ProcessState.ExitCode(), said.String())
		}
	}
	dll := filepath.Join(t.TempDir(), "a.dll")
	output(t, command(t, mingw+"gcc", "-shared", "-o", dll, filepath.Join("testdata", "windowsdetours", "late.c")))
	if out, err := command(t, cairn, "watch", "plan", "-o", os.DevNull, dll).CombinedOutput(); err == nil || !strings.Contains(string(out), "a DLL: give the program that loads it, and the DLL by --also") {
		t.Errorf("%v: %s", err, out)
	}
}

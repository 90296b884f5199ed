//go:build linux && amd64

package oracle

import (
	"debug/macho"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cairnprof/cairn/internal/shorttest"
	"github.com/cairnprof/cairn/prof"
	"github.com/cairnprof/cairn/proof/tailguests"
)

// apple is a system of Apple that programs are built for, and run by a loader for tests.
type apple struct {
	target   string
	compiler string // of the loader
	emulator []string
}

var (
	macOS = apple{target: "x86_64-apple-macos11", compiler: "gcc"}
	iOS   = apple{target: "arm64-apple-ios15", compiler: "aarch64-linux-gnu-gcc", emulator: []string{"qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"}}
)

// loaderBase is where the loader puts a program, whose addresses begin at programBase.
const (
	loaderBase  = 0x7e0000000000
	programBase = 0x100000000
)

var loaders = map[string]func() (string, error){}

func init() {
	for _, a := range []apple{macOS, iOS} {
		loaders[a.target] = sync.OnceValues(func() (string, error) {
			to := filepath.Join(workDir, "loader-"+a.target)
			return to, shorttest.MachOLoader(a.compiler, filepath.Join("testdata", "macho"), to, "-lstdc++")
		})
	}
}

// args returns what clang is given for a program of some sources.
func (a apple) args(t *testing.T, flags string, sources ...string) []string {
	t.Helper()
	return a.argsWith(t, []string{machOFile(t, "include")}, flags, sources...)
}

// argsWith is args with the directories of system headers.
func (a apple) argsWith(t *testing.T, headers []string, flags string, sources ...string) []string {
	t.Helper()
	for _, tool := range append([]string{a.compiler, "ld64.lld-22"}, a.emulator[:min(1, len(a.emulator))]...) {
		mustHave(t, tool)
	}
	args := []string{"-target", a.target, "-nostdlibinc"}
	for _, dir := range headers {
		args = append(args, "-isystem", dir)
	}
	args = append(args, "-w", "-fuse-ld=lld", "-nostdlib", "-Wl,-no_fixup_chains", machOFile(t, "libSystem.tbd"))
	return append(append(args, strings.Fields(flags)...), sources...)
}

// machOFile returns the absolute path of what programs are built with.
func machOFile(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", "macho", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// load is the command that runs a program, by the words before it.
func (a apple) load(t *testing.T, words []string, program string, args ...string) *exec.Cmd {
	t.Helper()
	loader, err := loaders[a.target]()
	if err != nil {
		t.Fatal(err)
	}
	words = append(append(words[:len(words):len(words)], loader, program), args...)
	return command(t, words[0], words[1:]...)
}

// run runs a program with probes and returns its answer and the profile.
func (a apple) run(t *testing.T, program string, args ...string) (string, *prof.Module) {
	t.Helper()
	raws := t.TempDir()
	cmd := a.load(t, a.emulator, program, args...)
	cmd.Env = append(cmd.Env, "CAIRN_DIR="+raws)
	answer := output(t, cmd)
	return answer, profile(t, program, raws)
}

// observed runs a program with probes on a processor in software, qemu's or valgrind's, which
// counts instructions. The order is known of qemu's.
func (a apple) observed(t *testing.T, program string, args ...string) (answer string, ran execution, seen []firstCall, m *prof.Module) {
	t.Helper()
	if a.emulator == nil {
		mustHave(t, "valgrind")
		raws, out := t.TempDir(), filepath.Join(t.TempDir(), "callgrind.out")
		cmd := a.load(t, underCallgrind(out, "--dump-instr=yes", "--"), program, args...)
		cmd.Env = append(cmd.Env, "CAIRN_DIR="+raws, fmt.Sprintf("LOADER_BASE=%#x", uint64(loaderBase)))
		answer = output(t, cmd)
		all := executed(t, out, "???")
		ran.instr = map[uint64]uint64{}
		for at, n := range all.instr {
			ran.instr[at-loaderBase+programBase] = n
		}
		return answer, ran, nil, profile(t, program, raws)
	}
	raws := t.TempDir()
	m = emptyProfile(t, program)
	w := walk{entries: map[uint64]bool{}, ran: execution{instr: map[uint64]uint64{}}, first: map[uint64]bool{}, exec: true, bias: loaderBase - programBase}
	for i := range m.Funcs {
		w.entries[m.Funcs[i].Addr()] = true
	}
	f, err := macho.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text := f.Segment("__TEXT")
	w.low = text.Addr
	if w.code, err = text.Data(); err != nil {
		t.Fatal(err)
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	cmd := a.load(t, append(a.emulator[:len(a.emulator):len(a.emulator)], "-singlestep", "-d", "exec,nochain", "-D", "/dev/fd/3"), program, args...)
	cmd.Env = append(cmd.Env, "CAIRN_DIR="+raws, fmt.Sprintf("LOADER_BASE=%#x", uint64(loaderBase)))
	cmd.ExtraFiles = []*os.File{writer}
	failed := make(chan error, 1)
	go func() { failed <- w.read(reader) }()
	answer = output(t, cmd)
	writer.Close()
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
	return answer, w.ran, w.seen, profile(t, program, raws)
}

// TestMachORecords compares what probes record with the counts of processors in software: calls,
// blocks, and, on arm64, the order of first executions and the first callers.
func TestMachORecords(t *testing.T) {
	t.Parallel()
	source := filepath.Join("testdata", "flow.c")
	type row struct {
		system apple
		flags  string
	}
	for _, v := range shorttest.Rows(
		1,
		row{iOS, "-O2"},
		row{iOS, "-O0"},
		row{iOS, "-Oz -fno-asynchronous-unwind-tables"},
		row{iOS, "-O2 -g -Wl,-dead_strip"},
		row{macOS, "-O2 -Wl,-dead_strip"},
		row{macOS, "-O0"},
		row{macOS, "-Os -g -fno-asynchronous-unwind-tables"},
	) {
		t.Run(v.system.target+v.flags, func(t *testing.T) {
			t.Parallel()
			args := v.system.args(t, v.flags, source)
			want := output(t, v.system.load(t, v.system.emulator, build(t, "", "clang-22", args...)))
			for _, mode := range []string{"full", "block+order"} {
				answer, ran, seen, m := v.system.observed(t, build(t, mode, "clang-22", args...))
				checkAnswer(t, answer, want)
				checkCovered(t, m, ran)
				if mode == "full" {
					checkCalls(t, m, ran)
				}
				if v.system.emulator != nil {
					checkOrder(t, m, seen)
				}
			}
		})
	}
}

// TestMachOObjectiveC compares methods, whose names are no words of C.
func TestMachOObjectiveC(t *testing.T) {
	t.Parallel()
	skipLong(t)
	source := filepath.Join("testdata", "macho", "counter.m")
	for _, system := range []apple{macOS, iOS} {
		t.Run(system.target, func(t *testing.T) {
			t.Parallel()
			args := system.args(t, "-O1", source)
			want := output(t, system.load(t, system.emulator, build(t, "", "clang-22", args...)))
			program := build(t, "full", "clang-22", args...)
			answer, ran, _, m := system.observed(t, program)
			checkAnswer(t, answer, want)
			checkCovered(t, m, ran)
			checkCalls(t, m, ran)
			if system.emulator != nil { // of a message, the emulator's log does not have the caller, which mode full records
				_, _, seen, m := system.observed(t, build(t, "block+order", "clang-22", args...))
				checkOrder(t, m, seen)
			}
			calls := machOCalls(m)
			for name, n := range map[string]uint64{"+[Counter make]": 2, "-[Counter add:]": 7, "-[Louder add:]": 7, "-[Counter twice:plus:]": 14, "-[Counter never]": 0, "helper": 2} {
				if got, ok := calls[name]; !ok || got != n {
					t.Errorf("%s: %d calls (%t), want %d of %v", name, got, ok, n, calls)
				}
			}
			order := output(t, command(t, cairn, "order", profileFile(t, system, program), "--format", "ld64", "-o", "-"))
			if !strings.Contains(order, "\n-[Counter twice:plus:]\n") {
				t.Errorf("the order has no method as ld64 spells it:\n%s", order)
			}
		})
	}
}

// TestMachOZlib compares a real program: what zlib's authors wrote to run all paths of inflate.
func TestMachOZlib(t *testing.T) {
	t.Parallel()
	skipLong(t)
	_, _, zlib := fetchGuest(t, &tailguests.Guest{Name: "zlib", Debian: "zlib"})
	var sources []string
	for _, name := range []string{"inflate.c", "infback.c", "inftrees.c", "inffast.c", "adler32.c", "crc32.c", "zutil.c", "test/infcover.c"} {
		sources = append(sources, filepath.Join(zlib, name))
	}
	for _, system := range []apple{macOS, iOS} {
		t.Run(system.target, func(t *testing.T) {
			t.Parallel()
			args := system.args(t, "-O2 -Wl,-dead_strip -I"+zlib, sources...)
			want := output(t, system.load(t, system.emulator, build(t, "", "clang-22", args...)))
			answer, ran, seen, m := system.observed(t, build(t, "full", "clang-22", args...))
			checkAnswer(t, answer, want)
			checkCovered(t, m, ran)
			checkCalls(t, m, ran)
			if system.emulator != nil {
				checkOrder(t, m, seen)
			}
		})
	}
}

// TestMachODump makes a program write its files on demand, and to another directory.
func TestMachODump(t *testing.T) {
	t.Parallel()
	for _, system := range []apple{macOS, iOS} {
		t.Run(system.target, func(t *testing.T) {
			t.Parallel()
			args := system.args(t, "-O2", filepath.Join("testdata", "macho", "dump.c"))
			plain := build(t, "", "clang-22", append(args, "-I../../internal/runtime/nativert/c")...)
			checkAnswer(t, output(t, system.load(t, system.emulator, plain, "x")), "-1 -1 19\n")
			program := build(t, "count", "clang-22", args...)
			dir := t.TempDir()
			first, second, none := filepath.Join(dir, "first"), filepath.Join(dir, "second"), filepath.Join(dir, "missing", "third")
			cmd := system.load(t, system.emulator, program, second, none)
			cmd.Env = append(cmd.Env, "CAIRN_DIR="+first)
			var complaint strings.Builder
			cmd.Stderr = &complaint
			answer, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			checkAnswer(t, string(answer), "0 0 -1 27\n")
			if !strings.Contains(complaint.String(), "cairn: cannot write "+none) {
				t.Errorf("said %q", complaint.String())
			}
			for dir, want := range map[string]int{first: 0, second: 2} {
				if raws, _ := filepath.Glob(filepath.Join(dir, "*")); len(raws) != want {
					t.Errorf("%s: %q, want %d files", dir, raws, want)
				}
			}
			file := filepath.Join(dir, "run.mip")
			output(t, command(t, cairn, "merge", "--strict", "-o", file, program, second))
			m := readProfile(t, file)
			calls := map[string]uint64{}
			for i := range m.Funcs {
				calls[m.Funcs[i].Name] = m.Counts[i].Calls
			}
			if _, ok := calls["skipped"]; ok || calls["early"] != 1 || calls["late"] != 1 || calls["main"] != 1 {
				t.Errorf("calls %v", calls)
			}
		})
	}
}

//go:build linux && amd64

package oracle

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/shorttest"
	"github.com/cairnprof/cairn/prof"
)

// machOCalls returns the calls of functions by name; of those of one name, the sum.
func machOCalls(m *prof.Module) map[string]uint64 {
	calls := map[string]uint64{}
	for i := range m.Funcs {
		calls[m.Funcs[i].Name] += m.Counts[i].Calls
	}
	return calls
}

// compileMachO compiles sources to objects, with probes in a mode unless that is "".
func compileMachO(t *testing.T, system apple, mode, dir string, sources ...string) []string {
	t.Helper()
	var objects []string
	for _, s := range sources {
		object := filepath.Join(dir, strings.TrimSuffix(s, filepath.Ext(s))+".o")
		argv := []string{"clang++-22", "-target", system.target, "-nostdlibinc", "-isystem", "testdata/macho/include", "-O1", "-g", "-c", "-o", object, filepath.Join("testdata/macho", s)}
		if mode != "" {
			argv = append([]string{cairn, "cc", "--mode", mode}, argv...)
		}
		output(t, command(t, argv[0], argv[1:]...))
		objects = append(objects, object)
	}
	return objects
}

// codeSymbols returns the names of functions in the order of a program's code.
func codeSymbols(t *testing.T, program string) (names []string) {
	t.Helper()
	for _, line := range strings.Split(output(t, command(t, "llvm-nm-22", "-n", program)), "\n") {
		if f := strings.Fields(line); len(f) == 3 && strings.EqualFold(f[1], "t") && f[2] != "__mh_execute_header" {
			names = append(names, f[2])
		}
	}
	return names
}

// TestMachOLink drops functions with -dead_strip, takes inline functions from one of two
// objects, and lets the programs of LLVM read what comes of it.
func TestMachOLink(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"llvm-objcopy-22", "llvm-dwarfdump-22", "dsymutil-22", "llvm-objdump-22"} {
		mustHave(t, tool)
	}
	for _, system := range shorttest.Rows(1, iOS, macOS) {
		t.Run(system.target, func(t *testing.T) {
			t.Parallel()
			args := system.args(t, "-O1 -g")
			dir := t.TempDir()
			objects := compileMachO(t, system, "full", dir, "app.cc", "lib.cc")
			want := output(t, system.load(t, system.emulator, build(t, "", "clang++-22", append(args, "testdata/macho/app.cc", "testdata/macho/lib.cc")...)))
			for _, strip := range []bool{false, true} {
				flags := objects
				if strip {
					flags = append([]string{"-Wl,-dead_strip"}, objects...)
				}
				program := build(t, "full", "clang++-22", append(args, flags...)...)
				answer, m := system.run(t, program)
				checkAnswer(t, answer, want)
				calls := machOCalls(m)
				for name, want := range map[string]uint64{"main": 1, "init": 2, "from_lib": 1, "_Z8from_libi": 1, "_Z6commoni": 2, "_ZN3boxIiE4openEv": 2, "_Z4lasti": 1, "_ZL4initi": 2} {
					if got, ok := calls[name]; ok && got != want {
						t.Errorf("%s: %d calls, want %d", name, got, want)
					}
				}
				if _, ok := calls["_Z6unusedi"]; ok == strip || calls["_Z6commoni"] != 2 || calls["_ZL4initi"] != 2 {
					t.Errorf("dead_strip %t: %v", strip, calls)
				}
				if n := len(slices.Compact(slices.Sorted(slices.Values(functionNames(m))))); n != len(m.Funcs)-1 { // init is there twice
					t.Errorf("%d functions of %d names", len(m.Funcs), n)
				}
				for _, argv := range [][]string{
					{"llvm-objdump-22", "--macho", "--private-headers", "--unwind-info", "--disassemble", program},
					{"dsymutil-22", program},
					{"llvm-dwarfdump-22", "--verify", program + ".dSYM"},
				} {
					if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil || strings.Contains(string(out), "warning:") {
						t.Errorf("%v: %v\n%.2000s", argv, err, out)
					}
				}
				shown := output(t, command(t, cairn, "covered", "--lines", "--debug", program, profileFile(t, system, program)))
				if !strings.Contains(shown, "app.cc") {
					t.Errorf("covered --lines: %s", shown)
				}
				checkShipped(t, system, program, want)
			}
		})
	}
}

func functionNames(m *prof.Module) []string {
	names := make([]string, len(m.Funcs))
	for i := range m.Funcs {
		names[i] = m.Funcs[i].Name
	}
	return names
}

// profileFile runs a program and returns the file of its profile.
func profileFile(t *testing.T, system apple, program string, args ...string) string {
	t.Helper()
	dir := t.TempDir()
	cmd := system.load(t, system.emulator, program, args...)
	cmd.Env = append(cmd.Env, "CAIRN_DIR="+filepath.Join(dir, "raw"))
	output(t, cmd)
	file := filepath.Join(dir, "run.mip")
	output(t, command(t, cairn, "merge", "--strict", "-o", file, program, filepath.Join(dir, "raw")))
	return file
}

// checkShipped takes the map out of a program, which then runs as before, holds nothing of it,
// and is merged with the map's file.
func checkShipped(t *testing.T, system apple, program, want string) {
	t.Helper()
	shipped, file := program+".shipped", program+".mipmap"
	output(t, command(t, cairn, "map", program, "-o", file))
	output(t, command(t, "llvm-objcopy-22", "--remove-section", "__CAIRN,__cairn_map", program, shipped))
	output(t, command(t, "llvm-strip-22", "-x", "-S", shipped))
	data, err := os.ReadFile(shipped)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"app.cc", "_ZL4initi", "_Z6commoni"} {
		if strings.Contains(string(data), name) {
			t.Errorf("%s ships", name)
		}
	}
	raws := t.TempDir()
	cmd := system.load(t, system.emulator, shipped)
	cmd.Env = append(cmd.Env, "CAIRN_DIR="+raws)
	checkAnswer(t, output(t, cmd), want)
	merged := filepath.Join(t.TempDir(), "shipped.mip")
	output(t, command(t, cairn, "merge", "--strict", "-o", merged, file, raws))
	if calls := machOCalls(readProfile(t, merged)); calls["main"] != 1 {
		t.Errorf("calls of what shipped: %v", calls)
	}
}

// TestMachOOrder links a program in the order of its start, in which two static functions of
// one name are told apart by their objects.
func TestMachOOrder(t *testing.T) {
	t.Parallel()
	for _, system := range shorttest.Rows(1, iOS, macOS) {
		t.Run(system.target, func(t *testing.T) {
			t.Parallel()
			args := system.args(t, "-O1")
			dir := t.TempDir()
			probed, plain := filepath.Join(dir, "probed"), filepath.Join(dir, "plain")
			for _, d := range []string{probed, plain} {
				if err := os.Mkdir(d, 0o777); err != nil {
					t.Fatal(err)
				}
			}
			program := build(t, "order", "clang++-22", append(args, compileMachO(t, system, "order", probed, "app.cc", "lib.cc")...)...)
			profiled := profileFile(t, system, program)
			objects := compileMachO(t, system, "", plain, "app.cc", "lib.cc")
			before := build(t, "", "clang++-22", append(args, objects...)...)
			file := filepath.Join(dir, "app.order")
			output(t, command(t, cairn, "order", "--algorithm", "first", "--binary", before, "--objects", plain, "--format", "ld64", "-o", file, profiled))
			ordered := build(t, "", "clang++-22", append(append(args, "-Wl,-order_file,"+file), objects...)...)
			// main calls the static function of its own file, from_lib that of the other.
			want := []string{"_main", "__ZL4initi", "__Z8from_libi", "__ZL4initi", "__Z6commoni", "__ZN3boxIiE4openEv", "__Z4lasti"}
			got := codeSymbols(t, ordered)
			if len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
				text, _ := os.ReadFile(file)
				t.Errorf("the code begins with %q, want %q; the order file:\n%s", got, want, text)
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			first, second := strings.Index(string(text), "app.o:__ZL4initi"), strings.Index(string(text), "lib.o:__ZL4initi")
			if first < 0 || second < first {
				t.Errorf("the order file:\n%s", text)
			}
			checkAnswer(t, output(t, system.load(t, system.emulator, ordered)), output(t, system.load(t, system.emulator, before)))
			shown := output(t, command(t, cairn, "pages", ordered, "-p", profiled, "--before", before, "--page-size", "16384"))
			if !regexp.MustCompile(`(?m)^\(no name\) +1 +7 `).MatchString(shown) {
				t.Errorf("pages: %s", shown)
			}
			used := filepath.Join(dir, "used")
			argv := append([]string{"cc", "--use", profiled, "clang++-22"}, append(append(args, objects...), "-o", used)...)
			output(t, command(t, cairn, argv...))
			if got := codeSymbols(t, used); len(got) < 1 || got[0] != "_main" {
				t.Errorf("--use: the code begins with %q", got)
			}
		})
	}
}

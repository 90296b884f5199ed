//go:build linux && amd64

package oracle

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/shorttest"
	"github.com/cairnprof/cairn/prof"
	"github.com/cairnprof/cairn/proof/tailguests"
)

// TestMachOLTO compares what probes record in code that ld64.lld makes of bitcode with the counts of processors in
// software, in all modes that record.
func TestMachOLTO(t *testing.T) {
	t.Parallel()
	type row struct {
		system   apple
		compiler string
		flags    string
		sources  string
	}
	for _, v := range shorttest.Rows(
		1,
		row{iOS, "clang-22", "-O2 -flto=thin -Wl,-dead_strip", "testdata/flow.c"},
		row{iOS, "clang++-22", "-O1 -flto -g -Wl,-export_dynamic", "testdata/macho/app.cc testdata/macho/lib.cc"},
		row{iOS, "clang++-22", "-O2 -flto=thin", "testdata/macho/app.cc testdata/macho/lib.cc"},
		row{iOS, "clang-22", "-Os -flto", "testdata/macho/counter.m"},
		row{macOS, "clang-22", "-O2 -flto -Wl,-mllvm,-inline-threshold=10", "testdata/flow.c"},
		row{macOS, "clang++-22", "-O1 -flto=thin -g", "testdata/macho/app.cc testdata/macho/lib.cc"},
		row{macOS, "clang-22", "-O0 -flto=thin -Wl,--lto-O0", "testdata/flow.c"},
	) {
		t.Run(v.system.target+v.flags, func(t *testing.T) {
			t.Parallel()
			args := v.system.args(t, v.flags, strings.Fields(v.sources)...)
			want := output(t, v.system.load(t, v.system.emulator, build(t, "", v.compiler, args...)))
			for _, mode := range shorttest.Rows(2, "full", "block+order", "cover", "count", "block", "order") {
				answer, ran, seen, m := v.system.observed(t, build(t, mode, v.compiler, args...))
				checkAnswer(t, answer, want)
				if kind := m.Funcs[0].Mode; kind.HasBlocks() {
					checkCovered(t, m, ran)
				} else {
					checkRan(t, m, ran)
				}
				if mode == "full" || mode == "count" {
					checkCalls(t, m, ran)
				}
				if v.system.emulator != nil && strings.HasSuffix(mode, "order") {
					checkOrder(t, m, seen)
				}
			}
		})
	}
}

// checkRan compares which functions ran.
func checkRan(t *testing.T, m *prof.Module, ran execution) {
	t.Helper()
	some := 0
	for i := range m.Funcs {
		f := &m.Funcs[i]
		if got, want := m.Counts[i].Runs > 0, ran.instr[f.Addr()] > 0; got != want {
			t.Errorf("%s: ran: %t, a processor in software says %t", f.Name, got, want)
		} else if got {
			some++
		}
	}
	if some == 0 {
		t.Error("nothing ran: that proves nothing")
	}
}

// TestMachOLTOSame: the code that gets probes is that which the linker would have made: where nothing is selected, the
// objects have the linker's own instructions.
func TestMachOLTOSame(t *testing.T) {
	t.Parallel()
	mustHave(t, "llvm-objdump-22")
	_, _, zlib := fetchGuest(t, &tailguests.Guest{Name: "zlib", Debian: "zlib"})
	var sources []string
	for _, name := range []string{"inflate.c", "infback.c", "inftrees.c", "inffast.c", "adler32.c", "crc32.c", "zutil.c", "test/infcover.c"} {
		sources = append(sources, filepath.Join(zlib, name))
	}
	for _, system := range []apple{macOS, iOS} {
		for _, flags := range shorttest.Rows(1, "-O2 -flto=thin", "-O2 -flto", "-Oz -flto", "-O3 -flto=thin -Wl,--lto-O3", "-O1 -flto -Wl,--lto-CGO0") {
			t.Run(system.target+strings.ReplaceAll(flags, ",", ""), func(t *testing.T) { // lists of options have no such directories
				t.Parallel()
				args := system.args(t, flags+" -I"+zlib, sources...)
				plain, same := t.TempDir(), t.TempDir()
				build(t, "", "clang-22", append(args, "-Wl,-object_path_lto,"+plain)...)
				build(t, "full --only no.function.has.this.name", "clang-22", append(args, "-Wl,-object_path_lto,"+same)...)
				names := baseNames(t, plain)
				if got := baseNames(t, same); !slices.Equal(got, names) || len(got) == 0 {
					t.Fatalf("objects %q, the linker's own %q", got, names)
				}
				size := 0
				for _, name := range names {
					want, got := machOText(t, filepath.Join(plain, name)), machOText(t, filepath.Join(same, name))
					if size += len(want); want != got {
						t.Errorf("%s: %d bytes of instructions differ from the linker's own %d", name, len(got), len(want))
					}
				}
				if size < 50000 {
					t.Errorf("only %d bytes of instructions", size)
				}
			})
		}
	}
}

func baseNames(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names
}

// machOText returns the instructions of a Mach-O object with what they refer to. Assemblers pad by instructions of other
// lengths if they are not told the processor.
func machOText(t *testing.T, object string) string {
	t.Helper()
	var lines []string
	for line := range strings.Lines(output(t, command(t, "llvm-objdump-22", "-dr", "--no-show-raw-insn", "--no-leading-addr", object))) {
		if f := strings.Fields(line); len(f) > 0 && !strings.HasPrefix(f[0], "nop") && f[0] != object+":" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// TestMachOLTOLinks links bitcode in archives, beside members with machine code, and in files that lists name, by a driver
// and by a linker that a build starts itself, with all that the linker keeps of it.
func TestMachOLTOLinks(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"llvm-ar-22", "dsymutil-22"} {
		mustHave(t, tool)
	}
	for _, v := range shorttest.Rows(
		1,
		ltoLink{iOS, "-flto=thin", true},
		ltoLink{iOS, "-flto", false},
		ltoLink{macOS, "-flto=thin", false},
		ltoLink{macOS, "-flto", true},
	) {
		t.Run(v.system.target+v.kind, func(t *testing.T) {
			t.Parallel()
			plain, full := v.build(t, ""), v.build(t, "full")
			want := output(t, v.system.load(t, v.system.emulator, plain))
			answer, m := v.system.run(t, full)
			checkAnswer(t, answer, want)
			calls := machOCalls(m)
			for name, want := range map[string]uint64{"main": 1, "fast": 1, "helper": 1, "native_part": 2, "called_back": 2, "forced": 1, "unused_in_archive": 0} {
				if got, ok := calls[name]; !ok || got != want {
					t.Errorf("%s: %d calls (%t), want %d", name, got, ok, want)
				}
			}
			if _, linked := calls["never_linked"]; linked {
				t.Error("a member that nothing needs is linked")
			}
			file := profileFile(t, v.system, full)
			shown := output(t, command(t, cairn, "covered", "--unknown", file, full))
			if !strings.Contains(shown, "never_linked") {
				t.Errorf("not listed: a function that is in no program: %s", shown)
			}
			if v.byHand {
				v.checkKept(t, full, file)
			}
			used := v.build(t, "--use "+file)
			checkAnswer(t, output(t, v.system.load(t, v.system.emulator, used)), want)
			if got := codeSymbols(t, used); len(got) < 3 || !slices.Equal(got[:2], []string{"_main", "_fast"}) && got[0] != "_forced" {
				t.Errorf("--use: the code begins with %q", got)
			}
		})
	}
}

// ltoLink is a link of bitcode for a system of Apple.
type ltoLink struct {
	system apple
	kind   string
	byHand bool // the build starts the linker
}

// build compiles and links a program in a directory, by a build in a mode, or with flags, unless that is "".
func (l ltoLink) build(t *testing.T, mode string) string {
	t.Helper()
	dir := t.TempDir()
	link := "clang-22 -target " + l.system.target + " " + l.kind + " -fuse-ld=lld -nostdlib -Wl,-no_fixup_chains " + machOFile(t, "libSystem.tbd") +
		" -Wl,-filelist,list -L. -lmix -Wl,-hidden-lhid -Wl,-force_load,libforce.a -Wl,-export_dynamic -o program"
	if l.byHand {
		platform := "-arch arm64 -platform_version ios 15.0 15.0"
		if l.system.emulator == nil {
			platform = "-arch x86_64 -platform_version macos 11.0 11.0"
		}
		link = "ld64.lld-22 " + platform + " -no_fixup_chains " + machOFile(t, "libSystem.tbd") +
			" -filelist list -L. -lmix -hidden-lhid -force_load libforce.a -export_dynamic -o program -save-temps -object_path_lto kept -dependency_info depends"
	}
	sources, err := filepath.Abs(filepath.Join("testdata", "macho", "lto"))
	if err != nil {
		t.Fatal(err)
	}
	script := "set -e; for f in main fast back hidden forced never; do clang-22 -target " + l.system.target + " -O2 -g " + l.kind + " -c " + sources + "/$f.c -o $f.o; done; " +
		"clang-22 -target " + l.system.target + " -O2 -g -c " + sources + "/native.c -o native.o; " +
		"llvm-ar-22 rcs libmix.a fast.o native.o back.o never.o; llvm-ar-22 rcs libhid.a hidden.o; llvm-ar-22 rcs libforce.a forced.o; " +
		"echo main.o > list; mkdir kept; " + link
	argv := []string{"sh", "-c", script}
	switch {
	case strings.HasPrefix(mode, "--use"):
		argv = append(append([]string{cairn, "build"}, strings.Fields(mode)...), append([]string{"--"}, argv...)...)
	case mode != "":
		argv = append([]string{cairn, "build", "--strict", "--mode", mode, "--"}, argv...)
	}
	cmd := command(t, argv[0], argv[1:]...)
	cmd.Dir = dir
	output(t, cmd)
	return filepath.Join(dir, "program")
}

// checkKept checks what a link keeps: objects with the code that it linked, whose lines dsymutil finds; steps of the
// optimisation; and which files it has read.
func (l ltoLink) checkKept(t *testing.T, program, profile string) {
	t.Helper()
	dir := filepath.Dir(program)
	if objects := baseNames(t, filepath.Join(dir, "kept")); len(objects) == 0 || !strings.HasPrefix(objects[0], "0.") {
		t.Errorf("kept objects: %q", objects)
	}
	for _, name := range []string{"program.lto.o", "program.0.5.precodegen.bc", "program.resolution.txt"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("-save-temps: %v", err)
		}
	}
	depends, err := os.ReadFile(filepath.Join(dir, "depends"))
	if err != nil {
		t.Fatal(err)
	}
	for record := range strings.SplitSeq(string(depends), "\x00") {
		path := record[min(1, len(record)):]
		if strings.Contains(path, "cairn-lto-") {
			t.Errorf("-dependency_info has a file that is removed: %s", path)
		}
	}
	if text := string(depends); !strings.Contains(text, "\x10main.o\x00") || !strings.Contains(text, "\x40program\x00") {
		t.Errorf("-dependency_info: %q", text)
	}
	cmd := command(t, "dsymutil-22", program)
	cmd.Dir = dir
	output(t, cmd)
	lines := output(t, command(t, cairn, "covered", "--lines", profile, program))
	for _, file := range []string{"main.c", "fast.c", "back.c", "native.c"} {
		if !strings.Contains(lines, file) {
			t.Errorf("covered --lines without %s:\n%s", file, lines)
		}
	}
}

// TestMachOLTOUniversal links a program whose only bitcode is in an archive for several machines, or in an object that names
// the machine as other compilers than clang do.
func TestMachOLTOUniversal(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"clang-22", "llvm-ar-22", "llvm-lipo-22", "llvm-dis-22", "llvm-as-22"} {
		mustHave(t, tool)
	}
	dir := t.TempDir()
	for file, text := range map[string]string{
		"lib.c":  "int twice(int x) { return x * 2; }\n",
		"main.c": "int twice(int);\nint main(int argc, char **argv) { return twice(argc); }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	run := func(name string, args ...string) string {
		cmd := command(t, name, args...)
		cmd.Dir = dir
		return output(t, cmd)
	}
	archs := []string{"x86_64", "arm64"}
	for _, arch := range archs {
		run("clang-22", "--target="+arch+"-apple-macos11", "-O1", "-flto=thin", "-c", "lib.c", "-o", arch+".o")
		run("llvm-ar-22", "rcs", arch+".a", arch+".o")
	}
	run("llvm-lipo-22", "-create", "-output", "lib.a", "x86_64.a", "arm64.a")
	run("sh", "-c", "llvm-dis-22 < arm64.o | sed s/arm64-apple/aarch64-apple/ > other.ll && grep -q aarch64-apple other.ll && llvm-as-22 -o other.o other.ll")
	for _, arch := range archs {
		libraries := []string{"lib.a", "-Wl,-force_load,lib.a"}
		if arch == "arm64" {
			libraries = append(libraries, "other.o")
		}
		for _, library := range libraries {
			run(cairn, "cc", "--strict", "--mode", "full", "clang-22", "--target="+arch+"-apple-macos11", "-w", "-fuse-ld=lld", "-nostdlib",
				"-Wl,-no_fixup_chains", machOFile(t, "libSystem.tbd"), "main.c", library, "-o", "app")
			if got := run(cairn, "info", "app"); !regexp.MustCompile(`(?m)^functions +2$`).MatchString(got) {
				t.Errorf("%s, %s: not both functions have probes:\n%s", arch, library, got)
			}
		}
	}
}

package symbolize

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/xraymap"
	"github.com/cairnprof/cairn/internal/shorttest"
)

// program prints, of each function that its runtime numbers, where it is. A
// comment with the symbol stands on the line of each declaration.
const program = `#include <cstdio>
#include <cstdint>
#include <xray/xray_interface.h>
#define NI __attribute__((noinline))
#define ALWAYS [[clang::xray_always_instrument]]
NI long leaf(long x) { return x * x; } /*_Z4leafl*/
static NI long hidden(long x) { return leaf(x) + 1; } /*_ZL6hiddenl*/
template <class T> NI T twice(T x) { return x + leaf((long)x); } /*_Z5twiceIiET_S0_ _Z5twiceIlET_S0_*/
struct S { NI S(int y); NI long method(long y); int v; };
S::S(int y) : v(y) { leaf(y); } /*_ZN1SC1Ei _ZN1SC2Ei*/

long S::method(long y) { return hidden(y) * 2 + v; } /*_ZN1S6methodEl*/
ALWAYS [[clang::xray_log_args(1)]] NI long withArg(long a) { return a + 3; } /*_Z7withArgl*/
ALWAYS NI void event() { static const char m[] = "hello"; __xray_customevent(m, sizeof m); } /*_Z5eventv*/
#ifdef TYPED
ALWAYS NI void typed(size_t t, const void *p, size_t n) { __xray_typedevent(t, (const char *)p, n); } /*_Z5typedmPKvm*/
#endif
ALWAYS NI long tail(long x) { [[clang::musttail]] return leaf(x); } /*_Z4taill*/
extern "C" NI long one(long x) { return x * 77 + 5; } /*one*/
NI long other(long x) { return x * 77 + 5; } /*_Z5otherl one*/
inline NI long comdat(long x) { return x ^ 0x55; } /*_Z6comdatl*/
NI long dead(long x) { return x - 9; } /*_Z4deadl*/
[[clang::xray_never_instrument]] int main(int argc, char **)
{
	S s(argc);
	volatile long r = leaf(argc) + hidden(argc) + twice<int>(argc) + twice<long>(argc) + s.method(argc) + withArg(argc) + tail(argc);
	r += one(argc) + other(argc) + comdat(argc);
	event();
	std::printf("%lx\n", (unsigned long)(uintptr_t)&main);
	for (uint32_t id = 1; id <= __xray_max_function_id(); id++)
		std::printf("%lx\n", (unsigned long)__xray_function_address(id));
}
`

const xrayFlags = "-O2 -g -fxray-instrument -fxray-instruction-threshold=1"

// tool looks for a program that a test needs.
func tool(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skip(err)
	}
	return path
}

func run(t testing.TB, dir, command string) string {
	t.Helper()
	args := strings.Fields(command)
	cmd := exec.Command(tool(t, args[0]), args[1:]...)
	cmd.Dir = dir
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, errs.Bytes())
	}
	return string(out)
}

func write(t testing.TB, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// compile builds a program in a directory of its own.
func compile(t testing.TB, source, flags string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "a.cpp", source)
	run(t, dir, "clang++-22 "+flags+" a.cpp -o a")
	return filepath.Join(dir, "a")
}

// symbols reads symbols by nm or a tool like it.
func symbols(t testing.TB, nm, path string) (names map[uint64][]string, addrs map[string]uint64) {
	t.Helper()
	names, addrs = map[uint64][]string{}, map[string]uint64{}
	for line := range strings.Lines(run(t, filepath.Dir(path), nm+" "+path)) {
		f := strings.Fields(line)
		if len(f) != 3 {
			continue
		}
		addr, err := strconv.ParseUint(f[0], 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		names[addr] = append(names[addr], f[2])
		addrs[f[2]] = addr
	}
	return names, addrs
}

// lines returns the lines on which source declares the functions.
func lines(source string) map[string][]int {
	at := map[string][]int{}
	n := 0
	for line := range strings.Lines(source) {
		n++
		_, marks, ok := strings.Cut(line, "/*")
		if !ok {
			continue
		}
		marks, _, _ = strings.Cut(marks, "*/")
		for name := range strings.FieldsSeq(marks) {
			at[name] = append(at[name], n)
		}
	}
	return at
}

func load(t testing.TB, path string, object uint8) *Object {
	t.Helper()
	o, err := Load(path, object)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func yaml(t testing.TB, o *Object, named bool) string {
	t.Helper()
	m := &xraymap.Map{Sleds: slices.Clone(o.Map.Sleds)}
	for i := range m.Sleds {
		if named {
			m.Sleds[i].Name = o.Funcs[calllog.FuncID(m.Sleds[i].Func)].Name
		}
	}
	var b strings.Builder
	if err := xraymap.WriteYAML(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestPrograms compares numbers with those of the real runtime, names with nm, lines with the
// source, and all sleds with llvm-xray.
func TestPrograms(t *testing.T) {
	t.Parallel()
	for _, flags := range shorttest.Rows(
		5,
		"-fno-pie -no-pie",
		"-static-pie -fPIE",
		"-fuse-ld=lld -ffunction-sections -Wl,--icf=all -Wl,--gc-sections",
		"-fuse-ld=lld -Wl,-z,pack-relative-relocs -Wl,--build-id",
		"-DTYPED",
		"-fPIE -pie",
		"-static",
		"-fuse-ld=lld",
		"-fuse-ld=lld -no-pie -fno-pie -Wl,--emit-relocs",
		"-ffunction-sections -Wl,--gc-sections -Wl,-z,relro,-z,now",
		"-fuse-ld=lld -flto",
		"-fuse-ld=mold",
		"-fcf-protection=full",
		"-fno-xray-function-index -gdwarf-4",
		"-O0",
		"-gz -fxray-instrumentation-bundle=function-entry",
	) {
		t.Run(flags, func(t *testing.T) {
			t.Parallel()
			tool(t, "clang++-22")
			if strings.Contains(flags, "mold") {
				tool(t, "mold")
			}
			bin := compile(t, program, xrayFlags+" "+flags)
			o := load(t, bin, 0)
			if len(o.Notes) > 0 {
				t.Error(o.Notes)
			}
			compareRuntime(t, o)
			compareNames(t, o)
			folded := strings.Contains(flags, "icf")
			if strings.Contains(flags, "TYPED") || strings.Contains(flags, "static-pie") || strings.Contains(flags, "emit-relocs") {
				return // llvm-xray cannot read these
			}
			want := run(t, filepath.Dir(bin), "llvm-xray-22 extract "+bin)
			if got := yaml(t, o, false); got != want {
				t.Errorf("got\n%s\nllvm-xray:\n%s", got, want)
			}
			want = run(t, filepath.Dir(bin), "llvm-xray-22 extract --symbolize --no-demangle "+bin)
			// llvm-xray may take the other symbol of a constructor.
			if got := strings.ReplaceAll(yaml(t, o, true), "SC1E", "SC2E"); got != strings.ReplaceAll(want, "SC1E", "SC2E") && !folded {
				t.Errorf("got\n%s\nllvm-xray:\n%s", got, want)
			}
		})
	}
}

// compareRuntime runs a program that prints the addresses of its functions.
func compareRuntime(t *testing.T, o *Object) {
	t.Helper()
	_, addrs := symbols(t, "nm", o.Path)
	out := strings.Fields(run(t, filepath.Dir(o.Path), o.Path))
	loaded := func(i int) uint64 {
		addr, err := strconv.ParseUint(out[i], 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		return addr
	}
	bias := loaded(0) - addrs["main"]
	if len(out)-1 != len(o.Funcs) || len(o.Funcs) < 10 {
		t.Errorf("%d functions where the runtime has %d", len(o.Funcs), len(out)-1)
	}
	for i := 1; i < len(out); i++ {
		if got, want := o.Funcs[calllog.FuncID(i)].Addr, loaded(i)-bias; got != want {
			t.Errorf("function %d is at %#x, the runtime says %#x", i, got, want)
		}
	}
}

// compareNames compares names with nm and lines with the source.
func compareNames(t *testing.T, o *Object) {
	t.Helper()
	names, _ := symbols(t, "nm", o.Path)
	declared := lines(program)
	for id, fn := range o.Funcs {
		if !slices.Contains(names[fn.Addr], fn.Name) {
			t.Errorf("function %v is %s, nm says %v", id, fn.Name, names[fn.Addr])
		}
		if !slices.Contains(declared[fn.Name], fn.Line) || fn.File != filepath.Join(filepath.Dir(o.Path), "a.cpp") {
			t.Errorf("function %v, %s, is declared at %s:%d, not at %v", id, fn.Name, fn.File, fn.Line, declared[fn.Name])
		}
		if fn.Object != "a" {
			t.Errorf("function %v is of %q", id, fn.Object)
		}
	}
}

// TestStripped reads programs without symbols, with and without a debug file.
func TestStripped(t *testing.T) {
	t.Parallel()
	tool(t, "clang++-22")
	bin := compile(t, program, xrayFlags+" -rdynamic")
	dir := filepath.Dir(bin)
	full := load(t, bin, 0)
	run(t, dir, "objcopy --only-keep-debug a a.debug")
	run(t, dir, "strip -o bare a")
	run(t, dir, "strip -o linked a")
	run(t, dir, "objcopy --add-gnu-debuglink=a.debug linked")
	run(t, dir, "strip --strip-debug -o nodebug a")
	run(t, dir, "objcopy --strip-all -K main --keep-section=.debug* a nosyms")

	for id, fn := range load(t, filepath.Join(dir, "linked"), 0).Funcs {
		if fn.Object = "a"; fn != full.Funcs[id] {
			t.Errorf("with a debug file function %v is %+v, want %+v", id, fn, full.Funcs[id])
		}
	}
	for id, fn := range load(t, filepath.Join(dir, "nodebug"), 0).Funcs {
		if fn.Name != full.Funcs[id].Name || fn.Line != 0 {
			t.Errorf("without debug information function %v is %+v, want %+v", id, fn, full.Funcs[id])
		}
	}
	bare := load(t, filepath.Join(dir, "bare"), 0)
	unnamed := 0
	for id, fn := range bare.Funcs {
		switch want := full.Funcs[id]; {
		case fn.Name == "" && want.Name == "_ZL6hiddenl": // .dynsym has the others
			unnamed++
		case fn.Name != want.Name || fn.Addr != want.Addr:
			t.Errorf("stripped, function %v is %+v, want %+v", id, fn, want)
		}
	}
	if unnamed != 1 || len(bare.Notes) != 1 || !strings.HasPrefix(bare.Notes[0], "1 of ") {
		t.Errorf("stripped, %d functions have no name: %v", unnamed, bare.Notes)
	}
	// Names by debug information alone.
	for id, fn := range load(t, filepath.Join(dir, "nosyms"), 0).Funcs {
		if want := full.Funcs[id]; fn.Name != want.Name && fn.Name != strings.Replace(want.Name, "SC1E", "SC2E", 1) || fn.Line != want.Line {
			t.Errorf("without symbols, function %v is %+v, want %+v", id, fn, want)
		}
	}
	if _, err := Load(filepath.Join(dir, "a.debug"), 0); err == nil || !strings.Contains(err.Error(), "a.debug: xray_instr_map: the section has no contents: this is a debug file") {
		t.Errorf("the debug file: %v", err)
	}
}

// TestLineTables reads programs whose debug information has no declarations.
func TestLineTables(t *testing.T) {
	t.Parallel()
	tool(t, "clang++-22")
	for _, flags := range []string{"-gline-tables-only", "-gsplit-dwarf", "-g1"} {
		bin := compile(t, program, xrayFlags+" "+flags)
		for id, fn := range load(t, bin, 0).Funcs {
			// All functions but S::S are on one line.
			if want := lines(program)[fn.Name]; !slices.Contains(want, fn.Line) && fn.Name != "_ZN1SC2Ei" || filepath.Base(fn.File) != "a.cpp" {
				t.Errorf("%s: function %v, %s, is at %s:%d, want line %v", flags, id, fn.Name, fn.File, fn.Line, want)
			}
		}
	}
}

// TestYAML reads what llvm-xray prints of a program.
func TestYAML(t *testing.T) {
	t.Parallel()
	tool(t, "clang++-22")
	bin := compile(t, program, xrayFlags)
	full := load(t, bin, 0)
	text := write(t, filepath.Dir(bin), "a.yaml", run(t, filepath.Dir(bin), "llvm-xray-22 extract --symbolize --no-demangle "+bin))
	o := load(t, text, 3)
	if !slices.Equal(o.Map.Functions(), load(t, text, 0).Map.Functions()) || len(o.Funcs) != len(full.Funcs) {
		t.Errorf("%d functions, want %d", len(o.Funcs), len(full.Funcs))
	}
	for id, want := range full.Funcs {
		want.File, want.Line, want.Object = "", 0, "a.yaml"
		if want.Name == "_ZN1SC1Ei" {
			want.Name = "_ZN1SC2Ei" // llvm-xray takes the other one
		}
		if got := o.Funcs[calllog.MakeFuncID(3, uint32(id))]; got != want {
			t.Errorf("function %v is %+v, want %+v", id, got, want)
		}
	}
}

// mapOffset returns where the map of an ELF file is.
func mapOffset(t *testing.T, path string) uint64 {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return f.Section(xraymap.SectionName).Offset
}

// dynamicRelocations returns how many of them a file has in its map.
func dynamicRelocations(t *testing.T, path string) int {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := f.Section(xraymap.SectionName)
	rela := f.Section(".rela.dyn")
	if rela == nil {
		return 0
	}
	data, err := rela.Data()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for ; len(data) >= 24; data = data[24:] {
		if at := f.ByteOrder.Uint64(data); at >= s.Addr && at < s.Addr+s.Size {
			n++
		}
	}
	return n
}

// TestVersions reads tables of versions that no compiler writes any more, with
// absolute addresses, linked in all the ways that put them into the file or
// into relocations.
func TestVersions(t *testing.T) {
	t.Parallel()
	const entry = "\t.quad %s, %s\n\t.byte %d, 1, %d\n\t.zero 13\n"
	for version := range 2 {
		source := "\t.text\n\t.globl main, global\n\t.type main, @function\n\t.type local, @function\n\t.type global, @function\n" +
			"local:\n\tnop\n.L1:\n\tret\nglobal:\n\tnop\n.L2:\n\tret\nmain:\n\txor %eax, %eax\n\tret\n\t.section xray_instr_map,\"aw\",@progbits\n\t.balign 8\n" +
			fmt.Sprintf(entry+entry+entry+entry, "local", "local", 0, version, ".L1", "local", 1, version, "global", "global", 3, version, ".L2", "global", 2, version) +
			"\t.section .note.GNU-stack,\"\",@progbits\n"
		type row struct {
			flags     string
			relocated bool
		}
		for _, r := range shorttest.Rows(
			5,
			row{"-no-pie -fuse-ld=lld", false}, row{"-static", false}, row{"-pie", true}, row{"-shared -fuse-ld=lld", true},
			row{"-pie -fuse-ld=lld -Wl,-z,pack-relative-relocs", false},
			row{"-no-pie", false}, row{"-static -fuse-ld=lld", false}, row{"-pie -fuse-ld=lld", true},
			row{"-static-pie", true}, row{"-shared", true}, row{"-pie -fuse-ld=mold", true},
			row{"-shared -Wl,-Bsymbolic", true}, row{"-pie -fuse-ld=lld -Wl,--apply-dynamic-relocs", true},
		) {
			flags, relocated := r.flags, r.relocated
			name := fmt.Sprintf("%d %s", version, flags)
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				if strings.Contains(flags, "mold") {
					tool(t, "mold")
				}
				write(t, dir, "a.s", source)
				run(t, dir, "clang-22 "+flags+" a.s -o a")
				bin := filepath.Join(dir, "a")
				// .relr.dyn may take the place of .rela.dyn.
				if got := dynamicRelocations(t, bin) > 0; got != relocated {
					t.Errorf("dynamic relocations: %v", got)
				}
				_, addrs := symbols(t, "nm", bin)
				o := load(t, bin, 0)
				want := []xraymap.Sled{
					{Func: 1, Address: addrs["local"], Function: addrs["local"], Kind: xraymap.Enter},
					{Func: 1, Address: addrs["local"] + 1, Function: addrs["local"], Kind: xraymap.Exit},
					{Func: 2, Address: addrs["global"], Function: addrs["global"], Kind: xraymap.LogArgsEnter},
					{Func: 2, Address: addrs["global"] + 1, Function: addrs["global"], Kind: xraymap.TailExit},
				}
				for i := range want {
					want[i].Always, want[i].Version = true, uint8(version)
				}
				if !slices.Equal(o.Map.Sleds, want) {
					t.Errorf("got %+v\nwant %+v", o.Map.Sleds, want)
				}
				if o.Funcs[1].Name != "local" || o.Funcs[2].Name != "global" {
					t.Errorf("%+v", o.Funcs)
				}
			})
		}
	}
}

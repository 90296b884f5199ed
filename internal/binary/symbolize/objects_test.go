package symbolize

import (
	"bytes"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/xraymap"
)

// plain is C that needs no library, so that it compiles for any machine.
const plain = `__attribute__((noinline)) int leaf(int x) { return x * x; } /*leaf*/
static __attribute__((noinline)) int hidden(int x) { return leaf(x) + 1; } /*hidden*/

int top(int x) { return hidden(x) * 2 + x; } /*top*/
`

// machines are those that clang has sleds for. LLVM's own tool reads the maps
// of some of them.
var machines = []struct {
	target    string
	lines     bool // debug information is read: it is little-endian
	llvm      bool // llvm-xray reads its programs
	noObjects bool // relocations of objects are not read
	noLinker  bool // lld does not link it, or not without a run-time library
}{
	{target: "x86_64-linux-gnu", lines: true, llvm: true},
	{target: "aarch64-linux-gnu", lines: true, llvm: true},
	{target: "arm-linux-gnueabihf", lines: true, llvm: true},
	{target: "powerpc64le-linux-gnu", lines: true, llvm: true},
	{target: "riscv64-linux-gnu", lines: true, llvm: true},
	{target: "riscv32-linux-gnu", lines: true},
	{target: "loongarch64-linux-gnu", lines: true, llvm: true},
	{target: "s390x-linux-gnu"},
	{target: "mips-linux-gnu"},
	{target: "mipsel-linux-gnu", lines: true},
	{target: "mips64el-linux-gnuabi64", lines: true, noObjects: true},
	{target: "hexagon-linux", lines: true, noLinker: true},
}

// TestMachines reads objects and shared objects of every machine that has sleds.
func TestMachines(t *testing.T) {
	t.Parallel()
	for _, m := range machines {
		t.Run(m.target, func(t *testing.T) {
			t.Parallel()
			tool(t, "clang-22")
			dir := t.TempDir()
			write(t, dir, "p.c", plain)
			flags := "clang-22 --target=" + m.target + " -fPIC -O2 -g -ffunction-sections -fxray-instrument -fxray-instruction-threshold=1 p.c "
			run(t, dir, flags+"-c -o p.o")
			object := filepath.Join(dir, "p.o")
			if m.noObjects {
				if _, err := Load(object, 0); err == nil || !strings.Contains(err.Error(), "MIPS objects are not read") {
					t.Errorf("the object: %v", err)
				}
			} else {
				o := load(t, object, 0)
				comparePlain(t, o, m.lines)
				if len(o.Notes) != 1 || !strings.Contains(o.Notes[0], "unlinked object") {
					t.Errorf("notes: %v", o.Notes)
				}
			}
			if m.noLinker {
				return
			}
			tool(t, "ld.lld-22")
			run(t, dir, "ld.lld-22 -shared p.o -o p.so")
			o := load(t, filepath.Join(dir, "p.so"), 0)
			comparePlain(t, o, m.lines)
			names, _ := symbols(t, "llvm-nm-22", o.Path)
			for id, fn := range o.Funcs {
				if !slices.Contains(names[fn.Addr], fn.Name) {
					t.Errorf("function %v is %s at %#x, llvm-nm says %v", id, fn.Name, fn.Addr, names[fn.Addr])
				}
			}
			if m.llvm {
				if got, want := yaml(t, o, false), run(t, dir, "llvm-xray-22 extract p.so"); got != want {
					t.Errorf("got\n%s\nllvm-xray:\n%s", got, want)
				}
			}
		})
	}
}

// comparePlain compares an object of plain with its source.
func comparePlain(t *testing.T, o *Object, withLines bool) {
	t.Helper()
	ids := map[string]calllog.FuncID{}
	for id, fn := range o.Funcs {
		ids[fn.Name] = id
		if want := lines(plain)[fn.Name]; withLines && (!slices.Equal(want, []int{fn.Line}) || filepath.Base(fn.File) != "p.c") {
			t.Errorf("%s is declared at %s:%d, want line %d", fn.Name, fn.File, fn.Line, want)
		}
	}
	// Compilers write what others call before what is only called here.
	if len(o.Funcs) != 3 || ids["leaf"] != 1 || ids["top"] == 0 || ids["hidden"] == 0 {
		t.Errorf("functions: %+v", o.Funcs)
	}
	for _, f := range o.Map.Functions() {
		if f.Sleds < 2 {
			t.Errorf("function %d has %d sleds", f.ID, f.Sleds)
		}
	}
	for i, s := range o.Map.Sleds {
		first := i == 0 || o.Map.Sleds[i-1].Func != s.Func
		if first != (s.Kind == xraymap.Enter) || s.Version != 2 || s.Always || s.Address < s.Function || s.Address > s.Function+256 {
			t.Errorf("sled %d: %+v", i, s)
		}
	}
}

// TestObject reads an object with groups, and the program that it becomes: the
// names are in the same order, since the linker here keeps it.
func TestObject(t *testing.T) {
	t.Parallel()
	tool(t, "clang++-22")
	dir := t.TempDir()
	write(t, dir, "a.cpp", program)
	run(t, dir, "clang++-22 "+xrayFlags+" -c a.cpp -o a.o")
	run(t, dir, "clang++-22 -fuse-ld=lld "+xrayFlags+" a.o -o a")
	object, linked := load(t, filepath.Join(dir, "a.o"), 0), load(t, filepath.Join(dir, "a"), 0)
	if len(object.Funcs) != len(linked.Funcs) {
		t.Errorf("%d functions, %d when linked", len(object.Funcs), len(linked.Funcs))
	}
	for id, want := range linked.Funcs {
		got := object.Funcs[id]
		if got.Name != want.Name || got.File != want.File || got.Line != want.Line {
			t.Errorf("function %v is %+v, want %+v", id, got, want)
		}
	}
	run(t, dir, "ld -r a.o -o r.o")
	for id, want := range load(t, filepath.Join(dir, "r.o"), 0).Funcs {
		if got := object.Funcs[id]; got.Name != want.Name {
			t.Errorf("function %v is %s, %s after ld -r", id, got.Name, want.Name)
		}
	}
	run(t, dir, "ar rc a.a a.o")
	if _, err := Load(filepath.Join(dir, "a.a"), 0); err == nil || !strings.Contains(err.Error(), "a.a: an archive") {
		t.Errorf("an archive: %v", err)
	}
}

// shared prints which file each object is, as XRay's own runtime numbers them,
// and where functions are.
const shared = `#include <cstdio>
#include <dlfcn.h>
#include <xray/xray_interface.h>
extern "C" long first(long), second(long);
[[clang::xray_always_instrument]] int main(int argc, char **)
{
	volatile long r = first(argc) + second(argc);
	for (unsigned o = 0; o < __xray_num_objects(); o++) {
		Dl_info info;
		void *f = (void *)__xray_function_address_in_object(1, o);
		dladdr(f, &info);
		std::printf("%u %s %p\n", o, info.dli_fname, info.dli_fbase);
		for (unsigned id = 1; id <= __xray_max_function_id_in_object(o); id++) {
			dladdr((void *)__xray_function_address_in_object(id, o), &info);
			std::fprintf(stderr, "%u %s\n", o << 24 | id, info.dli_sname);
		}
	}
}
`

// TestSharedObjects names functions of shared objects by a list that the running
// program made.
func TestSharedObjects(t *testing.T) {
	t.Parallel()
	tool(t, "clang++-22")
	dir := t.TempDir()
	write(t, dir, "main.cpp", shared)
	for _, name := range []string{"first", "second"} {
		write(t, dir, name+".cpp", "extern \"C\" __attribute__((noinline)) long "+name+"_leaf(long x) { return x * 3; }\nextern \"C\" long "+name+"(long x) { return "+name+"_leaf(x) + 1; }\n")
		run(t, dir, "clang++-22 "+xrayFlags+" -fPIC -shared -fxray-shared "+name+".cpp -o lib"+name+".so")
	}
	run(t, dir, "clang++-22 "+xrayFlags+" -fxray-shared -rdynamic main.cpp -L. -lfirst -lsecond -Wl,-rpath,"+dir+" -o main")
	cmd := exec.Command("./main")
	cmd.Dir = dir
	var list, want bytes.Buffer
	cmd.Stdout, cmd.Stderr = &list, &want
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &want)
	}
	path := write(t, dir, "objects.txt", "# objects of a run\n\n"+list.String())
	p, err := LoadAll([]Spec{{Path: path}})
	if err != nil {
		t.Fatal(err)
	}
	got := map[calllog.FuncID]string{}
	for id, fn := range p.Funcs {
		got[id] = fn.Name
	}
	compared := map[calllog.FuncID]string{}
	for line := range strings.Lines(want.String()) {
		var id calllog.FuncID
		var name string
		if _, err := fmt.Sscan(line, &id, &name); err != nil {
			t.Fatal(err)
		}
		compared[id] = name
	}
	if !maps.Equal(got, compared) || len(got) != 5 || len(p.Objects) != 3 || len(p.Notes) != 0 {
		t.Errorf("got %v\nwant %v\nnotes %v", got, compared, p.Notes)
	}
	for _, o := range p.Objects {
		if want := run(t, dir, "llvm-xray-22 extract "+o.Path); yaml(t, o, false) != want {
			t.Errorf("%s: llvm-xray prints\n%s", o.Path, want)
		}
	}
}

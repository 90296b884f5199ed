package ehframe

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/machine"
)

// source has a function that throws, one that catches, parts that are cold, and
// one without a caller.
const source = `
#include <stdexcept>
extern "C" int puts(const char *);
#define say puts
__attribute__((noinline)) int thrower(int n) { puts("at"); if (n > 3) throw std::runtime_error("big"); return n; }
int catcher(int n) {
  try { return thrower(n); }
  catch (std::exception &e) { say(e.what()); return -1; }
}
struct s { ~s() { say("gone"); } };
int cleaner(int n) { s x; return thrower(n) + 1; }
int cold(int n) { if (__builtin_expect(n == 77, 0)) { say("rare"); say("really"); __builtin_abort(); } return n; }
__asm__(".globl first\n.type first,@function\nfirst: .cfi_startproc\n.cfi_undefined rip\nnop\nhlt\n.cfi_endproc\n.size first,.-first");
int main(int n, char **) { return catcher(n) + cleaner(n) + cold(n); }
`

func build(t testing.TB, compiler string, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "x.cc")
	if err := os.WriteFile(path, []byte(source), 0o666); err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "x")
	cmd := exec.Command(compiler, append(append([]string{"-O2", "-o", bin}, flags...), path)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	return bin
}

func section(t testing.TB, path, name string) ([]byte, uint64) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := f.Section(name)
	if s == nil {
		t.Fatalf("%s: no %s", path, name)
	}
	data, err := s.Data()
	if err != nil {
		t.Fatal(err)
	}
	return data, s.Addr
}

var fde = regexp.MustCompile(`(?m)^.* FDE .*pc=([0-9a-f]+)\.\.([0-9a-f]+)$`)

// TestFrames compares the frames of programs with those that readelf prints.
func TestFrames(t *testing.T) {
	t.Parallel()
	libs, _ := filepath.Glob("/usr/lib/*/libstdc++.so.6")
	for _, path := range append(libs, build(t, "g++"), build(t, "clang++-22", "-fuse-ld=lld", "-no-pie")) {
		data, addr := section(t, path, ".eh_frame")
		frames, err := Read(data, addr, machine.X86_64)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		out, err := exec.Command("readelf", "--debug-dump=frames", "-W", path).Output()
		if err != nil {
			t.Fatal(err)
		}
		var got, want [][2]uint64
		for _, f := range frames {
			got = append(got, [2]uint64{f.Lo, f.Hi})
		}
		for _, m := range fde.FindAllStringSubmatch(string(out), -1) {
			lo, _ := strconv.ParseUint(m[1], 16, 64)
			hi, _ := strconv.ParseUint(m[2], 16, 64)
			if lo != 0 && hi > lo {
				want = append(want, [2]uint64{lo, hi})
			}
		}
		if !slices.Equal(got, want) || len(got) == 0 {
			t.Errorf("%s: %d frames, readelf has %d", path, len(got), len(want))
		}
	}
}

// TestCalled compares which frames are entered by calls with what is known of the program: cold
// parts and the entry of the program are not.
func TestCalled(t *testing.T) {
	t.Parallel()
	path := build(t, "g++")
	data, addr := section(t, path, ".eh_frame")
	frames, err := Read(data, addr, machine.X86_64)
	if err != nil {
		t.Fatal(err)
	}
	called := map[string]bool{}
	pads := map[string]int{}
	tables, tablesAt := section(t, path, ".gcc_except_table")
	for name, at := range symbols(t, path) {
		for _, f := range frames {
			if f.Lo != at {
				continue
			}
			called[name] = f.Called
			if f.LSDA != 0 {
				found, err := LandingPads(tables[f.LSDA-tablesAt:], f.LSDA, f.Lo)
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
				pads[name] = len(found)
				for _, pad := range found {
					if !slices.ContainsFunc(frames, func(f Frame) bool { return pad >= f.Lo && pad < f.Hi }) {
						t.Errorf("%s: landing pad at %#x", name, pad)
					}
				}
			}
		}
	}
	for name, want := range map[string]bool{
		"main": true, "_Z7throweri": true, "_Z7catcheri": true, "_Z7cleaneri": true, "first": false, "_start": false,
		"_Z7throweri.cold": false,
	} {
		if got, ok := called[name]; !ok || got != want {
			t.Errorf("%s: called %v (has a frame: %v), want %v", name, got, ok, want)
		}
	}
	if pads["_Z7catcheri"] == 0 || pads["_Z7cleaneri"] == 0 {
		t.Errorf("landing pads: %v", pads)
	}
}

func symbols(t testing.TB, path string) map[string]uint64 {
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	list, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]uint64{}
	for _, s := range list {
		if s.Name != "" && s.Section != elf.SHN_UNDEF {
			at[s.Name] = s.Value
		}
	}
	return at
}

func FuzzRead(f *testing.F) {
	path := build(f, "g++")
	frames, at := section(f, path, ".eh_frame")
	tables, _ := section(f, path, ".gcc_except_table")
	f.Add(frames, at)
	f.Add(tables, at)
	f.Fuzz(func(t *testing.T, data []byte, addr uint64) {
		found, _ := Read(data, addr, machine.X86_64)
		for _, frame := range found {
			if frame.Lo >= frame.Hi {
				t.Fatalf("%+v", frame)
			}
		}
		pads, err := LandingPads(data, addr, addr)
		if err != nil && len(pads) > len(data) {
			t.Fatal(len(pads))
		}
	})
}

//go:build linux && amd64

package lbr

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/shorttest"
	"github.com/cairnprof/cairn/sample"
)

func tool(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("needs %s", name)
	}
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
}

// program compiles a program of testdata.
func program(t *testing.T, compiler, source string, flags ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	tool(t, ".", compiler, append(flags, "-o", path, filepath.Join("testdata", source))...)
	return path
}

// library compiles the runtime.
func library(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	args := append([]string{"-Wall", "-Wextra", "-Werror"}, Flags...)
	args = append(args, "-o", "runtime.so")
	for _, f := range Sources() {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
		if filepath.Ext(f.Name) != ".h" {
			args = append(args, f.Name)
		}
	}
	for i, a := range args {
		if a == "-w" {
			args = append(args[:i], args[i+1:]...)
			break
		}
	}
	tool(t, dir, "gcc", append(args, "-ldl")...)
	return filepath.Join(dir, "runtime.so")
}

// plan makes the image of a program.
func plan(t *testing.T, path string) *Image {
	t.Helper()
	return planAs(t, 0, path)
}

// planAs makes the image of a module.
func planAs(t *testing.T, number int, path string) *Image {
	t.Helper()
	file, err := objfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	p, err := file.Program()
	if err != nil {
		t.Fatal(err)
	}
	m := ModuleOf(p)
	m.Number = number
	image, err := Plan(m)
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// A recording is what a run left.
type recording struct {
	maps    [][]byte
	samples []stamped
	totals  []Totals
	plain   []string
	stdout  string
	code    int
}

// stamped is a sample, with how many records of mappings there were before.
type stamped struct {
	Sample
	maps int
}

func record(t *testing.T, library, path string, settings string, args ...string) *recording {
	t.Helper()
	return recordWith(t, library, []string{path}, settings, args...)
}

// recordWith runs the first module, and records the others where it loads them.
func recordWith(t *testing.T, library string, modules []string, settings string, args ...string) *recording {
	t.Helper()
	dir := t.TempDir()
	for i, path := range modules {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		st := info.Sys().(*syscall.Stat_t)
		if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(i)), planAs(t, i, path).Encode(st.Dev, st.Ino), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	path, out := modules[0], filepath.Join(dir, "out")
	if err := os.WriteFile(out, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Env = append(os.Environ(), "LD_PRELOAD="+library, "CAIRN_LBR="+dir, "CAIRN_LBR_OUT="+out)
	cmd.Env = append(cmd.Env, strings.Fields(settings)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil || stderr.Len() > 0 {
		t.Fatalf("%v %s", err, stderr.Bytes())
	}
	r := &recording{stdout: stdout.String(), code: cmd.ProcessState.ExitCode()}
	f, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for rec, err := range Records(f) {
		switch {
		case err != nil:
			t.Fatal(err)
		case rec.Maps != nil:
			r.maps = append(r.maps, bytes.Clone(rec.Maps))
		case rec.Sample != nil:
			s := *rec.Sample
			s.Stack, s.Calls = append([]uint64(nil), s.Stack...), append([]OpenCall(nil), s.Calls...)
			s.Branches = append([]sample.Branch(nil), s.Branches...)
			r.samples = append(r.samples, stamped{s, len(r.maps)})
		case rec.End != nil:
			r.totals = append(r.totals, *rec.End)
		case rec.Plain != "":
			r.plain = append(r.plain, rec.Plain)
		default:
			t.Fatalf("lost at %#x", rec.Lost)
		}
	}
	return r
}

// TestStorms runs what is hard on a copy of code, and wants the same answers.
func TestStorms(t *testing.T) {
	t.Parallel()
	lib := library(t)
	type row struct{ compiler, flags string }
	for _, c := range shorttest.Rows(
		2,
		row{"g++", "-O2 -fno-omit-frame-pointer -fcf-protection=full"},
		row{"clang++-22", "-O2 -no-pie"},
		row{"g++", "-O0 -no-pie"},
		row{"g++", "-O2"},
		row{"clang++-22", "-O3 -fuse-ld=lld-22"},
	) {
		t.Run(c.compiler+c.flags, func(t *testing.T) {
			t.Parallel()
			path := program(t, c.compiler, "storms.cc", append(strings.Fields(c.flags), "-pthread")...)
			r := record(t, lib, path, "CAIRN_LBR_EVERY=1009 CAIRN_LBR_TRUTH=1", "1000")
			if plain, _ := exec.CommandContext(t.Context(), path, "1000").Output(); string(plain) != r.stdout || r.code != 3 {
				t.Fatalf("it says %q and ends with %d; as it is, it says %q", r.stdout, r.code, plain)
			}
			if len(r.totals) != 2 || r.totals[1].Threads < 5 || len(r.samples) < 1000 {
				t.Errorf("%+v, %d samples", r.totals, len(r.samples))
			} else if child := r.totals[0].Samples; child == 0 || child+r.totals[1].Samples != uint64(len(r.samples)) {
				t.Errorf("%d samples, by processes %+v: a process tells of itself alone", len(r.samples), r.totals)
			}
		})
	}
}

// TestStormsInLibraries has copies of libraries that throw exceptions and start threads.
func TestStormsInLibraries(t *testing.T) {
	shorttest.Proof(t)
	t.Parallel()
	modules := []string{program(t, "g++", "storms.cc", "-O2", "-pthread")}
	for _, name := range []string{"libstdc++.so.6", "libgcc_s.so.1", "libm.so.6"} {
		out, err := exec.CommandContext(t.Context(), "g++", "-print-file-name="+name).Output()
		if err != nil {
			t.Fatal(err)
		}
		path, err := filepath.EvalSymlinks(strings.TrimSpace(string(out)))
		if err != nil {
			t.Skip(err)
		}
		modules = append(modules, path)
	}
	r := recordWith(t, library(t), modules, "CAIRN_LBR_EVERY=1009 CAIRN_LBR_TRUTH=1", "40")
	if want := "child 960 480 480 480\n960 960 960 960 10 ticks\n"; r.stdout != want || r.code != 3 || len(r.samples) < 1000 {
		t.Fatalf("it says %q and ends with %d; %d samples", r.stdout, r.code, len(r.samples))
	}
}

// TestTruth compares the true stacks with what frame pointers tell, or the calls and returns
// where there are none: calls that are no tail calls are in both. Stacks by calls are whole.
func TestTruth(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, flags, settings string }{
		{"frame pointers", "-fno-omit-frame-pointer -mno-omit-leaf-frame-pointer", ""},
		{"calls", "-fomit-frame-pointer", "CAIRN_LBR_BY_CALLS=1"},
		{"calls with frame pointers", "-fno-omit-frame-pointer", "CAIRN_LBR_BY_CALLS=1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			compareTruth(t, append(strings.Fields(c.flags), "-O2", "-pthread", "-no-pie"), "CAIRN_LBR_EVERY=397 CAIRN_LBR_TRUTH=1 "+c.settings)
		})
	}
}

func compareTruth(t *testing.T, flags []string, settings string) {
	path := program(t, "g++", "storms.cc", flags...)
	r := record(t, library(t), path, settings, "300")
	file, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	entry := file.Entry
	byCalls := strings.Contains(settings, "BY_CALLS")
	image := plan(t, path)
	same, tails := 0, 0
	for i := range r.samples {
		s := &r.samples[i]
		var truth, seen []uint64
		for _, c := range s.Calls {
			if c.Kind == TailCall {
				tails++
			} else if c.Kind != FromOutside && c.From-entry >= 64 { // not of the startup code
				truth = append(truth, c.From)
			}
		}
		for k := len(s.Stack) - 1; k > 0; k-- {
			if a := s.Stack[k]; a >= image.Lo && a < image.Hi {
				seen = append(seen, a)
			}
		}
		if agrees(truth, seen) && (!byCalls || len(truth) == len(seen)) {
			same++
		}
	}
	t.Logf("%d of %d stacks are the same; %d tail calls", same, len(r.samples), tails)
	if same < len(r.samples)*99/100 || tails == 0 {
		t.Errorf("%d of %d stacks are the same; %d tail calls", same, len(r.samples), tails)
	}
}

// agrees reports whether the innermost calls are those before the return addresses of the stack. A walk of the
// stack may end early, in a library.
func agrees(calls, returns []uint64) bool {
	for len(returns) > 0 {
		if len(calls) == 0 {
			return false
		}
		d := returns[len(returns)-1] - calls[len(calls)-1]
		if d < 2 || d > 8 {
			return false
		}
		calls, returns = calls[:len(calls)-1], returns[:len(returns)-1]
	}
	return true
}

//go:build linux && amd64

package lbr

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/cairnprof/cairn/format/procmaps"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/shorttest"
)

// place is an address in a module, link-time, or outside of all: then the module
// is -1 and the address 0.
type place struct {
	module int
	addr   uint64
}

var outside = place{module: -1}

type jump struct{ from, to place }

// span is where code of a module is mapped.
type span struct {
	lo, hi, bias uint64
	module       int
}

// modules are those that the records are of.
type modules struct {
	paths  []string
	images []*Image
	code   []*objfile.Code
}

func openModules(t *testing.T, paths ...string) *modules {
	t.Helper()
	m := &modules{paths: paths}
	for i, path := range paths {
		file, err := objfile.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		code, err := file.Code()
		if err != nil {
			t.Fatal(err)
		}
		m.code = append(m.code, code)
		m.images = append(m.images, planAs(t, i, path))
	}
	return m
}

// spans finds the modules in /proc/PID/maps: by the mapping of the code, which begins
// at the page that the image does.
func (m *modules) spans(maps []byte) []span {
	var out []span
	for line := range strings.Lines(string(AppendMaps(nil, 1, maps))) {
		var lo, size, offset uint64
		if _, err := fmt.Sscanf(line, "PERF_RECORD_MMAP2 1/1: [0x%x(0x%x) @ 0x%x", &lo, &size, &offset); err != nil {
			continue
		}
		path := strings.TrimSpace(line[strings.Index(line, "r-xp ")+5:])
		if i := slices.Index(m.paths, path); i >= 0 {
			out = append(out, span{lo, lo + size, lo - m.images[i].Lo, i})
		}
	}
	return out
}

func locate(spans []span, addr uint64) place {
	for _, s := range spans {
		if addr >= s.lo && addr < s.hi {
			return place{s.module, addr - s.bias}
		}
	}
	return outside
}

// stepped returns the branches from, to and in the modules that a program takes from
// its start on, one instruction after the other.
func (m *modules) stepped(t *testing.T, args ...string) []jump {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.Command(m.paths[0], args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	pid := cmd.Process.Pid
	defer cmd.Process.Kill()
	s := stepper{t: t, pid: pid}
	s.wait()
	s.toEntry()
	var out []jump
	var spans []span
	known := map[uint64]bool{} // pages, in the spans as they are
	last, syscalled := outside, true
	for !s.ended {
		pc := s.pc()
		if syscalled || !known[pc>>12] { // a system call may have mapped others
			clear(known)
			known[pc>>12] = true
			maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
			if err != nil {
				t.Fatal(err)
			}
			spans = m.spans(maps)
		}
		at := locate(spans, pc)
		if at != outside || last != outside {
			if last == outside || taken(m.code[last.module], last.addr, at.addr) {
				out = append(out, jump{last, at})
			}
		}
		last, syscalled = at, at == outside && s.atSyscall(pc)
		s.step()
	}
	return out
}

// stepper steps through a process.
type stepper struct {
	t     *testing.T
	pid   int
	ended bool
}

func (s *stepper) wait() {
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(s.pid, &status, 0, nil); err != nil {
		s.t.Fatal(err)
	}
	s.ended = status.Exited()
}

func (s *stepper) step() {
	if err := syscall.PtraceSingleStep(s.pid); err != nil {
		s.t.Fatal(err)
	}
	s.wait()
}

func (s *stepper) pc() uint64 {
	var regs syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(s.pid, &regs); err != nil {
		s.t.Fatal(err)
	}
	return regs.Rip
}

func (s *stepper) atSyscall(pc uint64) bool {
	var b [2]byte
	_, _ = syscall.PtracePeekText(s.pid, uintptr(pc), b[:])
	return b == [2]byte{0x0f, 0x05}
}

// toEntry runs to the program's first instruction: by then the loader has ended.
func (s *stepper) toEntry() {
	auxv, err := os.ReadFile(fmt.Sprintf("/proc/%d/auxv", s.pid))
	if err != nil {
		s.t.Fatal(err)
	}
	at, ok := procmaps.Auxiliary(auxv, procmaps.AuxEntry)
	if !ok {
		s.t.Fatal("the program has no entry point")
	}
	entry := uintptr(at)
	var first [1]byte
	if _, err := syscall.PtracePeekText(s.pid, entry, first[:]); err != nil {
		s.t.Fatal(err)
	}
	poke := func(b byte) {
		if _, err := syscall.PtracePokeText(s.pid, entry, []byte{b}); err != nil {
			s.t.Fatal(err)
		}
	}
	poke(0xcc)
	if err := syscall.PtraceCont(s.pid, 0); err != nil {
		s.t.Fatal(err)
	}
	s.wait()
	poke(first[0])
	var regs syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(s.pid, &regs); err != nil {
		s.t.Fatal(err)
	}
	regs.Rip = uint64(entry)
	if err := syscall.PtraceSetRegs(s.pid, &regs); err != nil {
		s.t.Fatal(err)
	}
}

// buildModules compiles a program with a library and two plug-ins.
func buildModules(t *testing.T, compiler, flags string) []string {
	t.Helper()
	dir := t.TempDir()
	build := func(name string, args ...string) string {
		path := filepath.Join(dir, name)
		tool(t, ".", compiler, append(append(strings.Fields(flags), "-o", path), args...)...)
		return path
	}
	library := build("library.so", "-fPIC", "-shared", "testdata/library.c")
	return []string{
		build("program", "testdata/modules.c", library, "-Wl,-rpath,"+dir),
		library,
		build("bulky.so", "-fPIC", "-shared", "-DBULK", "testdata/plugin.c"),
		build("padded.so", "-fPIC", "-shared", "-DPADDING=9000000", "testdata/plugin.c"),
	}
}

// TestModules compares the records of a program with a library and plug-ins, which come and go
// at changing addresses, with single steps.
func TestModules(t *testing.T) {
	shorttest.Proof(t)
	t.Parallel()
	lib := library(t)
	type row struct{ compiler, flags string }
	for _, c := range shorttest.Rows(
		2,
		row{"gcc", "-O2 -Wl,-z,lazy -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer"},
		row{"gcc", "-O1 -fno-plt -Wl,-z,now"},
		row{"clang-22", "-O2 -Wl,-z,now -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer"},
	) {
		t.Run(c.compiler+c.flags, func(t *testing.T) {
			paths := buildModules(t, c.compiler, c.flags)
			m := openModules(t, paths...)
			want := m.stepped(t, paths[2], paths[3])
			r := recordWith(t, lib, paths, "CAIRN_LBR_BRANCHES=1 CAIRN_LBR_EVERY=7 CAIRN_LBR_DEPTH=20 CAIRN_LBR_TRUTH=1", paths[2], paths[3])
			// The runtime ends before the ends of libraries do.
			if n := uint64(len(want)); len(r.totals) != 1 || r.totals[0].Branches > n || r.totals[0].Branches < n-20 {
				t.Errorf("%+v, single steps find %d branches", r.totals, n)
			}
			m.compare(t, r, want)
			if strings.Contains(c.flags, "frame-pointer") {
				m.compareStacks(t, r)
			}
		})
	}
}

// compare finds the branches of each sample in those that were stepped through, one
// after the other.
func (m *modules) compare(t *testing.T, r *recording, want []jump) {
	t.Helper()
	at, crossings := 0, map[[2]int]int{}
	for i := range r.samples {
		s := &r.samples[i]
		spans := m.before(r, s)
		var got []jump
		for _, b := range s.Branches {
			j := jump{locate(spans, b.From), locate(spans, b.To)}
			got = append(got, j)
			crossings[[2]int{j.from.module, j.to.module}]++
		}
		next := find(want, got, at)
		if next < 0 {
			t.Fatalf("the branches of sample %d of %d are not those of single steps: %#x", i, len(r.samples), got)
		}
		at = next
		if ip := locate(spans, s.IP); ip == outside || want[at].from != ip {
			t.Fatalf("sample %d is at %#x, and the next branch from %#x", i, ip, want[at].from)
		}
	}
	t.Logf("%d branches, %d samples, between modules: %v", len(want), len(r.samples), crossings)
	if len(r.samples) < len(want)/20 {
		t.Errorf("%d samples of %d branches", len(r.samples), len(want))
	}
	for _, c := range [][2]int{{0, 1}, {1, 0}, {2, 1}, {3, 1}, {-1, 2}, {2, -1}, {3, 0}, {-1, 1}} {
		if crossings[c] == 0 {
			t.Errorf("no branch from module %d to %d", c[0], c[1])
		}
	}
}

// before returns the mappings that a sample's addresses are in, the last first.
func (m *modules) before(r *recording, s *stamped) []span {
	var out []span
	for _, maps := range slices.Backward(r.maps[:s.maps]) {
		out = append(out, m.spans(maps)...)
	}
	return out
}

// compareStacks compares the true stacks with frame pointers, as TestTruth does.
func (m *modules) compareStacks(t *testing.T, r *recording) {
	t.Helper()
	same, tails := 0, 0
	for i := range r.samples {
		s := &r.samples[i]
		spans := m.before(r, s)
		var truth, seen []uint64
		for _, c := range s.Calls {
			switch c.Kind {
			case TailCall:
				tails++
			case Call, IndirectCall:
				truth = append(truth, c.From)
			}
		}
		for _, a := range slices.Backward(s.Stack[1:]) {
			if locate(spans, a) != outside {
				seen = append(seen, a)
			}
		}
		// A function that has not made its frame yet, as those of tables of imports
		// never do, hides its caller.
		if agrees(truth, seen) || len(truth) > 0 && agrees(truth[:len(truth)-1], seen) {
			same++
		}
	}
	t.Logf("%d of %d stacks are the same; %d tail calls", same, len(r.samples), tails)
	if same < len(r.samples)*99/100 || tails == 0 {
		t.Errorf("%d of %d stacks are the same; %d tail calls", same, len(r.samples), tails)
	}
}

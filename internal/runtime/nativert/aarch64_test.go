package nativert

import (
	"cmp"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cairnprof/cairn/format/mip"
)

// cross is what builds and runs programs of AArch64 on another machine.
type cross struct {
	t        *testing.T
	dir      string // of sources, the archive and programs
	archive  string
	qemu     string
	limit    string // for the shell, ahead of programs of the timed modes
	timedNap bool   // a log of mode stacks has the time of a nap
}

const (
	crossCompiler = "aarch64-linux-gnu-gcc"
	crossRoot     = "/usr/aarch64-linux-gnu"
)

// newCross builds the runtime for AArch64.
func newCross(t *testing.T) *cross {
	t.Helper()
	c := &cross{t: t, dir: t.TempDir()}
	if _, err := exec.LookPath(crossCompiler); err != nil {
		t.Skip("needs " + crossCompiler)
	}
	for _, name := range []string{"qemu-aarch64", "qemu-aarch64-static"} {
		if path, err := exec.LookPath(name); err == nil {
			c.qemu = cmp.Or(c.qemu, path)
		}
	}
	if c.qemu == "" {
		t.Skip("needs qemu-aarch64")
	}
	for _, f := range Sources() {
		if err := os.WriteFile(filepath.Join(c.dir, f.Name), f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c.build("libcairn.a", Objects(AArch64, ""))
	return c
}

// build makes the archive that programs are linked with.
func (c *cross) build(archive string, objects []Object) {
	c.t.Helper()
	members := []string{"rcs", archive}
	for _, o := range objects {
		if err := compileObject(c.dir, c.dir, crossCompiler, append([]string{"-Oz"}, Flags(AArch64)...), o); err != nil {
			c.t.Fatal(err)
		}
		members = append(members, o.Name)
	}
	c.command("ar", members...)
	c.archive = filepath.Join(c.dir, archive)
}

func (c *cross) command(name string, args ...string) {
	c.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = c.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		c.t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

func (c *cross) gcc(args ...string) {
	c.t.Helper()
	c.command(crossCompiler, args...)
}

// sources returns the paths of test programs' parts.
func (c *cross) sources(names ...string) (paths []string) {
	for _, name := range names {
		path, err := filepath.Abs(filepath.Join("testdata/aarch64", name))
		if err != nil {
			c.t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

// life builds life.c with probes of a mode, which are macros of probes.S.
func (c *cross) life(mode string, flags ...string) string {
	c.t.Helper()
	program := filepath.Join(c.t.TempDir(), "life")
	args := []string{"-O1", "-mbranch-protection=standard", "-o", program}
	for _, macro := range strings.Fields(mode) {
		args = append(args, "-D"+macro)
	}
	c.gcc(slices.Concat(args, c.sources("probes.S", "registers.S", "life.c"), []string{c.archive, "-Wl,--build-id"}, flags)...)
	return program
}

// execution is one of a program: what qemu and the environment are told, and what came of it.
type execution struct {
	qemu, env []string
	before    string // for a shell
	err       error
	output    string
	dir       string   // where it ran
	files     []string // written, by name
	raws      []mip.Raw
}

// start runs a program with its files in a directory of its own, which is d in the
// directory that it runs in.
func (c *cross) start(e execution, program string, args ...string) execution {
	c.t.Helper()
	e.dir = c.t.TempDir()
	argv := slices.Concat([]string{"-c", e.before + ` exec "$@"`, "sh", c.qemu, "-L", crossRoot}, e.qemu, []string{program}, args)
	cmd := exec.Command("sh", argv...)
	cmd.Dir = e.dir
	cmd.Env = append(append(os.Environ(), "CAIRN_DIR=d"), e.env...)
	cmd.WaitDelay = time.Minute
	out, err := cmd.CombinedOutput()
	e.output, e.err = string(out), err
	return e
}

// run reads the raw files that a program leaves as well.
func (c *cross) run(e execution, program string, args ...string) execution {
	c.t.Helper()
	e = c.start(e, program, args...)
	files, err := filepath.Glob(filepath.Join(e.dir, "d", "*"))
	if err != nil {
		c.t.Fatal(err)
	}
	for _, path := range files {
		e.files = append(e.files, filepath.Base(path))
		data, err := os.ReadFile(path)
		if err != nil {
			c.t.Fatal(err)
		}
		raw, err := mip.ParseRaw(data)
		if err != nil {
			c.t.Errorf("%s: %v", path, err)
		}
		e.raws = append(e.raws, raw)
	}
	slices.SortStableFunc(e.raws, func(a, b mip.Raw) int { return cmp.Compare(a.PID, b.PID) })
	return e
}

// one runs a program that leaves one file and says nothing.
func (c *cross) one(e execution, program string, args ...string) mip.Raw {
	c.t.Helper()
	e = c.run(e, program, args...)
	if e.err != nil || e.output != "" || len(e.raws) != 1 {
		c.t.Fatalf("%s %q: %v, files %q, output:\n%s", filepath.Base(program), args, e.err, e.files, e.output)
	}
	return e.raws[0]
}

// record returns the numbers of record n, of so many bytes each.
func record(r mip.Raw, n, size int) (words []uint32) {
	data := append(slices.Clone(r.Data), make([]byte, 64*size)...)[n*size:][:size]
	for ; len(data) > 0; data = data[4:] {
		words = append(words, binary.LittleEndian.Uint32(data))
	}
	return words
}

// counted returns how often each function ran, by records of so many bytes, in the order
// of their first calls. 3x2! is inexact.
func counted(r mip.Raw, size int) string {
	type function struct{ order, count, n uint32 }
	var all []function
	for n := range 64 {
		if w := record(r, n, size); w[0] != 0 || w[1] != 0 {
			all = append(all, function{w[1], -w[0], uint32(n)})
		}
	}
	slices.SortFunc(all, func(a, b function) int { return cmp.Compare(a.order&^(1<<31), b.order&^(1<<31)) })
	var b strings.Builder
	for i, f := range all {
		if int(f.order&^(1<<31)) != i+1 {
			return "order " + strconv.Itoa(int(f.order)) + " of function " + strconv.Itoa(int(f.n))
		}
		b.WriteString(" " + strconv.Itoa(int(f.n)) + "x" + strconv.Itoa(int(f.count)))
		if f.order>>31 != 0 {
			b.WriteString("!")
		}
	}
	return strings.TrimSpace(b.String())
}

// TestAArch64Records: in every mode the records say what ran, and the runtime keeps all
// registers that it must.
func TestAArch64Records(t *testing.T) {
	t.Parallel()
	c := newCross(t)
	cover := c.one(execution{}, c.life("COVER"), "registers")
	for n := range 64 {
		ran := slices.Contains([]int{1, 2, 3, 8, 9}, n)
		if w := record(cover, n, 4)[0]; w > 1 || w == 1 != ran {
			t.Errorf("function %d ran: %v, its record is %#x", n, ran, w)
		}
	}
	for _, mode := range []string{"COUNT", "COUNT ATOMIC", "FULL BLOCKS", "FULL ATOMIC BLOCKS"} {
		program := c.life(mode)
		size := 8
		if strings.HasPrefix(mode, "FULL") {
			size = 16
		}
		r := c.one(execution{}, program, "registers")
		if got, want := counted(r, size), "3x2 1x1 2x1 8x3 9x3"; got != want {
			t.Errorf("%s: %s, want %s", mode, got, want)
		}
		if !r.Continuous || !r.Sealed || !r.Single || r.Changed {
			t.Errorf("%s: a file that is live %v, sealed %v, of one thread %v, changed %v", mode, r.Continuous, r.Sealed, r.Single, r.Changed)
		}
		if size == 8 {
			continue
		}
		// The caller is there though the second function in the row signs where it returns to.
		symbols := addresses(t, program)
		if got, want := record(r, 2, size)[2], uint32(symbols["called_here"]-symbols["records"]-2*16); got != want {
			t.Errorf("%s: caller at %#x, want %#x", mode, got, want)
		}
		if got := record(r, 1, size)[2]; int32(got)>>31 != -1 || got == 0x80000000 {
			t.Errorf("%s: function 1 was called from %#x", mode, got)
		}
		for n, ran := range map[int]uint32{1: 1, 2: 0, 3: 1, 8: 1} {
			if got := record(r, n, size)[3] >> 24; got != ran {
				t.Errorf("%s: the block of function %d: %d, want %d", mode, n, got, ran)
			}
		}
	}
	for ring, want := range map[string][]uint32{"": {3, 1, 2, 8, 9}, " RING=4": {1, 2, 8, 9}} {
		r := c.one(execution{}, c.life("ORDER BLOCKS"+ring), "registers")
		var got []uint32
		for _, off := range r.Order {
			got = append(got, off/4)
		}
		if r.Next != 5 || !slices.Equal(got, want) {
			t.Errorf("order%s: %d of %v, want %v", ring, r.Next, got, want)
		}
		if got := record(r, 1, 4)[0]; got != 0x01000001 {
			t.Errorf("order%s: the record of function 1 is %#x", ring, got)
		}
	}
}

// addresses returns the symbols of a program.
func addresses(t *testing.T, program string) map[string]uint64 {
	t.Helper()
	out := map[string]uint64{}
	for _, s := range symbolsOf(t, program) {
		out[s.Name] = s.Value
	}
	return out
}

// TestAArch64Life: however a process lives and ends, what it did until then is in its files.
func TestAArch64Life(t *testing.T) {
	t.Parallel()
	c := newCross(t)
	program := c.life("COUNT")
	const first, child = "3x2 1x1 2x1", "5x1 4x1"
	once := execution{env: []string{"CAIRN_CONTINUOUS=0"}}
	for _, test := range []struct {
		args string
		execution
		signal syscall.Signal
		output string // a pattern
		want   []string
	}{
		{args: "plain", want: []string{first}},
		{args: "plain", execution: once, want: []string{first}},
		{args: "fork", want: []string{first, child}},
		{args: "fork", execution: once, want: []string{first, child}},
		{args: "abort", signal: syscall.SIGABRT, want: []string{first}},
		{args: "kill", signal: syscall.SIGKILL, want: []string{first}},
		{args: "kill", execution: once, signal: syscall.SIGKILL},
		{args: "_exit", want: []string{first}},
		{args: "dump", want: []string{first, child}},
		{args: "dump", execution: once, want: []string{first, child}},
		{args: "title", want: []string{first, child}},
		{args: "title", execution: once, want: []string{first, child}},
		// The records are gone with the file; what comes goes on after their order.
		{args: "truncate", want: []string{"order 4 of function 5"}},
		{args: "plain", execution: execution{before: "ulimit -f 1;"}, output: "^cairn: cannot write /.*/d/life\\..*: errno 27\n$"},
		{args: "plain", execution: execution{env: []string{"CAIRN_DIR="}}},
		{args: "plain", execution: execution{env: []string{"CAIRN_SCENARIO=a walk"}}, want: []string{first}},
	} {
		e := c.run(test.execution, program, test.args)
		name := test.args + " " + strings.Join(test.env, " ")
		var exit *exec.ExitError
		switch {
		case test.signal != 0 && (!errors.As(e.err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != test.signal),
			test.signal == 0 && e.err != nil:
			t.Errorf("%s: ended by %v", name, e.err)
		}
		if output := cmp.Or(test.output, "^$"); test.signal == 0 && !regexp.MustCompile(output).MatchString(e.output) {
			t.Errorf("%s: says %q, want %s", name, e.output, output)
		}
		var got []string
		for _, r := range e.raws {
			got = append(got, counted(r, 8))
			if r.Scenario != "" != strings.Contains(name, "SCENARIO") {
				t.Errorf("%s: scenario %q", name, r.Scenario)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, slices.Sorted(slices.Values(test.want))) {
			t.Errorf("%s: %q, want %q; files %q", name, got, test.want, e.files)
		}
	}
}

// TestAArch64Threads: threads that race for first calls lose none of them, and atomic probes
// none at all.
func TestAArch64Threads(t *testing.T) {
	t.Parallel()
	c := newCross(t)
	const threads, rounds = 4, 1000
	for _, mode := range []string{"COUNT", "COUNT ATOMIC"} {
		r := c.one(execution{}, c.life(mode), "threads")
		if r.Single {
			t.Errorf("%s: several threads were one", mode)
		}
		orders := map[uint32]bool{}
		for n := range 64 {
			w := record(r, n, 8)
			most := uint32(threads * rounds)
			if n >= 1 && n <= 3 {
				most += []uint32{0, 1, 1, 2}[n]
			}
			if count := -w[0]; count > most || count < rounds/2 || count < most && mode == "COUNT ATOMIC" {
				t.Errorf("%s: function %d ran %d times, counted are %d", mode, n, most, count)
			}
			if order := w[1] &^ (1 << 31); order == 0 || order > 100 || orders[order] {
				t.Errorf("%s: function %d has order %d", mode, n, order)
			} else {
				orders[order] = true
			}
		}
	}
	r := c.one(execution{}, c.life("ORDER"), "threads")
	if slices.Sort(r.Order); r.Next != 64 || len(slices.Compact(r.Order)) != 64 {
		t.Errorf("order: %d first calls of %v", r.Next, r.Order)
	}
}

// TestAArch64Pages: files have pages as the kernel has them, whatever is the largest that
// the program was linked for. With the smallest they end with the last of the 64 slots.
func TestAArch64Pages(t *testing.T) {
	t.Parallel()
	c := newCross(t)
	program := c.life("ORDER")
	for _, size := range []int{4096, 16384, 65536} {
		slots := size / 4
		if size == 4096 {
			slots = 64
		}
		for _, continuous := range []string{"1", "0"} {
			e := c.run(execution{qemu: []string{"-p", strconv.Itoa(size)}, env: []string{"CAIRN_CONTINUOUS=" + continuous}}, program, "fork")
			if e.err != nil || e.output != "" || len(e.raws) != 2 {
				t.Fatalf("pages of %d: %v, files %q, output:\n%s", size, e.err, e.files, e.output)
			}
			for i, r := range e.raws {
				if r.Next != uint32(3-i) || len(r.Order) != 3-i || r.Size != 65536 || r.Slots != uint32(slots) {
					t.Errorf("pages of %d, process %d: %d of %v in %d slots, %d bytes", size, i, r.Next, r.Order, r.Slots, r.Size)
				}
				if r.Continuous != (continuous == "1") || r.Continuous && len(r.Data) != size {
					t.Errorf("pages of %d: %d bytes of live memory: %v", size, len(r.Data), r.Continuous)
				}
			}
		}
	}
}

// TestAArch64Links: programs of all kinds have the runtime.
func TestAArch64Links(t *testing.T) {
	t.Parallel()
	c := newCross(t)
	for _, flags := range []string{
		"-static", "-static-pie -fPIE", "-no-pie -Wl,-z,max-page-size=4096", "-Wl,--gc-sections",
		"-nostartfiles " + c.sources("start.S")[0],
	} {
		program := c.life("COUNT", strings.Fields(flags)...)
		if got, want := counted(c.one(execution{}, program), 8), "3x2 1x1 2x1"; got != want {
			t.Errorf("%s: %s, want %s", flags, got, want)
		}
		if strings.HasPrefix(flags, "-nostart") && !guarded(t, program) {
			t.Error("the linker has dropped that branches have landing pads and return addresses are signed")
		}
	}
	if clang, err := exec.LookPath("clang-22"); err == nil {
		program := filepath.Join(c.dir, "clang")
		c.command(clang, slices.Concat([]string{"--target=aarch64-linux-gnu", "-fuse-ld=lld", "-O1", "-DCOUNT", "-o", program, "-Wl,--build-id,--gc-sections"},
			c.sources("probes.S", "registers.S", "life.c"), []string{c.archive})...)
		if got, want := counted(c.one(execution{}, program), 8), "3x2 1x1 2x1"; got != want {
			t.Errorf("lld: %s, want %s", got, want)
		}
	}
	program := filepath.Join(c.dir, "freestanding")
	c.gcc(slices.Concat([]string{"-nostdlib", "-static", "-no-pie", "-DFULL", "-DFREESTANDING", "-o", program, "-Wl,--build-id"}, c.sources("start.S", "probes.S"), []string{c.archive})...)
	if r := c.one(execution{}, program); counted(r, 16) != "3x1 1x1" {
		t.Errorf("without a C library: %s", counted(r, 16))
	}
}

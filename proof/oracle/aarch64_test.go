//go:build linux && amd64

package oracle

import (
	"bufio"
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	pdt "github.com/cairnprof/cairn/format/perfdata/perfdatatest"
	"github.com/cairnprof/cairn/internal/binary/qemulog"
	"github.com/cairnprof/cairn/proof/tailguests"
	perf "github.com/cairnprof/cairn/sample"
)

// emulated is a program for AArch64 whose run is turned into samples: what a processor
// with a record of branches and a kernel that walks frame pointers would write, and the
// true stacks. What an instruction is is objdump's word, and where functions begin the
// symbol table's.
type emulated struct {
	program   string
	mnemonics map[uint64]string
	starts    []uint64 // functions

	every int
	whole bool // stacks have the callers of functions without frames, too

	branches []perf.Branch // taken, the last ones
	calls    []emulatedCall
	taken    int
	samples  strings.Builder
	truth    strings.Builder
	spe      strings.Builder // what perf prints of the statistical profiling extension
	traced   []byte          // what the extension itself writes
	decided  int             // branches, taken or not
}

// depth is how many branches the record of branches has.
const depth = 32

// emulatedCall is an open call, with the jumps that functions in it ended with.
type emulatedCall struct {
	from, to, ret, fp uint64
	jumps             []perf.Branch
}

// crossTails compiles the source of tailSource for AArch64, without a library, as an
// emulator's log of one is long.
func crossTails(t *testing.T, compiler string, flags ...string) string {
	t.Helper()
	for _, tool := range []string{compiler, "aarch64-linux-gnu-g++", "aarch64-linux-gnu-objdump", "qemu-aarch64"} {
		mustHave(t, tool)
	}
	source := tailSource(7, 40)
	source = strings.Replace(source, "#include <stdio.h>\n", "", 1)
	source = strings.Replace(source, "  printf(\"%lu\\n\", sum);\n", "  return sum & 1;\n", 1)
	source = strings.Replace(source, "i < 40;", "i < 300;", 1)
	source += `
__asm__(".globl _start\n.type _start, %function\n_start: .cfi_startproc\n.cfi_undefined x30\n"
  "mov x29, #0\n mov x30, #0\n bl main\n mov x0, #0\n mov x8, #93\n svc #0\n brk #1\n.cfi_endproc\n.size _start, .-_start");
`
	dir := t.TempDir()
	file, program := filepath.Join(dir, "tails.c"), filepath.Join(dir, "tails")
	if err := os.WriteFile(file, []byte(source), 0o666); err != nil {
		t.Fatal(err)
	}
	args := append(flags, "-O2", "-g1", "-fno-omit-frame-pointer", "-nostdlib", "-static", "-ffreestanding", "-fasynchronous-unwind-tables", "-o", program, file)
	output(t, command(t, compiler, args...))
	return program
}

// emulate runs a program, and returns its samples and true stacks.
func emulate(t *testing.T, program string, every int, whole bool) (s *sampled, truth string) {
	t.Helper()
	e := &emulated{program: program, mnemonics: map[uint64]string{}, every: every, whole: whole}
	return e.emulate(t)
}

func (e *emulated) emulate(t *testing.T) (s *sampled, truth string) {
	t.Helper()
	program := e.program
	e.read(t)
	cmd := command(t, "qemu-aarch64", "-singlestep", "-d", "exec,cpu,nochain", program)
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var last *qemulog.Step
	err = qemulog.Read(log, func(now qemulog.Step) error {
		if last != nil {
			e.step(*last, now)
		}
		last = &now
		return nil
	})
	if wait := cmd.Wait(); err != nil || wait != nil {
		t.Fatal(err, wait)
	}
	s = &sampled{dir: t.TempDir()}
	s.samples, truth = filepath.Join(s.dir, "samples"), filepath.Join(s.dir, "truth")
	for path, text := range map[string]string{s.samples: e.samples.String(), truth: e.truth.String()} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return s, truth
}

// read takes what binutils say of the program, and writes the head of the samples.
func (e *emulated) read(t *testing.T) {
	t.Helper()
	out, err := exec.Command("aarch64-linux-gnu-objdump", "-d", e.program).Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(strings.NewReader(string(out)))
	for lines.Scan() {
		if f := strings.Fields(lines.Text()); len(f) > 2 && strings.HasSuffix(f[0], ":") {
			if at, err := strconv.ParseUint(f[0][:len(f[0])-1], 16, 64); err == nil {
				e.mnemonics[at] = f[2]
			}
		}
	}
	file, err := elf.Open(e.program)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	symbols, _ := file.Symbols()
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC {
			e.starts = append(e.starts, s.Value)
		}
	}
	slices.Sort(e.starts)
	if e.whole {
		e.samples.WriteString("# stacks: whole\n")
	}
	for _, p := range file.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 {
			const page = 0xfff
			fmt.Fprintf(&e.samples, "PERF_RECORD_MMAP2 10/10: [%#x(%#x) @ %#x 00:00 0 0]: r-xp %s\n",
				p.Vaddr&^page, (p.Memsz+p.Vaddr&page+page)&^page, p.Off&^page, e.program)
		}
	}
}

// function returns where the function at an address begins.
func (e *emulated) function(addr uint64) uint64 {
	i, found := slices.BinarySearch(e.starts, addr)
	if found {
		return addr
	}
	return e.starts[max(i, 1)-1]
}

// step is called with each instruction and the one that ran after it.
func (e *emulated) step(at, next qemulog.Step) {
	what := e.mnemonics[at.PC]
	if branchTypeOf(what) != "" {
		e.speSample(at.PC, next.PC)
	}
	if next.PC == at.PC+4 && !strings.HasPrefix(what, "bl") {
		return
	}
	if e.taken++; e.taken%e.every == 0 {
		e.sample(at)
	}
	e.branches = append(e.branches, perf.Branch{From: at.PC, To: next.PC})
	if len(e.branches) > depth {
		e.branches = e.branches[1:]
	}
	switch {
	case strings.HasPrefix(what, "bl"):
		e.calls = append(e.calls, emulatedCall{from: at.PC, to: next.PC, ret: at.PC + 4, fp: at.FP})
	case strings.HasPrefix(what, "ret"):
		e.calls = e.calls[:len(e.calls)-1]
	case e.function(at.PC) != e.function(next.PC):
		c := &e.calls[len(e.calls)-1]
		c.jumps = append(c.jumps, perf.Branch{From: at.PC, To: next.PC})
	}
}

// sample writes one, and its true stack.
func (e *emulated) sample(at qemulog.Step) {
	if len(e.calls) == 0 || len(e.branches) < depth {
		return
	}
	fmt.Fprintf(&e.samples, "\n\t%x\n", at.PC)
	fp := at.FP // of the frame that is looked at
	for i := len(e.calls) - 1; i >= 0; i-- {
		// A walk of frame pointers has who called functions that made a frame.
		if c := &e.calls[i]; e.whole || fp != c.fp {
			fmt.Fprintf(&e.samples, "\t%x\n", c.ret)
		}
		fp = e.calls[i].fp
	}
	for i := len(e.branches) - 1; i >= 0; i-- {
		fmt.Fprintf(&e.samples, " %#x/%#x/P/-/-/0 ", e.branches[i].From, e.branches[i].To)
	}
	e.samples.WriteString("\n")
	for i := range e.calls {
		c := &e.calls[i]
		fmt.Fprintf(&e.truth, "C%x>%x ", c.from, c.to)
		for _, j := range c.jumps {
			fmt.Fprintf(&e.truth, "T%x>%x ", j.From, j.To)
		}
	}
	fmt.Fprintf(&e.truth, "L%x\n", at.PC)
}

// speSample writes one branch in a number of them as perf prints the statistical profiling
// extension, taken or not, and in front of it the target of the branch taken before.
func (e *emulated) speSample(from, to uint64) {
	if e.decided++; e.decided%e.every != 0 || len(e.branches) == 0 {
		return
	}
	what, flags := e.mnemonics[from], "P"
	if e.decided%2 == 0 {
		flags = "M"
	}
	if to == from+4 && !strings.HasPrefix(what, "bl") {
		flags += "N"
	}
	events := uint16(pdt.Retired)
	for i, c := range "MN" {
		if strings.ContainsRune(flags, c) {
			events |= [...]uint16{pdt.Mispredicted, pdt.NotTaken}[i]
		}
	}
	o := pdt.Operation{Class: 2, Events: events, Address: from, Target: to, Previous: e.branches[len(e.branches)-1].To, Context: 10, Time: uint64(e.decided)}
	e.traced = o.Append(e.traced)
	fmt.Fprintf(&e.spe, " 10  %#x/%#x/%s/-/-/13/%s/- 0x0/%#x/-/-/-/0//-\n", from, to, flags, branchTypeOf(what), e.branches[len(e.branches)-1].To)
}

// branchTypeOf returns perf's name of the type of a branch, or "" for another instruction.
func branchTypeOf(mnemonic string) string {
	switch {
	case mnemonic == "bl":
		return "CALL"
	case mnemonic == "blr":
		return "IND_CALL"
	case mnemonic == "br":
		return "IND"
	case mnemonic == "b":
		return "UNCOND"
	case strings.HasPrefix(mnemonic, "ret"):
		return "RET"
	case strings.HasPrefix(mnemonic, "b."), strings.HasPrefix(mnemonic, "cb"), strings.HasPrefix(mnemonic, "tb"):
		return "COND"
	}
	return ""
}

// TestProfgenArmBranches makes profiles of what perf prints of the two branch records of Arm.
// Both texts are made of an emulator's log, in the form of perf 6.14, as there was no processor
// that has such records.
func TestProfgenArmBranches(t *testing.T) {
	t.Parallel()
	mustHave(t, llvmProfgen)
	program := crossTails(t, "clang-22", crossClang...)
	e := &emulated{program: program, mnemonics: map[uint64]string{}, every: 13}
	s, _ := e.emulate(t)
	plain := s.ours(t, "--binary="+program)
	most := hottest(t, plain)
	maps, _, _ := strings.Cut(e.samples.String(), "\n\n")

	// BRBE has the type of each branch, whether it was predicted, and which level of privilege it ran at.
	brbe := regexp.MustCompile(`0x([0-9a-f]+)(/0x[0-9a-f]+)/P/-/-/0`).ReplaceAllFunc([]byte(e.samples.String()), func(b []byte) []byte {
		from, err := strconv.ParseUint(string(b[2:bytes.IndexByte(b, '/')]), 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Appendf(bytes.Clone(bytes.TrimSuffix(b, []byte("/P/-/-/0"))), "/M/-/-/21/%s/NON_SPEC_CORRECT_PATH", branchTypeOf(e.mnemonics[from]))
	})
	write := func(text string) {
		if err := os.WriteFile(s.samples, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write(string(brbe))
	if got := s.ours(t, "--binary="+program); got != plain {
		t.Errorf("BRBE: %s", firstDifference(got, plain))
	}
	s.compare(t, program, 200)

	write(maps + "\n" + e.spe.String())
	s.compare(t, program, 100)
	if got := hottest(t, s.ours(t, "--binary="+program)); got != most {
		t.Errorf("SPE: most samples are of %s, by BRBE of %s", got, most)
	}
	text := s.ours(t, "--binary="+program)
	e.writeTrace(t, s.samples)
	if got := s.ours(t, "--binary="+program); got != text {
		t.Errorf("perf.data with SPE: %s", firstDifference(got, text))
	}
}

// writeTrace writes a perf.data with what the statistical profiling extension traced.
func (e *emulated) writeTrace(t *testing.T, path string) {
	t.Helper()
	const pmu = 9
	w := pdt.Writer{Events: []pdt.Event{{Kind: pmu, SampleType: pdt.Identifier | pdt.IP | pdt.TID | pdt.Time | pdt.CPU, ID: 7, Name: "arm_spe_0/branch_filter=1/u"}}}
	w.Tracing(pmu, 0, 1, 1000)
	w.Comm(10, 1, "tails", true)
	file, err := elf.Open(e.program)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, p := range file.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 {
			const page = 0xfff
			w.Map(10, 2, perf.Mapping{Start: p.Vaddr &^ page, Size: (p.Memsz + p.Vaddr&page + page) &^ page, Offset: p.Off &^ page, Path: e.program, Exec: true})
		}
	}
	w.Round()
	record := len(pdt.Operation{Class: 2, Previous: 1, Context: 1, Time: 1}.Append(nil)) // all have the same parts
	half := len(e.traced) / 2 / record * record
	w.Trace(0, 3, -1, 0, e.traced[:half])
	w.Trace(0, 3, -1, uint64(half), e.traced[half:])
	w.Round()
	var out bytes.Buffer
	if _, err := w.WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, out.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}

// crossClang is clang for AArch64, with probes.
var crossClang = []string{"--target=aarch64-linux-gnu", "-fuse-ld=lld", "-fpseudo-probe-for-profiling", "-fdebug-info-for-profiling"}

// TestProfgenAArch64 compares profiles of a program for AArch64 with those of llvm-profgen.
func TestProfgenAArch64(t *testing.T) {
	t.Parallel()
	mustHave(t, llvmProfgen)
	program := crossTails(t, "clang-22", crossClang...)
	s, _ := emulate(t, program, 13, false)
	s.compare(t, program, 200)

	// Of stacks alone counts are inferred by the flow of control. The function that runs most
	// often is the same.
	most := hottest(t, s.ours(t, "--infer-missing-frames=none", "--binary="+program))
	samples, err := os.ReadFile(s.samples)
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`(?m)^ 0x.*\n`).ReplaceAll(samples, nil)
	if err := os.WriteFile(s.samples, text, 0o666); err != nil {
		t.Fatal(err)
	}
	if got := hottest(t, s.ours(t, "--binary="+program)); got != most {
		t.Errorf("most samples are of %s, with branches of %s", got, most)
	}
}

// hottest returns the function of a profile with the most samples, of all its contexts.
func hottest(t *testing.T, profile string) (name string) {
	t.Helper()
	sums := map[string]int{}
	for _, m := range regexp.MustCompile(`(?m)^(?:\[(?:.* @ )?)?([a-z]\w*)\]?:(\d+):\d+$`).FindAllStringSubmatch(profile, -1) {
		n, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		sums[m[1]] += n
	}
	for f, n := range sums {
		if n > sums[name] || n == sums[name] && f < name {
			name = f
		}
	}
	t.Logf("%d functions, most of %s: %d", len(sums), name, sums[name])
	return name
}

// TestTailCallsAArch64 measures how many of the frames that tail calls erased are restored in
// programs for AArch64, for complete stacks and for those of frame pointers.
func TestTailCallsAArch64(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		compiler string
		flags    []string
		probed   bool
	}{
		"clang":      {"clang-22", crossClang, true},
		"gcc":        {"aarch64-linux-gnu-gcc", nil, false},
		"gcc signed": {"aarch64-linux-gnu-gcc", []string{"-mbranch-protection=standard"}, false},
	} {
		for _, whole := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s whole=%v", name, whole), func(t *testing.T) {
				if whole == c.probed { // the sample: each compiler once, and both kinds of stacks
					skipLong(t)
				}
				t.Parallel()
				program := crossTails(t, c.compiler, c.flags...)
				s, truth := emulate(t, program, 7, whole)
				run, err := tailguests.Open(program, s.samples, truth, c.probed)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { run.Close() })
				// With few branches more is guessed. cairn finds as many, and as many wrong
				// ones, in the same program for x86-64.
				for depth, least := range map[int]int{depth: 99, 8: 60} {
					full := &judgeMissing(t, &run.Recording, depth)[1]
					if full.Missing < 100 || full.Exact*100 < full.Missing*least || (full.Wrong+full.False)*100 > full.Missing*(99-least)/4 {
						t.Errorf("%d branches: %v", depth, full)
					}
				}
			})
		}
	}
}

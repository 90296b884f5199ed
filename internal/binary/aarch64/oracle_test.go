package aarch64

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/controlflow"
)

// gnu is binutils' disassembler for AArch64, llvm the other one.
const (
	gnu  = "aarch64-linux-gnu-objdump"
	llvm = "llvm-objdump-22"
)

// listed is an instruction as a disassembler prints it.
type listed struct {
	addr     uint64
	word     uint32
	mnemonic string // "" where it knows none
	operands string
}

// disassemble calls visit with each line of a disassembler.
func disassemble(t testing.TB, visit func(listed), tool string, args ...string) {
	t.Helper()
	if _, err := exec.LookPath(tool); err != nil {
		t.Skip("tools")
	}
	cmd := exec.Command(tool, append([]string{"-d", "-z"}, args...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewScanner(out)
	for in.Scan() {
		if l, ok := parseLine(in.Text()); ok {
			visit(l)
		}
	}
	io.Copy(io.Discard, out)
	if err := cmd.Wait(); err != nil || in.Err() != nil {
		t.Fatal(tool, args, err, in.Err())
	}
}

func parseLine(line string) (listed, bool) {
	addr, rest, ok := strings.Cut(strings.TrimSpace(line), ":")
	if !ok {
		return listed{}, false
	}
	var l listed
	var err error
	if l.addr, err = strconv.ParseUint(addr, 16, 64); err != nil {
		return listed{}, false
	}
	word, text, ok := strings.Cut(strings.TrimSpace(rest), "\t")
	n, err := strconv.ParseUint(strings.TrimSpace(word), 16, 32)
	if !ok || err != nil || len(strings.TrimSpace(word)) != 8 {
		return listed{}, false
	}
	l.word = uint32(n)
	text, _, _ = strings.Cut(text, "//")
	if m, operands, _ := strings.Cut(text, "\t"); m != "<unknown>" && m != ".inst" && m != ".word" && !strings.Contains(text, "undefined") {
		l.mnemonic, l.operands = strings.TrimSpace(m), strings.TrimSpace(operands)
	}
	return l, true
}

// class tells from a mnemonic what class an instruction is of.
func (l listed) class() controlflow.Class {
	switch m := l.mnemonic; m {
	case "b":
		return controlflow.Jump
	case "bl":
		return controlflow.Call
	case "br", "braa", "brab", "braaz", "brabz":
		return controlflow.IndirectJump
	case "blr", "blraa", "blrab", "blraaz", "blrabz":
		return controlflow.IndirectCall
	case "ret", "retaa", "retab", "eret", "eretaa", "eretab", "drps", "retaasppc", "retabsppc", "retaasppcr", "retabsppcr":
		return controlflow.Return
	case "cbz", "cbnz", "tbz", "tbnz":
		return controlflow.Conditional
	case "brk", "hlt", "udf":
		return controlflow.Trap
	case "svc", "hvc", "smc":
		return controlflow.Syscall
	case "nop":
		return controlflow.Nop
	case "bti", "paciasp", "pacibsp":
		return controlflow.Landing
	default:
		if strings.HasPrefix(m, "b.") || strings.HasPrefix(m, "bc.") {
			return controlflow.Conditional
		}
		for _, p := range []string{"cbgt", "cbge", "cbhi", "cbhs", "cbeq", "cbne", "cblt", "cblo", "cbble", "cbb", "cbh"} {
			if strings.HasPrefix(m, p) {
				return controlflow.Conditional
			}
		}
	}
	return controlflow.Other
}

// reads are mnemonics that begin as those of stores do, or of atomic accesses, and are none.
var reads = map[string]bool{"ldapr": true, "ldaprb": true, "ldaprh": true}

// stores tells from a mnemonic whether an instruction writes to memory.
func (l listed) stores() bool {
	m := l.mnemonic
	if strings.HasPrefix(m, "ldff") || reads[m] || !strings.Contains(l.operands, "[") {
		return strings.HasPrefix(l.operands, "zva,")
	}
	if strings.HasPrefix(m, "st") || strings.HasPrefix(m, "cas") || strings.HasPrefix(m, "swp") || strings.HasPrefix(m, "cpy") || strings.HasPrefix(m, "set") {
		return true
	}
	for _, p := range []string{"ldadd", "ldclr", "ldeor", "ldset", "ldsmax", "ldsmin", "ldumax", "ldumin", "ldtadd", "ldtclr", "ldtset", "ldf", "ldbf", "rcw"} {
		if strings.HasPrefix(m, p) {
			return true
		}
	}
	return false
}

// address returns the last number of the operands, where branches go.
func (l listed) address() uint64 {
	text, _, _ := strings.Cut(l.operands, " <")
	if i := strings.LastIndex(text, " "); i >= 0 {
		text = text[i+1:]
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(text, "0x"), 16, 64)
	if err != nil {
		return ^uint64(0)
	}
	return n
}

// difference compares an instruction with what a disassembler says of it.
func difference(l listed) string {
	i := Inst(l.word)
	if got, want := i.Class(), l.class(); got != want {
		return fmt.Sprintf("class %v, want %v", got, want)
	}
	switch i.Class() {
	case controlflow.Call, controlflow.Jump, controlflow.Conditional:
		if got := l.addr + uint64(i.Distance()); got != l.address() {
			return fmt.Sprintf("it goes to %#x, want %#x", got, l.address())
		}
	}
	made, page, ok := i.Address(l.addr)
	if want := l.mnemonic == "adr" || l.mnemonic == "adrp"; ok != want || ok && (made != l.address() || page != (l.mnemonic == "adrp")) {
		return fmt.Sprintf("it makes %#x", made)
	}
	if got := i.Stores(); got != l.stores() {
		return fmt.Sprintf("it stores: %v", got)
	}
	if got, want := i.OnStack(), strings.Contains(l.operands, "[sp"); i.access() && got != want {
		return fmt.Sprintf("on the stack: %v", got)
	}
	if got, want := i.RestoresFrame(), strings.HasPrefix(l.operands, "x29, x30, [") && (strings.HasPrefix(l.mnemonic, "ldp") || l.mnemonic == "ldnp"); got != want && !i.Stores() && l.mnemonic != "ldpsw" {
		return fmt.Sprintf("restores the frame: %v", got)
	}
	if got, want := i.MakesFrame(), strings.HasPrefix(l.operands, "x29, sp") && (l.mnemonic == "mov" || l.mnemonic == "add"); got != want && !strings.Contains(l.operands, ", x") {
		return fmt.Sprintf("makes a frame: %v", got)
	}
	return ""
}

// libraries are the large ones of the cross compilers.
func libraries(t *testing.T) []string {
	var found []string
	patterns := []string{"libc.so.6"}
	if !testing.Short() {
		patterns = []string{"lib*.so.*"}
	}
	for _, p := range patterns {
		more, _ := filepath.Glob("/usr/aarch64-linux-gnu/lib/" + p)
		found = append(found, more...)
	}
	if len(found) == 0 {
		t.Skip("libraries")
	}
	return found
}

// TestLibraries compares every instruction of real libraries with objdump.
func TestLibraries(t *testing.T) {
	t.Parallel()
	total := 0
	for _, path := range libraries(t) {
		bad, unknown := 0, 0
		disassemble(t, func(l listed) {
			total++
			if testing.Short() && total%8 != 0 {
				return
			}
			if l.mnemonic == "" {
				unknown++
				return
			}
			if d := difference(l); d != "" && bad < 20 {
				t.Errorf("%s: %#x: %08x %s %s: %s", filepath.Base(path), l.addr, l.word, l.mnemonic, l.operands, d)
				bad++
			}
		}, gnu, path)
		t.Logf("%s: %d unknown to objdump", filepath.Base(path), unknown)
	}
	t.Logf("%d instructions", total)
	if total < 100000 {
		t.Error("too few")
	}
}

// TestForms compares random words of the groups that branch, make exceptions or use
// memory with two disassemblers. What one of them alone knows is compared with that one;
// where they do not agree, either is right.
func TestForms(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath(llvm); err != nil {
		t.Skip("llvm")
	}
	dir := t.TempDir()
	words := forms(rand.New(rand.NewPCG(1, 2)), 60000)
	var text strings.Builder
	for _, w := range words {
		fmt.Fprintf(&text, ".inst %#x\n", w)
	}
	source, object := filepath.Join(dir, "forms.s"), filepath.Join(dir, "forms.o")
	if err := os.WriteFile(source, []byte(text.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("clang-22", "--target=aarch64-linux-gnu", "-c", "-o", object, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	known := map[uint64]listed{}
	disassemble(t, func(l listed) { known[l.addr] = l }, gnu, object)
	compared, bad := 0, 0
	disassemble(t, func(l listed) {
		g := known[l.addr]
		if l.mnemonic == "" && g.mnemonic == "" {
			return
		}
		compared++
		agrees := func(x listed) bool { return x.mnemonic != "" && difference(x) == "" }
		if !agrees(l) && !agrees(g) && bad < 20 {
			t.Errorf("%08x: %s %s: %s; %s %s: %s", l.word, l.mnemonic, l.operands, difference(l), g.mnemonic, g.operands, difference(g))
			bad++
		}
	}, llvm, "--mattr=+all", object)
	t.Logf("%d of %d words compared", compared, len(words))
	if compared < len(words)/4 {
		t.Error("too few")
	}
}

// forms returns random words.
func forms(r *rand.Rand, n int) []uint32 {
	groups := []struct{ mask, value uint32 }{
		{0xfe000000, 0xd6000000},          // branches to registers, random
		{0xff9ff000 | 31, 0xd61f0000},     // and likely ones
		{0xff1ff000, 0xd61f0000},          //
		{0xff000000, 0xd4000000},          // exceptions
		{0xff1fffe0 | 0x1c, 0xd4000000},   //
		{0xfffff01f, 0xd503201f},          // hints
		{0xffc00000, 0xd5000000},          // system
		{0x7c000000, 0x14000000},          // b, bl
		{0xff000000, 0x54000000},          // b.cond
		{0x7c000000, 0x34000000},          // cbz, tbz
		{0x7e000000, 0x74000000},          // cb
		{0xff800000, 0x55000000},          // retaasppc
		{0x1f000000, 0x10000000},          // adr
		{0x0a000000, 0x08000000},          // loads and stores
		{0x3f000000, 0x08000000},          // exclusive
		{0x3b200c00, 0x38200000},          // atomic
		{0x3b200c00, 0x38200800},          // by a register
		{0x3b000000, 0x39000000},          // by a constant
		{0x3a000000, 0x28000000},          // pairs
		{0xfe407c1f, 0xa8400000 | 0x781d}, // of the frame
		{0xbe000000, 0x0c000000},          // structures
		{0xff8003ff, 0x91000000 | 0x3fd},  // frames
		{0xfe000000, 0},                   // udf
	}
	var out []uint32
	for len(out) < n {
		g := groups[len(out)%len(groups)]
		out = append(out, r.Uint32()&^g.mask|g.value)
	}
	return out
}

package x86

import (
	"bufio"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/controlflow"
)

// listed is an instruction as a disassembler prints it.
type listed struct {
	addr     uint64
	bytes    []byte
	mnemonic string // without prefixes; "" where there are only prefixes, or (bad)
	operands string
	prefixes string
}

// prefixWords are the words that disassemblers print before a mnemonic, or alone for a prefix
// that they cannot decode.
var prefixWords = map[string]bool{
	"lock": true, "rep": true, "repz": true, "repnz": true, "repe": true, "repne": true, "bnd": true,
	"notrack": true, "data16": true, "addr32": true, "cs": true, "ds": true, "es": true, "ss": true,
	"fs": true, "gs": true, "xacquire": true, "xrelease": true,
	"{vex}": true, "{evex}": true, "{vex3}": true,
}

// disassemble runs a disassembler, which must print one line for each
// instruction, with all its bytes.
func disassemble(t testing.TB, tool string, args ...string) []listed {
	t.Helper()
	cmd := exec.Command(tool, append([]string{"-d", "-z"}, args...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var all []listed
	in := bufio.NewScanner(out)
	for in.Scan() {
		if l, ok := parseLine(in.Text()); ok {
			all = append(all, l)
		}
	}
	if err := cmd.Wait(); err != nil || in.Err() != nil {
		t.Fatal(tool, args, err, in.Err())
	}
	return all
}

// parseLine reads "  addr:\tbytes\tmnemonic operands" of GNU's objdump and
// "addr: bytes\tmnemonic\toperands" of LLVM's.
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
	raw, text, ok := strings.Cut(strings.TrimSpace(rest), "\t")
	if !ok {
		return listed{}, false
	}
	if l.bytes, err = hex.DecodeString(strings.ReplaceAll(raw, " ", "")); err != nil {
		return listed{}, false
	}
	words := strings.Fields(text)
	for len(words) > 0 && (prefixWords[words[0]] || strings.HasPrefix(words[0], "rex")) {
		l.prefixes += words[0] + " "
		words = words[1:]
	}
	if len(words) > 0 && !strings.Contains(text, "bad") && words[0] != "<unknown>" && words[0] != ".byte" {
		// Predictions are written after the mnemonic: je,pt
		l.mnemonic, _, _ = strings.Cut(words[0], ",")
		l.operands = strings.Join(words[1:], " ")
	}
	return l, true
}

// isLoop reports whether the instruction branches on a register.
func (l listed) isLoop() bool {
	return l.mnemonic == "jrcxz" || l.mnemonic == "jecxz" || strings.HasPrefix(l.mnemonic, "loop")
}

// class returns by a mnemonic what class an instruction is of.
func (l listed) class() controlflow.Class {
	m := l.mnemonic
	indirect := strings.HasPrefix(l.operands, "*")
	switch {
	case strings.HasPrefix(m, "call"), strings.HasPrefix(m, "lcall"):
		if indirect {
			return controlflow.IndirectCall
		}
		return controlflow.Call
	case strings.HasPrefix(m, "jmp"), strings.HasPrefix(m, "ljmp"):
		if indirect {
			return controlflow.IndirectJump
		}
		return controlflow.Jump
	case strings.HasPrefix(m, "j"), m == "xbegin", l.isLoop():
		return controlflow.Conditional
	case strings.HasPrefix(m, "ret"), strings.HasPrefix(m, "lret"), strings.HasPrefix(m, "iret"):
		return controlflow.Return
	case m == "int3", m == "int1", m == "icebp", m == "hlt", m == "ud2", m == "ud1", strings.HasPrefix(m, "ud1"):
		return controlflow.Trap
	case m == "int", strings.HasPrefix(m, "syscall"), strings.HasPrefix(m, "sysenter"),
		strings.HasPrefix(m, "sysret"), strings.HasPrefix(m, "sysexit"):
		return controlflow.Syscall
	case m == "endbr64":
		return controlflow.Landing
	case strings.HasPrefix(m, "nop"), m == "xchg" && l.operands == "%ax,%ax":
		return controlflow.Nop
	}
	return controlflow.Other
}

// target returns where a disassembler says that a branch goes.
func (l listed) target() (uint64, bool) {
	word, _, _ := strings.Cut(l.operands, " ")
	v, err := strconv.ParseUint(strings.TrimPrefix(word, "0x"), 16, 64)
	return v, err == nil
}

// difference compares an instruction with what a disassembler says of it.
func difference(i Inst, l listed) string {
	if l.mnemonic == "" {
		return "not known"
	}
	if len(l.bytes) > 1 && l.bytes[0] == 0x9b {
		return "" // a wait and what it waits for, which GNU's takes for one
	}
	if int(i.Len) != len(l.bytes) {
		return fmt.Sprintf("%d bytes, want %d", i.Len, len(l.bytes))
	}
	// The other hints without effect are not for filling space.
	hint := i.Map == Map0F && i.Opcode >= 0x18 && i.Opcode <= 0x1e && i.Class == controlflow.Other
	if want := l.class(); i.Class != want && !(want == controlflow.Nop && hint) {
		return fmt.Sprintf("class %v, want %v", i.Class, want)
	}
	if i.IsLoop() != l.isLoop() {
		return fmt.Sprintf("loop %v, want %v", i.IsLoop(), l.isLoop())
	}
	if i.Relative() {
		if want, ok := l.target(); !ok || i.Target(l.addr) != want {
			return fmt.Sprintf("target %#x, want %#x", i.Target(l.addr), want)
		}
	}
	if want := strings.Contains(l.operands, "(%rip)") || strings.Contains(l.operands, "(%eip)"); i.RIP != want {
		return fmt.Sprintf("relative to rip: %v, want %v", i.RIP, want)
	}
	return ""
}

// program is a part of a binary: from an offset in its text, a number of bytes.
type program struct {
	path     string
	from, to uint64
}

// programs are large ones that are here: of C, C++, Go, and by hand.
func programs(t *testing.T) []program {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cc1, _ := exec.Command("gcc", "-print-prog-name=cc1").Output()
	const mb = 1 << 19
	list := []program{{self, 0, mb}, {strings.TrimSpace(string(cc1)), 8 * mb, 9 * mb}}
	for _, pattern := range []string{
		"/usr/lib/*/libc.so.6", "/usr/lib/*/libcrypto.so.3", "/usr/lib/*/libLLVM*.so*", "/usr/lib/*/libm.so.6",
	} {
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			list = append(list, program{found[0], 0, mb})
		}
	}
	return list
}

// TestPrograms compares every instruction of real programs with objdump.
func TestPrograms(t *testing.T) {
	t.Parallel()
	for _, p := range programs(t) {
		t.Run(filepath.Base(p.path), func(t *testing.T) {
			t.Parallel()
			f, err := elf.Open(p.path)
			if err != nil {
				t.Skip(err)
			}
			defer f.Close()
			text := f.Section(".text")
			start, stop := text.Addr+min(p.from, text.Size), text.Addr+min(p.to, text.Size)
			all := disassemble(t, "objdump", "-w", "-j", ".text",
				fmt.Sprintf("--start-address=%#x", start), fmt.Sprintf("--stop-address=%#x", stop), p.path)
			compareListing(t, all)
		})
	}
}

// compareListing compares a listing but for what objdump itself could not read:
// data among the code. There, a few instructions may be unknown here as well.
func compareListing(t *testing.T, all []listed) {
	t.Helper()
	unknown, skipped := 0, 0
	for n, l := range all {
		if l.mnemonic == "" || n > 0 && all[n-1].mnemonic == "" {
			skipped++
			continue
		}
		i, err := Decode(l.bytes)
		if err != nil {
			unknown++
			t.Logf("%#x: % x %s %s: %v", l.addr, l.bytes, l.mnemonic, l.operands, err)
			continue
		}
		if d := difference(i, l); d != "" {
			t.Errorf("%#x: % x %s %s: %s", l.addr, l.bytes, l.mnemonic, l.operands, d)
		}
	}
	t.Logf("%d instructions, %d unknown here, %d to objdump", len(all), unknown, skipped)
	if len(all) < 10000 || unknown*1000 > len(all) || skipped*10 > len(all) {
		t.Errorf("of %d instructions %d are unknown, %d skipped", len(all), unknown, skipped)
	}
}

// slot is how far apart the random instructions of TestForms are.
const slot = 32

// TestForms makes every opcode with random prefixes and operands, and compares
// with two disassemblers. What one of them alone knows is compared with that one;
// where they do not agree, either is right.
func TestForms(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	code := forms(rand.New(rand.NewPCG(1, 2)), 20000)
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	source := write("forms.s", fmt.Sprintf(".text\n.incbin %q\n", write("forms.bin", string(code))))
	object := filepath.Join(dir, "forms.o")
	if out, err := exec.Command("as", "-o", object, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	gnu := bySlot(disassemble(t, "objdump", "-w", object))
	llvm := gnu
	if path, err := exec.LookPath("llvm-objdump-22"); err == nil {
		llvm = bySlot(disassemble(t, path, object))
	}
	compared, refused, undefined := 0, 0, 0
	for n := range len(code) / slot {
		addr := uint64(n * slot)
		g, l := gnu[addr], llvm[addr]
		i, err := Decode(code[addr : addr+slot])
		switch {
		case g.mnemonic == "" && l.mnemonic == "":
			undefined++
		case err != nil:
			refused++
			t.Logf("refused: % x %s%s %s", code[addr:addr+8], g.prefixes+l.prefixes, g.mnemonic, l.mnemonic)
		default:
			compared++
			if d := difference(i, l); d != "" && difference(i, g) != "" {
				t.Errorf("% x: %+v: %s, %s", code[addr:addr+MaxLen], i, d, difference(i, g))
			}
		}
	}
	t.Logf("%d compared, %d refused, %d that neither disassembler knows", compared, refused, undefined)
	if compared < 20*refused {
		t.Error("too many are refused")
	}
}

// bySlot keeps the first instruction of each slot. Slots where a disassembler prints prefixes
// on their own line have none.
func bySlot(all []listed) map[uint64]listed {
	first := map[uint64]listed{}
	for _, l := range all {
		if l.addr%slot == 0 {
			first[l.addr] = l
		}
	}
	return first
}

// forms returns n slots that start with an instruction and are filled with nops.
func forms(r *rand.Rand, n int) []byte {
	one := func(of ...byte) byte { return of[r.IntN(len(of))] }
	maybe := func(of ...byte) []byte {
		if r.IntN(4) == 0 {
			return []byte{one(of...)}
		}
		return nil
	}
	b := func() byte { return byte(r.Uint32()) }
	out := make([]byte, 0, n*slot)
	for len(out) < n*slot {
		var code []byte
		switch kind := r.IntN(8); kind {
		case 0, 1, 2, 3:
			code = append(code, maybe(0x66, 0xf2, 0xf3, 0x67, 0x2e, 0x64)...)
			code = append(code, maybe(0x66, 0x67)...)
			code = append(code, maybe(0x40, 0x41, 0x44, 0x48, 0x49, 0x4f)...)
			escape := [][]byte{{}, {0x0f}, {0x0f, 0x38}, {0x0f, 0x3a}}[kind]
			code = append(code, escape...)
		case 4:
			code = append(code, 0xc5, b())
		case 5:
			code = append(code, 0xc4, b()&0xe0|one(1, 2, 3), b())
		case 6:
			code = append(code, 0x62, b()&0xf0|one(1, 2, 3, 5, 6), b()|4, b())
		case 7:
			code = append(code, 0x8f, b()&0xe0|one(8, 9, 10), b()&^3)
		}
		for range 8 {
			code = append(code, b())
		}
		for len(code) < slot {
			code = append(code, 0x90)
		}
		out = append(out, code...)
	}
	return out
}

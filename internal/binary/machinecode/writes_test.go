package machinecode

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/x86"
)

// registersOf are the names of general registers in AT&T's syntax, by number.
var registersOf = [registers][]string{
	{"rax", "eax", "ax", "al", "ah"},
	{"rcx", "ecx", "cx", "cl", "ch"},
	{"rdx", "edx", "dx", "dl", "dh"},
	{"rbx", "ebx", "bx", "bl", "bh"},
	{"rsp", "esp", "sp", "spl"},
	{"rbp", "ebp", "bp", "bpl"},
	{"rsi", "esi", "si", "sil"},
	{"rdi", "edi", "di", "dil"},
	{"r8", "r8d", "r8w", "r8b"},
	{"r9", "r9d", "r9w", "r9b"},
	{"r10", "r10d", "r10w", "r10b"},
	{"r11", "r11d", "r11w", "r11b"},
	{"r12", "r12d", "r12w", "r12b"},
	{"r13", "r13d", "r13w", "r13b"},
	{"r14", "r14d", "r14w", "r14b"},
	{"r15", "r15d", "r15w", "r15b"},
}

// readers are instructions that only read their last operand.
var readers = regexp.MustCompile(`^(cmp[bwlq]?|test[bwlq]?|push[wlq]?|bt[wlq]?|call[q]?|jmp[q]?|nop[wl]?|prefetch\w+|div[bwlq]|idiv[bwlq]|mul[bwlq]|ptwrite\w*|wr\w+|ldmxcsr|out\w*)$`)

// writesProgram has the C library, and a form of mov that compilers do not use.
const writesProgram = `int main(void) { __asm__ volatile(".byte 0xc6, 0xc1, 0" ::: "rcx"); return 0; }`

// TestWrites compares the registers that instructions write with what a disassembler prints as
// their last operand.
func TestWrites(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"llvm-objdump-22", "gcc"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	program := filepath.Join(t.TempDir(), "virtual")
	cmd := exec.CommandContext(t.Context(), "gcc", "-static", "-O2", "-x", "c", "-o", program, "-")
	cmd.Stdin = strings.NewReader(writesProgram)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("%v\n%s", err, out)
	}
	text, err := exec.CommandContext(t.Context(), "llvm-objdump-22", "-d", program).Output()
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`^\s+[0-9a-f]+:\s((?: ?[0-9a-f]{2})+)\s+(?:lock\s+|rep\w*\s+|notrack\s+)*(\w+)\s+(.*)$`)
	checked := 0
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		m := line.FindStringSubmatch(lines.Text())
		if m == nil || readers.MatchString(m[2]) {
			continue
		}
		operands := strings.Fields(strings.NewReplacer(",", " ", "<", " <").Replace(m[3]))
		if len(operands) == 0 || len(operands) == 1 && m[2] == "imulq" || strings.Contains(m[3], ")") && !strings.Contains(m[3], "), %") {
			continue // to memory
		}
		last, isRegister := strings.CutPrefix(operands[len(operands)-1], "%")
		number := slices.IndexFunc(registersOf[:], func(names []string) bool { return slices.Contains(names, last) })
		if !isRegister || number < 0 || number == regSP {
			continue
		}
		code, err := hex.DecodeString(strings.ReplaceAll(m[1], " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		in, err := x86.Decode(code)
		if err != nil {
			continue
		}
		checked++
		if writes(in)>>number&1 == 0 {
			t.Errorf("%s: %%%s is said to stay", lines.Text(), last)
		}
	}
	if checked < 30_000 {
		t.Errorf("%d instructions were checked", checked)
	}
}

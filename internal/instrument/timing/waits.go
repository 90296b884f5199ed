package timing

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/prof"
)

// Problem: in modes trace and stacks the time in which a thread waits is self time of the function that waits. main that
// waits for its workers then comes before all that these do.
//
// Choice: calls of the functions of the C library that only wait (tracelog.WaitsIn) go to functions of the unit that call
// them. These have probes as all functions have, so waits are calls in the log, by their names:
//
//	__cairn_wait_poll:
//	        subq    $8, %rsp
//	        call    poll@PLT
//	        addq    $8, %rsp
//	        ret
//
// All objects share them. None of these functions has arguments on the stack. A program may have a function of its own by such
// a name, which has: the unit of that has a strong symbol in place of the weak one, which jumps to it. Functions that may wait and seldom do, as
// those of mutexes and files, are called as before: events of all their calls would cost too much.

// waitCode is the code of such a function by machine; ! stands for the function that waits.
var waitCode = map[machine.Kind]string{
	machine.X86_64:  "\tsubq\t$8, %rsp\n\t.cfi_adjust_cfa_offset 8\n\tcall\t!@PLT\n\taddq\t$8, %rsp\n\t.cfi_adjust_cfa_offset -8\n\tret\n",
	machine.AArch64: "\thint\t34\n\tstp\tx29, x30, [sp, -16]!\n\t.cfi_def_cfa_offset 16\n\t.cfi_offset 29, -16\n\t.cfi_offset 30, -8\n\tbl\t!\n\tldp\tx29, x30, [sp], 16\n\t.cfi_restore 30\n\t.cfi_restore 29\n\t.cfi_def_cfa_offset 0\n\tret\n",
	machine.Arm:     "\t.fnstart\n\t.save\t{r4, lr}\n\tpush\t{r4, lr}\n\t.cfi_def_cfa_offset 8\n\t.cfi_offset 4, -8\n\t.cfi_offset 14, -4\n\tbl\t!\n\tpop\t{r4, pc}\n\t.fnend\n",
}

// forArm turns the text of a function that is for another machine into one for Armv7, in the Thumb state: @ begins a comment there.
func forArm(u *asm.Unit, text string) string {
	if u.Kind != machine.Arm {
		return text
	}
	return strings.Replace(strings.ReplaceAll(text, "@", "%"), "\t.type\t", "\t.thumb\n\t.thumb_func\n\t.type\t", 1)
}

// calls are the instructions that call functions, or jump to them, and direct those that do so without a register.
var (
	calls  = setOf("call callq jmp jmpq bl b blr br")
	direct = map[string]string{"blr": "bl", "br": "b", "jmpq": "jmp"} // clang has no jmpq to a label
)

// waitCalled returns the function that waits that an operand of a call names, itself or by the word that has its address.
func waitCalled(operand []byte) string {
	name := string(bytes.TrimSuffix(bytes.TrimSuffix(operand, []byte("@PLT")), []byte("(PLT)")))
	if word, ok := strings.CutPrefix(name, "*"); ok {
		if name, ok = strings.CutSuffix(word, "@GOTPCREL(%rip)"); !ok {
			return ""
		}
	}
	if tracelog.WaitsIn(name) == "" {
		return ""
	}
	return name
}

// jumps are instructions that jump to a function, by machine.
var jumps = map[machine.Kind]string{machine.X86_64: "jmp\t%s@PLT", machine.AArch64: "b\t%s", machine.Arm: "b\t%s"}

// hasWaits reports whether calls of functions that wait are calls in the log.
func hasWaits(u *asm.Unit, mode prof.Mode) bool {
	return (mode == prof.ModeTrace || mode == prof.ModeStacks) && u.Object == asm.ELF && waitCode[u.Kind] != ""
}

// appendOwnWaits appends what calls of other units go to, for functions of u that are named as those that wait.
func appendOwnWaits(out []byte, u *asm.Unit, mode prof.Mode) []byte {
	if !hasWaits(u, mode) {
		return out
	}
	for _, fn := range u.Funcs {
		if tracelog.WaitsIn(fn.Name) == "" || fn.Orphan || !isGlobal(u.Src, fn.Name) {
			continue
		}
		text := "\t.pushsection\t.text.$,\"ax\",@progbits\n\t.p2align\t2\n\t.globl\t$\n\t.hidden\t$\n\t.type\t$, @function\n$:\n\t.cfi_startproc\n\t" +
			fmt.Sprintf(jumps[u.Kind], fn.Name) + "\n\t.cfi_endproc\n\t.size\t$, . - $\n\t.popsection\n"
		out = append(slices.Clip(out), forArm(u, strings.ReplaceAll(text, "$", tracelog.WaitSymbol+fn.Name))...)
	}
	return out
}

// isGlobal reports whether a function can be called by other units, by the directive of gcc or of clang.
func isGlobal(src []byte, name string) bool {
	for _, directive := range []string{"\t.globl\t", "\t.global\t"} {
		if _, rest, ok := bytes.Cut(src, []byte(directive+name)); ok && len(rest) > 0 && bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0 {
			return true
		}
	}
	return false
}

// withWaits returns the unit in which calls of functions that wait are calls in the log.
func withWaits(u *asm.Unit, mode prof.Mode) *asm.Unit {
	if !hasWaits(u, mode) {
		return u
	}
	code := waitCode[u.Kind]
	own := map[string]bool{}
	for _, fn := range u.Funcs {
		own[fn.Name] = true
	}
	used := map[string]bool{}
	byRegister := gotWaits(u)
	var out []byte
	done := 0
	for at := 0; at < len(u.Src); {
		next := asm.LineEnd(u.Src, at)
		s := u.ParseLine(bytes.TrimRight(u.Src[at:next], "\r\n"))
		if s.Kind == asm.LineInsn && calls()[string(s.Word)] {
			operand := asm.Operand(s.Rest)
			if i := bytes.IndexAny(operand, " \t"); i >= 0 {
				operand = operand[:i] // before a comment of Armv7
			}
			name := waitCalled(operand)
			if name == "" {
				name = byRegister[at]
			}
			if name != "" && !own[name] {
				used[name] = true
				word := at + bytes.Index(u.Src[at:next], s.Word)
				after := word + len(s.Word)
				place := after + bytes.Index(u.Src[after:next], operand)
				out = append(append(append(out, u.Src[done:word]...), cmp.Or(direct[string(s.Word)], string(s.Word))...), u.Src[after:place]...)
				out = append(append(out, tracelog.WaitSymbol...), name...)
				done = place + len(operand)
			}
		}
		at = next
	}
	if len(used) == 0 {
		return u
	}
	out = append(out, u.Src[done:]...)
	for _, name := range slices.Sorted(maps.Keys(used)) {
		out = append(out, forArm(u, waitFunction(name, code))...)
	}
	changed, err := asm.ParseOptions{Object: u.Object, Plain: u.Plain}.Parse(out, u.Kind, u.Machine)
	if err != nil {
		return u
	}
	return changed
}

// waitFunction returns the text of the function that calls one that waits.
func waitFunction(name, code string) string {
	symbol := tracelog.WaitSymbol + name
	text := "\t.section\t.text.$,\"axG\",@progbits,$,comdat\n\t.p2align\t4\n\t.weak\t$\n\t.hidden\t$\n\t.type\t$, @function\n$:\n\t.cfi_startproc\n"
	text = strings.ReplaceAll(text+"#\t.cfi_endproc\n\t.size\t$, . - $\n", "$", symbol)
	return strings.Replace(text, "#", strings.Replace(code, "\t!", "\t"+name, 1), 1)
}

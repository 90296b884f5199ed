package timing

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/instrument/asm"
)

// Problem: code by -fno-plt calls a function that waits by the word that has its address. A register may have that, for all
// calls of a loop:
//
//	movq	usleep@GOTPCREL(%rip), %rbx             adrp	x21, :got:usleep
//	call	*%rbx                                   ldr	x21, [x21, :got_lo12:usleep]
//	                                                blr	x21
//
// Choice: the calls become direct ones. What loads the word stays, as the address may also be compared or passed on. Registers
// are followed through the flow graph: what changes one in another way, or may, ends it, and the call stays as it is.

// gotNames are the registers that are followed, by the names of all their parts. Of x86-64 they are those that calls
// preserve, as others have implied uses, and rax over the instructions of an epilogue: clang jumps by that.
var gotNames = sync.OnceValue(func() map[machine.Kind]map[string]int {
	x86, arm := map[string]int{}, map[string]int{}
	for n, names := range map[int]string{rax: "rax eax ax al ah", rbx: "rbx ebx bx bl bh", rbp: "rbp ebp bp bpl"} {
		for _, name := range strings.Fields(names) {
			x86[name] = n
		}
	}
	for n := range 29 {
		arm[fmt.Sprint("x", n)], arm[fmt.Sprint("w", n)] = n, n
		for _, part := range []string{"", "d", "w", "b"} {
			if n >= 12 && n < 16 {
				x86[fmt.Sprint("r", n, part)] = n
			}
		}
	}
	return map[machine.Kind]map[string]int{machine.X86_64: x86, machine.AArch64: arm}
})

// gotKept is the first register that calls preserve, by machine.
var gotKept = map[machine.Kind]int{machine.X86_64: rbx, machine.AArch64: 19}

const rax, rbx, rbp = 0, 3, 5 // of gotNames

// gotEpilogue are instructions of epilogues, which change the registers that they name.
var gotEpilogue = setOf("movq movl addq leaq popq xorl")

// gotWaits returns the functions that wait and are called by a register, by the offset of the line that calls.
func gotWaits(u *asm.Unit) map[int]string {
	found := map[int]string{}
	for _, fn := range u.Funcs {
		if !loadsWait(u, fn) {
			continue
		}
		g := fn.FlowGraph(u.Taken, u.Returns)
		in := make([]map[int]string, len(g.Succs))
		in[asm.NodeIn] = map[int]string{}
		for todo := []int{asm.NodeIn}; len(todo) > 0; {
			k := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			out := gotBlock(u, fn, k, in[k], found)
			for _, s := range g.Succs[k] {
				if in[s] == nil || !within(in[s], out) {
					in[s] = common(in[s], out)
					todo = append(todo, s)
				}
			}
		}
	}
	return found
}

// within reports whether all that a holds is in b.
func within(a, b map[int]string) bool { return len(common(a, b)) == len(a) }

// common returns what two states have in common; nil is a state of a block that was not reached.
func common(a, b map[int]string) map[int]string {
	out := map[int]string{}
	for r, name := range b {
		if a == nil || a[r] == name {
			out[r] = name
		}
	}
	return out
}

// loadsWait reports whether a function loads the address of one that waits.
func loadsWait(u *asm.Unit, fn *asm.Function) bool {
	for _, f := range fn.Frags {
		for i := range f.Lines {
			if text := u.Src[f.Lines[i].At:f.Lines[i].Next]; bytes.Contains(text, []byte("@GOTPCREL")) || bytes.Contains(text, []byte(":got")) {
				s := u.ParseLine(bytes.TrimRight(text, "\r\n"))
				if _, name := gotLoad(u.Kind, &s); name != "" {
					return true
				}
			}
		}
	}
	return false
}

// gotBlock returns what registers have at the end of a node, and notes its calls in found. A later visit of the node knows
// less: calls that are no longer certain leave found.
func gotBlock(u *asm.Unit, fn *asm.Function, node int, in map[int]string, found map[int]string) map[int]string {
	state := common(nil, in)
	first := asm.Nodes
	for _, f := range fn.Frags {
		for i := range f.Lines {
			line := &f.Lines[i]
			if line.Block < 0 || first+int(line.Block) != node {
				continue
			}
			s := u.ParseLine(bytes.TrimRight(u.Src[line.At:line.Next], "\r\n"))
			delete(found, int(line.At))
			if line.App || bytes.IndexByte(s.Rest, ';') >= 0 {
				clear(state)
				continue
			}
			if name := gotStep(u.Kind, &s, state); name != "" {
				found[int(line.At)] = name
			}
		}
		first += len(f.Blocks)
	}
	return state
}

// gotLoad returns the register into which an instruction loads the address of a function that waits, and this function.
func gotLoad(kind machine.Kind, s *asm.Statement) (register int, name string) {
	ops := asm.InsnOperands(s.Rest)
	if s.Kind != asm.LineInsn || len(ops) != 2 {
		return 0, ""
	}
	to, from, loads := string(ops[1]), "", false
	switch word := string(s.Word); {
	case kind == machine.X86_64 && (word == "movq" || word == "mov"):
		from, loads = strings.CutSuffix(string(ops[0]), "@GOTPCREL(%rip)") // without it, a variable
	case kind == machine.AArch64 && word == "ldr":
		to = string(ops[0])
		_, from, loads = strings.Cut(strings.Replace(string(ops[1]), ":gotpage_lo15:", ":got_lo12:", 1), ":got_lo12:")
		from = strings.TrimSuffix(from, "]")
	}
	register, ok := gotNames()[kind][strings.TrimPrefix(to, "%")]
	if !ok || !loads || tracelog.WaitsIn(from) == "" {
		return 0, ""
	}
	return register, from
}

// gotStep applies an instruction to what registers have, and returns the function that waits that it calls.
func gotStep(kind machine.Kind, s *asm.Statement, state map[int]string) (calls string) {
	if s.Kind != asm.LineInsn || len(state) == 0 && !bytes.Contains(s.Rest, []byte("@GOTPCREL")) && !bytes.Contains(s.Rest, []byte(":got")) {
		return ""
	}
	word := string(s.Word)
	switch word {
	case "call", "callq", "jmp", "jmpq", "bl", "blr", "br":
		if to, indirect := strings.CutPrefix(string(asm.Operand(s.Rest)), "*%"); indirect || word == "blr" || word == "br" {
			if r, ok := gotNames()[kind][to]; ok {
				calls = state[r]
			}
		}
		for r := range state {
			if r < gotKept[kind] {
				delete(state, r)
			}
		}
		return calls
	case "leave", "leaveq", "enter":
		delete(state, rbp)
	case "cpuid":
		delete(state, rbx)
	}
	if kind == machine.X86_64 && !gotEpilogue()[word] {
		delete(state, rax)
	}
	copied, copies := gotCopy(kind, s, state)
	for _, r := range gotChanged(kind, word, s.Rest) {
		delete(state, r)
	}
	if copies != "" {
		state[copied] = copies
	} else if r, name := gotLoad(kind, s); name != "" {
		state[r] = name
	}
	return ""
}

// gotCopy returns the register that an instruction copies another to, of which it is known what that has, as before a jump behind
// an epilogue.
func gotCopy(kind machine.Kind, s *asm.Statement, state map[int]string) (to int, name string) {
	ops := asm.InsnOperands(s.Rest)
	word, whole := "mov", "x"
	if kind == machine.X86_64 {
		slices.Reverse(ops)
		word, whole = "movq", "%r"
	}
	if string(s.Word) != word || len(ops) != 2 || !bytes.HasPrefix(ops[0], []byte(whole)) || !bytes.HasPrefix(ops[1], []byte(whole)) {
		return 0, ""
	}
	to, follows := gotNames()[kind][strings.TrimPrefix(string(ops[0]), "%")]
	from, has := gotNames()[kind][strings.TrimPrefix(string(ops[1]), "%")]
	if !follows || !has {
		return 0, ""
	}
	return to, state[from]
}

// gotChanged returns the registers that an instruction names and may change.
func gotChanged(kind machine.Kind, word string, rest []byte) (out []int) {
	ops := asm.InsnOperands(rest)
	switch {
	case len(ops) == 0:
		return nil
	case kind == machine.X86_64 && (strings.HasPrefix(word, "push") || strings.HasPrefix(word, "cmp") && !strings.HasPrefix(word, "cmpx") || strings.HasPrefix(word, "test")),
		kind == machine.AArch64 && (word == "cmp" || word == "tst" || word == "cbz" || word == "cbnz"),
		kind == machine.AArch64 && (word == "str" || word == "stp") && bytes.HasSuffix(rest, []byte("]")):
		return nil
	case kind == machine.X86_64 && strings.HasPrefix(word, "mov"):
		if rest = ops[len(ops)-1]; rest[0] != '%' {
			return nil
		}
	case kind == machine.AArch64 && word == "mov":
		rest = ops[0]
	}
	for i := 0; i < len(rest); {
		n := i
		for n < len(rest) && asm.SymbolByte[rest[n]] {
			n++
		}
		if r, ok := gotNames()[kind][string(rest[i:n])]; ok {
			out = append(out, r)
		}
		i = max(n, i+1)
	}
	return out
}

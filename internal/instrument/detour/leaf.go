package detour

import (
	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/x86"
)

// LeafUnwind is the unwind information of a function for Windows that has none: its return address is where the stack pointer
// points, all the time.
var LeafUnwind = []byte{1, 0, 0, 0}

// Leaf returns how many bytes of code, which begins at addr, a function has that needs no unwind information; 0 if it is none. Such
// a function calls nothing, never changes the stack pointer, and does not read its return address. One that only jumps elsewhere is
// not taken for one: what it leads to is not known.
func Leaf(code []byte, addr uint64) (size int) {
	seen := map[int]bool{}
	for todo := []int{0}; len(todo) > 0; {
		off := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for !seen[off] {
			i, err := x86.Decode(code[min(off, len(code)):])
			if err != nil || !staysLeaf(i) {
				return 0
			}
			seen[off] = true
			next := off + int(i.Len)
			size = max(size, next)
			if i.Relative() {
				to := i.Target(addr+uint64(off)) - addr
				if to < uint64(len(code)) {
					todo = append(todo, int(to))
				} else if i.Class == controlflow.Conditional || off == 0 {
					return 0
				}
			}
			if i.Class.Ends() {
				break
			}
			off = next
		}
	}
	return size
}

// BeginsAsLeaf reports whether the first instructions of code, which a jump replaces, are those of a function as Leaf's.
func BeginsAsLeaf(code []byte) bool {
	for off := 0; off < patchSize; {
		i, err := x86.Decode(code[min(off, len(code)):])
		if err != nil || !staysLeaf(i) || i.Class.Ends() {
			return false
		}
		off += int(i.Len)
	}
	return true
}

// staysLeaf reports whether an instruction leaves the stack pointer and the return address alone.
func staysLeaf(i x86.Inst) bool {
	const rsp = 4
	switch i.Class {
	case controlflow.Call, controlflow.IndirectCall, controlflow.IndirectJump, controlflow.Syscall:
		return false
	case controlflow.Return:
		return i.ImmSize == 0
	}
	if changesStack(i) || usesReturn(i) || namesStack(i) {
		return false
	}
	named := i.Map == x86.MapOne && i.Prefix&x86.PrefixVector == 0 && i.HasModRM && i.Reg() == rsp
	return !named || extended(i.Opcode)
}

// namesStack reports whether an instruction that compilers do not use for it, and coroutines written in assembly may, can change the
// stack pointer: xchg with %rax, mov of a constant, push and pop of %fs and %gs, bswap, cmov and the like.
func namesStack(i x86.Inst) bool {
	const rsp = 4
	op := i.Opcode
	switch {
	case i.Prefix&x86.PrefixVector != 0:
		return false
	case i.Map == x86.MapOne:
		return (op == 0x90|rsp || op == 0xb8|rsp) && i.Rex&1 == 0
	case i.Map != x86.Map0F:
		return false
	case op&^9 == 0xa0:
		return true
	case op == 0xc8|rsp:
		return i.Rex&1 == 0
	}
	named := i.HasModRM && (i.Reg() == rsp || i.Mod() == 3 && i.RM() == rsp)
	return named && (op&0xf0 == 0x40 || op >= 0xa0 && op <= 0xc1)
}

// extended reports whether the register of an instruction is a part of its operation.
func extended(opcode uint8) bool {
	switch opcode {
	case 0x80, 0x81, 0x83, 0x8f, 0xc0, 0xc1, 0xc6, 0xc7, 0xf6, 0xf7, 0xfe, 0xff:
		return true
	}
	return opcode >= 0xd0 && opcode <= 0xdf && opcode != 0xd4
}

// Package controlflow names the effects of instructions on control flow, for any machine.
package controlflow

// Class is the effect of an instruction on control flow.
type Class uint8

// The classes. Control never continues to the next instruction after those from Call to Jump:
// the code after them runs only after another branch.
const (
	Other Class = iota
	Call
	IndirectCall // through a register or memory
	Return
	Jump // to a fixed address
	IndirectJump
	Conditional // to a fixed address, or to the next instruction

	Trap    // control does not continue
	Syscall // a system call
	Nop     // padding
	Landing // a valid target of indirect branches
)

var names = [...]string{"other", "call", "call*", "return", "jump", "jump*", "jcc", "trap", "syscall", "nop", "landing"}

func (c Class) String() string { return names[min(int(c), len(names)-1)] }

// IsCall reports whether the instruction is a call of any kind, except a system call.
func (c Class) IsCall() bool { return c == Call || c == IndirectCall }

// IsDirect reports whether the instruction is a branch to a fixed address.
func (c Class) IsDirect() bool { return c == Call || c == Jump || c == Conditional }

// Ends reports whether control never continues to the next instruction.
func (c Class) Ends() bool { return c == Return || c == Jump || c == IndirectJump || c == Trap }

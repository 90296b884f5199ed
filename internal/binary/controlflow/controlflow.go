// Package controlflow names what instructions of any machine do to the flow of control.
package controlflow

// Class is what an instruction does to the flow of control.
type Class uint8

// The classes. Those from Call to Jump are never run over: what is after them
// runs after a branch only.
const (
	Other Class = iota
	Call
	IndirectCall // through a register or memory
	Return
	Jump // to a fixed address
	IndirectJump
	Conditional // to a fixed address, or on

	Trap    // control does not continue by itself
	Syscall // a call of the system
	Nop     // fills space
	Landing // a place that indirect branches may reach
)

var names = [...]string{"other", "call", "call*", "return", "jump", "jump*", "jcc", "trap", "syscall", "nop", "landing"}

func (c Class) String() string { return names[min(int(c), len(names)-1)] }

// IsCall reports whether the instruction is a call of any kind, but that of the system.
func (c Class) IsCall() bool { return c == Call || c == IndirectCall }

// IsDirect reports whether the instruction is a branch to a fixed address.
func (c Class) IsDirect() bool { return c == Call || c == Jump || c == Conditional }

// Ends reports whether control never continues to the next instruction.
func (c Class) Ends() bool { return c == Return || c == Jump || c == IndirectJump || c == Trap }

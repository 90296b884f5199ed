package stackcopy

import (
	"github.com/cairnprof/cairn/internal/binary/ehframe"
	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/prefetch"
	"github.com/cairnprof/cairn/sample"
)

// A Memory remembers the rules at addresses of a process: most stacks have callers that others have, too, and to find the module
// of an address, its table and the rule there takes longer than to use the rule. It is not safe for concurrent use.
type Memory struct {
	pid   int32
	round uint32 // of the rules that hold, from 1 on
	rules [1 << memoryBits]remembered
	outer [8]uint64 // addresses of the last frames that were left, in turn
	left  uint      // their number
}

const memoryBits = 10

type remembered struct {
	pc    uint64
	row   *ehframe.Row
	round uint32
}

// Enter makes a process the one of the next walks.
func (m *Memory) Enter(pid int32) {
	if m.pid != pid || m.round == 0 {
		m.pid = pid
		m.Forget()
	}
}

// Forget must be called when mappings of processes have changed.
func (m *Memory) Forget() {
	if m.round++; m.round == 0 {
		*m = Memory{pid: m.pid, round: 1}
	}
}

func (m *Memory) slot(pc uint64) *remembered {
	return &m.rules[pc*0x9e3779b97f4a7c15>>(64-memoryBits)]
}

// at returns the rule at an address, nil if it is not remembered. m may be nil.
func (m *Memory) at(pc uint64) *ehframe.Row {
	if m == nil {
		return nil
	}
	if s := m.slot(pc); s.pc == pc && s.round == m.round {
		return s.row
	}
	return nil
}

// keep remembers a rule. m may be nil.
func (m *Memory) keep(pc uint64, row *ehframe.Row) {
	if m != nil {
		*m.slot(pc) = remembered{pc, row, m.round}
	}
}

// leave remembers the address of a frame that a walk left. m may be nil.
func (m *Memory) leave(cfa uint64) {
	if m != nil {
		m.outer[m.left%uint(len(m.outer))] = cfa
		m.left++
	}
}

// Ahead asks the processor for what a later walk will read of a copy, if its outer frames are those of the last walk.
func (m *Memory) Ahead(u *sample.UserState) {
	reg := x86SP
	if MachineOf(u) == machine.AArch64 {
		reg = armSP
	}
	sp, ok := u.Reg(reg)
	if !ok {
		return
	}
	for _, cfa := range m.outer {
		if at := cfa - sp; at >= word && at <= uint64(len(u.Stack)) {
			prefetch.Bytes(u.Stack[at-word : at])
		}
	}
}

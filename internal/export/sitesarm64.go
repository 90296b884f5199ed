package export

import "encoding/binary"

// aarch64 is the name of the machine in prof.Map.
const aarch64 = "AArch64"

// scanAArch64 is scan for code of AArch64: calls are BL, tail calls B.
func (s *siteFinder) scanAArch64(caller, block int, lo uint64, code []byte) {
	for i := 0; i+4 <= len(code); i += 4 {
		w := binary.LittleEndian.Uint32(code[i:])
		isCall := w>>26 == 0x25
		if !isCall && w>>26 != 0x05 {
			continue
		}
		addr := lo + uint64(i)
		callee, ok := s.entries[branchTarget(addr, w)]
		// A jump to its own entry is a loop.
		if ok && (callee != caller || isCall) {
			s.sites = append(s.sites, Site{Caller: caller, Block: block, Addr: addr, Callee: callee})
		}
	}
}

// branchTarget returns where the instruction w at an address leads to, which is BL or B.
func branchTarget(addr uint64, w uint32) uint64 {
	return addr + uint64(int64(int32(w<<6)>>6)<<2)
}

// callBeforeAArch64 is callBefore for code of AArch64: BL, and BLR with and without a signature.
func callBeforeAArch64(code Code, ret uint64) call {
	b := code.Bytes(ret-4, ret)
	if b == nil {
		return call{}
	}
	switch w := binary.LittleEndian.Uint32(b); {
	case w>>26 == 0x25:
		return call{addr: ret - 4, target: branchTarget(ret-4, w)}
	case w&0xfffffc1f == 0xd63f0000, w&0xfefff800 == 0xd63f0800:
		return call{addr: ret - 4, indirect: true}
	}
	return call{}
}

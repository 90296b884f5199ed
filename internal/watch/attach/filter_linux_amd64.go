package attach

// insn is an instruction of a seccomp filter: struct sock_filter of the kernel.
type insn struct {
	code   uint16
	jt, jf uint8
	k      uint32
}

// action is the result of a filter for a system call: SECCOMP_RET_* of the kernel.
type action uint32

const (
	actEndThread  action = 0x00000000
	actTrap       action = 0x00030000
	actErrno      action = 0x00050000
	actNotify     action = 0x7fc00000
	actTrace      action = 0x7ff00000
	actLog        action = 0x7ffc0000
	actAllow      action = 0x7fff0000
	actEndProcess action = 0x80000000
	actUnclear    action = 1 // the result is unknown, or takes too long to find
	actMask              = 0xffff0000
)

func (a action) allows() bool { return a == actAllow || a == actLog }

// word is a value in a filter, which may be unknown before the call is made.
type word struct {
	v     uint32
	known bool
}

// filterState is the state of a filter's execution.
type filterState struct {
	pc   int
	a, x word
	m    [16]word
}

// mostStates bounds the paths through a filter that are followed. A filter has at most 4,096 instructions.
const mostStates = 1 << 16

// eachResult calls found with all possible results of a filter for a call. At a branch on an unknown value it
// follows both paths: results that are not found do not occur.
func eachResult(filter []insn, c *call, found func(action)) {
	todo := []filterState{{a: word{known: true}, x: word{known: true}}}
	seen := map[filterState]bool{}
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[s] {
			continue
		}
		seen[s] = true
		if len(seen) > mostStates || s.pc < 0 || s.pc >= len(filter) {
			found(actUnclear)
			return
		}
		i := filter[s.pc]
		if i.code&7 == bpfRet {
			switch v := s.operand(i.code&bpfRetA != 0, i.k); {
			case !v.known:
				found(actUnclear)
			default:
				found(action(v.v & actMask))
			}
			continue
		}
		next, ok := s.step(i, c)
		if !ok {
			found(actUnclear)
			return
		}
		todo = append(todo, next...)
	}
}

// Parts of an instruction's code; from include/uapi/linux/bpf_common.h.
const (
	bpfLd, bpfLdx, bpfSt, bpfStx, bpfALU, bpfJmp, bpfRet, bpfMisc = 0, 1, 2, 3, 4, 5, 6, 7

	bpfMode, bpfImm, bpfAbs, bpfMem, bpfLen = 0xe0, 0x00, 0x20, 0x60, 0x80
	bpfOp, bpfX                             = 0xf0, 0x08
	bpfRetA, bpfTxa                         = 0x10, 0x80

	sizeofData = 64 // struct seccomp_data
)

// operand returns a constant, or the register used instead.
func (s *filterState) operand(register bool, k uint32) word {
	if register {
		return s.a
	}
	return word{k, true}
}

// step returns the states after an instruction other than a return.
func (s filterState) step(i insn, c *call) (next []filterState, ok bool) {
	from := word{i.k, true}
	if i.code&bpfX != 0 {
		from = s.x
	}
	s.pc++
	switch i.code & 7 {
	case bpfLd:
		s.a, ok = s.load(i, c)
	case bpfLdx:
		s.x, ok = s.load(i, c)
	case bpfSt:
		if ok = i.k < uint32(len(s.m)); ok {
			s.m[i.k] = s.a
		}
	case bpfStx:
		if ok = i.k < uint32(len(s.m)); ok {
			s.m[i.k] = s.x
		}
	case bpfALU:
		s.a, ok = compute(i.code&bpfOp, s.a, from)
	case bpfMisc:
		if ok = true; i.code&bpfTxa != 0 {
			s.a = s.x
		} else {
			s.x = s.a
		}
	case bpfJmp:
		return s.jump(i, from)
	}
	return []filterState{s}, ok
}

// load returns the value of a load.
func (s *filterState) load(i insn, c *call) (word, bool) {
	switch i.code & bpfMode {
	case bpfImm:
		return word{i.k, true}, true
	case bpfLen:
		return word{sizeofData, true}, true
	case bpfMem:
		if i.k < uint32(len(s.m)) {
			return s.m[i.k], true
		}
	case bpfAbs:
		return c.data(i.k)
	}
	return word{}, false
}

// compute returns the result of an operation. The result of a division by zero is unknown.
func compute(op uint16, a, b word) (word, bool) {
	switch {
	case op == 0x30 && (!b.known || b.v == 0):
		return word{}, false
	case op == 0x80:
		return word{-a.v, a.known}, true
	case op == 0x50 && (a.known && a.v == 0 || b.known && b.v == 0):
		return word{0, true}, true
	case !a.known || !b.known, (op == 0x60 || op == 0x70) && b.v > 31:
		return word{}, op <= 0xa0
	}
	switch op {
	case 0x00:
		a.v += b.v
	case 0x10:
		a.v -= b.v
	case 0x20:
		a.v *= b.v
	case 0x30:
		a.v /= b.v
	case 0x40:
		a.v |= b.v
	case 0x50:
		a.v &= b.v
	case 0x60:
		a.v <<= b.v
	case 0x70:
		a.v >>= b.v
	case 0xa0:
		a.v ^= b.v
	default:
		return word{}, false
	}
	return a, true
}

// jump returns the states after a jump. Jumps go forward only.
func (s filterState) jump(i insn, b word) (next []filterState, ok bool) {
	op := i.code & bpfOp
	if op == 0 {
		s.pc += int(min(i.k, 1<<16))
		return []filterState{s}, true
	}
	yes, no := s, s
	yes.pc += int(i.jt)
	no.pc += int(i.jf)
	if !s.a.known || !b.known {
		return []filterState{yes, no}, op <= 0x40
	}
	var taken bool
	switch op {
	case 0x10:
		taken = s.a.v == b.v
	case 0x20:
		taken = s.a.v > b.v
	case 0x30:
		taken = s.a.v >= b.v
	case 0x40:
		taken = s.a.v&b.v != 0
	default:
		return nil, false
	}
	if taken {
		return []filterState{yes}, true
	}
	return []filterState{no}, true
}

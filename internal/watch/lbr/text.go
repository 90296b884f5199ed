package lbr

import (
	"math/bits"
	"strconv"

	"github.com/cairnprof/cairn/format/procmaps"
)

// AppendMaps adds the executable mappings of /proc/PID/maps in the format of perf script. It
// leaves out others: llvm-profgen fails at a mapping of the part before the code.
func AppendMaps(to []byte, pid int32, maps []byte) []byte {
	for m, err := range procmaps.All(maps) {
		if err != nil || !m.Exec || !m.IsFile() {
			continue
		}
		to = append(to, "PERF_RECORD_MMAP2 "...)
		to = strconv.AppendInt(to, int64(pid), 10)
		to = append(to, '/')
		to = strconv.AppendInt(to, int64(pid), 10)
		to = append(to, ": [0x"...)
		to = strconv.AppendUint(to, m.Lo, 16)
		to = append(to, "(0x"...)
		to = strconv.AppendUint(to, m.Hi-m.Lo, 16)
		to = append(to, ") @ 0x"...)
		to = strconv.AppendUint(to, m.Offset, 16)
		to = append(to, ' ')
		to = append(append(to, m.Device...), ' ')
		to = strconv.AppendUint(to, m.Inode, 10)
		to = append(to, " 0]: r-xp "...)
		to = append(append(to, m.Name...), '\n')
	}
	return to
}

// Append adds the sample as perf script -F ip,brstack shows one.
func (s *Sample) Append(to []byte) []byte {
	for _, addr := range s.Stack {
		to = append(to, '\t')
		for range 16 - hexDigits(addr) {
			to = append(to, ' ')
		}
		to = strconv.AppendUint(to, addr, 16)
		to = append(to, '\n')
	}
	for i := len(s.Branches) - 1; i >= 0; i-- {
		to = append(to, " 0x"...)
		to = strconv.AppendUint(to, s.Branches[i].From, 16)
		to = append(to, "/0x"...)
		to = strconv.AppendUint(to, s.Branches[i].To, 16)
		to = append(to, "/P/-/-/0 "...)
	}
	return append(to, "\n\n"...)
}

func hexDigits(v uint64) int { return max(1, (bits.Len64(v)+3)/4) }

// AppendTruth adds the true stack in one line: the calls that are open, outermost
// first, each a letter and FROM>TO (C a call, T a tail call, O from outside of the
// binary), then L and the address that the sample was taken at. Calls that were not kept
// are a number after three dots.
func (s *Sample) AppendTruth(to []byte) []byte {
	for _, c := range s.Calls {
		letter := byte('C')
		switch c.Kind {
		case TailCall:
			letter = 'T'
		case FromOutside:
			letter = 'O'
		}
		to = append(to, letter)
		to = strconv.AppendUint(to, c.From, 16)
		to = append(to, '>')
		to = strconv.AppendUint(to, c.To, 16)
		to = append(to, ' ')
	}
	if s.Cut > 0 {
		to = append(to, "..."...)
		to = strconv.AppendUint(to, uint64(s.Cut), 10)
		to = append(to, ' ')
	}
	to = append(to, 'L')
	to = strconv.AppendUint(to, s.IP, 16)
	return append(to, '\n')
}

package tailtest

import (
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/samples/tailcall"
)

type ref = machinecode.Ref

// stack is a stack with the jumps between its frames.
type stack struct {
	frames []ref   // calls, outermost first, then the instruction that ran
	jumps  [][]ref // after each call
	rules  []string
}

func (s *stack) call(at ref) {
	s.frames, s.jumps, s.rules = append(s.frames, at), append(s.jumps, nil), append(s.rules, "")
}

// jump adds a jump after the last call. A jump before the first call belongs to no pair.
func (s *stack) jump(at ref, rule string) {
	if k := len(s.jumps) - 1; k >= 0 {
		s.jumps[k], s.rules[k] = append(s.jumps[k], at), rule
	}
}

// parse reads a line of truth: the part of the stack in the binaries. It returns false for an
// incomplete line.
func (s *stack) parse(line string, code *machinecode.Set, at func(addr uint64) ref) bool {
	*s = stack{}
	for word := range strings.FieldsSeq(line) {
		x, y, _ := strings.Cut(word[1:], ">")
		from, err1 := strconv.ParseUint(x, 16, 64)
		to, err2 := strconv.ParseUint("0"+y, 16, 64)
		if err1 != nil || err2 != nil {
			return false // "...12": calls that were dropped
		}
		switch r := at(from); {
		case word[0] == 'L':
			s.frames = append(s.frames, r)
			return true
		case word[0] == 'O', !r.IsInstruction():
			*s = stack{} // called from outside: the frames further out are unknown
		case word[0] == 'T':
			// To the recorder, the parts of a function are separate functions.
			if !code.SameFunction(r, at(to)) {
				s.jump(r, "")
			}
		default:
			s.call(r)
		}
	}
	return false
}

// restored makes a stack of restored frames.
func restored(frames []tailcall.Frame, leaf ref) stack {
	var s stack
	for _, f := range frames {
		if f.Rule == "" {
			s.call(f.At)
		} else {
			s.jump(f.At, f.Rule)
		}
	}
	s.frames = append(s.frames, leaf)
	return s
}

package prove

import (
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/x86"
)

// effectOf returns what an instruction may read and what it certainly writes: status flags, or 1 for a register.
type effectOf func(in x86.Inst, code []byte) (reads, writes flagSet)

// flagsLive reports whether the plain code from at on may read a status flag before it writes that flag; known
// is false if that is unknown. Callers and callees pass nothing in the flags, by the System V ABI.
func (w *walker) flagsLive(at codePlace) (live, known bool) {
	return w.live(at.code, at.at, allFlags, false, flagsOf)
}

// registerLive reports whether the plain code from at on may read a general register before it overwrites it. Callers
// and callees are taken to read it.
func (w *walker) registerLive(at codePlace, reg uint8) (live, known bool) {
	return w.live(at.code, at.at, 1, true, func(in x86.Inst, code []byte) (reads, writes flagSet) {
		r, wr := registerOf(in, code, reg)
		if r {
			reads = 1
		}
		if wr {
			writes = 1
		}
		return reads, writes
	})
}

// live reports whether the plain code from an offset of c on may read what is held before it writes it. outside is
// whether what is outside of the object reads it.
func (p *prover) live(c *code, at int64, held flagSet, outside bool, effect effectOf) (live, known bool) {
	type state struct {
		*code
		at   int64
		held flagSet // what nothing has written since
	}
	type position struct {
		*code
		at int64
	}
	seen := map[position]flagSet{}
	work := []state{{c, at, held}}
	for len(work) > 0 {
		s := work[len(work)-1]
		work = work[:len(work)-1]
		seg := s.code.at(s.at)
		if seg == nil {
			return false, false
		}
		for s.held != 0 && s.held&^seen[position{s.code, s.at}] != 0 {
			seen[position{s.code, s.at}] |= s.held
			if s.at >= seg.a.hi {
				if outside {
					return true, true
				}
				break // after a call that does not return
			}
			in, err := x86.Decode(s.dataA[s.at:seg.a.hi])
			if err != nil {
				return false, false
			}
			reads, writes := effect(in, s.dataA[s.at:])
			if reads&s.held != 0 {
				return true, true
			}
			if in.Class == controlflow.IndirectJump { // also a tail call
				for _, to := range p.indirect(seg) {
					work = append(work, state{to.code, to.at, s.held})
				}
			}
			s.held &^= writes
			if in.Class == controlflow.Jump || in.Class == controlflow.Conditional {
				to, off := p.destination(s.code, s.at, in)
				if to != nil {
					work = append(work, state{to, off, s.held})
				} else if outside {
					return true, true
				}
			}
			if in.Class.Ends() {
				break
			}
			s.at += int64(in.Len)
		}
	}
	return false, true
}

// destination returns where a direct branch of the plain code leads, nil if that is outside of the object's code or
// another definition may replace it.
func (p *prover) destination(c *code, at int64, in x86.Inst) (to *code, off int64) {
	relocs := p.a.within(c.a, at, in.Len)
	if len(relocs) == 0 {
		return c, int64(in.Target(uint64(at)))
	}
	t, ok := p.a.target(relocs[0], int64(in.Len)-(int64(relocs[0].Off)-at))
	if !ok || t.name != "" {
		return nil, 0
	}
	return p.codes[t.section], t.off
}

// codePlace is a place in the plain code.
type codePlace struct {
	*code
	at int64
}

// indirect returns the places that an indirect jump of a segment may lead to, except out of the function: those whose
// address is taken in the segment, and in the other parts of its function.
func (p *prover) indirect(s *segment) (out []codePlace) {
	if p.parts == nil {
		p.parts = map[string][]codeSegment{}
		for _, c := range p.order {
			for i := range c.segments {
				s := &c.segments[i]
				p.parts[function(s.name)] = append(p.parts[function(s.name)], codeSegment{c, s})
			}
		}
	}
	for _, part := range p.parts[function(s.name)] {
		if part.name != function(s.name) { // its start is within the function
			out = append(out, codePlace{part.code, part.segment.a.lo})
		}
		for _, at := range p.addressTaken(part.code, part.segment) {
			out = append(out, codePlace{part.code, at})
		}
	}
	return out
}

type codeSegment struct {
	*code
	*segment
}

// function returns the name of the function that a part of it belongs to: compilers split cold code from it.
func function(name string) string { return strings.TrimSuffix(name, ".cold") }

// addressTaken returns the places in a segment, except its start, whose address data or code takes.
func (p *prover) addressTaken(c *code, s *segment) []int64 {
	if s.taken != nil {
		return s.taken
	}
	out := slices.Clone(p.addressed(c.a, s.a))
	for at := s.a.lo; at < s.a.hi; {
		in, err := x86.Decode(c.dataA[at:s.a.hi])
		if err != nil {
			at++ // data between code, or code that the walk rejects
			continue
		}
		if in.RIP && in.Class == controlflow.Other {
			to := int64(in.Memory(uint64(at)))
			for _, r := range p.a.within(c.a, at, in.Len) {
				t, ok := p.a.target(r, int64(in.Len)-(int64(r.Off)-at))
				if to = t.off; !ok || t.name != "" || t.section != c.a {
					to = -1
				}
			}
			if to > s.a.lo && to < s.a.hi {
				out = append(out, to)
			}
		}
		at += int64(in.Len)
	}
	slices.Sort(out)
	s.taken = append([]int64{}, slices.Compact(out)...)
	return s.taken
}

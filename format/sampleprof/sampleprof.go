// Package sampleprof reads and writes LLVM sample profiles (AutoFDO), which clang
// -fprofile-sample-use and llvm-profdata --sample read, and sums them. They are text, in
// the format of LLVM's ProfileData/SampleProfReader.h, or binary (see extbinary.go):
//
//	name:total:head
//	 offset[.discriminator]: count [callee:count ...]
//	 offset[.discriminator]: inlinee:total
//	  offset[.discriminator]: count
//
// An offset is a line relative to the line of the function's definition, modulo
// 2^16, or in a profile that is keyed by pseudo probes the number of one. A
// function that was inlined is nested under the place of its call.
//
// A profile with contexts distinguishes calls of a function by their callers, which
// are written before it instead:
//
//	[main:5 @ mid:2 @ leaf]:total:head
//
// After the lines of a function there can be two more:
//
//	!CFGChecksum: number
//	!Attributes: bits
package sampleprof

import (
	"cmp"

	"github.com/cairnprof/cairn/internal/saturate"
)

// Profile holds the samples of a program's functions by their linkage names.
type Profile map[string]*Samples

// Samples are the counts of one function, or of one inlined copy of it.
type Samples struct {
	// Head counts the calls of the function. Inlined copies have none.
	Head    uint64
	Body    map[Place]*Line
	Inlined map[Place]map[string]*Samples

	// Sum is the total if Stated, where it is not the sum of all counts.
	Stated bool
	Sum    uint64
	// Probes: places are pseudo probes, of a function with this Checksum.
	Probes     bool
	Checksum   uint64
	Attributes Attributes
}

// Attributes are bits that describe a context.
type Attributes uint8

// The attributes.
const (
	WasInlined      Attributes = 1 << iota // by the compiler of the program that ran
	ShouldBeInlined                        // by the one that reads the profile
	Duplicated                             // its counts are in the function's own profile, too
)

// Place is a place in a function's source.
type Place struct {
	Offset        uint32 // lines from the function's definition, modulo 2^16; or a probe
	Discriminator uint32 // distinguishes the blocks of one line; LLVM's base discriminator
}

// Line says how often a place ran.
type Line struct {
	Count   uint64
	Callees map[string]uint64 // calls made from here, by the callee's linkage name
}

// Func returns the samples of the function called name and makes them if there
// are none.
func (p Profile) Func(name string) *Samples {
	s := p[name]
	if s == nil {
		s = &Samples{}
		p[name] = s
	}
	return s
}

// At returns the line at a place and makes it if there is none.
func (s *Samples) At(at Place) *Line {
	l := s.Body[at]
	if l == nil {
		if s.Body == nil {
			s.Body = map[Place]*Line{}
		}
		l = &Line{}
		s.Body[at] = l
	}
	return l
}

// Inline returns the copy of the function called name that was inlined at a
// place, and makes it if there is none.
func (s *Samples) Inline(at Place, name string) *Samples {
	if s.Inlined == nil {
		s.Inlined = map[Place]map[string]*Samples{}
	}
	if s.Inlined[at] == nil {
		s.Inlined[at] = map[string]*Samples{}
	}
	return Profile(s.Inlined[at]).Func(name)
}

// Call adds calls of the function called name.
func (l *Line) Call(name string, count uint64) {
	if l.Callees == nil {
		l.Callees = map[string]uint64{}
	}
	l.Callees[name] = saturate.Add(l.Callees[name], count)
}

// Add adds the counts of t to s, without t's attributes. If checksums differ they belong to different code:
// then those of t are left out. Add returns the number of such functions, inlined copies included.
func (s *Samples) Add(t *Samples) (differ int) {
	switch {
	case s.Checksum == 0:
		s.Checksum = t.Checksum
	case s.Checksum != t.Checksum:
		return 1
	}
	s.Probes = s.Probes || t.Probes
	if s.Stated || t.Stated {
		s.AddTotal(t.Total())
	}
	s.Head = saturate.Add(s.Head, t.Head)
	for at, from := range t.Body {
		l := s.At(at)
		l.Count = saturate.Add(l.Count, from.Count)
		for name, n := range from.Callees {
			l.Call(name, n)
		}
	}
	for at, copies := range t.Inlined {
		for name, c := range copies {
			if s.Inlined[at][name] == nil {
				s.Inline(at, name).Attributes = c.Attributes
			}
			differ += s.Inline(at, name).Add(c)
		}
	}
	return differ
}

// Merge adds the counts of t to the function called name. If there is none yet, it
// gets the attributes of t as well. It returns what Add does.
func (p Profile) Merge(name string, t *Samples) (differ int) {
	if p[name] == nil {
		p.Func(name).Attributes = t.Attributes
	}
	return p[name].Add(t)
}

// Nest nests t, the samples of the function called name that was called at a place, there, as if it had been
// inlined. The place's count of such calls is in t.
func (s *Samples) Nest(at Place, name string, t *Samples) {
	s.AddTotal(t.Total())
	*s.Inline(at, name) = *t
	l := s.Body[at]
	if l == nil {
		return
	}
	calls := l.Callees[name]
	delete(l.Callees, name)
	l.Count -= min(calls, l.Count)
	s.Sum -= min(calls, s.Sum)
	if l.Count == 0 {
		delete(s.Body, at)
	}
}

// Total returns the stated total, or else the sum of all counts, those of inlined copies included.
func (s *Samples) Total() uint64 {
	if s.Stated {
		return s.Sum
	}
	var n uint64
	for _, l := range s.Body {
		n = saturate.Add(n, l.Count)
	}
	for _, copies := range s.Inlined {
		for _, c := range copies {
			n = saturate.Add(n, c.Total())
		}
	}
	return n
}

func (p Place) compare(q Place) int { return cmp.Compare(p.key(), q.key()) }

// key orders places.
func (p Place) key() uint64 { return uint64(p.Offset)<<32 | uint64(p.Discriminator) }

// AddTotal adds only to the total, which is then stated.
func (s *Samples) AddTotal(n uint64) {
	s.Sum, s.Stated = saturate.Add(s.Total(), n), true
}

// RecountTotal makes the total the sum of all counts, those of inlined copies included,
// whatever was stated.
func (s *Samples) RecountTotal() {
	for _, copies := range s.Inlined {
		for _, c := range copies {
			c.RecountTotal()
		}
	}
	s.Stated, s.Sum = false, 0
	s.AddTotal(0)
}

// RaiseCalls makes the count of each place at least the sum of the calls from it. The
// total stays.
func (s *Samples) RaiseCalls() {
	s.AddTotal(0)
	for _, l := range s.Body {
		var calls uint64
		for _, n := range l.Callees {
			calls = saturate.Add(calls, n)
		}
		l.Count = max(l.Count, calls)
	}
}

// EntryCount estimates how often the function was entered: its Head, or else the count of its first place, or
// the entries of the function inlined there.
func (s *Samples) EntryCount() uint64 {
	if s.Head != 0 {
		return s.Head
	}
	first, inlined, found := Place{}, false, false
	for at := range s.Body {
		if !found || at.compare(first) < 0 {
			first, found = at, true
		}
	}
	for at := range s.Inlined {
		if !found || at.compare(first) < 0 {
			first, inlined, found = at, true, true
		}
	}
	if !inlined {
		if !found {
			return 0
		}
		return s.Body[first].Count
	}
	var n uint64
	for _, c := range s.Inlined[first] {
		n = saturate.Add(n, c.EntryCount())
	}
	return n
}

// BaseDiscriminator extracts LLVM's base discriminator from one in DWARF, where it shares its bits with a
// duplication factor and a copy number (LLVM's DILocation::getBaseDiscriminatorFromDiscriminator). One that
// belongs to a pseudo probe has three bits of it, if bit 28 is set; otherwise the probe's number replaces it.
func BaseDiscriminator(d uint32) uint32 {
	const probe, encoded = 7, 1 << 28
	switch {
	case d&7 != probe:
		return component(d)
	case d&encoded != 0:
		return d >> 16 & 7
	}
	return d >> 3 & 0xffff
}

// DuplicationFactor extracts from a discriminator how many copies of its block the compiler made, each of which
// ran a part of the time.
func DuplicationFactor(d uint32) uint32 {
	switch {
	case d&1 != 0:
		d >>= 1
	case d&0x40 != 0:
		d >>= 14
	default:
		d >>= 7
	}
	return max(component(d), 1)
}

// component returns the first of the numbers that a discriminator is made of: one
// of 5 bits, or of 12 with a mark in between.
func component(d uint32) uint32 {
	if d&1 != 0 {
		return 0
	}
	d >>= 1
	if d&0x20 != 0 {
		return d>>1&0xfe0 | d&0x1f
	}
	return d & 0x1f
}

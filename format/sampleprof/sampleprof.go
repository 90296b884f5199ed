// Package sampleprof writes LLVM sample profiles (AutoFDO), the text that
// clang -fprofile-sample-use and llvm-profdata --sample read. The format is
// that of LLVM's ProfileData/SampleProfReader.h:
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
// A profile with contexts tells calls of a function apart by their callers, which
// stand in front of it instead:
//
//	[main:5 @ mid:2 @ leaf]:total:head
//
// Behind the lines of a function there can be two more:
//
//	!CFGChecksum: number
//	!Attributes: bits
package sampleprof

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
)

// Profile holds the samples of a program's functions by their linkage names.
type Profile map[string]*Samples

// Samples is what is known of one function, or of one inlined copy of it.
type Samples struct {
	// Head counts the calls of the function. Inlined copies have none.
	Head    uint64
	Body    map[Place]*Line
	Inlined map[Place]map[string]*Samples

	// Stated is the total where it is not the sum of all counts, and 0 where it is.
	Stated uint64
	// Probes: places are pseudo probes, of a function with this Checksum.
	Probes     bool
	Checksum   uint64
	Attributes Attributes
}

// Attributes are bits that say something of a context.
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
	Discriminator uint32 // tells apart the blocks of one line; LLVM's base discriminator
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
	l.Callees[name] = saturate(l.Callees[name], count)
}

// Add adds the counts of t to s.
func (s *Samples) Add(t *Samples) {
	if s.Stated != 0 || t.Stated != 0 {
		s.Stated = saturate(s.Total(), t.Total())
	}
	if t.Probes {
		s.Probes, s.Checksum = true, t.Checksum
	}
	s.Attributes |= t.Attributes
	s.Head = saturate(s.Head, t.Head)
	for at, from := range t.Body {
		l := s.At(at)
		l.Count = saturate(l.Count, from.Count)
		for name, n := range from.Callees {
			l.Call(name, n)
		}
	}
	for at, copies := range t.Inlined {
		for name, c := range copies {
			s.Inline(at, name).Add(c)
		}
	}
}

// Total returns what is stated, or else the sum of all counts, those of inlined
// copies included.
func (s *Samples) Total() uint64 {
	if s.Stated != 0 {
		return s.Stated
	}
	var n uint64
	for _, l := range s.Body {
		n = saturate(n, l.Count)
	}
	for _, copies := range s.Inlined {
		for _, c := range copies {
			n = saturate(n, c.Total())
		}
	}
	return n
}

func saturate(a, b uint64) uint64 {
	if a+b < a {
		return ^uint64(0)
	}
	return a + b
}

// Write writes p as text, the function with the greatest total first.
func Write(w io.Writer, p Profile) error {
	totals := make(map[string]uint64, len(p))
	for name, s := range p {
		totals[name] = s.Total()
	}
	names := slices.SortedFunc(maps.Keys(p), func(a, b string) int {
		return cmp.Or(cmp.Compare(totals[b], totals[a]), cmp.Compare(a, b))
	})
	b := bufio.NewWriter(w)
	for _, name := range names {
		fmt.Fprintf(b, "%s:%d:%d\n", name, totals[name], p[name].Head)
		p[name].write(b, 1)
	}
	return b.Flush()
}

// write writes the lines of s, each after so many blanks.
func (s *Samples) write(b *bufio.Writer, indent int) {
	for _, at := range slices.SortedFunc(maps.Keys(s.Body), Place.compare) {
		l := s.Body[at]
		fmt.Fprintf(b, "%*s%s: %d", indent, "", at, l.Count)
		for _, callee := range slices.SortedFunc(maps.Keys(l.Callees), func(x, y string) int {
			return cmp.Or(cmp.Compare(l.Callees[y], l.Callees[x]), cmp.Compare(x, y))
		}) {
			fmt.Fprintf(b, " %s:%d", callee, l.Callees[callee])
		}
		b.WriteByte('\n')
	}
	for _, at := range slices.SortedFunc(maps.Keys(s.Inlined), Place.compare) {
		for _, name := range slices.Sorted(maps.Keys(s.Inlined[at])) {
			c := s.Inlined[at][name]
			fmt.Fprintf(b, "%*s%s: %s:%d\n", indent, "", at, name, c.Total())
			c.write(b, indent+1)
		}
	}
	if s.Probes {
		fmt.Fprintf(b, "%*s!CFGChecksum: %d\n", indent, "", s.Checksum)
	}
	if s.Attributes != 0 {
		fmt.Fprintf(b, "%*s!Attributes: %d\n", indent, "", s.Attributes)
	}
}

// String returns the place as the text has it.
func (p Place) String() string {
	if p.Discriminator == 0 {
		return fmt.Sprint(p.Offset)
	}
	return fmt.Sprintf("%d.%d", p.Offset, p.Discriminator)
}

func (p Place) compare(q Place) int {
	return cmp.Or(cmp.Compare(p.Offset, q.Offset), cmp.Compare(p.Discriminator, q.Discriminator))
}

// BaseDiscriminator takes LLVM's base discriminator out of one that stands in
// DWARF, where it shares its bits with a duplication factor and a copy number
// (LLVM's DILocation::getBaseDiscriminatorFromDiscriminator). A number that
// belongs to a pseudo probe has none.
func BaseDiscriminator(d uint32) uint32 {
	if d&7 == 7 || d&1 != 0 {
		return 0
	}
	d >>= 1
	if d&0x20 != 0 {
		return d>>1&0xfe0 | d&0x1f
	}
	return d & 0x1f
}

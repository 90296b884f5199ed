package sampleprof

import (
	"cmp"
	"io"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"sync"

	"github.com/cairnprof/cairn/internal/stablesort"
)

// Problem: a profile with contexts is tens of megabytes of small numbers, and writing them with fmt takes as
// long as computing them.

// Write writes p as text, the function with the greatest total first.
func Write(w io.Writer, p Profile) error {
	list := make([]entry, 0, len(p))
	for name, s := range p {
		list = append(list, entry{s.Total(), &Context{Frames: []Frame{{Func: name}}, Samples: s}})
	}
	return writeEntries(w, list, func(b []byte, c *Context) []byte { return c.appendName(b) })
}

// WriteContexts writes a profile with contexts as text, the context with the
// greatest total first.
func WriteContexts(w io.Writer, contexts []Context) error {
	list := make([]entry, len(contexts))
	for i := range contexts {
		list[i] = entry{contexts[i].Samples.Total(), &contexts[i]}
	}
	return writeEntries(w, list, func(b []byte, c *Context) []byte {
		return append(c.appendName(append(b, '[')), ']')
	})
}

// entry is a function or context to write.
type entry struct {
	total uint64
	*Context
}

// writeEntries writes a list with names as title appends them.
func writeEntries(w io.Writer, list []entry, title func([]byte, *Context) []byte) error {
	stablesort.Func(list, func(a, b entry) int {
		if a.total != b.total {
			return cmp.Compare(b.total, a.total)
		}
		return a.Compare(b.Context)
	})
	const atOnce = 64 // entries that a goroutine writes in a round
	texts := make([][]byte, runtime.GOMAXPROCS(0))
	for len(list) > 0 {
		var writing sync.WaitGroup
		for i := range texts {
			part := list[:min(atOnce, len(list))]
			list = list[len(part):]
			writing.Go(func() {
				b := texts[i][:0]
				for _, e := range part {
					b = appendCount(append(title(b, e.Context), ':'), e.total, ':')
					b = appendCount(b, e.Samples.Head, '\n')
					b = e.Samples.append(b, 1)
				}
				texts[i] = b
			})
		}
		writing.Wait()
		for _, b := range texts {
			if _, err := w.Write(b); err != nil {
				return err
			}
		}
	}
	return nil
}

// append appends the lines of s, each indented by indent blanks.
func (s *Samples) append(b []byte, indent int) []byte {
	for _, at := range sortedPlaces(s.Body) {
		l := s.Body[at]
		b = append(at.append(appendBlanks(b, indent)), ": "...)
		b = strconv.AppendUint(b, l.Count, 10)
		for _, callee := range l.sortedCallees() {
			b = append(append(append(b, ' '), callee...), ':')
			b = strconv.AppendUint(b, l.Callees[callee], 10)
		}
		b = append(b, '\n')
	}
	for _, at := range sortedPlaces(s.Inlined) {
		for _, name := range slices.Sorted(maps.Keys(s.Inlined[at])) {
			c := s.Inlined[at][name]
			b = append(at.append(appendBlanks(b, indent)), ": "...)
			b = appendCount(append(append(b, name...), ':'), c.Total(), '\n')
			b = c.append(b, indent+1)
		}
	}
	if s.Probes {
		b = appendCount(append(appendBlanks(b, indent), "!CFGChecksum: "...), s.Checksum, '\n')
	}
	if s.Attributes != 0 {
		b = appendCount(append(appendBlanks(b, indent), "!Attributes: "...), uint64(s.Attributes), '\n')
	}
	return b
}

func appendBlanks(b []byte, n int) []byte {
	for range n {
		b = append(b, ' ')
	}
	return b
}

// appendCount appends a number and the text after it.
func appendCount(b []byte, n uint64, end byte) []byte {
	return append(strconv.AppendUint(b, n, 10), end)
}

// sortedPlaces returns the places of a map in their order.
func sortedPlaces[T any](m map[Place]T) []Place {
	if len(m) == 0 {
		return nil
	}
	keys := make([]uint64, 0, len(m))
	for at := range m {
		keys = append(keys, at.key())
	}
	slices.Sort(keys)
	places := make([]Place, len(keys))
	for i, k := range keys {
		places[i] = Place{uint32(k >> 32), uint32(k)}
	}
	return places
}

// sortedCallees returns the callees, the one with most calls first.
func (l *Line) sortedCallees() []string {
	if len(l.Callees) == 0 {
		return nil
	}
	return stablesort.Sorted(maps.Keys(l.Callees), func(x, y string) int {
		if c := cmp.Compare(l.Callees[y], l.Callees[x]); c != 0 {
			return c
		}
		return cmp.Compare(x, y)
	})
}

// String returns the place in the text format.
func (p Place) String() string { return string(p.append(nil)) }

func (p Place) append(b []byte) []byte {
	b = strconv.AppendUint(b, uint64(p.Offset), 10)
	if p.Discriminator != 0 {
		b = strconv.AppendUint(append(b, '.'), uint64(p.Discriminator), 10)
	}
	return b
}

package sampleprof

import (
	"bufio"
	"cmp"
	"crypto/md5"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/internal/stablesort"
)

// The extensible binary format of LLVM's ProfileData/SampleProfWriter.cpp: a table of
// sections, then these. Numbers are ULEB128 but for those of the table.
//
//	section         contents
//	summary         totals, and for some shares of all counts the smallest count that
//	                belongs to them
//	name table      names, each ended by a zero byte
//	contexts        frames: name, place of the call
//	offsets         where in the profile each function begins
//	profile         functions: head, name, total, body, inlined copies
//	symbol list     names of functions, each ended by a zero byte: what is among them and
//	                not in the profile never ran. It may be empty
//	metadata        checksums and attributes
//
// Sections can be compressed: both sizes, then zlib. The plain binary format, which has
// no contexts and is older, is summary, name table and profile without a table.
const (
	magicExtBinary = 0x5350524f46343204 // "SPROF42" and the number of the format
	magicBinary    = 0x5350524f463432ff
	versionBinary  = 103
)

// The types of sections.
const (
	sectionSummary  = 1
	sectionNames    = 2
	sectionSymbols  = 3
	sectionOffsets  = 4
	sectionMetadata = 5
	sectionContexts = 6
	sectionProfile  = 32
)

// The flags of sections; those above 32 bits are each type's own.
const (
	flagCompressed = 1

	// Of the summary.
	flagFullContexts = 2 << 32
	flagFS           = 4 << 32 // discriminators distinguish copies of code, too
	flagPreInlined   = 16 << 32
	flagVtables      = 32 << 32

	// Of the names.
	flagMD5         = 1 << 32 // in place of names, as variable-length numbers
	flagFixedMD5    = 2 << 32 // or of 8 bytes each
	flagUniqueNames = 4 << 32 // some have a suffix that distinguishes static functions

	// Of the metadata.
	flagProbes     = 1 << 32
	flagAttributes = 2 << 32
)

// extWriter is the state of WriteExtBinary.
type extWriter struct {
	contexts bool
	md5      bool // the names are MD5 sums already
	hash     bool // write the MD5 sums of the names
	attrs    bool
	names    map[string]uint64
	table    []string
	b        []byte // of the current section
}

func (x *extWriter) put(values ...uint64) {
	for _, v := range values {
		x.b = binary.AppendUvarint(x.b, v)
	}
}

// cut ends a section.
func (x *extWriter) cut() []byte {
	b := x.b
	x.b = nil
	return b
}

// WriteExtBinary writes f in LLVM's extensible binary format, which
// -fprofile-sample-use and llvm-profdata read. It changes the order of
// the contexts.
func (f *File) WriteExtBinary(w io.Writer) error {
	list := f.Contexts
	stablesort.Func(list, func(a, b Context) int {
		return cmp.Or(cmp.Compare(b.Samples.Total(), a.Samples.Total()), a.Compare(&b))
	})
	x := &extWriter{contexts: f.HasContexts, md5: f.MD5, hash: f.HashNames && !f.MD5, names: map[string]uint64{}}
	probes := false
	for i := range list {
		x.collect(&list[i])
		probes = probes || list[i].Samples.Probes
	}
	x.number()
	offsets := make([]uint64, len(list))
	for i := range list {
		offsets[i] = uint64(len(x.b))
		x.put(list[i].Samples.Head)
		x.body(x.key(&list[i], i), list[i].Samples)
	}
	profile := x.cut()
	x.put(uint64(len(list)))
	for i := range list {
		x.put(x.key(&list[i], i), offsets[i])
	}
	places := x.cut()
	for i := range list {
		x.metadata(x.key(&list[i], i), list[i].Samples, probes)
	}
	metadata := x.cut()
	names, err := x.nameTable()
	if err != nil {
		return err
	}
	kind := flag(f.HasContexts, flagFullContexts) | flag(f.FS, flagFS) | flag(f.PreInlined || x.attrs, flagPreInlined)
	return x.write(w, []extSection{
		{sectionSummary, kind, Summarize(list).append(nil)},
		{sectionNames, flag(x.md5 || x.hash, flagMD5|flagFixedMD5) | flag(slices.ContainsFunc(x.table, isUnique), flagUniqueNames), names},
		{sectionContexts, 0, x.contextTable(list)},
		{sectionOffsets, 0, places},
		{sectionProfile, 0, profile},
		{sectionSymbols, 0, symbolList(f.Symbols)},
		{sectionMetadata, flag(probes, flagProbes) | flag(x.attributes(), flagAttributes), metadata},
	})
}

func flag(on bool, f uint64) uint64 {
	if on {
		return f
	}
	return 0
}

func isUnique(name string) bool { return strings.Contains(name, ".__uniq.") }

// attributes reports whether the metadata has attributes: contexts always do.
func (x *extWriter) attributes() bool { return x.contexts || x.attrs }

// collect collects the names of a context.
func (x *extWriter) collect(c *Context) {
	for _, f := range c.Frames {
		x.names[f.Func] = 0
	}
	x.collectSamples(c.Samples)
}

func (x *extWriter) collectSamples(s *Samples) {
	x.attrs = x.attrs || s.Attributes&ShouldBeInlined != 0
	for _, l := range s.Body {
		for name := range l.Callees {
			x.names[name] = 0
		}
	}
	for _, at := range s.Inlined {
		for name, in := range at {
			x.names[name] = 0
			x.collectSamples(in)
		}
	}
}

// number numbers the names in order.
func (x *extWriter) number() {
	x.table = slices.Sorted(maps.Keys(x.names))
	for i, name := range x.table {
		x.names[name] = uint64(i)
	}
}

func (x *extWriter) nameTable() ([]byte, error) {
	x.put(uint64(len(x.table)))
	for _, name := range x.table {
		switch {
		case x.hash:
			sum := md5.Sum([]byte(name))
			x.b = append(x.b, sum[:8]...)
			continue
		case !x.md5:
			x.b = append(append(x.b, name...), 0)
			continue
		}
		sum, err := strconv.ParseUint(name, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is not the MD5 of a name", name)
		}
		x.b = binary.LittleEndian.AppendUint64(x.b, sum)
	}
	return x.cut(), nil
}

// symbolList returns the section of that name.
func symbolList(names []string) (b []byte) {
	sorted := slices.Sorted(slices.Values(names))
	for _, name := range slices.Compact(sorted) {
		b = append(append(b, name...), 0)
	}
	return b
}

// key identifies a function: by its name, or by the number of its context.
func (x *extWriter) key(c *Context, i int) uint64 {
	if x.contexts {
		return uint64(i)
	}
	return x.names[c.Frames[len(c.Frames)-1].Func]
}

func (x *extWriter) contextTable(list []Context) []byte {
	if !x.contexts {
		x.put(0)
		return x.cut()
	}
	x.put(uint64(len(list)))
	for _, c := range list {
		x.put(uint64(len(c.Frames)))
		for i, f := range c.Frames {
			if i == len(c.Frames)-1 {
				f.Call = Place{}
			}
			x.put(x.names[f.Func], uint64(f.Call.Offset), uint64(f.Call.Discriminator))
		}
	}
	return x.cut()
}

// body writes a function, including the functions inlined into it.
func (x *extWriter) body(key uint64, s *Samples) {
	x.put(key, s.Total(), uint64(len(s.Body)))
	for _, at := range stablesort.Sorted(maps.Keys(s.Body), comparePlaces) {
		l := s.Body[at]
		x.put(uint64(at.Offset), uint64(at.Discriminator), l.Count, uint64(len(l.Callees)))
		for _, name := range slices.Sorted(maps.Keys(l.Callees)) {
			x.put(x.names[name], l.Callees[name])
		}
	}
	x.put(uint64(s.copies()))
	for _, at := range stablesort.Sorted(maps.Keys(s.Inlined), comparePlaces) {
		for _, name := range slices.Sorted(maps.Keys(s.Inlined[at])) {
			x.put(uint64(at.Offset), uint64(at.Discriminator))
			x.body(x.names[name], s.Inlined[at][name])
		}
	}
}

// copies returns the number of functions inlined directly into s.
func (s *Samples) copies() (n int) {
	for _, at := range s.Inlined {
		n += len(at)
	}
	return n
}

func (x *extWriter) metadata(key uint64, s *Samples, probes bool) {
	x.put(key)
	if probes {
		x.put(s.Checksum)
	}
	if x.attributes() {
		x.put(uint64(s.Attributes))
	}
	if x.contexts {
		return
	}
	x.put(uint64(s.copies()))
	for _, at := range stablesort.Sorted(maps.Keys(s.Inlined), comparePlaces) {
		for _, name := range slices.Sorted(maps.Keys(s.Inlined[at])) {
			x.put(uint64(at.Offset), uint64(at.Discriminator))
			x.metadata(x.names[name], s.Inlined[at][name], probes)
		}
	}
}

func comparePlaces(a, b Place) int {
	return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Discriminator, b.Discriminator))
}

type extSection struct {
	kind, flags uint64
	data        []byte
}

// write writes the table of sections and the sections.
func (x *extWriter) write(w io.Writer, sections []extSection) error {
	out := bufio.NewWriter(w)
	head := binary.AppendUvarint(nil, magicExtBinary)
	head = binary.AppendUvarint(head, versionBinary)
	head = binary.LittleEndian.AppendUint64(head, uint64(len(sections)))
	at := uint64(len(head) + 32*len(sections))
	for _, s := range sections {
		for _, v := range []uint64{s.kind, s.flags, at, uint64(len(s.data))} {
			head = binary.LittleEndian.AppendUint64(head, v)
		}
		at += uint64(len(s.data))
	}
	_, err := out.Write(head)
	for _, s := range sections {
		if err == nil {
			_, err = out.Write(s.data)
		}
	}
	if err != nil {
		return err
	}
	return out.Flush()
}

package sampleprof

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/internal/bytecur"
	"github.com/cairnprof/cairn/internal/saturate"
)

// Bounds of what the binary formats may have.
const (
	maxBinary   = 1 << 31        // bytes of a file
	maxUnpacked = 1 << 29        // bytes of its sections that were compressed
	maxRatio    = 100            // of a compressed section; names and counts stay far below, deflate could reach a thousand
	smallest    = 1 << 20        // bytes of a section from which maxRatio applies
	maxName     = 1 << 20        // bytes of a name
	maxTable    = 1 << 24        // names, or contexts
	unlimited   = math.MaxUint64 // except by the bytes that are left
)

// binaryReader reads either of LLVM's binary formats.
type binaryReader struct {
	file     *File
	index    contextIndex
	names    []string
	contexts [][]Frame
	unpacked uint64 // bytes of sections that were compressed
}

// readBinary reads all bytes of a binary profile. Errors give the offset.
func readBinary(data []byte) (*File, error) {
	r := binaryReader{file: &File{Form: ExtBinary}, index: newContextIndex()}
	c := bytecur.New(data, 0)
	magic, version := c.Uvarint(), c.Uvarint()
	if c.Err() == nil && version != versionBinary {
		return nil, fmt.Errorf("version %d of LLVM's binary format; only version %d is supported", version, versionBinary)
	}
	if magic == magicBinary {
		r.file.Form = Binary
		r.plain(c)
		return r.file, c.Err()
	}
	return r.file, r.sections(c, data)
}

// plain reads the rest of the plain binary format: a summary, which is ignored, the names and the functions.
func (r *binaryReader) plain(c *bytecur.Cursor) {
	const totals = 5
	for range totals {
		c.Uvarint()
	}
	for range 3 * c.Count("shares of all counts", unlimited, 3) {
		c.Uvarint()
	}
	r.nameTable(c, 0)
	r.functions(c)
}

// sections reads the table of sections and the sections.
func (r *binaryReader) sections(c *bytecur.Cursor, data []byte) error {
	at := c.Off()
	left := uint64(len(data)) // sections do not overlap
	for range c.CheckCount(at, c.U64(), "sections", unlimited, 32) {
		at = c.Off()
		kind, flags, offset, size := c.U64(), c.U64(), c.U64(), c.U64()
		if size > left || offset > uint64(len(data)) || size > uint64(len(data))-offset {
			c.FailAt(at, "a section of %d bytes at %#x does not fit into the file", size, offset)
		}
		if c.Err() != nil {
			return c.Err()
		}
		left -= size
		if size == 0 {
			continue
		}
		s := bytecur.New(data[offset:offset+size], int64(offset))
		if flags&flagCompressed != 0 {
			s = r.unpack(s)
		}
		if r.section(kind, flags, s); s.Err() != nil {
			return fmt.Errorf("section %d: %w", kind, s.Err())
		}
	}
	return c.Err()
}

// unpack returns the contents of a compressed section. Its offsets begin again at 0.
func (r *binaryReader) unpack(c *bytecur.Cursor) *bytecur.Cursor {
	at := c.Off()
	size, packed := c.Uvarint(), c.Uvarint()
	from := c.Bytes(packed)
	r.unpacked += min(size, maxUnpacked+1)
	switch {
	case c.Err() != nil:
		return c
	case size > max(smallest, uint64(len(from))*maxRatio) || r.unpacked > maxUnpacked:
		c.FailAt(at, "%d bytes, compressed to %d", size, packed)
		return c
	}
	out := make([]byte, size)
	z, err := zlib.NewReader(bytes.NewReader(from))
	if err == nil {
		_, err = io.ReadFull(z, out)
	}
	if err != nil {
		c.FailAt(at, "the compressed data is damaged: %v", err)
		return c
	}
	return bytecur.New(out, 0)
}

// section reads a section. Other kinds are not needed: offsets of functions, and names of functions that never
// ran.
func (r *binaryReader) section(kind, flags uint64, c *bytecur.Cursor) {
	switch kind {
	case sectionSummary:
		r.file.HasContexts = flags&flagFullContexts != 0
		r.file.FS = flags&flagFS != 0
		r.file.PreInlined = flags&flagPreInlined != 0
		if flags&flagVtables != 0 {
			c.Failf("vtable profiles are not supported: write it without -extbinary-write-vtable-type-prof")
		}
	case sectionNames:
		r.nameTable(c, flags)
	case sectionContexts:
		r.contextTable(c)
	case sectionProfile:
		r.functions(c)
	case sectionMetadata:
		r.metadata(c, flags)
	}
}

// nameTable reads the names, or their MD5.
func (r *binaryReader) nameTable(c *bytecur.Cursor, flags uint64) {
	md5 := flags&(flagMD5|flagFixedMD5) != 0
	size := 1
	if flags&flagFixedMD5 != 0 {
		size = 8
	}
	if r.names != nil {
		c.Failf("a second table of names")
	}
	n := c.Count("names", maxTable, size)
	r.file.MD5, r.names = md5, make([]string, 0, n)
	for range n {
		at, name := c.Off(), ""
		switch {
		case size == 8:
			name = strconv.FormatUint(c.U64(), 10)
		case md5:
			name = strconv.FormatUint(c.Uvarint(), 10)
		default:
			name = string(c.CString("a name", maxName))
			if strings.ContainsFunc(name, control) {
				c.FailAt(at, "the name %.60q has control characters", name)
			}
		}
		if c.Err() != nil {
			return
		}
		r.names = append(r.names, name)
	}
}

// name reads the number of a name.
func (r *binaryReader) name(c *bytecur.Cursor) string {
	at := c.Off()
	n := c.Uvarint()
	if c.Err() == nil && n >= uint64(len(r.names)) {
		c.FailAt(at, "name %d of %d", n, len(r.names))
	}
	if c.Err() != nil {
		return ""
	}
	return r.names[n]
}

func (r *binaryReader) place(c *bytecur.Cursor) Place {
	at := c.Off()
	offset, discriminator := c.Uvarint(), c.Uvarint()
	if offset > math.MaxUint16 || discriminator > math.MaxUint32 {
		c.FailAt(at, "invalid location: offset %d, discriminator %d", offset, discriminator)
	}
	return Place{uint32(offset), uint32(discriminator)}
}

func (r *binaryReader) contextTable(c *bytecur.Cursor) {
	const frameBytes = 3
	n := c.Count("contexts", maxTable, 1)
	r.contexts = make([][]Frame, 0, n)
	for range n {
		at := c.Off()
		frames := make([]Frame, c.Count("functions of a context", maxDepth, frameBytes))
		for i := range frames {
			frames[i] = Frame{r.name(c), r.place(c)}
		}
		if len(frames) == 0 {
			c.FailAt(at, "a context of no function")
		}
		if c.Err() != nil {
			return
		}
		r.contexts = append(r.contexts, frames)
	}
}

// key reads the identity of a function: the number of a name or of a context.
func (r *binaryReader) key(c *bytecur.Cursor) []Frame {
	if !r.file.HasContexts {
		return []Frame{{Func: r.name(c)}}
	}
	at := c.Off()
	n := c.Uvarint()
	if c.Err() == nil && n >= uint64(len(r.contexts)) {
		c.FailAt(at, "context %d of %d", n, len(r.contexts))
	}
	if c.Err() != nil {
		return nil
	}
	return r.contexts[n]
}

// functions reads functions to the end.
func (r *binaryReader) functions(c *bytecur.Cursor) {
	for c.Len() > 0 {
		head, frames := c.Uvarint(), r.key(c)
		if c.Err() != nil {
			return
		}
		i, fresh := r.index.find(frames)
		if fresh {
			r.file.Contexts = append(r.file.Contexts, Context{frames, &Samples{}})
		}
		s := r.file.Contexts[i].Samples
		s.Head = saturate.Add(s.Head, head)
		r.samples(c, s, 1)
	}
}

// samples reads the counts of a function, and in them those of what was inlined.
func (r *binaryReader) samples(c *bytecur.Cursor, s *Samples, depth int) {
	if depth > maxDepth {
		c.Failf("more than %d functions are nested", maxDepth)
		return
	}
	const placeBytes, callBytes, copyBytes = 4, 2, 6
	s.AddTotal(c.Uvarint())
	for range c.Count("places", unlimited, placeBytes) {
		at, count := r.place(c), c.Uvarint()
		if c.Err() != nil {
			return
		}
		l := s.At(at)
		l.Count = saturate.Add(l.Count, count)
		for range c.Count("callees", unlimited, callBytes) {
			if name, n := r.name(c), c.Uvarint(); c.Err() == nil {
				l.Call(name, n)
			}
		}
	}
	for range c.Count("inlined functions", unlimited, copyBytes) {
		at, name := r.place(c), r.name(c)
		if c.Err() != nil {
			return
		}
		r.samples(c, s.Inline(at, name), depth+1)
	}
}

// metadata reads the metadata to the end, and ignores that of functions without counts.
func (r *binaryReader) metadata(c *bytecur.Cursor, flags uint64) {
	for c.Len() > 0 {
		frames := r.key(c)
		if c.Err() != nil {
			return
		}
		var s *Samples
		if i, known := r.index.look(frames); known {
			s = r.file.Contexts[i].Samples
		}
		r.describe(c, s, flags, 1)
	}
}

// describe reads the metadata of a function, and of the functions inlined into it. It is ignored if there are
// no samples.
func (r *binaryReader) describe(c *bytecur.Cursor, s *Samples, flags uint64, depth int) {
	if depth > maxDepth {
		c.Failf("more than %d functions are nested", maxDepth)
		return
	}
	if s == nil {
		s = &Samples{}
	}
	if flags&flagProbes != 0 {
		s.Probes, s.Checksum = true, c.Uvarint()
	}
	if flags&flagAttributes != 0 {
		at := c.Off()
		bits := c.Uvarint()
		if bits > math.MaxUint8 {
			c.FailAt(at, "attributes %#x", bits)
		}
		s.Attributes = Attributes(bits)
	}
	if r.file.HasContexts {
		return
	}
	const copyBytes = 4
	for range c.Count("inlined functions", unlimited, copyBytes) {
		at, name := r.place(c), r.name(c)
		if c.Err() != nil {
			return
		}
		r.describe(c, s.Inlined[at][name], flags, depth+1)
	}
}

package mippack

import (
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/internal/bytecur"
	"github.com/cairnprof/cairn/prof"
)

// Limits bound what a reader of packs accepts.
type Limits struct {
	Files  int    // number of files
	Total  uint64 // bytes of all files, and of one
	Firsts uint64 // first executions in all files, each of which may take 7 microseconds
}

// Unpack returns the files of a pack. They take at most MaxTotal bytes.
func Unpack(data []byte) ([]File, error) {
	return UnpackWithin(data, Limits{Files: MaxFiles, Total: MaxTotal, Firsts: MaxFirsts})
}

// UnpackWithin is Unpack with lower limits than those of the format.
func UnpackWithin(data []byte, limits Limits) ([]File, error) {
	c, version, err := open(data)
	if err != nil {
		return nil, err
	}
	u := unpacker{limits: limits, names: make(map[string]bool)}
	u.list(c)
	if want := versionOf(u.entries); c.Err() == nil && version != want {
		c.Failf("version %d, but its files need %d", version, want)
	}
	stream := c.Bytes(uint64(c.Len()))
	if err := c.Err(); err != nil {
		return nil, fmt.Errorf("damaged pack: %w", err)
	}
	if u.total > maxRatio*(uint64(len(stream))+8) {
		return nil, fmt.Errorf("damaged pack: %d bytes cannot be in a stream of %d", u.total, len(stream))
	}
	d := newDecoder(stream)
	newModels(u.builds).code(&coder{d: d}, u.entries)
	if d.spent() {
		return nil, errors.New("damaged pack: its stream is truncated")
	}
	files := make([]File, len(u.entries))
	for i := range u.entries {
		e := &u.entries[i]
		files[i] = File{Name: e.name, Data: e.data}
		if e.kind&kindCoded != 0 {
			if files[i].Data, err = mip.AppendRaw(nil, e.raw); err != nil {
				return nil, fmt.Errorf("damaged pack: %s: %w", e.name, err)
			}
		}
	}
	return files, nil
}

// open checks the header and the checksum and returns a cursor over the body, and the version.
func open(data []byte) (body *bytecur.Cursor, v uint16, err error) {
	if !Detect(data) {
		return nil, 0, fmt.Errorf("not a pack: %w", mip.ErrMagic)
	}
	c := bytecur.New(data, 0)
	c.Bytes(uint64(len(Magic)))
	if v = c.U16(); c.Err() == nil && v != version && v != versionOdd {
		return nil, 0, fmt.Errorf("pack of version %d: %w", v, ErrNewer)
	}
	c.U16() // nothing yet
	sum, size := c.U32(), c.U64()
	if c.Err() == nil && size != uint64(c.Len()) {
		c.Failf("%d bytes, but the header has %d", c.Len(), size)
	}
	body = c.Sub(size)
	if err := c.Err(); err != nil {
		return nil, 0, fmt.Errorf("damaged pack: %w", err)
	}
	if got := crc32.ChecksumIEEE(data[headerSize:]); got != sum {
		return nil, 0, fmt.Errorf("damaged pack: checksum %#08x, but the header has %#08x", got, sum)
	}
	return body, v, nil
}

type unpacker struct {
	limits  Limits
	builds  []build
	entries []entry
	names   map[string]bool
	total   uint64 // bytes of images
	firsts  uint64
}

// list reads the builds and files; the cursor keeps the first error.
func (u *unpacker) list(c *bytecur.Cursor) {
	for range c.Count("builds", MaxBuilds, 2) {
		id := c.String("build id", wire.MaxBuildID)
		u.builds = append(u.builds, build{prof.BuildID(id), string(c.String("module", MaxName))})
	}
	n := c.Count("files", uint64(u.limits.Files), minFile)
	for i := 0; i < n && c.Err() == nil; i++ {
		off := c.Off()
		e := entry{kind: c.U8()}
		if e.kind&^(kindCoded|flagNamed|flagSingle|flagOdd) != 0 || e.kind&kindCoded == 0 && e.kind&^flagOdd != 0 {
			c.FailAt(off, "a file of kind %d", e.kind)
		}
		if e.kind&kindCoded != 0 {
			u.fields(c, &e)
		} else {
			e.stored = c.Uvarint()
		}
		if e.kind&flagNamed != 0 {
			if e.number = c.Uvarint(); c.Err() == nil {
				e.name = u.builds[e.build].fileName(e.raw.PID, e.number)
			}
		} else {
			e.name = string(c.String("file name", MaxName))
		}
		if err := checkName(e.name); err != nil && c.Err() == nil {
			c.FailAt(off, "%v", err)
		}
		if u.names[e.name] {
			c.FailAt(off, "a second file called %q", e.name)
		}
		u.names[e.name] = true
		// The buffers of images are bounded by this sum.
		if u.total += e.stored; e.stored > u.limits.Total || u.total > u.limits.Total {
			c.FailAt(off, "more than %d bytes of files", u.limits.Total)
		}
		u.entries = append(u.entries, e)
	}
}

// fields reads what a coded file has.
func (u *unpacker) fields(c *bytecur.Cursor, e *entry) {
	off := c.Off()
	number := func(limit uint64) uint64 {
		v := c.Uvarint()
		if v > limit {
			c.FailAt(off, "%d where a file has at most %d", v, limit)
			return 0
		}
		return v
	}
	if len(u.builds) == 0 {
		c.FailAt(off, "a file of no build")
		return
	}
	e.build = int(number(uint64(len(u.builds) - 1)))
	e.raw.BuildID = u.builds[e.build].id
	e.raw.PID = uint32(number(1<<32 - 1))
	e.raw.Run, e.raw.Single = c.U64(), e.kind&flagSingle != 0
	e.raw.Size = number(mip.MaxRawSize)
	e.stored = number(e.raw.Size)
	e.raw.Scenario = string(c.String("scenario", wire.MaxScenario))
	e.raw.Slots = uint32(number(wire.MaxSlots))
	e.raw.Next = uint32(number(1<<32 - 1))
	firsts := uint64(min(e.raw.Slots, e.raw.Next))
	if u.firsts += firsts; firsts > e.stored || u.firsts > u.limits.Firsts {
		c.FailAt(off, "%d first executions in %d bytes, %d in all files", firsts, e.stored, u.firsts)
	}
}

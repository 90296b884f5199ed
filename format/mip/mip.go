package mip

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/internal/bytecur"
)

// Maximum values of what readers accept and writers write. They are checked before the allocations that depend
// on them.
const (
	MaxName       = 1 << 16 // bytes of a function, file or module name
	MaxMachine    = 32      // bytes of the name of a machine
	MaxFuncs      = 1 << 24 // functions in a module
	MaxFragments  = 1 << 16 // fragments of a function
	MaxBlocks     = 1 << 24 // blocks of a function
	MaxEvidence   = 1 << 10 // blocks that imply another
	MaxCalls      = 1 << 24 // calls in a function
	MaxSites      = 1 << 24 // first callers of a function
	MaxModules    = 1 << 12 // modules in a profile
	MaxTraces     = 1 << 20 // traces of a module
	MaxRawSize    = 1 << 32 // bytes of a raw section
	MaxRawOffset  = 1 << 16 // file offset of the image in a raw file: the largest page
	MaxLines      = 1 << 24 // lines of a module's absent functions
	MaxTableBytes = 1 << 30 // bytes of all strings of a table, prefixes expanded
	MaxTextSize   = 1 << 28 // bytes of the text form
	maxShared     = 127     // bytes that a string in a table shares with the one before
	maxMapErrors  = 16      // bad records that ReadMapSection describes
)

// Magic numbers and versions of the files that only the tools write. A file of
// a higher major version is refused; one of a higher minor version has more at
// its end, which older readers skip.
const (
	MapMagic     = "CAIRNMAP"
	ProfileMagic = "CAIRNMIP"

	versionMajor = 1
	mapMinor     = 2 // absent functions, and which others are plain, are after the machine
	profileMinor = 3 // the same are after the machines
	runsMinor    = 1 // of profiles: runs are after all modules

	// Minor versions since which machines are after the functions of a map, and after the runs of a profile.
	mapMachineMinor, profileMachineMinor = 1, 2

	headerSize = 24
)

var (
	// ErrMagic is in the error of a reader whose input is another kind of file.
	ErrMagic = errors.New("bad magic")
	// ErrNewer is in the error of a reader that is older than its input.
	ErrNewer = errors.New("it requires a newer version of cairn")
)

// Kind is the kind of a file by its first bytes.
type Kind int

// The kinds of files that this package reads.
const (
	KindUnknown Kind = iota
	KindRaw          // .mipraw
	KindMap          // .mipmap
	KindProfile      // .mip
)

// DetectSize is how many bytes Detect looks at.
const DetectSize = 8

// Detect returns the kind of a file that starts with head.
func Detect(head []byte) Kind {
	switch {
	case bytes.HasPrefix(head, []byte(wire.RawMagic)):
		return KindRaw
	case bytes.HasPrefix(head, []byte(MapMagic)):
		return KindMap
	case bytes.HasPrefix(head, []byte(ProfileMagic)):
		return KindProfile
	}
	return KindUnknown
}

// minorOf returns the minor version of a kind of file.
func minorOf(magic string) uint16 {
	if magic == ProfileMagic {
		return profileMinor
	}
	return mapMinor
}

// writeContainer writes a header and body.
func writeContainer(w io.Writer, magic string, body []byte) error {
	header := make([]byte, 0, headerSize)
	header = append(header, magic...)
	header = binary.LittleEndian.AppendUint16(header, versionMajor)
	header = binary.LittleEndian.AppendUint16(header, minorOf(magic))
	header = binary.LittleEndian.AppendUint32(header, crc32.ChecksumIEEE(body))
	header = binary.LittleEndian.AppendUint64(header, uint64(len(body)))
	if _, err := w.Write(header); err != nil {
		return err
	}
	_, err := w.Write(body)
	return err
}

// openContainer checks the header of a file and its checksum and returns a
// cursor over the body.
func openContainer(data []byte, magic, what string) (*bytecur.Cursor, error) {
	c := bytecur.New(data, 0)
	if !bytes.HasPrefix(data, []byte(magic)) {
		return nil, fmt.Errorf("not a %s: %w", what, ErrMagic)
	}
	c.Bytes(uint64(len(magic)))
	major, minor := c.U16(), c.U16()
	if c.Err() == nil && major > versionMajor {
		return nil, fmt.Errorf("%s of version %d.%d: %w", what, major, minor, ErrNewer)
	}
	if c.Err() == nil && major == 0 {
		c.FailAt(int64(len(magic)), "%s of version 0", what)
	}
	sum, size := c.U32(), c.U64()
	if c.Err() == nil && size < uint64(c.Len()) {
		c.FailAt(c.Off()+int64(size), "%d bytes too many", uint64(c.Len())-size)
	}
	body := c.Sub(size)
	if err := c.Err(); err != nil {
		return nil, fmt.Errorf("damaged %s: %w", what, err)
	}
	if got := crc32.ChecksumIEEE(data[headerSize:]); got != sum {
		return nil, fmt.Errorf("damaged %s: checksum %#08x, but the header has %#08x", what, got, sum)
	}
	return body, nil
}

// containerMinor returns the minor version of a file that openContainer took.
func containerMinor(data []byte) uint16 {
	return binary.LittleEndian.Uint16(data[len(MapMagic)+2:])
}

// closeContainer returns the error of decoding body.
func closeContainer(data []byte, body *bytecur.Cursor, what string) error {
	if body.Len() > 0 && containerMinor(data) <= minorOf(string(data[:len(MapMagic)])) {
		body.Failf("%d unexpected bytes at the end", body.Len())
	}
	if err := body.Err(); err != nil {
		return fmt.Errorf("damaged %s: %w", what, err)
	}
	return nil
}

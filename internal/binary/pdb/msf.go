// Package pdb reads the names, the sizes and the lines of functions from the files of debug information that the linkers of Microsoft
// and LLVM write for programs for Windows.
//
// Such a file is divided into blocks of one size (MSF). Its first block says where the list of streams is; a stream is a list of
// blocks. What is read here (LLVM, The PDB File Format; microsoft-pdb):
//
//	stream 1          GUID of the build; the numbers of streams that have names
//	stream 3 (DBI)    the modules, which are the objects of the link, and the numbers of other streams
//	of a module       symbols, then lines (C13)
//	/names            the names of source files
//	symbol records    the public symbols
//
// Types are not read. Files are of unknown origin: no stream has more bytes than the file, and all that are read have not more
// than a few times that.
package pdb

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/cairnprof/cairn/internal/bytecur"
)

const magic = "Microsoft C/C++ MSF 7.00\r\n\x1aDS\x00\x00\x00"

// Limits on what a file may have.
const (
	minBlock = 512
	maxBlock = 1 << 16
	rereads  = 4 // streams that share blocks
	maxName  = 1 << 16
)

const noStream = 0xffff

// ErrNoPDB means that a file does not begin as one does.
var ErrNoPDB = errors.New("not a PDB file")

// File is an open file.
type File struct {
	r       io.ReaderAt
	size    uint64
	block   uint64
	budget  uint64 // bytes that may still be read
	streams []stream

	id      ID
	modules []module
	names   string // of source files
	publics uint16 // the stream of symbol records
}

// stream is the list of its blocks.
type stream struct {
	size   uint64
	blocks []byte // of 4 bytes each
}

// ID identifies a build: the linker writes it into the program, too.
type ID struct {
	GUID [16]byte
	Age  uint32
}

// Open reads the tables of a file.
func Open(r io.ReaderAt, size uint64) (*File, error) {
	const header = 56
	f := &File{r: r, size: size, budget: rereads * size}
	head := make([]byte, header)
	if n, _ := r.ReadAt(head, 0); n < header || string(head[:len(magic)]) != magic {
		return nil, ErrNoPDB
	}
	le := binary.LittleEndian
	f.block = uint64(le.Uint32(head[32:]))
	blocks, directory, at := uint64(le.Uint32(head[40:])), uint64(le.Uint32(head[44:])), uint64(le.Uint32(head[52:]))
	if f.block < minBlock || f.block > maxBlock || f.block&(f.block-1) != 0 || blocks*f.block > size+f.block {
		return nil, fmt.Errorf("a PDB file of %d blocks of %d bytes in %d bytes", blocks, f.block, size)
	}
	list, err := f.bytes(at*f.block, f.blocksOf(directory)*4)
	if err != nil {
		return nil, err
	}
	if err := f.readDirectory(stream{directory, list}); err != nil {
		return nil, err
	}
	if err := f.readInfo(); err != nil {
		return nil, err
	}
	return f, f.readModules()
}

// blocksOf returns the number of blocks of so many bytes.
func (f *File) blocksOf(size uint64) uint64 { return (size + f.block - 1) / f.block }

// bytes reads a part of the file.
func (f *File) bytes(off, n uint64) ([]byte, error) {
	if off > f.size || n > f.size-off || n > f.budget {
		return nil, fmt.Errorf("%d bytes at offset %d are not in a PDB file of %d bytes (cut off?)", n, off, f.size)
	}
	f.budget -= n
	b := make([]byte, n)
	_, err := f.r.ReadAt(b, int64(off))
	if err == io.EOF {
		err = nil // behind the last byte
	}
	return b, err
}

// read returns the bytes of a stream.
func (f *File) read(s stream) ([]byte, error) {
	if s.size > f.size || s.size > f.budget {
		return nil, fmt.Errorf("a stream of %d bytes in a PDB file of %d", s.size, f.size)
	}
	out := make([]byte, 0, s.size)
	for blocks := s.blocks; uint64(len(out)) < s.size; blocks = blocks[4:] {
		b, err := f.bytes(uint64(binary.LittleEndian.Uint32(blocks))*f.block, min(f.block, s.size-uint64(len(out))))
		if err != nil {
			return nil, err
		}
		out = append(out, b...)
	}
	return out, nil
}

// stream returns a cursor over a stream.
func (f *File) stream(n uint16) (*bytecur.Cursor, error) {
	if int(n) >= len(f.streams) {
		return nil, fmt.Errorf("a PDB file has no stream %d of %d", n, len(f.streams))
	}
	b, err := f.read(f.streams[n])
	return bytecur.New(b, 0), err
}

// readDirectory reads the lists of the blocks of all streams.
func (f *File) readDirectory(s stream) error {
	const absent = 1<<32 - 1
	b, err := f.read(s)
	if err != nil {
		return err
	}
	c := bytecur.New(b, 0)
	count := c.U32()
	sizes := c.Sub(4 * uint64(count))
	for range count {
		size := uint64(sizes.U32())
		if size == absent {
			size = 0
		}
		f.streams = append(f.streams, stream{size, c.Bytes(4 * f.blocksOf(size))})
		if c.Err() != nil {
			return fmt.Errorf("the directory of a PDB file: %w", c.Err())
		}
	}
	return sizes.Err()
}

// readInfo reads the identity, and the stream of file names.
func (f *File) readInfo() error {
	c, err := f.stream(1)
	if err != nil {
		return err
	}
	c.Bytes(8) // version and time
	f.id.Age = c.U32()
	copy(f.id.GUID[:], c.Bytes(16))
	texts := string(c.Bytes(uint64(c.U32())))
	c.Bytes(8)                   // number of names, and of places in the table
	c.Bytes(4 * uint64(c.U32())) // which of them are there
	c.Bytes(4 * uint64(c.U32())) // and were
	if c.Err() != nil {
		return fmt.Errorf("the identity of a PDB file: %w", c.Err())
	}
	for c.Len() >= 8 {
		name, number := c.U32(), c.U32()
		if text(texts, name) == "/names" && number < noStream {
			return f.readNames(uint16(number))
		}
	}
	return nil
}

// readNames reads the names of source files.
func (f *File) readNames(number uint16) error {
	c, err := f.stream(number)
	if err != nil {
		return err
	}
	c.Bytes(8) // magic and version
	f.names = string(c.Bytes(uint64(c.U32())))
	return c.Err()
}

// ID returns the identity of the build.
func (f *File) ID() ID { return f.id }

// text returns the text that begins at an offset of texts that end with 0; it is a part of them. Many places may name one text.
func text(texts string, at uint32) string {
	if uint64(at) >= uint64(len(texts)) {
		return ""
	}
	texts = texts[at:]
	return texts[:max(strings.IndexByte(texts[:min(len(texts), maxName)], 0), 0)]
}

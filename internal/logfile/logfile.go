// Package logfile opens inputs of any size for random access: plain files, files compressed with gzip or
// Zstandard, standard input. The content of a file determines its kind, not its name.
//
// Inputs without random access are copied to a temporary file that is unlinked before it is written, so that
// nothing is left behind and memory does not grow with the input; up to InMemory bytes stay in memory.
package logfile

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// InMemory is the number of bytes of an unpacked input that stay in memory.
const InMemory = 16 << 20

// maxWindow bounds the memory that a Zstandard stream may ask for: the window of
// its strongest level is 128 MB, that of level 19 and below 8 MB.
const maxWindow = 128 << 20

// Stdin is the path of standard input.
const Stdin = "-"

// File is an input open for reading at any offset.
type File struct {
	io.ReaderAt
	Size int64
	Name string // as messages have it
	// Note describes what could not be unpacked, "" if the input is complete: everything before that is
	// available.
	Note string

	file *os.File
}

// Close closes the file.
func (f *File) Close() error {
	if f.file == nil {
		return nil
	}
	return f.file.Close()
}

// Head returns up to n bytes from the beginning.
func (f *File) Head(n int) []byte {
	head := make([]byte, n)
	n, _ = f.ReadAt(head, 0)
	return head[:n]
}

// HeadSize is the number of bytes that Open passes to look.
const HeadSize = 4096

// Open opens the file at path, or stdin if the path is Stdin. It passes the first HeadSize bytes, or the whole
// of a shorter file, to look: an error of look is returned with the name prefixed, and nothing more is read.
// Streams can be endless, so they are stored only if look accepts them. look may be nil.
func Open(path string, stdin io.Reader, look func(head []byte) error) (*File, error) {
	if look == nil {
		look = func([]byte) error { return nil }
	}
	if path == Stdin {
		return unpack(stdin, "standard input", look)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	st, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if st.IsDir() {
		file.Close()
		return nil, fmt.Errorf("%s is a directory: give the files in it", path)
	}
	if !st.Mode().IsRegular() { // a pipe
		defer file.Close()
		return unpack(file, path, look)
	}
	f := &File{ReaderAt: file, Size: st.Size(), Name: path, file: file}
	head := f.Head(HeadSize)
	if packing(head) != nil {
		defer file.Close()
		return unpack(file, path, look)
	}
	if err := look(head); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), file.Close())
	}
	return f, nil
}

// A packer is a compression format.
type packer struct {
	name  string
	magic []byte
	open  func(io.Reader) (io.Reader, func(), error)
}

var packers = []packer{
	{"gzip", []byte{0x1f, 0x8b}, func(r io.Reader) (io.Reader, func(), error) {
		z, err := gzip.NewReader(r)
		return z, func() {}, err
	}},
	{"zstd", []byte{0x28, 0xb5, 0x2f, 0xfd}, func(r io.Reader) (io.Reader, func(), error) {
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, nil, err
		}
		return z, z.Close, nil
	}},
}

func packing(head []byte) *packer {
	for i := range packers {
		if bytes.HasPrefix(head, packers[i].magic) {
			return &packers[i]
		}
	}
	return nil
}

// unpack reads all of r into a file with random access. If a compressed stream is truncated or damaged it keeps
// everything before that.
func unpack(r io.Reader, name string, look func([]byte) error) (*File, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	head, err := in.Peek(4)
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	var source io.Reader = in
	kind := packing(head)
	if kind != nil {
		z, done, err := kind.open(in)
		if err != nil {
			return nil, fmt.Errorf("%s: decompressing (%s): %w", name, kind.name, err)
		}
		defer done()
		source = z
	}
	begin := bufio.NewReaderSize(source, HeadSize)
	head, _ = begin.Peek(HeadSize) // fill meets the error again
	if len(head) > 0 || kind == nil {
		if err := look(head); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	f := &File{Name: name}
	if err := f.fill(begin); err != nil {
		if kind == nil || errors.As(err, new(*fs.PathError)) || errors.As(err, new(*noRoomError)) || f.Size == 0 {
			return nil, errors.Join(fmt.Errorf("reading %s: %w", name, err), f.Close())
		}
		f.Note = fmt.Sprintf("%s: the %s data is truncated or damaged after %d bytes (%v); using these bytes", name, kind.name, f.Size, err)
	}
	return f, nil
}

// fill reads all of r. After an error the data before it is available.
func (f *File) fill(r io.Reader) error {
	var memory bytes.Buffer
	n, err := io.Copy(&memory, io.LimitReader(r, InMemory))
	f.ReaderAt, f.Size = bytes.NewReader(memory.Bytes()), n
	if err != nil || n < InMemory {
		return err
	}
	tmp, err := os.CreateTemp("", "cairn-")
	if err != nil {
		return err
	}
	if err := os.Remove(tmp.Name()); err != nil {
		return errors.Join(err, tmp.Close())
	}
	to := &spool{file: tmp}
	if _, err := memory.WriteTo(to); err != nil {
		return errors.Join(err, tmp.Close())
	}
	n, err = io.Copy(to, r)
	f.ReaderAt, f.Size, f.file = tmp, f.Size+n, tmp
	return err
}

// Regular reports whether there is a file at a path that can be read several times: no pipe.
func Regular(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}

// Expand replaces patterns such as logs/* by the matching files, as a shell would, and drops files that are
// named more than once. The name of an existing file is never a pattern.
func Expand(args []string) ([]string, error) {
	var paths []string
	var seen []fs.FileInfo
	add := func(path string) {
		st, err := os.Stat(path)
		if err == nil {
			for _, s := range seen {
				if os.SameFile(s, st) {
					return
				}
			}
			seen = append(seen, st)
		}
		paths = append(paths, path) // opening it says what is wrong
	}
	for _, arg := range args {
		_, err := os.Lstat(arg)
		if arg == Stdin || err == nil || !strings.ContainsAny(arg, "*?[") {
			if arg == Stdin && slices.Contains(paths, Stdin) {
				continue
			}
			add(arg)
			continue
		}
		found, err := filepath.Glob(arg)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", arg, err)
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("%s: no such file", arg)
		}
		for _, path := range found {
			add(path)
		}
	}
	return paths, nil
}

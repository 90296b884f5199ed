package logfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
)

// Stream is an input that is read once from front to back, and unpacked on the way.
type Stream struct {
	Name string // as messages have it
	// Size is the number of bytes, 0 if it is not known beforehand.
	Size int64

	in     *bufio.Reader
	packed string // how, "" if it is not
	file   io.Closer
	done   func()
	read   int64
	note   string
}

// OpenStream opens the file at path, or uses stdin if the path is Stdin. Unlike Open it needs no space for the
// unpacked input.
func OpenStream(path string, stdin io.Reader) (*Stream, error) {
	if path == Stdin {
		return newStream(&Stream{Name: "standard input"}, stdin)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	s := &Stream{Name: path, file: file}
	st, err := file.Stat()
	switch {
	case err != nil:
	case st.IsDir():
		err = fmt.Errorf("%s is a directory: give the files in it", path)
	case st.Mode().IsRegular():
		s.Size = st.Size()
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	if s, err = newStream(s, file); err != nil {
		file.Close()
		return nil, err
	}
	return s, nil
}

func newStream(s *Stream, r io.Reader) (*Stream, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	s.in = in
	head, err := in.Peek(4)
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("reading %s: %w", s.Name, err)
	}
	kind := packing(head)
	if kind == nil {
		return s, nil
	}
	z, done, err := kind.open(in)
	if err != nil {
		return nil, fmt.Errorf("%s: decompressing (%s): %w", s.Name, kind.name, err)
	}
	s.in, s.packed, s.done, s.Size = bufio.NewReaderSize(z, 1<<16), kind.name, done, 0
	return s, nil
}

// Peek returns the first n bytes, or all if there are fewer, without reading them. n is at most 65536.
func (s *Stream) Peek(n int) []byte {
	head, _ := s.in.Peek(n) // Read meets the error again
	return head
}

// Read implements io.Reader. Truncated or damaged compressed data ends there, and Note reports it.
func (s *Stream) Read(b []byte) (int, error) {
	n, err := s.in.Read(b)
	s.read += int64(n)
	if err == nil || err == io.EOF {
		return n, err
	}
	if s.packed == "" || s.read == 0 {
		return n, fmt.Errorf("reading %s: %w", s.Name, err)
	}
	s.note = fmt.Sprintf("%s: the %s data is truncated or damaged after %d bytes (%v); using these bytes", s.Name, s.packed, s.read, err)
	return n, io.EOF
}

// Note describes, when everything was read, what could not be unpacked, "" if the input is complete.
func (s *Stream) Note() string { return s.note }

// Close closes the file.
func (s *Stream) Close() error {
	if s.done != nil {
		s.done()
	}
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// File turns an unread stream into a file that can be read at any offset, as Open does. The stream must not be
// used afterwards.
func (s *Stream) File() (*File, error) {
	if file, ok := s.file.(*os.File); ok && s.packed == "" && s.Size > 0 {
		return &File{ReaderAt: file, Size: s.Size, Name: s.Name, file: file}, nil
	}
	defer s.Close()
	f := &File{Name: s.Name}
	if err := f.fill(s); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	f.Note = s.note
	return f, nil
}

package xray

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
)

// yamlLines reads a text line by line.
type yamlLines struct {
	in   *bufio.Reader
	off  int64 // after the line
	line int   // its number, from 1
	text []byte
	size int64  // of the whole line, of which text is the beginning
	long []byte // room for lines longer than the buffer
	back bool   // next gives the line again
}

var yamlReaders = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, chunk) }}

func newYAMLLines(r io.ReaderAt, off, size int64) *yamlLines {
	in := yamlReaders.Get().(*bufio.Reader)
	in.Reset(io.NewSectionReader(r, off, size))
	return &yamlLines{in: in, off: off}
}

func (s *yamlLines) release() {
	s.in.Reset(nil)
	yamlReaders.Put(s.in)
}

// next returns a line with its end, or only the beginning of a long one.
func (s *yamlLines) next() ([]byte, error) {
	if s.back {
		s.back = false
		return s.text, nil
	}
	text, err := s.in.ReadSlice('\n')
	s.size = int64(len(text))
	if errors.Is(err, bufio.ErrBufferFull) {
		s.long = append(s.long[:0], text...)
		for errors.Is(err, bufio.ErrBufferFull) {
			text, err = s.in.ReadSlice('\n')
			s.size += int64(len(text))
			if len(s.long) <= maxYAMLRecord {
				s.long = append(s.long, text...)
			}
		}
		text = s.long
	}
	if err != nil && (!errors.Is(err, io.EOF) || len(text) == 0) {
		return nil, err
	}
	s.text = text
	s.off += s.size
	s.line++
	return text, nil
}

// yamlItem is the text of a record.
type yamlItem struct {
	off, size int64
	line      int
	text      []byte
	whole     bool // a line with braces around it
	trouble   string
}

// yamlItems divides a text into records. The first one determines where they begin in
// their lines.
type yamlItems struct {
	lines  *yamlLines
	any    bool
	indent int
	ended  bool
	item   yamlItem
	buf    []byte
}

// next returns the next record, or io.EOF. Its memory is used again.
func (s *yamlItems) next() (*yamlItem, error) {
	for !s.ended {
		line, err := s.lines.next()
		switch {
		case err != nil:
			return nil, err
		case isYAMLEnd(line):
			s.ended = true
			continue
		}
		it := &s.item
		*it = yamlItem{off: s.lines.off - s.lines.size, size: s.lines.size, line: s.lines.line}
		body := bytes.TrimRight(line, " \t\r\n")
		at := spaces(body)
		body = body[at:]
		switch {
		case len(body) == 0 || body[0] == '#':
			continue
		case body[0] != '-' || len(body) > 1 && body[1] != ' ':
			it.trouble = "no record"
			return it, s.rest(it)
		}
		if !s.any {
			s.any, s.indent = true, at
		}
		if body[len(body)-1] == '}' && len(body) <= maxYAMLRecord {
			if brace := 1 + spaces(body[1:]); body[brace] == '{' {
				it.text, it.whole = body[brace:], true
				return it, nil
			}
		}
		s.buf = append(s.buf[:0], line...)
		err = s.rest(it)
		it.text = s.buf
		return it, err
	}
	return nil, io.EOF
}

// rest takes the lines that follow up to the next record.
func (s *yamlItems) rest(it *yamlItem) error {
	for {
		line, err := s.lines.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if s.ended = isYAMLEnd(line); s.ended {
			break
		}
		at := spaces(line)
		if body := line[at:]; isIdle(body) {
			if it.trouble == "" && len(s.buf) < maxYAMLRecord {
				s.buf = append(s.buf, '\n')
			}
			continue
		} else if body[0] == '-' && at <= s.indent && (len(body) == 1 || bytes.IndexByte([]byte(" \r\n"), body[1]) >= 0) {
			s.lines.back = true
			break
		}
		if it.size = s.lines.off - it.off; it.size > maxYAMLRecord {
			continue
		}
		if it.trouble == "" {
			s.buf = append(s.buf, line...)
		}
	}
	if it.size > maxYAMLRecord && it.trouble == "" {
		it.trouble = fmt.Sprintf("a record of %d bytes, and up to %d can be read", it.size, maxYAMLRecord)
	}
	return nil
}

// isYAMLEnd reports whether a line ends a document.
func isYAMLEnd(line []byte) bool {
	return bytes.HasPrefix(line, []byte("...")) || bytes.HasPrefix(line, []byte("---"))
}

func spaces(b []byte) int {
	for i, c := range b {
		if c != ' ' {
			return i
		}
	}
	return len(b)
}

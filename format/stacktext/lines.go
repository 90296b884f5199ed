package stacktext

import (
	"bufio"
	"bytes"
	"io"

	"github.com/cairnprof/cairn/sample"
)

// lines reads a text line by line.
type lines struct {
	in     *bufio.Reader
	name   string
	long   []byte // a line that does not fit in the buffer of in
	number int64  // of the last line, counted from 1
	offset int64  // of the last line
	end    int64  // offset of the next
	err    error  // that ended the text, not io.EOF
	cut    bool   // the last line was too long
}

func newLines(r io.Reader, name string) *lines {
	const buffer = 1 << 16
	return &lines{in: bufio.NewReaderSize(r, buffer), name: name}
}

// ahead returns the text that was read already, before the first line.
func (l *lines) ahead() []byte {
	text, _ := l.in.Peek(l.in.Size()) // an error shows again
	return text
}

// next returns the next line without its end. It is valid until the following call. A line that is too long is
// returned empty, with cut set.
func (l *lines) next() (line []byte, ok bool) {
	l.number++
	l.offset, l.cut = l.end, false
	line, err := l.in.ReadSlice('\n')
	l.end += int64(len(line))
	if err == bufio.ErrBufferFull {
		l.long = append(l.long[:0], line...)
		for err == bufio.ErrBufferFull {
			line, err = l.in.ReadSlice('\n')
			l.end += int64(len(line))
			if len(l.long) <= maxLine {
				l.long = append(l.long, line...)
			}
		}
		line = l.long
		if l.cut = len(line) > maxLine; l.cut {
			line = nil
		}
	}
	if err != nil && err != io.EOF {
		l.err = err
	}
	if l.err != nil || err == io.EOF && len(line) == 0 && !l.cut {
		l.number--
		return nil, false
	}
	return bytes.TrimRight(line, " \t\r\n"), true
}

// damage describes what is wrong with the last line.
func (l *lines) damage(what string) *sample.Damage {
	return &sample.Damage{What: what, Count: 1, File: l.name, Line: l.number, Offset: l.offset}
}

// indent returns the number of blanks at the beginning of a line.
func indent(line []byte) int {
	n := 0
	for n < len(line) && (line[n] == ' ' || line[n] == '\t') {
		n++
	}
	return n
}

// number parses a decimal number that fits in 63 bits.
func number(s []byte) (uint64, bool) {
	const most = 18 // digits
	if len(s) == 0 || len(s) > most {
		return 0, false
	}
	n := uint64(0)
	for _, c := range s {
		if c-'0' > 9 {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	return n, true
}

// sink passes stacks and errors on until the consumer has enough.
type sink struct {
	yield func(*sample.NamedStack, error) bool
	done  bool
}

func (s *sink) stack(st *sample.NamedStack) { s.done = s.done || !s.yield(st, nil) }
func (s *sink) error(err error)             { s.done = s.done || !s.yield(nil, err) }

// feed gives lines to line until s has enough, calls finish, and ends with the error that cut the text off, if any did.
func (in *lines) feed(s *sink, line func([]byte), finish func()) {
	for !s.done {
		text, ok := in.next()
		if !ok {
			break
		}
		line(text)
	}
	finish()
	if in.err != nil {
		s.error(in.err)
	}
}

// interned are strings that occur often. The zero value is empty.
type interned struct{ known map[string]string }

// of returns s as a string. Memory is bounded: strings are forgotten when there are many.
func (x *interned) of(s []byte) string {
	if v, ok := x.known[string(s)]; ok {
		return v
	}
	const most = 1 << 16
	if x.known == nil || len(x.known) >= most {
		x.known = make(map[string]string)
	}
	v := string(s)
	x.known[v] = v
	return v
}

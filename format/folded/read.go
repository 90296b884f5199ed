package folded

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
)

// maxLine bounds the length of a line, in bytes.
const maxLine = 16 << 20

// Stack is a line.
type Stack struct {
	Names []string // outermost first
	Value uint64
	// Thousandths are those of the value's fraction, which other tools write, rounded; Fraction says
	// that it has one.
	Thousandths uint16
	Fraction    bool
}

// LineError is the error of a line that is no stack.
type LineError struct {
	Line int64 // counted from 1
	Text string
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }
func (e *LineError) Unwrap() error { return e.Err }

// Read yields the stacks of a text, written by Write or another tool: if a backslash is not an escape, the
// names of its line are taken literally. An invalid line is yielded as a *LineError, and reading continues after
// it; an error of the reader ends it. Empty lines are left out.
func Read(r io.Reader) iter.Seq2[Stack, error] {
	return func(yield func(Stack, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, maxLine)
		n := 0
		for lines.Scan() {
			n++
			line := strings.TrimSpace(lines.Text())
			if line == "" {
				continue
			}
			stack, err := parseAny(line)
			if err != nil {
				err = &LineError{int64(n), line, err}
			}
			if !yield(stack, err) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(Stack{}, fmt.Errorf("line %d: %w", n+1, err))
		}
	}
}

// parseAny parses a line of any tool.
func parseAny(line string) (Stack, error) {
	at := strings.LastIndexByte(line, ' ')
	if at < 0 {
		return Stack{}, errNoValue
	}
	s, ok := parseValue(line[at+1:])
	if !ok {
		return Stack{}, errNoValue
	}
	names := strings.TrimRight(line[:at], " ")
	for name := range strings.SplitSeq(names, ";") {
		plain, err := unescape(name)
		if err != nil {
			s.Names = strings.Split(names, ";")
			break
		}
		s.Names = append(s.Names, plain)
	}
	return s, nil
}

// parseValue parses a number with or without a fraction.
func parseValue(text string) (s Stack, ok bool) {
	whole, rest, fraction := strings.Cut(text, ".")
	value, err := strconv.ParseUint(whole, 10, 64)
	if err != nil || strings.Trim(rest, "0123456789") != "" {
		return s, false
	}
	s.Value, s.Fraction = value, fraction && strings.Trim(rest, "0") != ""
	const digits = 4 // one more than is kept
	n, _ := strconv.Atoi((rest + "0000")[:digits])
	if n = (n + 5) / 10; n == 1000 && value < 1<<64-1 {
		s.Value, n = value+1, 0
	}
	s.Thousandths = uint16(min(n, 999))
	return s, true
}

// Detect reports whether a file that begins with head looks like folded stacks. If the first line is longer
// than head, its value cannot be checked.
func Detect(head []byte) bool {
	line, _, whole := bytes.Cut(head, []byte("\n"))
	if bytes.IndexByte(line, 0) >= 0 {
		return false
	}
	_, err := parseAny(strings.TrimSpace(string(line)))
	return err == nil || !whole && bytes.IndexByte(line, ';') >= 0
}

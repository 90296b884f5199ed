// Package folded writes and reads folded stacks, the text format of flame graph tools: a line for each stack,
// outermost function first, with the self cost of its innermost function.
//
//	main 12
//	main;work(int) 230
//
// Tools add up the lines below a function, so the values are self values: a total would be counted once more at
// each level. They split the functions at every semicolon and the value at the last blank. Names can contain
// both, and the format has no escape for a semicolon. Here a semicolon is written \x3b, a line feed \x0a, other
// control characters likewise, and a backslash is \\: tools show the escapes, and Parse restores the name.
package folded

import (
	"bufio"
	"errors"
	"io"
	"strconv"
	"strings"
)

// Writer writes folded stacks.
type Writer struct {
	w    *bufio.Writer
	line []byte
}

// NewWriter returns a writer to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: bufio.NewWriter(w)} }

// Write writes a stack, outermost name first. A stack is not empty.
func (x *Writer) Write(stack []string, value uint64) error {
	b := x.line[:0]
	for i, name := range stack {
		if i > 0 {
			b = append(b, ';')
		}
		b = appendName(b, name)
	}
	b = strconv.AppendUint(append(b, ' '), value, 10)
	x.line = append(b, '\n')
	_, err := x.w.Write(x.line)
	return err
}

// Flush writes buffered data.
func (x *Writer) Flush() error { return x.w.Flush() }

const hexDigits = "0123456789abcdef"

func appendName(b []byte, name string) []byte {
	for i := range len(name) {
		switch c := name[i]; {
		case c == '\\':
			b = append(b, `\\`...)
		case c == ';' || c < ' ' || c == 0x7f:
			b = append(b, '\\', 'x', hexDigits[c>>4], hexDigits[c&15])
		default:
			b = append(b, c)
		}
	}
	return b
}

// errEscape reports an invalid escape in a name.
var errEscape = errors.New(`a backslash that is neither \\ nor \x and two digits`)

var errNoValue = errors.New("no value after the stack")

// Parse returns the names and the value of a line in the form of Write, without its line feed.
func Parse(line string) (stack []string, value uint64, err error) {
	names, value, err := cut(line)
	if err != nil {
		return nil, 0, err
	}
	for name := range strings.SplitSeq(names, ";") {
		if name, err = unescape(name); err != nil {
			return nil, 0, err
		}
		stack = append(stack, name)
	}
	return stack, value, nil
}

// cut splits a line into the names and the value.
func cut(line string) (names string, value uint64, err error) {
	at := strings.LastIndexByte(line, ' ')
	if at >= 0 {
		value, err = strconv.ParseUint(line[at+1:], 10, 64)
	}
	if at < 0 || err != nil {
		return "", 0, errNoValue
	}
	return line[:at], value, nil
}

func unescape(name string) (string, error) {
	if !strings.Contains(name, `\`) {
		return name, nil
	}
	var b []byte
	for i := 0; i < len(name); i++ {
		switch {
		case name[i] != '\\':
			b = append(b, name[i])
		case strings.HasPrefix(name[i:], `\\`):
			b = append(b, '\\')
			i++
		default:
			const digits = len(`\x3b`)
			if !strings.HasPrefix(name[i:], `\x`) || len(name)-i < digits {
				return "", errEscape
			}
			c, err := strconv.ParseUint(name[i+2:i+digits], 16, 8)
			if err != nil {
				return "", errEscape
			}
			b = append(b, byte(c))
			i += digits - 1
		}
	}
	return string(b), nil
}

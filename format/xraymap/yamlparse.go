package xraymap

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// yamlParser reads the part of YAML that maps are written in: a sequence of
// mappings from names to scalars. A map of a large program has hundreds of
// thousands of rows, for which a YAML library takes half a minute.
type yamlParser struct {
	data []byte
	pos  int
	line int // of pos
	err  error
}

func (p *yamlParser) failf(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("line %d: %s", p.line, fmt.Sprintf(format, args...))
	}
}

// peek returns the next byte, 0 at the end.
func (p *yamlParser) peek() byte {
	if p.pos < len(p.data) && p.err == nil {
		return p.data[p.pos]
	}
	return 0
}

// blanks skips blanks within a line.
func (p *yamlParser) blanks() {
	for c := p.peek(); c == ' ' || c == '\t'; c = p.peek() {
		p.pos++
	}
}

// space skips blanks, line breaks and comments.
func (p *yamlParser) space() {
	for {
		p.blanks()
		switch p.peek() {
		case '#':
			p.restOfLine()
		case '\r':
			p.pos++
		case '\n':
			p.pos++
			p.line++
		default:
			return
		}
	}
}

// restOfLine returns the text before the next line break.
func (p *yamlParser) restOfLine() []byte {
	rest := p.data[p.pos:]
	if n := bytes.IndexByte(rest, '\n'); n >= 0 {
		rest = rest[:n]
	}
	p.pos += len(rest)
	return rest
}

// next moves after the dash of the next row. It reports whether there is one.
func (p *yamlParser) next() bool {
	for {
		p.space()
		rest := p.data[min(p.pos, len(p.data)):]
		switch {
		case p.err != nil || len(rest) == 0 || bytes.HasPrefix(rest, []byte("...")):
			return false
		case rest[0] == '%' || bytes.HasPrefix(rest, []byte("---")):
			p.restOfLine()
		case rest[0] == '-' && (len(rest) == 1 || isBlank(rest[1])):
			p.pos++
			return true
		default:
			p.failf("not a row of an instrumentation map: %.40q", p.restOfLine())
			return false
		}
	}
}

// row reads the mapping after a dash.
func (p *yamlParser) row(row *yamlRow) {
	p.space()
	if p.peek() != '{' {
		p.block(row)
		return
	}
	p.pos++
	for p.space(); p.peek() != '}'; p.space() {
		p.pair(row, true)
		p.space()
		switch c := p.peek(); c {
		case ',':
			p.pos++
		case '}':
		default:
			p.failf("a row has no end: , or } is missing")
			return
		}
	}
	p.pos++
}

// block reads a mapping with one key to a line; it ends with the next dash or a
// document separator.
func (p *yamlParser) block(row *yamlRow) {
	for p.err == nil && p.pos < len(p.data) && p.peek() != '-' && p.peek() != '.' {
		p.pair(row, false)
		p.blanks()
		if c := p.peek(); c != '\n' && c != '\r' && c != '#' && p.pos < len(p.data) {
			p.failf("more than a value: %.40q", p.restOfLine())
		}
		p.space()
	}
}

// pair reads a key and its value.
func (p *yamlParser) pair(row *yamlRow, flow bool) {
	key := p.scalar(":\n")
	p.blanks()
	if p.peek() != ':' {
		p.failf("a key without a colon: %.40q", key)
		return
	}
	p.pos++
	stop := "\n"
	if flow {
		p.space()
		stop = ",}\n"
	} else {
		p.blanks()
	}
	value := p.scalar(stop)
	if f := row.field(key); f != nil && p.err == nil {
		*f = value
	}
}

// scalar reads a text in quotes, or one without that ends before a byte of stop
// or a comment.
func (p *yamlParser) scalar(stop string) []byte {
	switch p.peek() {
	case '\'':
		return p.single()
	case '"':
		return p.double()
	}
	start := p.pos
	for p.pos < len(p.data) {
		c := p.data[p.pos]
		if bytes.IndexByte([]byte(stop), c) >= 0 || c == '#' && p.pos > start && isBlank(p.data[p.pos-1]) {
			break
		}
		p.pos++
	}
	text := bytes.TrimRight(p.data[start:p.pos], " \t\r")
	if text == nil {
		text = []byte{}
	}
	return text
}

// single reads a text in single quotes, in which two quotes stand for one.
func (p *yamlParser) single() []byte {
	p.pos++
	text := []byte{}
	for {
		n := bytes.IndexByte(p.data[p.pos:], '\'')
		if n < 0 {
			p.failf("a text in quotes has no end")
			return nil
		}
		part := p.data[p.pos : p.pos+n]
		p.line += bytes.Count(part, []byte{'\n'})
		p.pos += n + 1
		if p.peek() != '\'' {
			if len(text) == 0 {
				return part[:len(part):len(part)]
			}
			return append(text, part...)
		}
		text = append(append(text, part...), '\'')
		p.pos++
	}
}

// escapes are the escape sequences in double quotes for one byte.
var escapes = map[byte]byte{
	'0': 0, 'a': '\a', 'b': '\b', 't': '\t', 'n': '\n', 'v': '\v', 'f': '\f', 'r': '\r', 'e': 0x1b, ' ': ' ', '"': '"', '/': '/', '\\': '\\',
}

// double reads a text in double quotes.
func (p *yamlParser) double() []byte {
	p.pos++
	text := []byte{}
	for p.pos < len(p.data) {
		c := p.data[p.pos]
		p.pos++
		switch {
		case c == '"':
			return text
		case c != '\\':
			if c == '\n' {
				p.line++
			}
			text = append(text, c)
			continue
		case p.pos == len(p.data):
			continue
		}
		c = p.data[p.pos]
		p.pos++
		digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
		b, ok := escapes[c]
		switch {
		case ok:
			text = append(text, b)
		case digits > 0 && p.pos+digits <= len(p.data):
			n, err := strconv.ParseUint(string(p.data[p.pos:p.pos+digits]), 16, 32)
			if err != nil {
				p.failf("a text in quotes has a bad escape \\%c", c)
				return nil
			}
			p.pos += digits
			text = utf8.AppendRune(text, rune(n))
		default:
			p.failf("a text in quotes has a bad escape \\%c", c)
			return nil
		}
	}
	p.failf("a text in quotes has no end")
	return nil
}

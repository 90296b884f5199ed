package xrayyaml

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cairnprof/cairn/internal/lazyregexp"
)

// quoting is how a scalar must be written.
type quoting uint8

const (
	plain quoting = iota
	single
	double
)

// words are the words that YAML does not read as text.
var words = map[string]bool{
	"~": true, "null": true, "Null": true, "NULL": true,
	"true": true, "True": true, "TRUE": true, "false": true, "False": true, "FALSE": true,
	".nan": true, ".NaN": true, ".NAN": true,
}

var number = lazyregexp.New(`^(0o[0-7]+|0x[0-9a-fA-F]+|[-+]?(\.(inf|Inf|INF)|(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?))$`)

// scalarQuoting returns how LLVM's YAML writer quotes s.
func scalarQuoting(s string) quoting {
	if s == "" {
		return single
	}
	q := plain
	const blanks = " \t\n\v\f\r"
	const indicators = `-?:\,[]{}#&*!|>'"%@` + "`"
	if strings.IndexByte(blanks, s[0]) >= 0 || strings.IndexByte(blanks, s[len(s)-1]) >= 0 ||
		words[s] || number().MatchString(s) || strings.IndexByte(indicators, s[0]) >= 0 {
		q = single
	}
	for i := range len(s) {
		switch c := s[i]; {
		case '0' <= c && c <= '9', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
		case c == '_' || c == '-' || c == '^' || c == '.' || c == ',' || c == ' ' || c == '\t':
		case c < ' ' || c >= 0x7f:
			return double
		default:
			q = single
		}
	}
	if q == plain && strings.IndexByte(s, ',') >= 0 {
		return single // a comma would end the value in { }: llvm-xray leaves it
	}
	return q
}

// appendScalar appends s as LLVM's YAML writer does.
func appendScalar(b []byte, s string) []byte {
	switch scalarQuoting(s) {
	case plain:
		return append(b, s...)
	case single:
		return append(append(append(b, '\''), strings.ReplaceAll(s, "'", "''")...), '\'')
	}
	b = append(b, '"')
	valid := utf8.ValidString(s)
	for i := 0; i < len(s); {
		r, size := rune(s[i]), 1
		if valid {
			r, size = utf8.DecodeRuneInString(s[i:])
		}
		b = appendEscaped(b, r, valid)
		i += size
	}
	return append(b, '"')
}

var escapes = map[rune]string{
	'\\': `\\`, '"': `\"`, 0: `\0`, '\a': `\a`, '\b': `\b`, '\t': `\t`, '\n': `\n`, '\v': `\v`,
	'\f': `\f`, '\r': `\r`, 0x1b: `\e`, 0x85: `\N`, 0xa0: `\_`, 0x2028: `\L`, 0x2029: `\P`,
}

// printable reports whether LLVM considers a character printable.
func printable(r rune) bool { return unicode.IsPrint(r) || unicode.Is(unicode.Zs, r) || r == 0xad }

// appendEscaped appends a character of a string in double quotes, or a byte if the
// string is not valid text.
func appendEscaped(b []byte, r rune, text bool) []byte {
	const del, ascii = 0x7f, 0x80
	if e, ok := escapes[r]; ok && (text || r < ascii) {
		return append(b, e...)
	}
	switch {
	case r >= ' ' && r < del, text && r >= ascii && printable(r):
		return utf8.AppendRune(b, r)
	case r <= 0xff:
		return fmt.Appendf(b, `\x%02X`, r)
	case r <= 0xffff:
		return fmt.Appendf(b, `\u%04X`, r)
	}
	return fmt.Appendf(b, `\U%08X`, r)
}

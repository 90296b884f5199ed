package asm

import (
	"bytes"
	"strings"
)

// LineKind classifies lines of compiler output.
type LineKind uint8

const (
	LineBlank     LineKind = iota // empty or a comment
	LineLabel                     // NAME:
	LineDirective                 // .NAME operands
	LineInsn                      // mnemonic operands
	LineApp                       // #APP: inline assembly begins
	LineNoApp                     // #NO_APP: it ends
)

// Statement is one line. word is the label, the directive or the mnemonic; rest is what follows it, with
// surrounding white space and comments.
type Statement struct {
	Kind LineKind
	Word []byte
	Rest []byte
}

// SymbolByte holds the bytes that may occur in an unquoted symbol.
var SymbolByte = func() (t [256]bool) {
	for c := range t {
		b := byte(c)
		t[c] = b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' ||
			b == '_' || b == '.' || b == '$' || b == '@' || b >= 0x80
	}
	return t
}()

// WordEnd returns the offset of the first byte from i on that cannot be in a symbol.
func WordEnd(text []byte, i int) int {
	for i < len(text) && SymbolByte[text[i]] {
		i++
	}
	return i
}

// LineEnd returns the offset of the line after the one at pos.
func LineEnd(src []byte, pos int) int {
	if i := bytes.IndexByte(src[pos:], '\n'); i >= 0 {
		return pos + i + 1
	}
	return len(src)
}

// ParseLine classifies a line without its newline. Compilers write one statement per line; a label with a
// statement after it is returned as the label, with the statement in rest.
func ParseLine(line []byte) Statement {
	i := 0
	for i < len(line) && (line[i] == '\t' || line[i] == ' ') {
		i++
	}
	line = line[i:]
	if len(line) == 0 {
		return Statement{}
	}
	if line[0] == '#' {
		return ParseComment(line[1:])
	}
	if bytes.HasPrefix(line, []byte("//")) { // clang's for AArch64
		return ParseComment(line[2:])
	}
	if line[0] == '"' {
		if end := bytes.IndexByte(line[1:], '"'); end >= 0 && end+2 < len(line) && line[end+2] == ':' {
			return Statement{LineLabel, line[1 : end+1], line[end+3:]}
		}
		return Statement{}
	}
	n := WordEnd(line, 0)
	word, rest := line[:n], line[n:]
	switch {
	case n == 0:
		return Statement{}
	case len(rest) > 0 && rest[0] == ':':
		return Statement{LineLabel, word, rest[1:]}
	case word[0] == '.':
		return Statement{LineDirective, word, rest}
	}
	return Statement{LineInsn, word, rest}
}

// ParseComment recognizes the comments around inline assembly: gcc's and clang's, and clang's around that at
// file scope, for which gcc uses the same as elsewhere.
func ParseComment(line []byte) Statement {
	switch {
	case bytes.HasPrefix(line, []byte("APP")), bytes.HasPrefix(line, []byte(" Start of file scope inline assembly")):
		return Statement{Kind: LineApp}
	case bytes.HasPrefix(line, []byte("NO_APP")), bytes.HasPrefix(line, []byte(" End of file scope inline assembly")):
		return Statement{Kind: LineNoApp}
	}
	return Statement{}
}

// Operand returns the first operand of rest: trimmed, up to a comma, a
// comment or the end.
func Operand(rest []byte) []byte {
	rest = bytes.TrimLeft(rest, " \t")
	if i := bytes.IndexAny(rest, ",#;"); i >= 0 {
		rest = rest[:i]
	}
	if i := bytes.Index(rest, []byte("//")); i > 0 && (rest[i-1] == ' ' || rest[i-1] == '\t') {
		rest = rest[:i] // a comment of AArch64
	}
	return bytes.TrimRight(rest, " \t")
}

// Unquote strips a pair of double quotes.
func Unquote(b []byte) []byte {
	if len(b) >= 2 && b[0] == '"' && b[len(b)-1] == '"' {
		return b[1 : len(b)-1]
	}
	return b
}

// SplitOperands splits rest at top-level commas, dropping a trailing comment.
// Quoted commas stay.
func SplitOperands(rest []byte) [][]byte {
	var out [][]byte
	start, quoted := 0, false
	for i := 0; i <= len(rest); i++ {
		end := i == len(rest) || !quoted && rest[i] == '#'
		switch {
		case end || !quoted && rest[i] == ',':
			out = append(out, bytes.TrimSpace(rest[start:i]))
			start = i + 1
		case rest[i] == '"':
			quoted = !quoted
		}
		if end {
			break
		}
	}
	return out
}

// quotedString returns the first operand of rest as the assembler reads it: a
// quoted string with its escapes resolved, or a bare word.
func quotedString(rest []byte) string {
	rest = bytes.TrimLeft(rest, " \t")
	if len(rest) == 0 || rest[0] != '"' {
		return string(Operand(rest))
	}
	var out []byte
	for i := 1; i < len(rest) && rest[i] != '"'; i++ {
		if rest[i] != '\\' || i+1 == len(rest) {
			out = append(out, rest[i])
			continue
		}
		i++
		if rest[i] < '0' || rest[i] > '7' {
			out = append(out, rest[i])
			continue
		}
		c, n := 0, 0
		for ; n < 3 && i+n < len(rest) && rest[i+n] >= '0' && rest[i+n] <= '7'; n++ {
			c = c*8 + int(rest[i+n]-'0')
		}
		out = append(out, byte(c))
		i += n - 1
	}
	return string(out)
}

// InsnOperands splits the operands of an instruction at commas outside of brackets. It drops a comment that
// begins with //, and what follows a semicolon.
func InsnOperands(rest []byte) [][]byte {
	if i := bytes.Index(rest, []byte("//")); i >= 0 {
		rest = rest[:i]
	}
	if i := bytes.IndexByte(rest, ';'); i >= 0 {
		rest = rest[:i]
	}
	return SplitInsnOperands(rest)
}

// SplitInsnOperands splits the operands of an instruction at commas outside of brackets.
func SplitInsnOperands(rest []byte) [][]byte {
	var out [][]byte
	depth, start := 0, 0
	for i, c := range rest {
		switch c {
		case '[', '{', '(':
			depth++
		case ']', '}', ')':
			depth--
		case ',':
			if depth == 0 {
				out = append(out, bytes.TrimSpace(rest[start:i]))
				start = i + 1
			}
		}
	}
	if tail := bytes.TrimSpace(rest[start:]); len(tail) > 0 {
		out = append(out, tail)
	}
	return out
}

// LocalNames yields the local labels in text, outside of strings and comments, which begin with # on x86 and
// with // on AArch64. Before a number or a modifier, # begins an operand of AArch64.
func LocalNames(text []byte, yield func(name []byte, start, end int)) {
	quoted := false
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == '"':
			quoted = !quoted
			i++
		case quoted && c == '\\':
			i += 2
		case quoted:
			i++
		case c == '#' && (i+1 == len(text) || strings.IndexByte("0123456789-:", text[i+1]) < 0):
			return
		case c == '/' && i+1 < len(text) && text[i+1] == '/':
			return
		case c == '$': // an immediate operand
			i++
		case SymbolByte[c]:
			n := WordEnd(text, i)
			if name := text[i:n]; IsLocal(name) {
				// .L3@PLT and the like
				if at := bytes.IndexByte(name, '@'); at > 0 {
					name = name[:at]
				}
				yield(name, i, i+len(name))
			}
			i = n
		default:
			i++
		}
	}
}

package native

import "bytes"

// lineKind classifies lines of compiler output.
type lineKind uint8

const (
	lineBlank     lineKind = iota // empty or a comment
	lineLabel                     // NAME:
	lineDirective                 // .NAME operands
	lineInsn                      // mnemonic operands
	lineApp                       // #APP: inline assembly begins
	lineNoApp                     // #NO_APP: it ends
)

// statement is one line. word is the label, the directive or the mnemonic; rest is what follows it, with
// surrounding white space and comments.
type statement struct {
	kind lineKind
	word []byte
	rest []byte
}

// symbolByte holds the bytes that may occur in an unquoted symbol.
var symbolByte = func() (t [256]bool) {
	for c := range t {
		b := byte(c)
		t[c] = b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' ||
			b == '_' || b == '.' || b == '$' || b == '@' || b >= 0x80
	}
	return t
}()

// wordEnd returns the offset of the first byte from i on that cannot be in a symbol.
func wordEnd(text []byte, i int) int {
	for i < len(text) && symbolByte[text[i]] {
		i++
	}
	return i
}

// lineEnd returns the offset of the line after the one at pos.
func lineEnd(src []byte, pos int) int {
	if i := bytes.IndexByte(src[pos:], '\n'); i >= 0 {
		return pos + i + 1
	}
	return len(src)
}

// parseLine classifies a line without its newline. Compilers write one statement per line; a label with a
// statement after it is returned as the label, with the statement in rest.
func parseLine(line []byte) statement {
	i := 0
	for i < len(line) && (line[i] == '\t' || line[i] == ' ') {
		i++
	}
	line = line[i:]
	if len(line) == 0 {
		return statement{}
	}
	if line[0] == '#' {
		return parseComment(line[1:])
	}
	if bytes.HasPrefix(line, []byte("//")) { // clang's for AArch64
		return parseComment(line[2:])
	}
	if line[0] == '"' {
		if end := bytes.IndexByte(line[1:], '"'); end >= 0 && end+2 < len(line) && line[end+2] == ':' {
			return statement{lineLabel, line[1 : end+1], line[end+3:]}
		}
		return statement{}
	}
	n := wordEnd(line, 0)
	word, rest := line[:n], line[n:]
	switch {
	case n == 0:
		return statement{}
	case len(rest) > 0 && rest[0] == ':':
		return statement{lineLabel, word, rest[1:]}
	case word[0] == '.':
		return statement{lineDirective, word, rest}
	}
	return statement{lineInsn, word, rest}
}

// parseComment recognizes the comments around inline assembly: gcc's and clang's, and clang's around that at
// file scope, for which gcc uses the same as elsewhere.
func parseComment(line []byte) statement {
	switch {
	case bytes.HasPrefix(line, []byte("APP")), bytes.HasPrefix(line, []byte(" Start of file scope inline assembly")):
		return statement{kind: lineApp}
	case bytes.HasPrefix(line, []byte("NO_APP")), bytes.HasPrefix(line, []byte(" End of file scope inline assembly")):
		return statement{kind: lineNoApp}
	}
	return statement{}
}

// operand returns the first operand of rest: trimmed, up to a comma, a
// comment or the end.
func operand(rest []byte) []byte {
	rest = bytes.TrimLeft(rest, " \t")
	if i := bytes.IndexAny(rest, ",#;"); i >= 0 {
		rest = rest[:i]
	}
	if i := bytes.Index(rest, []byte("//")); i > 0 && (rest[i-1] == ' ' || rest[i-1] == '\t') {
		rest = rest[:i] // a comment of AArch64
	}
	return bytes.TrimRight(rest, " \t")
}

// unquote strips a pair of double quotes.
func unquote(b []byte) []byte {
	if len(b) >= 2 && b[0] == '"' && b[len(b)-1] == '"' {
		return b[1 : len(b)-1]
	}
	return b
}

// splitOperands splits rest at top-level commas, dropping a trailing comment.
// Quoted commas stay.
func splitOperands(rest []byte) [][]byte {
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
		return string(operand(rest))
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

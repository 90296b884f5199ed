package packed

import (
	"bytes"
	"path"
	"strings"
)

// Bare returns a file as it is packed: C and assembly without comments, of which compilers take each for a space. They
// are read in the repository, and would be a third of the archive. Headers named cairn, which users get, keep theirs.
func Bare(f File) File {
	ext := path.Ext(f.Name)
	if ext != ".c" && ext != ".h" && ext != ".S" || strings.HasPrefix(path.Base(f.Name), "cairn") {
		return f
	}
	var out bytes.Buffer
	for rest := f.Data; len(rest) > 0; {
		n := bytes.IndexAny(rest, `"/`)
		if n < 0 {
			n = len(rest)
		}
		out.Write(rest[:n])
		rest = rest[n:]
		switch end := 0; {
		case bytes.HasPrefix(rest, []byte("/*")):
			out.WriteByte(' ')
			_, rest, _ = bytes.Cut(rest[2:], []byte("*/"))
		case bytes.HasPrefix(rest, []byte("//")):
			if end = bytes.IndexByte(rest, '\n'); end < 0 {
				end = len(rest)
			}
			rest = rest[end:]
		case len(rest) > 0:
			end = literal(rest, out.Bytes())
			out.Write(rest[:end])
			rest = rest[end:]
		}
	}
	return File{f.Name, out.Bytes()}
}

// literal returns the length of the string literal that s begins with, or 1 if none does: s may be a division, and the
// quotation mark of a character constant, which is behind another mark.
func literal(s, before []byte) int {
	if s[0] != '"' || bytes.HasSuffix(before, []byte("'")) || bytes.HasSuffix(before, []byte(`'\`)) {
		return 1
	}
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(s)
}

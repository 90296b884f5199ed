package coverage

import (
	"iter"
	"strings"
	"unicode"
)

// Sources is implemented by Lines that know the text of sources, and all rows of the line table. known is false for what
// they do not have.
type Sources interface {
	// Statements yields the lines of statements that begin at an address in [lo, hi), if it is known where they do.
	Statements(lo, hi uint64) iter.Seq2[string, int]
	// Begins reports whether a row begins at addr, also one with the line of the row before it.
	Begins(addr uint64) (begins, known bool)
	// Line returns the text before and after the place of the instruction at addr, in its line.
	Line(addr uint64) (before, after string, known bool)
	// Between returns the text from the place of an instruction to that of another one in the same file; ahead is set
	// instead if the other one is not behind it.
	Between(from, to uint64) (text string, ahead, known bool)
}

// noSources are Sources that know nothing.
type noSources struct{}

func (noSources) Statements(uint64, uint64) iter.Seq2[string, int] {
	return func(func(string, int) bool) {}
}

func (noSources) Begins(uint64) (begins, known bool)                      { return false, false }
func (noSources) Line(uint64) (before, after string, known bool)          { return "", "", false }
func (noSources) Between(uint64, uint64) (text string, ahead, known bool) { return "", false, false }

// sources returns what is known of the sources of a module.
func (m *Module) sources() Sources {
	if s, ok := m.Lines.(Sources); ok {
		return s
	}
	return noSources{}
}

// beginsStatement reports whether a statement of C may begin behind a text in its line.
func beginsStatement(before string) bool {
	before = strings.TrimRight(before, " \t")
	if before == "" || strings.ContainsAny(before[len(before)-1:], ";{}):") {
		return true
	}
	for _, word := range []string{"else", "do"} {
		if rest, ok := strings.CutSuffix(before, word); ok && (rest == "" || strings.ContainsAny(rest[len(rest)-1:], " \t};)")) {
			return true
		}
	}
	return false
}

// otherStatements are the keywords that begin statements of C that are no jumps.
var otherStatements = nameSet("while for do if else switch case default")

// mayJump reports whether a statement of C that does nothing but jump may begin with a text. It may be a macro. g++
// gives the jump past an else the place of the end of the block before it.
func mayJump(text string) bool {
	if strings.HasPrefix(text, "}") {
		return true
	}
	word := text
	if n := strings.IndexFunc(text, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '_' }); n >= 0 {
		word = text[:n]
	}
	return word != "" && !otherStatements()[word]
}

// withoutComments returns a text of C with spaces in place of comments, and of the contents of strings.
func withoutComments(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		end := ""
		switch {
		case strings.HasPrefix(text[i:], "//"):
			end = "\n"
		case strings.HasPrefix(text[i:], "/*"):
			end = "*/"
		case text[i] == '"' || text[i] == '\'':
			i += quoted(text[i:])
			b.WriteByte(' ')
			continue
		default:
			b.WriteByte(text[i])
			i++
			continue
		}
		b.WriteByte(' ')
		n := strings.Index(text[i+2:], end)
		if n < 0 {
			break
		}
		i += 2 + n + len(end)
	}
	return b.String()
}

// quoted returns the length of the string or character that a text begins with.
func quoted(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case text[0], '\n':
			return i + 1
		}
	}
	return len(text)
}

// depth returns by how many brackets text goes deeper.
func depth(text string) int { return strings.Count(text, "{") - strings.Count(text, "}") }

// lowest returns the least depth of the beginnings of text.
func lowest(text string) int {
	low, at := 0, 0
	for _, c := range text {
		switch c {
		case '{':
			at++
		case '}':
			at--
		}
		low = min(low, at)
	}
	return low
}

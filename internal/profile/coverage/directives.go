package coverage

import "strings"

// withoutGroups removes the groups of lines of a text that are compiled conditionally and cannot change which blocks are
// open: whole statements and labels without brackets of blocks. A directive is left where that is not known.
func withoutGroups(text string) string {
	if !strings.Contains(text, "#") {
		return text
	}
	var b strings.Builder
	for {
		at := strings.IndexByte(text, '#')
		if at < 0 {
			return b.String() + text
		}
		b.WriteString(text[:at])
		n := group(text[at:])
		if n == 0 || !whole(b.String()) {
			n = 1
			b.WriteByte('#')
		}
		text = text[at+n:]
	}
}

// group returns the length of the group of lines that a text begins with, 0 if it is not known to be one of whole
// statements.
func group(text string) int {
	if !strings.HasPrefix(directive(text), "if") {
		return 0
	}
	length, part := 0, ""
	for line := range strings.Lines(text) {
		name := directive(line)
		switch length += len(line); {
		case name == "":
			part += line
			continue
		case length == len(line): // the first
		case !whole(part) || strings.ContainsAny(part, "{}") || strings.HasPrefix(name, "if"):
			return 0
		case name == "endif":
			return length
		case !strings.HasPrefix(name, "el"):
			return 0
		}
		if strings.HasSuffix(strings.TrimSpace(line), "\\") {
			return 0
		}
		part = ""
	}
	return 0
}

// directive returns the name of the directive of the preprocessor that a line is, "" if it is none.
func directive(line string) string {
	rest, ok := strings.CutPrefix(strings.TrimLeft(line, " \t"), "#")
	if !ok {
		return ""
	}
	return firstWord(strings.TrimLeft(rest, " \t"))
}

// whole reports whether a text ends behind a statement or label.
func whole(text string) bool {
	text = strings.TrimSpace(text)
	return text == "" || strings.IndexByte(";:{}", text[len(text)-1]) >= 0
}

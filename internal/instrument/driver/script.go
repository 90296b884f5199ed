package driver

import (
	"slices"
	"strings"
)

// ScriptInputs returns the files that a linker script names as inputs of the link (INPUT and GROUP, section 3.4.2
// of GNU ld's manual), without libraries that the linker searches for.
func ScriptInputs(text string) []string {
	var inputs []string
	words := scriptWords(text)
	for i := 0; i+1 < len(words); i++ {
		if words[i] != "INPUT" && words[i] != "GROUP" || words[i+1] != "(" {
			continue
		}
		depth := 1
		for i += 2; i < len(words) && depth > 0; i++ {
			switch w := words[i]; {
			case w == "(":
				depth++
			case w == ")":
				depth--
			case w == "AS_NEEDED", strings.HasPrefix(w, "-"):
			case !slices.Contains(inputs, w):
				inputs = append(inputs, w)
			}
		}
		i--
	}
	return inputs
}

// scriptWords splits a linker script into names and parentheses, without comments. Names may be quoted.
func scriptWords(text string) []string {
	var words []string
	for text != "" {
		switch c := text[0]; {
		case strings.HasPrefix(text, "/*"):
			_, text, _ = strings.Cut(text[2:], "*/")
		case c == '"':
			var word string
			word, text, _ = strings.Cut(text[1:], `"`)
			words = append(words, word)
		case c == '(' || c == ')':
			words = append(words, text[:1])
			text = text[1:]
		case strings.IndexByte(" \t\r\n,;", c) >= 0:
			text = text[1:]
		default:
			n := strings.IndexAny(text, " \t\r\n,;()\"")
			if n < 0 {
				n = len(text)
			}
			words = append(words, text[:n])
			text = text[n:]
		}
	}
	return words
}

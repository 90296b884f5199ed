package driver

import "strings"

// orderOptions are the options of linkers for an order of functions or sections.
var orderOptions = setOf("order symbol-ordering-file section-ordering-file call-graph-ordering-file order_file")

// orderWord reports whether a word is such an option, with or without its value.
func orderWord(word string) bool {
	rest := strings.TrimLeft(word, "-/")
	name, _, valued := strings.Cut(rest, ":")
	if rest != word && valued {
		return strings.EqualFold(name, "order") || strings.EqualFold(name, "call-graph-ordering-file")
	}
	name, _, _ = strings.Cut(rest, "=")
	return strings.HasPrefix(word, "-") && name != "order" && orderOptions()[name]
}

// OwnOrder returns the option by which a command gives the linker an order of its own, "" if it gives none.
func (c *Command) OwnOrder() string {
	for _, arg := range c.words {
		for word := range strings.SplitSeq(strings.TrimPrefix(arg, "-Wl,"), ",") {
			if orderWord(word) {
				return word
			}
		}
	}
	return ""
}

// OwnOrder is that of a command of a linker.
func (l *LinkerLine) OwnOrder() string {
	for i := range l.Words {
		if w := &l.Words[i]; orderOptions()[w.Option] {
			return strings.Join(w.Args, " ")
		}
	}
	return ""
}

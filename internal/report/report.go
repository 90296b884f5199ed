// Package report formats rows for output: aligned tables, JSON, colour. It computes
// nothing about profiles.
package report

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Style is how text is shown.
type Style struct {
	Color bool
	// Width is the number of columns of the terminal, 0 if the text does not
	// go to one. Only on a terminal are names shortened: a program wants all of
	// them.
	Width int
}

// Color is an SGR attribute for a piece of text.
type Color string

// The colours in use. They are those of the terminal's own palette, so that
// they suit its background.
const (
	Plain Color = ""
	Bold  Color = "1"
	Dim   Color = "2"
	Green Color = "32"
	Red   Color = "31"
	Amber Color = "33"
	Blue  Color = "34"
	Hot   Color = "1;31" // ran
	Cold  Color = "34"   // did not
)

// Paint returns s in colour c, if the style has colours.
func (s Style) Paint(c Color, text string) string {
	if !s.Color || c == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// steers reports whether a character does more to a line than to stand in it:
// controls, those of the direction of text, and the separators of lines.
func steers(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
}

// Printable returns s with its control characters replaced. Names and paths come
// from files of unknown origin: they must not steer the terminal or add lines.
func Printable(s string) string {
	if !strings.ContainsFunc(s, steers) && utf8.ValidString(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if steers(r) {
			return utf8.RuneError
		}
		return r
	}, s)
}

// width returns the number of columns that s takes. Symbols and paths are
// practically all ASCII, so one rune is taken for one column.
func width(s string) int { return utf8.RuneCountInString(s) }

// ellipsis marks what was left out of a shortened name.
const ellipsis = "…"

// Shorten cuts the middle out of s so that it takes at most limit columns: both
// ends of a C++ name, its namespace and its arguments, tell more than the
// middle. A limit of 0 is none.
func Shorten(s string, limit int) string {
	if limit <= 0 || width(s) <= limit {
		return s
	}
	runes := []rune(s)
	head := limit / 2
	tail := limit - head - 1
	return string(runes[:head]) + ellipsis + string(runes[len(runes)-tail:])
}

// ShortenPath cuts the front off a path, at a slash if there is one.
func ShortenPath(s string, limit int) string {
	if limit <= 0 || width(s) <= limit {
		return s
	}
	runes := []rune(s)
	tail := string(runes[len(runes)-limit+1:])
	if i := strings.IndexByte(tail, '/'); i >= 0 && i < len(tail)-1 {
		tail = tail[i:]
	}
	return ellipsis + tail
}

// Wrap joins words with a blank into lines of at most limit columns, each
// behind indent. The words' widths are given apart because words may be
// painted.
func Wrap(words []string, widths []int, indent string, limit int) string {
	var b strings.Builder
	at := 0
	for i, w := range words {
		switch {
		case at == 0:
			b.WriteString(indent)
			at = width(indent)
		case at+1+widths[i] > limit:
			b.WriteString("\n" + indent)
			at = width(indent)
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(w)
		at += widths[i]
	}
	return b.String()
}

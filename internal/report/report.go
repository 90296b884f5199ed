// Package report formats rows for output: aligned tables, JSON, colour. It computes no data of
// profiles.
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

// Color is an SGR attribute for text.
type Color string

// The colours. They are those of the terminal's palette, so that they match its background.
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

// steers reports whether a character has an effect on a line other than its glyph: controls,
// text direction marks, and line separators.
func steers(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
}

// Printable returns s with its control characters replaced. Names and paths come from files of
// unknown origin: they must not control the terminal or add lines.
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

// ellipsis marks the omitted part of a shortened name.
const ellipsis = "…"

// Shorten removes the middle of s so that it takes at most limit columns: the ends of a C++
// name, its namespace and its arguments, are more informative than the middle. A limit of 0 is
// none.
func Shorten(s string, limit int) string {
	if limit <= 0 || width(s) <= limit {
		return s
	}
	runes := []rune(s)
	head := limit / 2
	tail := limit - head - 1
	return string(runes[:head]) + ellipsis + string(runes[len(runes)-tail:])
}

// ShortenPath removes the beginning of a path, up to a slash if there is one.
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

// Wrap joins words with blanks into lines of at most limit columns, each after indent. The
// widths of words are passed separately because words may be coloured.
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

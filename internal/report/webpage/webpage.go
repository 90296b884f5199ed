// Package webpage holds the parts shared by all pages and pictures: their colours, and text of them.
package webpage

import "strings"

// Escape makes s text of an XML or HTML document. Names come from binaries and
// may hold anything; control characters are not allowed in XML at all.
func Escape(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' || r == 0x7f || r == 0xfffe || r == 0xffff {
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;").Replace(s)
}

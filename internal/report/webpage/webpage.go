// Package webpage holds the parts shared by the HTML pages of all verbs: their colours,
// and a self-contained document.
package webpage

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
)

// Page is a document. Data comes from elsewhere; all else is ours.
type Page struct {
	Title string
	// Light and Dark are CSS variables of light and dark surroundings.
	Light, Dark string
	Style       string
	Body        string // HTML
	Data        []byte // JSON in the element "data", with < and > escaped as \u003c and \u003e
	Script      string // statements, run as a function of their own
}

// Write writes the page.
func Write(w io.Writer, p *Page) error {
	style := fmt.Sprintf(":root{color-scheme:light;%s}\n:root[data-theme=dark]{color-scheme:dark;%s}\n%s", p.Light, p.Dark, p.Style)
	script := "(function(){\n\"use strict\";\n" + p.Script + "})();\n"
	var b bytes.Buffer
	b.WriteString("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
	// Names of functions are the only thing that comes from elsewhere, and they
	// are in data that no part of the page executes. The policy says it once more
	// to the browser: nothing is loaded, and no script but this one is run.
	fmt.Fprintf(&b, "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-%s'; script-src 'sha256-%s'; base-uri 'none'; form-action 'none'\">\n",
		digest(style), digest(script))
	b.WriteString("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n")
	fmt.Fprintf(&b, "<title>%s</title>\n<style>%s</style>\n</head>\n<body>\n%s", Escape(p.Title), style, p.Body)
	fmt.Fprintf(&b, "<script type=\"application/json\" id=\"data\">%s\n</script>\n<script>%s</script>\n</body>\n</html>\n", p.Data, script)
	_, err := w.Write(b.Bytes())
	return err
}

// digest is what a policy names a script by.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

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

// Package page writes the report as one self-contained HTML file: the page of package web, the
// model of package model, and the data that views load on demand. It is pure.
package page

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"iter"

	"github.com/cairnprof/cairn/internal/page/web"
	"github.com/cairnprof/cairn/internal/report/webpage"
)

// Blob is data that a view loads by its path, such as "source/12.json".
type Blob struct {
	Path string
	// Write writes the data.
	Write func(w io.Writer) error
}

// Document is a report.
type Document struct {
	Title string
	Model func(w io.Writer) error // writes JSON
	Data  iter.Seq[Blob]          // may be nil
	// Plain is true if all data are JSON and stay text in the file, for other tools to find.
	Plain bool
}

// WriteHTML writes d as one file. Model and data are compressed, since sources and models of
// large programs are many megabytes; one blob at a time is in memory.
func WriteHTML(w io.Writer, d *Document) error {
	out := bufio.NewWriter(w)
	head(out, d.Title, "default-src 'none'; img-src data:", false)
	embed := embedPacked
	if d.Plain {
		embed = embedPlain
	}
	if err := embed(out, `id="model"`, d.Model); err != nil {
		return err
	}
	if d.Data != nil {
		for b := range d.Data {
			if err := embed(out, `data-path="`+webpage.Escape(b.Path)+`"`, b.Write); err != nil {
				return fmt.Errorf("%s: %w", b.Path, err)
			}
		}
	}
	tail(out)
	return out.Flush()
}

// WriteShell writes the page without model and data: a server serves /model.json and
// /data/PATH, and sends the event "changed" on /events when there is a new model.
func WriteShell(w io.Writer, title string) error {
	out := bufio.NewWriter(w)
	head(out, title, "default-src 'none'; img-src data:; connect-src 'self'", true)
	tail(out)
	return out.Flush()
}

// head writes all before the data. Errors of out are found by Flush.
func head(out *bufio.Writer, title, policy string, served bool) {
	attributes := ""
	if served {
		attributes = " data-served"
	}
	// Names come from programs and may contain any characters. Scripts treat them as text; the
	// policy allows the browser to run only the page's own script.
	fmt.Fprintf(out, `<!DOCTYPE html>
<html lang="en" data-theme="light"%s>
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="%s; style-src '%s'; script-src '%s'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>%s</title>
<style>%s</style>
</head>
<body>
%s`, attributes, policy, digest(web.Style()), digest(web.Script()), webpage.Escape(title), web.Style(), web.Body())
}

func tail(out *bufio.Writer) {
	fmt.Fprintf(out, "<script>%s</script>\n</body>\n</html>\n", web.Script())
}

// embedPlain writes an element with JSON.
func embedPlain(out *bufio.Writer, attribute string, write func(io.Writer) error) error {
	fmt.Fprintf(out, `<script type="application/json" %s>`, attribute)
	if err := write(escaper{out}); err != nil {
		return err
	}
	_, err := out.WriteString("</script>\n")
	return err
}

// escaper writes JSON without characters that end a script. They are only in strings, where they may be escaped.
type escaper struct{ to *bufio.Writer }

func (e escaper) Write(p []byte) (int, error) {
	rest := p
	for {
		at := bytes.IndexByte(rest, '<')
		if at < 0 {
			_, err := e.to.Write(rest)
			return len(p), err
		}
		e.to.Write(rest[:at])
		if _, err := e.to.WriteString(`\u003c`); err != nil { // a writer with a buffer keeps its error
			return 0, err
		}
		rest = rest[at+1:]
	}
}

// embedPacked writes an element with data, compressed and in base64.
func embedPacked(out *bufio.Writer, attribute string, write func(io.Writer) error) error {
	fmt.Fprintf(out, `<script type="application/octet-stream" %s>`, attribute)
	text := base64.NewEncoder(base64.StdEncoding, out)
	packed, err := gzip.NewWriterLevel(text, gzip.DefaultCompression)
	if err != nil {
		return err
	}
	if err := write(packed); err != nil {
		return err
	}
	if err := packed.Close(); err != nil {
		return err
	}
	if err := text.Close(); err != nil {
		return err
	}
	_, err = out.WriteString("</script>\n")
	return err
}

// digest returns the hash by which a policy identifies a script or a style.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

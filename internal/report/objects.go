package report

import (
	"bytes"
	"encoding/json"
	"io"
)

// Objects writes JSON objects one by one: as one document, an array with an element on each line, or, as lines, each
// object as a document of its own, which readers of endless output need.
type Objects struct {
	w     io.Writer
	lines bool
	n     int
	buf   bytes.Buffer
	enc   *json.Encoder
}

// NewObjects returns a writer of objects to w, as lines (JSON Lines, jsonlines.org) or as an array, which Close ends.
func NewObjects(w io.Writer, lines bool) *Objects {
	o := &Objects{w: w, lines: lines}
	o.enc = json.NewEncoder(&o.buf)
	o.enc.SetEscapeHTML(false)
	return o
}

// Encode writes an object.
func (o *Objects) Encode(v any) error {
	o.buf.Reset()
	switch {
	case o.lines:
	case o.n == 0:
		o.buf.WriteString("[\n")
	default:
		o.buf.WriteString(",\n")
	}
	if err := o.enc.Encode(v); err != nil {
		return err
	}
	o.n++
	if !o.lines {
		o.buf.Truncate(o.buf.Len() - 1) // the line ends with the comma, or with the array
	}
	_, err := o.w.Write(o.buf.Bytes())
	return err
}

// Close ends the document. It does not close the writer.
func (o *Objects) Close() error {
	end := "\n]\n"
	switch {
	case o.lines:
		return nil
	case o.n == 0:
		end = "[]\n"
	}
	_, err := io.WriteString(o.w, end)
	return err
}

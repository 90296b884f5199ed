package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"strconv"
)

// jsonVersion is the version of all JSON that the command prints. Keys may be added within a
// version; none is renamed or changes its meaning.
const jsonVersion = `{
  "version": 1`

const jsonIndent = "  "

// WriteJSON writes doc, which must encode as an object, with "version" as its
// first key.
func WriteJSON(w io.Writer, doc any) error {
	body, err := encodeJSON(doc, "")
	if err != nil {
		return err
	}
	body, ok := bytes.CutPrefix(body, []byte("{"))
	if !ok {
		return errNoObject
	}
	head := jsonVersion
	if !bytes.HasPrefix(body, []byte("}")) {
		head += ","
	} else {
		head += "\n"
	}
	if _, err := io.WriteString(w, head); err != nil {
		return err
	}
	_, err = w.Write(body)
	return err
}

// A JSONAppender is an item of a list that encodes itself, with prefix before each line but
// the first: encoding/json takes five times as long, which matters for millions of items.
type JSONAppender interface {
	AppendJSON(b []byte, prefix, indent string) []byte
}

// WriteJSONList writes what WriteJSON writes for doc with an additional last key, whose value
// is the list of items. Only one item at a time is in memory.
func WriteJSONList(w io.Writer, doc any, key string, items iter.Seq[any]) error {
	var head bytes.Buffer
	if err := WriteJSON(&head, doc); err != nil {
		return err
	}
	b := bufio.NewWriter(w)
	b.Write(bytes.TrimSuffix(head.Bytes(), []byte("\n}\n")))
	b.WriteString(",\n" + jsonIndent + strconv.Quote(key) + ": [")
	between, end := "\n", "]\n}\n"
	var body []byte
	for item := range items {
		var err error
		if a, ok := item.(JSONAppender); ok {
			body = a.AppendJSON(body[:0], jsonIndent+jsonIndent, jsonIndent)
		} else if body, err = encodeJSON(item, jsonIndent+jsonIndent); err != nil {
			return err
		}
		b.WriteString(between + jsonIndent + jsonIndent)
		if _, err := b.Write(bytes.TrimSuffix(body, []byte("\n"))); err != nil {
			return err // the reader has closed its end
		}
		between, end = ",\n", "\n"+jsonIndent+"]\n}\n"
	}
	b.WriteString(end)
	return b.Flush()
}

var errNoObject = errors.New("report: JSON document is not an object")

// encodeJSON returns v in lines that begin with prefix, except the first.
func encodeJSON(v any, prefix string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // C++ names are full of angle brackets
	enc.SetIndent(prefix, jsonIndent)
	err := enc.Encode(v)
	return b.Bytes(), err
}

package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// jsonVersion is the version of all JSON that the command prints. Keys may be
// added within a version; none is renamed or given another meaning.
const jsonVersion = `{
  "version": 1`

// WriteJSON writes doc, which must encode as an object, with "version" as its
// first key.
func WriteJSON(w io.Writer, doc any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // C++ names are full of angle brackets
	enc.SetIndent("", "  ")
	if err := enc.Encode(doc); err != nil {
		return err
	}
	body, ok := bytes.CutPrefix(b.Bytes(), []byte("{"))
	if !ok {
		return errors.New("report: JSON document is not an object")
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
	_, err := w.Write(body)
	return err
}

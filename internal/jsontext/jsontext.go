// Package jsontext quotes strings for writers that format JSON themselves.
package jsontext

import (
	"bytes"
	"encoding/json"
)

// Quote returns s as a JSON string. Invalid UTF-8 becomes U+FFFD.
func Quote(s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // C++ names are full of angle brackets
	if err := enc.Encode(s); err != nil {
		return []byte(`""`) // a string has no errors
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

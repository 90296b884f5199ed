package objectstore

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// listing is an answer to a request for a list.
type listing struct {
	objects   []Object
	truncated bool // there are more
	last      Object
}

// readListing reads a list. Names have no prefix removed.
func readListing(data []byte) (*listing, error) {
	l := new(listing)
	return l, readXML(data, "ListBucketResult", l.set)
}

// set takes the value of an element. An empty one is zero or false.
func (l *listing) set(path, text string) (err error) {
	switch path {
	case "IsTruncated":
		l.truncated, err = strconv.ParseBool(strings.TrimSpace(cmp.Or(text, "false")))
	case "Contents/Key":
		l.last.Name = text
	case "Contents/Size":
		l.last.Size, err = strconv.ParseInt(strings.TrimSpace(cmp.Or(text, "0")), 10, 64)
	case "Contents/LastModified":
		l.last.Modified, err = time.Parse(time.RFC3339, strings.TrimSpace(text))
	case "Contents":
		l.objects, l.last = append(l.objects, l.last), Object{}
	}
	return err
}

// readXML reads an element of the name root. It calls element at the end of each element that is one or two levels
// within, with its path, such as Contents/Key, and its own text. xml.Unmarshal would bring 50 kB of code.
func readXML(data []byte, root string, element func(path, text string) error) error {
	d := xml.NewDecoder(bytes.NewReader(data))
	var open []string
	var text []byte
	for {
		token, err := d.Token()
		if err == io.EOF {
			return io.ErrUnexpectedEOF // before the element
		} else if err != nil {
			return err
		}
		switch token := token.(type) {
		case xml.StartElement:
			if open = append(open, token.Name.Local); open[0] != root {
				return fmt.Errorf("an element %s, not %s", open[0], root)
			}
			text = text[:0]
		case xml.CharData:
			text = append(text, token...)
		case xml.EndElement:
			if len(open) == 1 {
				return nil
			}
			if path := strings.Join(open[1:min(len(open), 3)], "/"); len(open) <= 3 {
				if err := element(path, string(text)); err != nil {
					return fmt.Errorf("%s: %w", path, err)
				}
			}
			open, text = open[:len(open)-1], text[:0]
		}
	}
}

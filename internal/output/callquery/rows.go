package callquery

import (
	"bytes"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/cairnprof/cairn/internal/calls/calldb"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
)

// sqlText formats an SQL value. NULL is empty.
func sqlText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case string:
		return v
	case []byte:
		return "x'" + hex.EncodeToString(v) + "'"
	}
	return fmt.Sprint(v)
}

// Maximum number of rows in memory, and of the size of their text: column widths are those of
// these rows.
const (
	rowsAtOnce = 4096
	textAtOnce = 4 << 20
)

// writeRowsTable prints the result as a table. Columns of numbers are right-aligned.
func writeRowsTable(s *verb.Streams, rows *calldb.Rows, style report.Style) error {
	var t report.Table
	for _, name := range rows.Columns {
		t.Columns = append(t.Columns, report.Column{Title: report.Printable(name), Align: report.Right, Shrink: report.Shorten})
	}
	found, text := false, 0
	for values, err := range rows.All() {
		if err != nil {
			return err
		}
		cells := make([]report.Cell, len(values))
		for i, v := range values {
			switch v.(type) {
			case int64, float64:
				t.Columns[i].Shrink = nil // half a number is another
			case string, []byte:
				t.Columns[i].Align = report.Left
			}
			cells[i] = report.Text(sqlText(v))
			text += len(cells[i].Text)
		}
		t.Add(cells...)
		found = true
		if t.Len() >= rowsAtOnce || text > textAtOnce {
			if err := t.WritePart(s.Out, style); err != nil {
				return err
			}
			text = 0
		}
	}
	if !found {
		verb.Note(s, "no rows")
	}
	return t.WritePart(s.Out, style)
}

func writeRowsCSV(out io.Writer, rows *calldb.Rows) error {
	w := csv.NewWriter(out)
	if err := w.Write(rows.Columns); err != nil {
		return err
	}
	record := make([]string, len(rows.Columns))
	for values, err := range rows.All() {
		if err != nil {
			return err
		}
		for i, v := range values {
			record[i] = sqlText(v)
		}
		if err := w.Write(record); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

// jsonRow is a row as an object whose keys are in the order of the columns. Keys are
// encoded already.
type jsonRow struct {
	keys   []string
	values []any
}

// AppendJSON implements report.JSONAppender.
func (r *jsonRow) AppendJSON(b []byte, prefix, indent string) []byte {
	b = append(b, '{')
	for i, v := range r.values {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '\n')
		b = append(b, prefix...)
		b = append(b, indent...)
		b = append(b, r.keys[i]...)
		b = append(b, ": "...)
		b = appendValue(b, v)
	}
	b = append(b, '\n')
	b = append(b, prefix...)
	return append(b, '}')
}

func appendValue(b []byte, v any) []byte {
	switch x := v.(type) {
	case nil:
		return append(b, "null"...)
	case int64:
		return strconv.AppendInt(b, x, 10)
	case string:
		return appendText(b, x)
	case float64:
		if !math.IsInf(x, 0) && !math.IsNaN(x) { // JSON has no such numbers
			text, _ := json.Marshal(x)
			return append(b, text...)
		}
	}
	return appendText(b, sqlText(v))
}

func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			return append(b, jsonText(s)...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// jsonText is a text as the library encodes it.
func jsonText(s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always can
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

func writeRowsJSON(out io.Writer, rows *calldb.Rows) error {
	doc := struct {
		Columns []string `json:"columns"`
	}{uniqueNames(rows.Columns)}
	row := &jsonRow{keys: make([]string, len(doc.Columns))}
	for i, c := range doc.Columns {
		row.keys[i] = string(jsonText(c))
	}
	var failure error
	err := report.WriteJSONList(out, doc, "rows", func(yield func(any) bool) {
		for values, err := range rows.All() {
			row.values = values
			if failure = err; err != nil || !yield(row) {
				return
			}
		}
	})
	return errors.Join(failure, err)
}

// uniqueNames numbers columns of the same name: an object has one of each.
func uniqueNames(columns []string) []string {
	seen := make(map[string]bool)
	names := make([]string, len(columns))
	for i, c := range columns {
		name := c
		for n := 2; seen[name]; n++ {
			name = c + "_" + strconv.Itoa(n)
		}
		seen[name] = true
		names[i] = name
	}
	return names
}

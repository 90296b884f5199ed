package cli

import (
	"bytes"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/tracedb"
)

// sqlText is a value as SQL has it. NULL is nothing.
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

// writeRowsTable prints the answer as a table. Columns of numbers stand right.
func writeRowsTable(s *Streams, rows *tracedb.Rows, style report.Style) error {
	var t report.Table
	for _, name := range rows.Columns {
		t.Columns = append(t.Columns, report.Column{Title: report.Printable(name), Align: report.Right, Shrink: report.Shorten})
	}
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
		}
		t.Add(cells...)
	}
	if t.Len() == 0 {
		note(s, "no rows")
	}
	return t.Write(s.Out, style)
}

func writeRowsCSV(out io.Writer, rows *tracedb.Rows) error {
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

// jsonRow is a row as an object whose keys are in the order of the columns.
type jsonRow struct {
	keys   []string
	values []any
}

// MarshalJSON implements json.Marshaler.
func (r jsonRow) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	b.WriteByte('{')
	for i, v := range r.values {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := enc.Encode(r.keys[i]); err != nil {
			return nil, err
		}
		b.WriteByte(':')
		switch x := v.(type) {
		case []byte:
			v = sqlText(x)
		case float64:
			if math.IsInf(x, 0) || math.IsNaN(x) {
				v = sqlText(x) // JSON has no such numbers
			}
		}
		if err := enc.Encode(v); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func writeRowsJSON(out io.Writer, rows *tracedb.Rows) error {
	doc := struct {
		Columns []string  `json:"columns"`
		Rows    []jsonRow `json:"rows"`
	}{uniqueNames(rows.Columns), []jsonRow{}}
	for values, err := range rows.All() {
		if err != nil {
			return err
		}
		row := make([]any, len(values))
		for i, v := range values {
			if data, ok := v.([]byte); ok {
				v = bytes.Clone(data)
			}
			row[i] = v
		}
		doc.Rows = append(doc.Rows, jsonRow{doc.Columns, row})
	}
	return report.WriteJSON(out, doc)
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

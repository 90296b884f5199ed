package parquet

import (
	"fmt"
	"io"
	"reflect"
	"strings"
)

// ColumnsOf returns the columns of a table whose rows are structures of type T, one for each field. The tag of a
// field, such as `parquet:"name,dict"`, has the column's name and after it:
//
//	dict, delta            the encoding
//	optional               the field is a pointer, nil if the row has no value
//	list                   the field is a slice
//	date, timestamp(...)   a number that is a day, or a time in nanoseconds
//
// Libraries for Go that read rows into structures use the same tags.
func ColumnsOf[T any]() []Column {
	t := reflect.TypeFor[T]()
	columns := make([]Column, t.NumField())
	for i := range columns {
		field := t.Field(i)
		tags := strings.Split(field.Tag.Get("parquet"), ",")
		c := Column{Name: tags[0]}
		kind := field.Type
		for _, tag := range tags[1:] {
			switch tag {
			case "dict":
				c.Encoding = Dict
			case "delta":
				c.Encoding = Delta
			case "optional":
				c.Optional, kind = true, field.Type.Elem()
			case "list":
				c.List, kind = true, field.Type.Elem()
			}
		}
		c.Type = typeOf(kind.Kind())
		for _, tag := range tags[1:] {
			switch tag {
			case "date":
				c.Type = Date
			case "timestamp(nanosecond)":
				c.Type = Time
			}
		}
		columns[i] = c
	}
	return columns
}

func typeOf(k reflect.Kind) Type {
	switch k {
	case reflect.Int32:
		return Int32
	case reflect.Int64:
		return Int64
	case reflect.Uint64:
		return Uint64
	case reflect.Float64:
		return Double
	case reflect.Bool:
		return Bool
	case reflect.String:
		return Text
	}
	panic(fmt.Sprintf("no column has values of kind %v", k))
}

// Table writes rows that are structures, with the columns of ColumnsOf.
type Table[T any] struct{ w *Writer }

// NewTable returns a writer of a file.
func NewTable[T any](w io.Writer, o Options) *Table[T] {
	return &Table[T]{NewWriter(w, ColumnsOf[T](), o)}
}

// batch is how many rows are added before a page or a group is ended.
const batch = 1 << 10

// Write writes rows. The error is that of the underlying writer.
func (t *Table[T]) Write(rows ...T) error {
	for len(rows) > 0 {
		n := min(len(rows), batch)
		if err := t.w.add(reflect.ValueOf(rows[:n])); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// Close writes the rest and the end of the file. It does not close the underlying writer.
func (t *Table[T]) Close() error { return t.w.Close() }

// add adds a slice of structures.
func (w *Writer) add(rows reflect.Value) error {
	n := rows.Len()
	for i, c := range w.columns {
		for r := range n {
			c.add(rows.Index(r).Field(i))
		}
	}
	return w.EndRows(n)
}

// add adds the value of a field.
func (v *Values) add(field reflect.Value) {
	if v.Optional {
		if field.IsNil() {
			v.Missing()
			return
		}
		field = field.Elem()
	}
	switch {
	case v.List:
		v.Uints(field.Interface().([]uint64))
	case v.Type == Text:
		v.Text(field.String())
	case v.Type == Bool:
		v.Bool(field.Bool())
	case v.Type == Double:
		v.Double(field.Float())
	case v.Type == Uint64:
		v.Int(int64(field.Uint()))
	default:
		v.Int(field.Int())
	}
}

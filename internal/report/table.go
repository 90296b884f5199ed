package report

import (
	"bufio"
	"io"
	"slices"
	"strings"
)

// Align is the alignment of a cell in its column.
type Align uint8

// The alignments.
const (
	Left Align = iota
	Right
)

// Column is the head of a column.
type Column struct {
	Title string
	Align Align
	// Shrink shortens a cell to a number of columns when the table is wider
	// than the terminal, as Shorten does. Nil for a column that stays.
	Shrink func(s string, limit int) string
	// Optional columns are omitted, the last first, if a terminal is too narrow even for
	// shortened cells.
	Optional bool
}

// Cell is a text in a colour.
type Cell struct {
	Text  string
	Color Color
}

// Text returns a plain cell.
func Text(s string) Cell { return Cell{Text: s} }

// Table is rows under columns.
type Table struct {
	Columns []Column
	rows    [][]Cell
	written []int // widths of the rows that are written; nil if none are
}

// NewTable returns a table with columns of these titles. Before a title may be marks of its column: > aligns cells right,
// ~ shortens them (Shorten), / does so for paths (ShortenPath), and ? makes the column optional.
func NewTable(titles ...string) *Table {
	t := &Table{}
	t.Head(titles...)
	return t
}

// Head adds columns, as NewTable does.
func (t *Table) Head(titles ...string) {
	for _, title := range titles {
		var c Column
	marks:
		for ; title != ""; title = title[1:] {
			switch title[0] {
			case '>':
				c.Align = Right
			case '~':
				c.Shrink = Shorten
			case '/':
				c.Shrink = ShortenPath
			case '?':
				c.Optional = true
			default:
				break marks
			}
		}
		c.Title = title
		t.Columns = append(t.Columns, c)
	}
}

// Add appends a row, one cell for each column.
func (t *Table) Add(cells ...Cell) {
	for i := range cells {
		cells[i].Text = Printable(cells[i].Text)
	}
	t.rows = append(t.rows, cells)
}

// Row appends a row of plain cells.
func (t *Table) Row(texts ...string) {
	cells := make([]Cell, len(texts))
	for i, s := range texts {
		cells[i].Text = s
	}
	t.Add(cells...)
}

// Len returns the number of rows.
func (t *Table) Len() int { return len(t.rows) }

const (
	columnGap = "  "
	minShrunk = 20 // minimum width of a shortened cell
	// maxPadded limits the padding of cells if nothing is shortened: one C++ name of five
	// hundred letters must not widen all rows.
	maxPadded = 60
)

// WritePart writes the rows that were added since its last call, and drops them, so that a
// long table is never completely in memory. Rows of later parts are not aligned if they are
// wider; on a terminal they are shortened to the widths of the first part. No column may be
// Optional.
func (t *Table) WritePart(w io.Writer, s Style) error {
	err := t.write(w, s)
	t.rows = t.rows[:0]
	return err
}

// Write writes the table, header first. An empty table has no output.
func (t *Table) Write(w io.Writer, s Style) error {
	if t.written != nil {
		return t.WritePart(w, s)
	}
	part := *t
	return part.write(w, s)
}

// write writes the rows, after the header or the rows written before.
func (t *Table) write(w io.Writer, s Style) error {
	if len(t.rows) == 0 {
		return nil
	}
	if t.written != nil {
		return t.more(w, s)
	}
	widths, total := t.fit(s.Width)
	for s.Width > 0 && total > s.Width {
		i := len(t.Columns) - 1
		for i >= 0 && !t.Columns[i].Optional {
			i--
		}
		if i < 0 {
			break
		}
		t = t.without(i)
		widths, total = t.fit(s.Width)
	}
	b := bufio.NewWriter(w)
	head := make([]Cell, len(t.Columns))
	titled := false
	for i, c := range t.Columns {
		head[i] = Cell{c.Title, Bold}
		titled = titled || c.Title != ""
	}
	if titled {
		t.line(b, head, widths, s)
	}
	return t.lines(b, widths, s)
}

// more writes rows after others.
func (t *Table) more(w io.Writer, s Style) error {
	widths := t.written
	if s.Width == 0 {
		widths, _ = t.fit(0)
		for i, n := range t.written {
			widths[i] = max(widths[i], n)
		}
	}
	return t.lines(bufio.NewWriter(w), widths, s)
}

func (t *Table) lines(b *bufio.Writer, widths []int, s Style) error {
	for _, row := range t.rows {
		t.line(b, row, widths, s)
	}
	t.written = widths
	return b.Flush()
}

// without returns the table without column i.
func (t *Table) without(i int) *Table {
	out := &Table{Columns: slices.Delete(slices.Clone(t.Columns), i, i+1), rows: make([][]Cell, len(t.rows))}
	for k, row := range t.rows {
		out.rows[k] = slices.Delete(slices.Clone(row), i, i+1)
	}
	return out
}

// fit returns the columns' widths and that of the table. If they exceed the terminal's, the
// columns that can shrink are reduced, the widest first. Without a terminal, long cells exceed
// their columns.
func (t *Table) fit(limit int) (widths []int, total int) {
	widths = make([]int, len(t.Columns))
	total = len(columnGap) * (len(t.Columns) - 1)
	for i, c := range t.Columns {
		widths[i] = width(c.Title)
		for _, row := range t.rows {
			if n := width(row[i].Text); limit > 0 || c.Shrink == nil || n <= maxPadded {
				widths[i] = max(widths[i], n)
			}
		}
		total += widths[i]
	}
	for limit > 0 && total > limit {
		widest := -1
		for i, c := range t.Columns {
			if c.Shrink != nil && widths[i] > minShrunk && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
		total--
	}
	return widths, total
}

// line writes one row. Trailing blanks are omitted, so that a narrow terminal does not wrap
// them.
func (t *Table) line(b *bufio.Writer, cells []Cell, widths []int, s Style) {
	blanks := 0
	for i, c := range cells {
		text := c.Text
		if shrink := t.Columns[i].Shrink; shrink != nil && s.Width > 0 && width(text) > widths[i] {
			text = shrink(text, widths[i])
		}
		gap := max(widths[i]-width(text), 0)
		if i > 0 {
			blanks += len(columnGap)
		}
		if t.Columns[i].Align == Right {
			blanks += gap
			gap = 0
		}
		if text != "" {
			b.WriteString(strings.Repeat(" ", blanks))
			b.WriteString(s.Paint(c.Color, text))
			blanks = 0
		}
		blanks += gap
	}
	b.WriteByte('\n')
}

// Package calls writes every single call of a trace as a Parquet file:
// one row for each call, for engines that count billions of rows (DuckDB,
// ClickHouse, Spark). What fits one machine's memory, the sums over functions and
// stacks, is in the SQLite database of internal/calls/calldb; both have the same ids
// and the same names of columns. docs/database.md describes the two.
//
// A file is written as a stream: memory holds one group of rows, packed, whatever
// the length of the trace. Calls are in the order in which they ended, thread by
// thread, so that ids, times and durations differ little from row to row and
// their differences pack well.
package calls

import (
	"cmp"
	"errors"
	"io"
	"strconv"
	"sync/atomic"

	"github.com/cairnprof/cairn/format/parquet"
)

// Schema is the number of the columns' layout. Columns may be added within it;
// none is renamed or given another meaning.
const Schema = 1

// Keys of the file's metadata.
const (
	KeySchema = "cairn.schema" // Schema
	KeyUnit   = "cairn.unit"   // of start, duration and self: "ns" or "ticks"
	KeyLog    = "cairn.log."   // and the id of a log: its name
)

// How a call ended.
const (
	Exit      = "exit"
	TailExit  = "tail exit"
	Deduced   = "deduced" // no exit in the log: a caller returned. Duration is a lower bound
	StillOpen = "open"    // still running when the log ended
)

// Call is a row.
type Call struct {
	Log    int32 `parquet:"log,dict"`    // counted from 1
	Thread int32 `parquet:"thread,dict"` // counted from 1 over all logs
	PID    int64 `parquet:"pid,dict"`
	TID    int64 `parquet:"tid,dict"`
	// Call is the number of the call, unique within the file, and Parent that of
	// its caller's call, 0 for none.
	Call   int64 `parquet:"call,delta"`
	Parent int64 `parquet:"parent,delta"`
	Func   int64 `parquet:"func,dict"` // the function's number in the log
	// Function is the displayed name. Write sets it.
	Function string `parquet:"function,dict"`
	Stack    int32  `parquet:"stack,delta"` // id in the database's table stacks
	Depth    int32  `parquet:"depth,delta"` // 1 for the outermost call
	Start    int64  `parquet:"start,delta"` // since the log's first event
	Duration int64  `parquet:"duration,delta"`
	Self     int64  `parquet:"self,delta"` // Duration without the calls it made
	// Outermost says that the function is not among its own callers: only the
	// durations of such calls add up to a function's total time.
	Outermost bool   `parquet:"outermost"`
	Ended     string `parquet:"ended,dict"`
	CPU       int32  `parquet:"cpu,dict"` // where it began
	// Args are the arguments that were logged, in most logs none or the first.
	Args []uint64 `parquet:"args,list"`
}

// About is the metadata of a file.
type About struct {
	Unit string   // "ns" or "ticks"
	Logs []string // their names: that of log 1 first
}

const (
	// groupRows is the number of rows that are held, packed to some 10 bytes each, before they are written:
	// engines read groups in parallel and skip whole ones.
	groupRows = 1 << 20
	batchRows = 1 << 12
	batches   = 4 // in use at the same time
)

// Writer writes a file of calls. A separate goroutine encodes and packs rows: close the writer or abort it.
type Writer struct {
	w    *parquet.Writer
	name func(fn int64) string
	// names is name's cache: a trace has many calls of few functions.
	names map[int64]string
	rows  int64

	batch  *batch        // being filled
	full   chan *batch   // to the goroutine
	empty  chan *batch   // and back
	ended  chan struct{} // closed when the goroutine has ended
	failed atomic.Pointer[error]
	closed bool
}

// A batch is rows on their way to the file.
type batch struct {
	rows []Call
	args []uint64 // that rows have
}

// NewWriter returns a writer to w. Each function is named by name, once.
func NewWriter(w io.Writer, about About, name func(fn int64) string) *Writer {
	options := parquet.Options{
		Name: "Call", CreatedBy: "cairn version " + strconv.Itoa(Schema), GroupRows: groupRows,
		Metadata: [][2]string{{KeySchema, strconv.Itoa(Schema)}, {KeyUnit, about.Unit}},
	}
	for i, log := range about.Logs {
		options.Metadata = append(options.Metadata, [2]string{KeyLog + strconv.Itoa(i+1), log})
	}
	c := &Writer{
		w: parquet.NewWriter(w, parquet.ColumnsOf[Call](), options), name: name, names: make(map[int64]string),
		full: make(chan *batch, batches), empty: make(chan *batch, batches), ended: make(chan struct{}),
	}
	for range batches {
		c.empty <- &batch{rows: make([]Call, 0, batchRows)}
	}
	c.batch = <-c.empty
	go c.encode()
	return c
}

// encode writes full batches until there are no more. After an error it only returns them.
func (w *Writer) encode() {
	defer close(w.ended)
	for b := range w.full {
		if w.failed.Load() == nil {
			addRows(w.w.Columns(), b.rows)
			if err := w.w.EndRows(len(b.rows)); err != nil {
				w.failed.Store(&err)
			}
		}
		b.rows, b.args = b.rows[:0], b.args[:0]
		w.empty <- b
	}
}

// addRows adds rows to the columns, which have the order of Call's fields.
func addRows(columns []*parquet.Values, rows []Call) {
	for i := range rows {
		columns[0].Int(int64(rows[i].Log))
		columns[1].Int(int64(rows[i].Thread))
		columns[2].Int(rows[i].PID)
		columns[3].Int(rows[i].TID)
		columns[4].Int(rows[i].Call)
		columns[5].Int(rows[i].Parent)
		columns[6].Int(rows[i].Func)
		columns[7].Text(rows[i].Function)
		columns[8].Int(int64(rows[i].Stack))
		columns[9].Int(int64(rows[i].Depth))
		columns[10].Int(rows[i].Start)
		columns[11].Int(rows[i].Duration)
		columns[12].Int(rows[i].Self)
		columns[13].Bool(rows[i].Outermost)
		columns[14].Text(rows[i].Ended)
		columns[15].Int(int64(rows[i].CPU))
		columns[16].Uints(rows[i].Args)
	}
}

// err returns the first error of writing.
func (w *Writer) err() error {
	if err := w.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// Write appends a call, and keeps no reference to it. The error is that of the underlying writer; it comes some
// thousand calls late, and again from Close.
func (w *Writer) Write(c *Call) error {
	b := w.batch
	b.rows = append(b.rows, *c)
	row := &b.rows[len(b.rows)-1]
	if len(c.Args) > 0 {
		from := len(b.args)
		b.args = append(b.args, c.Args...)
		row.Args = b.args[from:]
	}
	name, ok := w.names[c.Func]
	if !ok {
		name = w.name(c.Func)
		w.names[c.Func] = name
	}
	row.Function = name
	w.rows++
	if len(b.rows) < batchRows {
		return nil
	}
	w.full <- b
	w.batch = <-w.empty
	return w.err()
}

// Rows returns the number of calls passed to Write.
func (w *Writer) Rows() int64 { return w.rows }

// Close writes the rest and the file's footer. It does not close the underlying writer.
func (w *Writer) Close() error {
	if w.closed {
		return cmp.Or(w.err(), errors.New("the writer of calls is closed"))
	}
	w.full <- w.batch
	w.Abort()
	if err := w.err(); err != nil {
		return err
	}
	return w.w.Close()
}

// Abort ends the writing without a footer, so that the file is not mistaken for a complete one. After Close it
// does nothing.
func (w *Writer) Abort() {
	if !w.closed {
		w.closed = true
		close(w.full)
	}
	<-w.ended
}

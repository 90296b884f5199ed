// Package calls writes every single call of a trace as a Parquet file:
// one row for each call, for engines that count billions of rows (DuckDB,
// ClickHouse, Spark). What fits one machine's memory, the sums over functions and
// stacks, is in the SQLite database of internal/tracedb; both have the same ids
// and the same names of columns. docs/database.md describes the two.
//
// A file is written as a stream: memory holds one group of rows, packed, whatever
// the length of the trace. Calls are in the order in which they ended, thread by
// thread, so that ids, times and durations differ little from row to row and
// their differences pack well.
package calls

import (
	"io"
	"strconv"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
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
	// Function is its name to read. Write fills it in.
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

// About is what a file says of itself.
type About struct {
	Unit string   // "ns" or "ticks"
	Logs []string // their names: that of log 1 first
}

const (
	// groupRows is how many rows are held, packed to some 10 bytes each, before
	// they are written: engines read groups in parallel and skip whole ones.
	groupRows = 1 << 20
	batchRows = 1 << 12
)

// Writer writes a file of calls.
type Writer struct {
	w    *parquet.GenericWriter[Call]
	name func(fn int64) string
	// names is name's cache: a trace has many calls of few functions.
	names map[int64]string
	batch []Call
	args  []uint64 // of the batch
	rows  int64
	err   error
}

// NewWriter returns a writer to w. Each function is named by name, once.
func NewWriter(w io.Writer, about About, name func(fn int64) string) *Writer {
	options := []parquet.WriterOption{
		parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest}),
		parquet.MaxRowsPerRowGroup(groupRows),
		parquet.CreatedBy("cairn", strconv.Itoa(Schema), ""),
		parquet.KeyValueMetadata(KeySchema, strconv.Itoa(Schema)),
		parquet.KeyValueMetadata(KeyUnit, about.Unit),
		// Least and greatest name of a page help no query and cost a quarter of
		// the time.
		parquet.SkipPageBounds("function"),
		parquet.SkipPageBounds("ended"),
	}
	for i, log := range about.Logs {
		options = append(options, parquet.KeyValueMetadata(KeyLog+strconv.Itoa(i+1), log))
	}
	return &Writer{
		w: parquet.NewGenericWriter[Call](w, options...), name: name,
		names: make(map[int64]string), batch: make([]Call, 0, batchRows),
	}
}

// Write appends a call, of which it keeps nothing. The error is that of the underlying writer; it comes some
// calls late, and again from Close.
func (w *Writer) Write(c *Call) error {
	if w.err != nil {
		return w.err
	}
	w.batch = append(w.batch, *c)
	row := &w.batch[len(w.batch)-1]
	if len(c.Args) > 0 {
		from := len(w.args)
		w.args = append(w.args, c.Args...)
		row.Args = w.args[from:]
	}
	name, ok := w.names[c.Func]
	if !ok {
		name = w.name(c.Func)
		w.names[c.Func] = name
	}
	row.Function = name
	if len(w.batch) == batchRows {
		w.flush()
	}
	return w.err
}

func (w *Writer) flush() {
	n, err := w.w.Write(w.batch)
	w.rows += int64(n)
	w.batch, w.args = w.batch[:0], w.args[:0]
	w.err = err
}

// Rows returns how many calls were written.
func (w *Writer) Rows() int64 { return w.rows + int64(len(w.batch)) }

// Close writes what is left and the file's footer. It does not close what is
// written to.
func (w *Writer) Close() error {
	if w.err == nil && len(w.batch) > 0 {
		w.flush()
	}
	if w.err != nil {
		return w.err
	}
	return w.w.Close()
}

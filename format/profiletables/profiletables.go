// Package profiletables writes profiles as tables in Parquet files, for engines such as DuckDB,
// ClickHouse and Spark. The tables:
//
//	builds     a row for each build of a program
//	functions  for each function of a build: in how many runs it ran, and how often it was called
//	edges      for each pair of functions of a build of which one called the other
//	orders     for each run whose order of first executions is kept, and each function in it
//	days       for each build and day on which files of it came to a collector
//	spikes     for each function of a build with calls that took too long
//
// Tables are joined by the columns program and build. Names of functions are in two columns: symbol is
// the linker's name, function the name to read.
package profiletables

import (
	"io"
	"strconv"

	"github.com/cairnprof/cairn/format/parquet"
)

// Schema is the version of the tables. Columns may be added within it; none is renamed or given
// another meaning.
const Schema = 1

// KeySchema is the key of Schema in the metadata of a file.
const KeySchema = "cairn.schema"

// Build is a row of builds. Uploads, Waiting, Logs, First and Last are known to collectors only.
type Build struct {
	Program   string `parquet:"program,dict"`
	Build     string `parquet:"build,dict"` // build id in hexadecimal
	Machine   string `parquet:"machine,dict"`
	Mapped    bool   `parquet:"mapped"` // the map of the build is known, so that its runs are merged
	Functions int64  `parquet:"functions"`
	Executed  int64  `parquet:"executed"` // functions that ran in some run
	Runs      int64  `parquet:"runs"`
	Uploads   int64  `parquet:"uploads"`
	Waiting   int64  `parquet:"waiting"`
	Logs      int64  `parquet:"logs"`
	First     *int64 `parquet:"first,optional,timestamp(nanosecond)"` // upload
	Last      *int64 `parquet:"last,optional,timestamp(nanosecond)"`
}

// Function is a row of functions.
type Function struct {
	Program   string   `parquet:"program,dict"`
	Build     string   `parquet:"build,dict"`
	Symbol    string   `parquet:"symbol"`
	Function  string   `parquet:"function"`
	File      string   `parquet:"file,dict"`
	Mode      string   `parquet:"mode,dict"` // how it was recorded
	Addr      int64    `parquet:"addr,delta"`
	Bytes     int64    `parquet:"bytes"`
	Runs      int64    `parquet:"runs"`           // in which it ran
	Of        int64    `parquet:"of"`             // runs that recorded whether it ran
	Calls     *int64   `parquet:"calls,optional"` // none if they were not counted
	Inexact   bool     `parquet:"inexact"`        // there may have been more calls
	Blocks    *int64   `parquet:"blocks,optional"`
	BlocksRun *int64   `parquet:"blocks_run,optional"`
	MeanOrder *float64 `parquet:"mean_order,optional"` // mean position of its first execution
}

// Edge is a row of edges.
type Edge struct {
	Program string `parquet:"program,dict"`
	Build   string `parquet:"build,dict"`
	Caller  string `parquet:"caller,dict"` // symbol
	Callee  string `parquet:"callee,dict"` // symbol
	Kind    string `parquet:"kind,dict"`   // observed, implied or possible
	Runs    int64  `parquet:"runs"`        // in which it was observed
}

// Order is a row of orders.
type Order struct {
	Program  string `parquet:"program,dict"`
	Build    string `parquet:"build,dict"`
	Trace    int64  `parquet:"trace,delta"` // number of the run among those of the build
	Scenario string `parquet:"scenario,dict"`
	Weight   int64  `parquet:"weight"`
	Position int64  `parquet:"position,delta"` // from 1
	Symbol   string `parquet:"symbol,dict"`
}

// Day is a row of days.
type Day struct {
	Program string `parquet:"program,dict"`
	Build   string `parquet:"build,dict"`
	Day     int32  `parquet:"day,date"`
	Files   int64  `parquet:"files"`
}

// Spike is a row of spikes. Times are lower bounds, in nanoseconds.
type Spike struct {
	Program   string `parquet:"program,dict"`
	Build     string `parquet:"build,dict"`
	Function  string `parquet:"function"`
	Count     int64  `parquet:"count"`
	Processes int64  `parquet:"processes"`
	Median    int64  `parquet:"median"`
	P99       int64  `parquet:"p99"`
	Worst     int64  `parquet:"worst"`
	Log       string `parquet:"log"` // key of the log that has the worst
}

// Names are the names of the tables.
var Names = []string{"builds", "functions", "edges", "orders", "days", "spikes"}

// Writers write the tables, one for each of Names.
type Writers struct {
	Builds    *parquet.Table[Build]
	Functions *parquet.Table[Function]
	Edges     *parquet.Table[Edge]
	Orders    *parquet.Table[Order]
	Days      *parquet.Table[Day]
	Spikes    *parquet.Table[Spike]
}

// groupRows bounds the rows that a writer holds in memory.
const groupRows = 1 << 18

func options(table string) parquet.Options {
	return parquet.Options{
		Name: table, CreatedBy: "cairn version " + strconv.Itoa(Schema), GroupRows: groupRows,
		Metadata: [][2]string{{KeySchema, strconv.Itoa(Schema)}},
	}
}

// New returns writers of the tables to files, which are in the order of Names.
func New(files []io.Writer) *Writers {
	return &Writers{
		parquet.NewTable[Build](files[0], options("Build")), parquet.NewTable[Function](files[1], options("Function")),
		parquet.NewTable[Edge](files[2], options("Edge")), parquet.NewTable[Order](files[3], options("Order")),
		parquet.NewTable[Day](files[4], options("Day")), parquet.NewTable[Spike](files[5], options("Spike")),
	}
}

// Close writes the rest of all tables, and the ends of the files. It does not close the files.
func (w *Writers) Close() error {
	for _, t := range []io.Closer{w.Builds, w.Functions, w.Edges, w.Orders, w.Days, w.Spikes} {
		if err := t.Close(); err != nil {
			return err
		}
	}
	return nil
}

package calls

import (
	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/output/callquery"
	"github.com/cairnprof/cairn/internal/verb"
)

// Query returns the command cairn query.
func Query(s *verb.Streams) *cobra.Command {
	var f callquery.Choice
	c := &cobra.Command{
		Use:   "query LOG... \"SELECT ...\" | query LOG... --save FILE.db | query FILE.db \"SELECT ...\"",
		Short: "Query logs of calls in SQL",
		Long: `query builds an SQLite database of logs and runs one query on it. There are tables of
logs, threads, functions, stacks, edges and the slowest calls, with calls, total and
self time and percentiles; --schema prints them and what each column means. These
views answer common questions, with --view or in SQL:
  top_functions    functions with the most self time
  hot_stacks       the same for stacks, as a path
  slowest          the longest calls
  thread_activity  calls and times of each thread
  callers          the callers of a function
  callees          the functions that a function calls

Every single call is a row of the table calls, and every custom event that the
program logged a row of events. Both are read from the logs while the query runs;
conditions on id, time, thread and function limit how much is read.
--save writes the database to a file, for later queries and for any program that
reads SQLite. Queries are read-only.
--calls writes every single call as a row of a Parquet file, with the same ids
and column names, for engines that handle billions of rows:
  duckdb -c "SELECT function, count(*), sum(self) FROM 'calls.parquet' GROUP BY ALL"`,
		Example: `  cairn query ./app log --view top_functions
  cairn query ./app log "SELECT path, self FROM hot_stacks WHERE depth > 3 LIMIT 5"
  cairn query ./app log "SELECT begin, duration FROM calls WHERE function = 'parse'"
  cairn query ./app log --save calls.db --calls calls.parquet
  cairn query calls.db "SELECT caller, calls FROM callers WHERE function = 'parse'"`,
		Args: func(_ *cobra.Command, args []string) error { return f.Take(args) },
		RunE: func(c *cobra.Command, _ []string) error { return f.Write(c.Context(), s) },
	}
	RegisterLogs(c, &f.Choice)
	f.Display.RegisterColor(c)
	f.Display.RegisterNames(c)
	fl := c.Flags()
	fl.StringVarP(&f.File, "file", "f", "", "read the SQL from this `file`, - for standard input")
	fl.StringVar(&f.View, "view", "", "print the view or table of this `name`")
	fl.IntVar(&f.Top, "top", 20, "with --view: `n` rows, 0 for all")
	fl.IntVar(&f.Slowest, "slowest", 100, "store the `n` longest calls in the database")
	fl.StringVar(&f.Save, "save", "", "write the database to this `file`")
	fl.StringVar(&f.Calls, "calls", "", "write every call to this Parquet `file`")
	fl.BoolVar(&f.Json, "json", false, "print JSON")
	fl.BoolVar(&f.CSV, "csv", false, "print comma-separated values")
	fl.BoolVar(&f.Schema, "schema", false, "print the tables and views of the database and exit")
	verb.Rules(c, verb.OnlyOne("json", "csv"), verb.OnlyOne("file", "view"))
	return c
}

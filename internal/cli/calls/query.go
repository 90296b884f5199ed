package calls

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/calls/account"
	"github.com/cairnprof/cairn/internal/calls/calldb"
	"github.com/cairnprof/cairn/internal/inputs/logset"
	"github.com/cairnprof/cairn/internal/kind"
	"github.com/cairnprof/cairn/internal/verb"
)

type queryFlags struct {
	logset.Choice
	display verb.DisplayFlags
	file    string // with the SQL
	view    string
	top     int
	slowest int
	save    string
	calls   string
	json    bool
	csv     bool
	schema  bool

	logs []string
	sql  string // "" for none
}

// Query returns the command cairn query.
func Query(s *verb.Streams) *cobra.Command {
	var f queryFlags
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
		Args: f.args,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c.Context(), s) },
	}
	RegisterLogs(c, &f.Choice)
	f.display.RegisterColor(c)
	f.display.RegisterNames(c)
	fl := c.Flags()
	fl.StringVarP(&f.file, "file", "f", "", "read the SQL from this `file`, - for standard input")
	fl.StringVar(&f.view, "view", "", "print the view or table of this `name`")
	fl.IntVar(&f.top, "top", 20, "with --view: `n` rows, 0 for all")
	fl.IntVar(&f.slowest, "slowest", 100, "store the `n` longest calls in the database")
	fl.StringVar(&f.save, "save", "", "write the database to this `file`")
	fl.StringVar(&f.calls, "calls", "", "write every call to this Parquet `file`")
	fl.BoolVar(&f.json, "json", false, "print JSON")
	fl.BoolVar(&f.csv, "csv", false, "print comma-separated values")
	fl.BoolVar(&f.schema, "schema", false, "print the tables and views of the database and exit")
	verb.Rules(c, verb.OnlyOne("json", "csv"), verb.OnlyOne("file", "view"))
	return c
}

// args separates logs from SQL, which is the last argument unless a flag has it.
func (f *queryFlags) args(_ *cobra.Command, args []string) error {
	switch {
	case f.schema && len(args) > 0:
		return verb.Usagef("--schema is the same for all databases: it cannot be used with a log")
	case f.schema:
		return nil
	}
	f.logs = args
	named := f.file != "" || f.view != ""
	if n := len(args) - 1; n >= 0 && !named && f.isSQL(args[n], n == 0) {
		f.logs, f.sql = args[:n], args[n]
	}
	switch {
	case len(f.logs) == 0:
		return verb.Usagef("query: give a log, or a database that --save wrote (see cairn query -h)")
	case f.sql == "" && !named && f.save+f.calls == "":
		return verb.Usagef(`query: no SQL given; write it after the logs, such as "SELECT * FROM top_functions", or use --view top_functions`)
	case f.save == "-" && f.calls == "-", (f.save == "-" || f.calls == "-") && (named || f.sql != ""):
		return verb.Usagef("query: only one output can go to standard output")
	}
	return nil
}

// isSQL reports whether the last argument is SQL. An argument that is neither a file nor SQL
// is taken as SQL if a query is missing, for a better error message.
func (f *queryFlags) isSQL(last string, only bool) bool {
	return !isFile(last) && (calldb.LooksLikeQuery(last) || !only && f.save+f.calls == "")
}

func isFile(path string) bool {
	_, err := os.Stat(path)
	return path == "-" || err == nil
}

func (f *queryFlags) run(ctx context.Context, s *verb.Streams) error {
	if f.schema {
		_, err := io.WriteString(s.Out, calldb.Schema+calldb.LiveSchema)
		return err
	}
	for flag, path := range map[string]string{"--save": f.save, "--calls": f.calls} {
		if err := verb.NotOnTerminal(s, path, "what "+flag+" writes", flag); err != nil {
			return err
		}
	}
	style, err := f.display.Style(s)
	if err != nil {
		return err
	}
	if err := f.readSQL(s); err != nil {
		return err
	}
	db, done, err := f.openDatabase(ctx, s)
	if err != nil {
		return err
	}
	defer done()
	if f.view != "" {
		if f.sql, err = viewQuery(ctx, db, f.view, f.top); err != nil {
			return err
		}
	}
	if f.sql == "" {
		return nil
	}
	rows, err := db.Query(ctx, f.sql)
	if err != nil {
		return err
	}
	defer rows.Close()
	switch {
	case f.csv:
		return writeRowsCSV(s.Out, rows)
	case f.json:
		return writeRowsJSON(s.Out, rows)
	}
	return writeRowsTable(s, rows, style)
}

// readSQL reads the file with the question.
func (f *queryFlags) readSQL(s *verb.Streams) error {
	if f.file == "" {
		return nil
	}
	var data []byte
	var err error
	if f.file == "-" {
		data, err = io.ReadAll(s.In)
	} else {
		data, err = verb.ReadFile(f.file)
	}
	f.sql = string(data)
	if err == nil && strings.TrimSpace(f.sql) == "" {
		err = fmt.Errorf("%s: contains no SQL", f.file)
	}
	return err
}

// viewQuery returns the query for the rows of a view or table.
func viewQuery(ctx context.Context, db *calldb.DB, view string, top int) (string, error) {
	names, err := db.Names(ctx)
	if err != nil {
		return "", err
	}
	if !slices.Contains(names, view) {
		return "", verb.Usagef("--view %s: must be one of %s", view, strings.Join(names, ", "))
	}
	if top <= 0 {
		top = -1 // no limit
	}
	return fmt.Sprintf(`SELECT * FROM "%s" LIMIT %d`, strings.ReplaceAll(view, `"`, `""`), top), nil
}

// openDatabase opens the named database, or builds one from the logs and saves it if
// requested. The logs stay open until done is called, like the database.
func (f *queryFlags) openDatabase(ctx context.Context, s *verb.Streams) (db *calldb.DB, done func(), err error) {
	for _, path := range f.logs {
		if path == "-" {
			continue
		}
		if verb.IsStream(path) {
			continue // it can be read only once: by the reader of the log
		}
		head, err := verb.ReadHead(path)
		if err != nil {
			continue // a pattern, or a message by who opens it
		}
		switch k := kind.Of(head); {
		case k == kind.Parquet:
			return nil, nil, verb.Usagef("%s: cairn does not query Parquet; use an engine such as DuckDB: duckdb -c \"SELECT count(*) FROM '%s'\"", path, path)
		case k != kind.Database:
		case len(f.logs) > 1:
			return nil, nil, verb.Usagef("%s is a database and cannot be combined with logs", path)
		case f.save+f.calls != "" || len(f.Maps)+len(f.Threads)+len(f.PIDs) > 0 || f.display.Mangled || f.display.Short:
			return nil, nil, verb.Usagef("%s is a database: --save, --calls, programs, --thread, --process, --mangled and --short-names need a log", path)
		default:
			if db, err = calldb.Open(ctx, path); err != nil {
				return nil, nil, err
			}
			return db, func() { db.Close() }, nil
		}
	}
	f.Sums = true
	set, err := f.Open(s, f.logs, f.display.Names())
	if err != nil {
		return nil, nil, err
	}
	if db, err = f.makeDatabase(ctx, s, set); err != nil {
		set.Close()
		return nil, nil, err
	}
	return db, func() { db.Close(); set.Close() }, nil
}

func (f *queryFlags) makeDatabase(ctx context.Context, s *verb.Streams, set *logset.Set) (*calldb.DB, error) {
	opt := f.Options
	opt.Slowest = f.slowest
	results, err := set.Account(ctx, opt)
	if err != nil {
		return nil, err
	}
	data := database(set, results)
	replay, err := set.WithTails(ctx, opt)
	if err != nil {
		return nil, err
	}
	data.Replay = &replay
	db, err := calldb.New(ctx, data)
	if err != nil {
		return nil, err
	}
	if err := f.keep(ctx, s, db, set, data); err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

// database returns the inputs of the database and of the Parquet file of a set.
func database(t *logset.Set, results []*account.Result) *calldb.Data {
	data := &calldb.Data{Funcs: t.Funcs, Show: t.Names.Show}
	for i, log := range t.Logs {
		data.Sources = append(data.Sources, calldb.Source{Log: log, Result: results[i], SumsOnly: logset.SumsOf(log) != nil})
	}
	return data
}

// keep writes the database and the calls, if requested.
func (f *queryFlags) keep(ctx context.Context, s *verb.Streams, db *calldb.DB, set *logset.Set, data *calldb.Data) error {
	if f.save != "" {
		file, err := db.Bytes()
		if err != nil {
			return err
		}
		if err := verb.WriteBytes(s, f.save, file); err != nil {
			return err
		}
	}
	if f.calls == "" {
		return nil
	}
	return verb.WriteFile(s, f.calls, func(w io.Writer) error { return writeCalls(ctx, set, w, data, f.Options) })
}

// writeCalls writes every call as Parquet, with progress.
func writeCalls(ctx context.Context, t *logset.Set, w io.Writer, data *calldb.Data, opt account.Options) error {
	opt, err := t.WithTails(ctx, opt)
	if err != nil {
		return err
	}
	var stop func()
	opt.Progress, stop = t.Progress()
	defer stop()
	_, err = calldb.WriteCalls(ctx, w, data, opt)
	return err
}

// Package callquery answers queries of logs of calls in SQL.
package callquery

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/calls/calldb"
	"github.com/cairnprof/cairn/internal/inputs/logset"
	"github.com/cairnprof/cairn/internal/kind"
	"github.com/cairnprof/cairn/internal/output/callfile"
	"github.com/cairnprof/cairn/internal/verb"
)

// Choice is which logs or which database are queried, and how rows are printed.
type Choice struct {
	logset.Choice
	Display verb.DisplayFlags
	File    string // with the SQL
	View    string
	Top     int
	Slowest int
	Save    string
	Calls   string
	Json    bool
	CSV     bool
	Schema  bool

	logs []string
	sql  string // "" for none
}

// Write prints the rows of the query, or writes what is to be kept.
func (f *Choice) Write(ctx context.Context, s *verb.Streams) error {
	if f.Schema {
		_, err := io.WriteString(s.Out, calldb.Schema+calldb.LiveSchema)
		return err
	}
	for flag, path := range map[string]string{"--save": f.Save, "--calls": f.Calls} {
		if err := verb.NotOnTerminal(s, path, "what "+flag+" writes", flag); err != nil {
			return err
		}
	}
	style, err := f.Display.Style(s)
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
	if f.View != "" {
		if f.sql, err = viewQuery(ctx, db, f.View, f.Top); err != nil {
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
	case f.CSV:
		return writeRowsCSV(s.Out, rows)
	case f.Json:
		return writeRowsJSON(s.Out, rows)
	}
	return writeRowsTable(s, rows, style)
}

// readSQL reads the file with the question.
func (f *Choice) readSQL(s *verb.Streams) error {
	if f.File == "" {
		return nil
	}
	var data []byte
	var err error
	if f.File == "-" {
		data, err = io.ReadAll(s.In)
	} else {
		data, err = verb.ReadFile(f.File)
	}
	f.sql = string(data)
	if err == nil && strings.TrimSpace(f.sql) == "" {
		err = fmt.Errorf("%s: contains no SQL", f.File)
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
func (f *Choice) openDatabase(ctx context.Context, s *verb.Streams) (db *calldb.DB, done func(), err error) {
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
		case f.Save+f.Calls != "" || len(f.Maps)+len(f.Threads)+len(f.PIDs) > 0 || f.Display.Mangled || f.Display.Short:
			return nil, nil, verb.Usagef("%s is a database: --save, --calls, programs, --thread, --process, --mangled and --short-names need a log", path)
		default:
			if db, err = calldb.Open(ctx, path); err != nil {
				return nil, nil, err
			}
			return db, func() { db.Close() }, nil
		}
	}
	f.Sums = true
	set, err := f.Open(s, f.logs, f.Display.Names())
	if err != nil {
		return nil, nil, err
	}
	if db, err = f.makeDatabase(ctx, s, set); err != nil {
		set.Close()
		return nil, nil, err
	}
	return db, func() { db.Close(); set.Close() }, nil
}

func (f *Choice) makeDatabase(ctx context.Context, s *verb.Streams, set *logset.Set) (*calldb.DB, error) {
	opt := f.Options
	opt.Slowest = f.Slowest
	results, err := set.Account(ctx, opt)
	if err != nil {
		return nil, err
	}
	data := callfile.Database(set, results)
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

// keep writes the database and the calls, if requested.
func (f *Choice) keep(ctx context.Context, s *verb.Streams, db *calldb.DB, set *logset.Set, data *calldb.Data) error {
	if f.Save != "" {
		file, err := db.Bytes()
		if err != nil {
			return err
		}
		if err := verb.WriteBytes(s, f.Save, file); err != nil {
			return err
		}
	}
	if f.Calls == "" {
		return nil
	}
	return verb.WriteFile(s, f.Calls, func(w io.Writer) error { return callfile.WriteCalls(ctx, set, w, data, f.Options) })
}

// Take separates logs from SQL, which is the last argument unless a flag has it.
func (f *Choice) Take(args []string) error {
	switch {
	case f.Schema && len(args) > 0:
		return verb.Usagef("--schema is the same for all databases: it cannot be used with a log")
	case f.Schema:
		return nil
	}
	f.logs = args
	named := f.File != "" || f.View != ""
	if n := len(args) - 1; n >= 0 && !named && f.isSQL(args[n], n == 0) {
		f.logs, f.sql = args[:n], args[n]
	}
	switch {
	case len(f.logs) == 0:
		return verb.Usagef("query: give a log, or a database that --save wrote (see cairn query -h)")
	case f.sql == "" && !named && f.Save+f.Calls == "":
		return verb.Usagef(`query: no SQL given; write it after the logs, such as "SELECT * FROM top_functions", or use --view top_functions`)
	case f.Save == "-" && f.Calls == "-", (f.Save == "-" || f.Calls == "-") && (named || f.sql != ""):
		return verb.Usagef("query: only one output can go to standard output")
	}
	return nil
}

// isSQL reports whether the last argument is SQL. An argument that is neither a file nor SQL
// is taken as SQL if a query is missing, for a better error message.
func (f *Choice) isSQL(last string, only bool) bool {
	return !isFile(last) && (calldb.LooksLikeQuery(last) || !only && f.Save+f.Calls == "")
}

func isFile(path string) bool {
	_, err := os.Stat(path)
	return path == "-" || err == nil
}

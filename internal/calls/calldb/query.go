package calldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"modernc.org/sqlite"

	"github.com/cairnprof/cairn/internal/lazyregexp"
)

// Rows are the answer to a query.
type Rows struct {
	Columns []string
	rows    *sql.Rows
	query   string
	ctx     context.Context
	live    *live
}

// Query starts a query: one statement that reads. Close the rows.
func (db *DB) Query(ctx context.Context, query string) (*Rows, error) {
	if err := checkQuery(query); err != nil {
		return nil, err
	}
	if db.live != nil {
		db.live.ctx, db.live.err = ctx, nil
	}
	rows, err := db.conn.QueryContext(ctx, query)
	if err != nil {
		return nil, db.live.cause(explain(ctx, query, err))
	}
	columns, err := rows.Columns()
	if err != nil {
		rows.Close()
		return nil, err
	}
	return &Rows{columns, rows, query, ctx, db.live}, nil
}

// All yields the rows. Values are nil, int64, float64, string and []byte; their
// memory is used again for the next row. An error is the last thing yielded.
func (r *Rows) All() iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		values := make([]any, len(r.Columns))
		into := make([]any, len(values))
		for i := range values {
			into[i] = &values[i]
		}
		for r.rows.Next() {
			if err := r.rows.Scan(into...); err != nil {
				yield(nil, err)
				return
			}
			if !yield(values, nil) {
				return
			}
		}
		if err := r.rows.Err(); err != nil {
			yield(nil, r.live.cause(explain(r.ctx, r.query, err)))
		}
	}
}

// Close ends the query.
func (r *Rows) Close() error { return r.rows.Close() }

// Names returns the views and tables that there are, views first.
func (db *DB) Names(ctx context.Context) ([]string, error) {
	rows, err := db.conn.QueryContext(ctx, `SELECT name FROM (
		SELECT 0 AS temp, type, rowid AS n, name FROM sqlite_schema UNION ALL SELECT 1, type, rowid, name FROM temp.sqlite_schema)
		WHERE type IN ('table', 'view') ORDER BY type DESC, temp, n`)
	if err != nil {
		return nil, plain(err)
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}

// reading are the words that a query may begin with.
var reading = []string{"SELECT", "WITH", "VALUES", "EXPLAIN"}

// checkQuery refuses anything but one statement that reads. The connection refuses the remaining statements
// that write ("WITH ... DELETE").
func checkQuery(query string) error {
	if strings.ContainsRune(query, 0) {
		return errors.New("the SQL contains a zero byte")
	}
	at := blank(query, 0)
	if at == len(query) {
		return errors.New("the SQL is empty")
	}
	if !LooksLikeQuery(query) {
		return fmt.Errorf("the database is read-only: use SELECT, WITH, VALUES or EXPLAIN, not %q", clip(query[at:]))
	}
	end := statementEnd(query, at)
	if rest := blank(query, min(end+1, len(query))); rest < len(query) {
		return fmt.Errorf("only one query is allowed: a second one begins at %s", position(query, rest))
	}
	return nil
}

// LooksLikeQuery reports whether a text begins like a query.
func LooksLikeQuery(text string) bool {
	word := firstWord().FindString(text[blank(text, 0):])
	return slices.Contains(reading, strings.ToUpper(word))
}

var firstWord = lazyregexp.New(`^[A-Za-z]*`)

// clip returns the beginning of s for a message.
func clip(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	if r := []rune(s); len(r) > 30 {
		return string(r[:30]) + "…"
	}
	return s
}

// blank returns where the white space and comments at i end.
func blank(s string, i int) int {
	for i < len(s) {
		rest := s[i:]
		switch {
		case strings.ContainsRune(" \t\n\f\r;", rune(s[i])):
			i++
		case strings.HasPrefix(rest, "--"):
			i += until(rest, "\n")
		case strings.HasPrefix(rest, "/*"):
			i += 2 + until(rest[2:], "*/")
		default:
			return i
		}
	}
	return i
}

// until returns the length of s up to and including end, or of all of it.
func until(s, end string) int {
	if n := strings.Index(s, end); n >= 0 {
		return n + len(end)
	}
	return len(s)
}

// statementEnd returns where the semicolon after a statement is, or the end.
func statementEnd(s string, i int) int {
	for i < len(s) {
		rest := s[i:]
		switch c := s[i]; {
		case c == ';':
			return i
		case c == '\'' || c == '"' || c == '`':
			// A doubled quote ends one text and begins another.
			i += 1 + until(rest[1:], string(c))
		case c == '[':
			i += until(rest, "]")
		case strings.HasPrefix(rest, "--"):
			i += until(rest, "\n")
		case strings.HasPrefix(rest, "/*"):
			i += 2 + until(rest[2:], "*/")
		default:
			i++
		}
	}
	return i
}

// position names a place in a query.
func position(query string, at int) string {
	before := query[:at]
	line := strings.Count(before, "\n") + 1
	column := len([]rune(before[strings.LastIndexByte(before, '\n')+1:])) + 1
	if !strings.Contains(query, "\n") {
		return fmt.Sprintf("column %d", column)
	}
	return fmt.Sprintf("line %d, column %d", line, column)
}

// plain returns an error of SQLite without its code and kind.
func plain(err error) error {
	var se *sqlite.Error
	if !errors.As(err, &se) {
		return err
	}
	text := codeSuffix().ReplaceAllString(se.Error(), "")
	text = strings.TrimPrefix(text, "SQL logic error: ")
	// The library repeats the text if it has nothing to add.
	if a, b, ok := strings.Cut(text, ": "); ok && a == b {
		text = a
	}
	return errors.New(text)
}

var (
	codeSuffix = lazyregexp.New(` \(\d+\)$`)
	culprit    = lazyregexp.New(`^near "(.+)": syntax error|^no such (?:column|table|function): (\S+)|^ambiguous column name: (\S+)|^wrong number of arguments to function (\w+)\(\)|^unrecognized token: "(.+)"`)
)

// readOnly is the result code of SQLite for writing where that is forbidden.
const readOnly = 8

// explain returns what is wrong with a query in one line, with the place if the message names a word that
// occurs once.
func explain(ctx context.Context, query string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("the query was interrupted: %w", ctx.Err())
	}
	var se *sqlite.Error
	if errors.As(err, &se) && se.Code()&0xff == readOnly {
		return errors.New("the database is read-only")
	}
	text := plain(err).Error()
	if text == "no such table: calls" || text == "no such table: events" {
		return errors.New(text + " in a saved database: query the log itself, or the file that --calls wrote")
	}
	m := culprit().FindStringSubmatch(text)
	if m == nil {
		return errors.New(text)
	}
	for _, word := range m[1:] {
		if word == "" {
			continue
		}
		if at := strings.Index(query, word); at >= 0 && strings.LastIndex(query, word) == at {
			text += " at " + position(query, at)
		}
	}
	if strings.HasPrefix(text, "no such table") || strings.HasPrefix(text, "no such column") {
		text += " (cairn query --schema lists tables and columns)"
	}
	return errors.New(text)
}

// Package calldb makes an SQLite database of logs of calls: functions, stacks, edges, threads and the slowest
// calls. Every single call is a row of a table that is read from the log while a query runs (live.sql), and
// goes to a Parquet file with the same ids and columns (WriteCalls, format/calls), because SQLite is slow at
// counting millions of rows.
//
// A database is read-only: queries cannot change it, attach other files, or continue after their context ended.
package calldb

import (
	"context"
	"database/sql"
	_ "embed" // for the schema
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"
)

// Schema is the SQL that makes the tables and views, with comments.
//
//go:embed schema.sql
var Schema string

// SchemaVersion is the number of the schema, in meta and in PRAGMA user_version.
const SchemaVersion = 1

// applicationID is in the header of databases of ours: "carn".
const applicationID = 0x6361726e

// Magic is what SQLite databases begin with.
const Magic = "SQLite format 3\x00"

// Detect reports whether a file that begins with head is an SQLite database.
func Detect(head []byte) bool { return strings.HasPrefix(string(head), Magic) }

// DB is a database for queries. It has one connection and runs one query at a time.
type DB struct {
	pool *sql.DB
	conn *sql.Conn

	live    *live // nil if there are no tables of single calls
	modules map[string]releaser
}

// limitAttached is the number of sqlite3_limit's SQLITE_LIMIT_ATTACHED.
const limitAttached = 7

// options of every connection: restrict the schema of a file of unknown origin, and make a misspelt column an
// error, not a string.
const options = "_defensive=1&_dqs=0&_pragma=trusted_schema(0)&_pragma=cell_size_check(1)"

func open(ctx context.Context, dsn string) (*DB, error) {
	pool, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	conn, err := pool.Conn(ctx)
	if err != nil {
		pool.Close()
		return nil, err
	}
	return &DB{pool: pool, conn: conn}, nil
}

// Open opens a database that Bytes returned, for reading.
func Open(ctx context.Context, path string) (*DB, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	db, err := open(ctx, "file://"+(&url.URL{Path: abs}).EscapedPath()+"?mode=ro&"+options)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, plain(err))
	}
	if err := db.check(ctx); err != nil {
		db.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := db.protect(ctx); err != nil {
		db.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return db, nil
}

// check finds out whether a database is one of ours.
func (db *DB) check(ctx context.Context) error {
	var id, version int
	if err := db.conn.QueryRowContext(ctx, "PRAGMA application_id").Scan(&id); err != nil {
		return plain(err)
	}
	if err := db.conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return plain(err)
	}
	if id != applicationID {
		return errors.New("an SQLite database that was not written by cairn query --save")
	}
	if version > SchemaVersion {
		return fmt.Errorf("schema %d is newer than the supported one (%d)", version, SchemaVersion)
	}
	return nil
}

// protect makes the connection read-only. A query cannot undo it: checkQuery accepts no PRAGMA.
func (db *DB) protect(ctx context.Context) error {
	if _, err := sqlite.Limit(db.conn, limitAttached, 0); err != nil {
		return err
	}
	_, err := db.conn.ExecContext(ctx, "PRAGMA query_only=1")
	return err
}

// Close releases the database.
func (db *DB) Close() error {
	err := errors.Join(db.conn.Close(), db.pool.Close())
	for _, m := range db.modules {
		m.release()
	}
	return err
}

// Bytes returns the database in the file format.
func (db *DB) Bytes() ([]byte, error) {
	var data []byte
	err := db.conn.Raw(func(conn any) (err error) {
		serializer, ok := conn.(interface{ Serialize() ([]byte, error) })
		if !ok {
			return errors.New("the driver cannot serialize")
		}
		data, err = serializer.Serialize()
		return err
	})
	return data, err
}

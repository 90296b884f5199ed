package calldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	_ "embed" // for the schema
	"fmt"
	"strings"
	"sync"

	"modernc.org/sqlite"
	"modernc.org/sqlite/vtab"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/account"
)

// LiveSchema describes the tables that are read from logs while a query runs.
//
//go:embed live.sql
var LiveSchema string

// live is what the tables of single calls and events read.
type live struct {
	data *Data
	x    *index
	opt  account.Options

	ctx context.Context // of the query
	err error           // error that ended a scan: SQLite does not pass it on

	mu     sync.Mutex // for the rest: each cursor has a goroutine
	pieces []*account.Pieces
	shown  map[calllog.FuncID]string
}

func newLive(data *Data, x *index) *live {
	l := &live{data: data, x: x, opt: *data.Replay, pieces: make([]*account.Pieces, len(x.threads)), shown: make(map[calllog.FuncID]string)}
	l.opt.Slowest, l.opt.Progress, l.opt.CallsOnly = 0, nil, true
	return l
}

// A releaser is a module that can release its table: the driver keeps modules until the process ends.
type releaser interface {
	vtab.Module
	release()
}

// tables are the virtual tables by name.
func (l *live) tables() map[string]releaser {
	return map[string]releaser{"calls": &module[callRow]{table: l.callsTable()}, "events": &module[eventRow]{table: l.eventsTable()}}
}

// name is the name of a function.
func (l *live) name(fn calllog.FuncID) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	name, ok := l.shown[fn]
	if !ok {
		_, name = l.data.name(fn)
		l.shown[fn] = name
	}
	return name
}

// piecesOf returns the pieces of a thread, and makes them at the first call.
func (l *live) piecesOf(i int) (*account.Pieces, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pieces[i] == nil {
		th := &l.x.threads[i]
		p, err := account.NewPieces(l.ctx, l.data.Sources[th.log].Log, th.index, l.opt)
		if err != nil {
			return nil, err
		}
		l.pieces[i] = p
	}
	return l.pieces[i], nil
}

// hasCalls returns an error if a log has sums only.
func (l *live) hasCalls(th *thread) error {
	if s := &l.data.Sources[th.log]; s.SumsOnly {
		return fmt.Errorf("%s: it has only sums, no single calls and events", s.Log.Info().File)
	}
	return nil
}

// cause returns what ended a scan, if that is why a query failed with err.
func (l *live) cause(err error) error {
	if l != nil && l.err != nil && l.ctx.Err() == nil {
		return l.err
	}
	return err
}

// declared returns the statement of LiveSchema that describes a table.
func declared(name string) string {
	_, text, _ := strings.Cut(LiveSchema, "CREATE TABLE "+name+" (")
	text, _, _ = strings.Cut(text, "\n);")
	return "CREATE TABLE x(" + text + "\n)"
}

// openLive opens a database in memory that has the tables of l.
func openLive(ctx context.Context, l *live) (*DB, error) {
	d := &sqlite.Driver{}
	modules := l.tables()
	for name, m := range modules {
		if err := d.RegisterModule("cairn_"+name, m); err != nil {
			return nil, err
		}
	}
	pool := sql.OpenDB(connector{d, "file::memory:?" + options})
	conn, err := pool.Conn(ctx)
	if err != nil {
		pool.Close()
		return nil, err
	}
	db := &DB{pool: pool, conn: conn, live: l, modules: modules}
	for name := range modules {
		// In temp, they are not part of Bytes.
		if _, err := conn.ExecContext(ctx, "CREATE VIRTUAL TABLE temp."+name+" USING cairn_"+name); err != nil {
			db.Close()
			return nil, err
		}
	}
	return db, nil
}

// connector opens connections with the modules of one driver.
type connector struct {
	driver *sqlite.Driver
	dsn    string
}

func (c connector) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.dsn) }
func (c connector) Driver() driver.Driver                        { return c.driver }

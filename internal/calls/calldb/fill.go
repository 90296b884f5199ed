package calldb

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/account"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// New makes a database in memory.
func New(ctx context.Context, data *Data) (*DB, error) {
	x, err := newIndex(data.Sources)
	if err != nil {
		return nil, err
	}
	var db *DB
	if data.Replay != nil {
		db, err = openLive(ctx, newLive(data, x))
	} else {
		db, err = open(ctx, "file::memory:?"+options)
	}
	if err != nil {
		return nil, err
	}
	if err = db.fill(ctx, data, x); err == nil {
		err = db.protect(ctx)
	}
	if err == nil {
		return db, nil
	}
	db.Close()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, fmt.Errorf("writing the database: %w", plain(err))
}

func (db *DB) fill(ctx context.Context, data *Data, x *index) error {
	pragmas := fmt.Sprintf("PRAGMA application_id=%d; PRAGMA user_version=%d;", applicationID, SchemaVersion)
	// Indexes of full tables are made by one sort each.
	tables, indexes, _ := strings.Cut(Schema, "\nCREATE INDEX")
	if _, err := db.conn.ExecContext(ctx, pragmas+tables); err != nil {
		return err
	}
	tx, err := db.conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after Commit
	for _, step := range []func(context.Context, *sql.Tx, *Data, *index) error{
		fillMeta, fillLogs, fillThreads, fillFunctions, fillStacks, fillThreadStacks, fillEdges, fillSlowest,
	} {
		if err := step(ctx, tx, data, x); err != nil {
			return err
		}
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	_, err = db.conn.ExecContext(ctx, "CREATE INDEX"+indexes)
	return err
}

func fillMeta(ctx context.Context, tx *sql.Tx, data *Data, x *index) error {
	t := newTable(ctx, tx, "meta", 2)
	t.add("schema", fmt.Sprint(SchemaVersion))
	t.add("unit", x.unit)
	step := uint64(0)
	for _, s := range data.Sources {
		step = max(step, s.Log.Info().Clock.Step)
	}
	t.add("step", fmt.Sprint(step))
	return t.end()
}

func fillLogs(ctx context.Context, tx *sql.Tx, data *Data, _ *index) error {
	t := newTable(ctx, tx, "logs", 11)
	for i, s := range data.Sources {
		info := s.Log.Info()
		places, bytes := 0, int64(0)
		for _, list := range [][]*calllog.Damage{info.Damage, s.Result.Damage} {
			for _, d := range list {
				places++
				bytes += d.Size
			}
		}
		c := info.Clock
		t.add(i+1, info.File, info.Format, info.Size, integer(c.Hz), integer(c.Claimed), c.Epoch,
			integer(c.Nanoseconds(c.Start)), places, bytes, info.Duplicates)
	}
	return t.end()
}

func fillThreads(ctx context.Context, tx *sql.Tx, _ *Data, x *index) error {
	t := newTable(ctx, tx, "threads", 21)
	for i := range x.threads {
		th := &x.threads[i]
		s := &th.Stats
		t.add(th.id, th.log+1, th.PID, th.TID, th.since(th.First), th.since(th.Last), integer(th.Busy),
			integer(s.Events), integer(s.Enters), integer(s.Exits), integer(s.TailExits), integer(s.CustomEvents), integer(s.TypedEvents),
			integer(s.Orphans), integer(s.Deduced), integer(s.Open), integer(s.Gaps), integer(s.Clamped), integer(s.Backwards),
			integer(s.TooDeep), s.MaxDepth)
	}
	return t.end()
}

// orNull returns nil for a value that is not known.
func orNull[T comparable](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return v
}

func fillFunctions(ctx context.Context, tx *sql.Tx, data *Data, x *index) error {
	costs, idle := make(map[calllog.FuncID]account.Costs), make(map[calllog.FuncID]uint64)
	for _, n := range x.stacks.Nodes() {
		if n.Idle > 0 {
			idle[n.Func] += n.Idle
		}
	}
	for _, f := range account.Functions(x.stacks) {
		costs[f.Func] = f.Costs
	}
	known := slices.Collect(maps.Keys(data.Funcs))
	for _, s := range data.Sources {
		// A call whose stack has no node of its own still has a function.
		for i := range s.Result.Slowest {
			known = append(known, s.Result.Slowest[i].Func)
		}
	}
	for _, fn := range known {
		if _, ok := costs[fn]; !ok {
			costs[fn] = account.Costs{}
		}
	}
	t := newTable(ctx, tx, "functions", 20)
	for _, fn := range slices.Sorted(maps.Keys(costs)) {
		symbol, shown := data.name(fn)
		f, c := data.Funcs[fn], costs[fn]
		row := []any{
			int64(fn), symbol, shown, orNull(f.File), orNull(f.Line), orNull(int64(f.Addr)), orNull(f.Object),
			integer(c.Calls), integer(c.Total), integer(c.TotalRaw), integer(c.Self),
		}
		t.add(append(append(row, spreadOf(&c)...), orNull(f.Wait), integer(idle[fn]))...)
	}
	return t.end()
}

func fillStacks(ctx context.Context, tx *sql.Tx, data *Data, x *index) error {
	t := newTable(ctx, tx, "stacks", 16)
	depth, part := make([]int32, x.stacks.Len()), make([]uint8, x.stacks.Len())
	for id, n := range x.stacks.Nodes() {
		depth[id] = depth[n.Parent] + 1
		switch part[id] = part[n.Parent]; {
		case n.Idle > 0:
			part[id] = 2
		case data.Funcs[n.Func].Wait != "":
			part[id] = 1
		}
		t.add(append(costsOf(&n.Stats, int64(id), orNull(int64(n.Parent)), int64(n.Func), depth[id]), part[id], integer(n.Idle))...)
	}
	return t.end()
}

func fillThreadStacks(ctx context.Context, tx *sql.Tx, _ *Data, x *index) error {
	t := newTable(ctx, tx, "thread_stacks", 12)
	for i := range x.threads {
		th := &x.threads[i]
		for id, n := range th.Trie.Nodes() {
			t.add(costsOf(&n.Stats, th.id, int64(th.stack[id]))...)
		}
	}
	return t.end()
}

func fillEdges(ctx context.Context, tx *sql.Tx, _ *Data, x *index) error {
	t := newTable(ctx, tx, "edges", 13)
	for _, e := range account.Edges(x.stacks) {
		var caller any
		if e.Caller != account.Outside {
			caller = int64(e.Caller)
		}
		c := &e.Costs
		row := []any{caller, int64(e.Callee), integer(c.Calls), integer(c.Total), integer(c.TotalRaw), integer(c.Self)}
		t.add(append(row, spreadOf(c)...)...)
	}
	return t.end()
}

func fillSlowest(ctx context.Context, tx *sql.Tx, data *Data, x *index) error {
	type call struct {
		*account.Call
		thread *thread
	}
	var list []call
	for i, s := range data.Sources {
		for k := range s.Result.Slowest {
			c := &s.Result.Slowest[k]
			list = append(list, call{c, x.of(i, c.Thread)})
		}
	}
	// Those of each log are in order, and ties keep the order of logs.
	stablesort.Func(list, func(a, b call) int {
		switch {
		case a.Duration > b.Duration:
			return -1
		case a.Duration < b.Duration:
			return 1
		}
		return 0
	})
	t := newTable(ctx, tx, "slowest_calls", 14)
	for i, c := range list {
		th := c.thread
		var args any
		if c.Args != nil {
			text, err := json.Marshal(c.Args)
			if err != nil {
				return err
			}
			args = string(text)
		}
		t.add(i+1, th.log+1, th.id, th.call(c.ID), th.call(c.Parent), int64(c.Func), int64(th.stack[c.Node]), c.Depth,
			th.since(c.Start), integer(c.Duration), integer(c.Self), endings[c.End], c.CPU, args)
	}
	return t.end()
}

// costsOf returns a row that ends in the costs of a node.
func costsOf(s *calltrie.Stats, key ...any) []any {
	c := account.NewCosts(s, s.Total)
	return append(append(key, integer(c.Calls), integer(c.Total), integer(c.Self)), spreadOf(&c)...)
}

// spreadOf returns the columns from min to open.
func spreadOf(c *account.Costs) []any {
	row := []any{nil, nil, nil, nil, orNull(integer(c.Max))}
	if c.Spread || c.Calls == 0 {
		row = []any{integer(c.Min), integer(c.Median), integer(c.P90), integer(c.P99), integer(c.Max)}
	}
	return append(row, integer(c.Deduced), integer(c.Open))
}

// A table inserts many rows with one statement, as most of the time is spent on calls of SQLite.
type table struct {
	ctx     context.Context
	tx      *sql.Tx
	name    string
	columns int
	values  []any
	many    *sql.Stmt
	err     error
}

const rowsAtOnce = 32

func newTable(ctx context.Context, tx *sql.Tx, name string, columns int) *table {
	return &table{ctx: ctx, tx: tx, name: name, columns: columns}
}

// prepare returns the statement that inserts so many rows.
func (t *table) prepare(rows int) (*sql.Stmt, error) {
	row := "(" + strings.TrimSuffix(strings.Repeat("?,", t.columns), ",") + ")"
	// A statement that rolls back its transaction on failure needs no journal of its own.
	return t.tx.PrepareContext(t.ctx, "INSERT OR ROLLBACK INTO "+t.name+" VALUES "+strings.TrimSuffix(strings.Repeat(row+",", rows), ","))
}

// add adds a row. Errors are reported by end.
func (t *table) add(values ...any) {
	if t.err != nil {
		return
	}
	if len(values) != t.columns {
		t.err = fmt.Errorf("table %s: %d values for %d columns", t.name, len(values), t.columns)
		return
	}
	t.values = append(t.values, values...)
	if len(t.values) < rowsAtOnce*t.columns {
		return
	}
	if t.many == nil {
		if t.many, t.err = t.prepare(rowsAtOnce); t.err != nil {
			return
		}
	}
	_, t.err = t.many.ExecContext(t.ctx, t.values...)
	t.values = t.values[:0]
}

// end inserts the rest and returns the first error.
func (t *table) end() error {
	if t.err == nil && len(t.values) > 0 {
		rest, err := t.prepare(len(t.values) / t.columns)
		if err != nil {
			return err
		}
		_, t.err = rest.ExecContext(t.ctx, t.values...)
	}
	return t.err
}

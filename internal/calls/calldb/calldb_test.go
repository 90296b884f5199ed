package calldb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/calls/callstest"
	"github.com/cairnprof/cairn/internal/calls/account"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
)

// randomLog makes a log of threads with calls that return, calls without an exit, and exits
// without a call.
func randomLog(r *rand.Rand, file string, threads, events, funcs int) *calllog.Memory {
	m := &calllog.Memory{About: calllog.Info{File: file, Format: "made up", Clock: calllog.Clock{Hz: 1e9, Start: 1000}}}
	for i := range threads {
		now, depth := uint64(1000+i), 0
		var list []calllog.Event
		var stack []calllog.FuncID
		for range events {
			now += uint64(r.IntN(500))
			switch {
			case depth == 0 || depth < 40 && r.IntN(2) == 0:
				fn := calllog.FuncID(1 + r.IntN(funcs))
				stack = append(stack, fn)
				depth++
				list = append(list, calllog.Event{Time: now, Func: fn, Kind: calllog.Enter})
			case r.IntN(50) == 0:
				list = append(list, calllog.Event{Time: now, Func: calllog.FuncID(1 + r.IntN(2*funcs)), Kind: calllog.Exit})
			case r.IntN(20) == 0:
				stack, depth = stack[:depth-1], depth-1 // its exit got lost
			default:
				kind := calllog.Exit
				if r.IntN(10) == 0 {
					kind = calllog.TailExit
				}
				list = append(list, calllog.Event{Time: now, Func: stack[depth-1], Kind: kind})
				stack, depth = stack[:depth-1], depth-1
			}
		}
		m.List = append(m.List, calllog.Thread{PID: 7, TID: uint32(100 + i)})
		half := len(list) / 2
		m.Content = append(m.Content, []calllog.Part{{Events: list[:half]}, {Events: list[half:]}})
	}
	return m
}

var counting = account.Options{Slowest: 10}

// accounted returns the data of logs.
func accounted(t testing.TB, logs ...calllog.Log) *Data {
	t.Helper()
	d := &Data{Funcs: calllog.Funcs{}, Show: func(symbol string) string { return "«" + symbol + "»" }}
	for fn := calllog.FuncID(1); fn < 40; fn++ {
		d.Funcs[fn] = calllog.Func{Name: fmt.Sprintf("f%d", fn), File: "/src/a.c", Line: int(fn), Addr: uint64(fn) << 4, Object: "app"}
	}
	for _, log := range logs {
		res, err := account.Run(t.Context(), log, counting)
		if err != nil {
			t.Fatal(err)
		}
		d.Sources = append(d.Sources, Source{Log: log, Result: res})
	}
	return d
}

func made(t testing.TB, d *Data) *DB {
	t.Helper()
	db, err := New(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// ask returns the rows of a query as text, with blanks between the columns.
func ask(t testing.TB, db *DB, query string) []string {
	t.Helper()
	rows, err := db.Query(t.Context(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	var list []string
	for values, err := range rows.All() {
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		list = append(list, strings.TrimSpace(fmt.Sprintln(values...)))
	}
	return list
}

// TestHalvesAgree checks that the database and the Parquet file have the same sums of each
// function, stack and thread, for arbitrary events.
func TestHalvesAgree(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		var logs []calllog.Log
		for i := range rapid.IntRange(1, 3).Draw(rt, "logs") {
			logs = append(logs, randomLog(r, fmt.Sprintf("log%d", i), rapid.IntRange(0, 3).Draw(rt, "threads"), rapid.IntRange(0, 400).Draw(rt, "events"), 6))
		}
		compareHalves(t, accounted(t, logs...))
	})
}

// compareHalves compares the Parquet file of data with the database.
func compareHalves(t testing.TB, d *Data) {
	t.Helper()
	db := made(t, d)
	var b bytes.Buffer
	n, err := WriteCalls(t.Context(), &b, d, counting)
	if err != nil {
		t.Fatal(err)
	}
	f, err := callstest.Open(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if f.Rows() != n {
		t.Errorf("%d rows, and %d are said to be", f.Rows(), n)
	}
	sums, err := f.Sums("func")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range sums {
		got = append(got, fmt.Sprint(s.Key, s.Function, " ", s.Calls, " ", s.Total, " ", s.Duration, " ", s.Self, " ", s.Max))
	}
	want := ask(t, db, `SELECT format('%d%s %d %d %d %d %d', id, function, calls, total, total_raw, self, max) FROM functions WHERE calls > 0 ORDER BY id`)
	if !slices.Equal(got, want) {
		t.Errorf("the Parquet file says\n%s\nand the database\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	sums, err = f.Sums("stack")
	if err != nil {
		t.Fatal(err)
	}
	got = nil
	for _, s := range sums {
		got = append(got, fmt.Sprint(s.Key, " ", s.Calls, " ", s.Duration, " ", s.Self))
	}
	want = ask(t, db, "SELECT id, calls, total, self FROM stacks WHERE calls > 0 ORDER BY id")
	if !slices.Equal(got, want) {
		t.Errorf("stacks: the Parquet file says\n%s\nand the database\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// What the database says of a small log that was counted by hand:
//
//	main                      0..100
//	  work           10..40
//	    work           20..30
//	  parse          50..90, without an exit
func TestSmallLog(t *testing.T) {
	t.Parallel()
	at := func(time uint64, fn calllog.FuncID, kind calllog.Kind) calllog.Event {
		return calllog.Event{Time: 1000 + time, Func: fn, Kind: kind}
	}
	enterArgs := at(50, 3, calllog.EnterArgs)
	enterArgs.Payload = 1
	log := &calllog.Memory{
		About: calllog.Info{File: "small.xray", Format: "made up", Size: 99, Clock: calllog.Clock{Hz: 1e9, Start: 1000}, Damage: []*calllog.Damage{{Size: 5}}},
		List:  []calllog.Thread{{PID: 1, TID: 2}},
		Content: [][]calllog.Part{{{
			Events: []calllog.Event{
				at(0, 1, calllog.Enter), at(10, 2, calllog.Enter), at(20, 2, calllog.Enter), at(30, 2, calllog.Exit), at(40, 2, calllog.TailExit),
				enterArgs, at(90, 0, calllog.Custom), at(100, 1, calllog.Exit),
			},
			Payloads: []calllog.Payload{{Args: []uint64{1<<64 - 1}}},
		}}},
	}
	d := &Data{
		Funcs: calllog.Funcs{1: {Name: "main"}, 2: {Name: "_Z4worki", File: "/src/w.cc", Line: 7, Addr: 0x1000, Object: "app"}, 3: {Name: "parse"}, 9: {Name: "never"}},
		Show:  func(symbol string) string { return strings.Replace(symbol, "_Z4worki", "work(int)", 1) },
	}
	res, err := account.Run(t.Context(), log, counting)
	if err != nil {
		t.Fatal(err)
	}
	d.Sources = []Source{{Log: log, Result: res}}
	db := made(t, d)
	tests := []struct {
		query string
		want  []string
	}{
		{"SELECT * FROM meta ORDER BY key", []string{"schema 1", "step 0", "unit ns"}},
		{"SELECT * FROM logs", []string{"1 small.xray made up 99 1000000000 0 0 1000 1 5 0"}},
		{
			"SELECT id, log, pid, tid, first, last, busy, events, enters, exits, tail_exits, custom_events, deduced, max_depth FROM threads",
			[]string{"1 1 1 2 0 100 100 8 4 2 1 1 1 3"},
		},
		{"SELECT id, name, function, file, line, address, object, calls, total, total_raw, self, min, max, deduced FROM functions", []string{
			"1 main main <nil> <nil> <nil> <nil> 1 100 100 30 100 100 0",
			"2 _Z4worki work(int) /src/w.cc 7 4096 app 2 30 40 30 10 30 0",
			"3 parse parse <nil> <nil> <nil> <nil> 1 40 40 40 40 40 1",
			"9 never never <nil> <nil> <nil> <nil> 0 0 0 0 0 0 0",
		}},
		{"SELECT id, parent, func, depth, calls, total, self FROM stacks", []string{
			"1 <nil> 1 1 1 100 30", "2 1 2 2 1 30 20", "3 2 2 3 1 10 10", "4 1 3 2 1 40 40",
		}},
		{"SELECT stack, calls, total, self FROM thread_stacks WHERE thread = 1", []string{"1 1 100 30", "2 1 30 20", "3 1 10 10", "4 1 40 40"}},
		{"SELECT caller, callee, calls, total, self FROM edges ORDER BY caller, callee", []string{
			"<nil> 1 1 100 30", "1 2 1 30 20", "1 3 1 40 40", "2 2 1 10 10",
		}},
		{"SELECT rank, call, parent, func, stack, depth, start, duration, self, ended, args FROM slowest_calls", []string{
			"1 1 0 1 1 1 0 100 30 exit <nil>", "2 4 1 3 4 2 50 40 40 deduced [18446744073709551615]",
			"3 2 1 2 2 2 10 30 20 tail exit <nil>", "4 3 2 2 3 3 20 10 10 exit <nil>",
		}},
		{"SELECT function, calls, self FROM top_functions", []string{"parse 1 40", "main 1 30", "work(int) 2 30"}},
		{"SELECT self, path FROM hot_stacks LIMIT 3", []string{"40 main;parse", "30 main", "20 main;work(int)"}},
		{"SELECT path FROM stack_paths WHERE stack = 3", []string{"main;work(int);work(int)"}},
		{"SELECT rank, function, duration, tid, log FROM slowest WHERE rank < 3", []string{"1 main 100 2 small.xray", "2 parse 40 2 small.xray"}},
		{"SELECT tid, calls, span, busy, max_depth, hottest FROM thread_activity", []string{"2 4 100 100 3 parse"}},
		{"SELECT caller, calls, total FROM callers WHERE function = 'work(int)'", []string{"main 1 30", "work(int) 1 10"}},
		{"SELECT callee, calls, total FROM callees WHERE function = 'main'", []string{"parse 1 40", "work(int) 1 30"}},
	}
	for _, test := range tests {
		if got := ask(t, db, test.query); !slices.Equal(got, test.want) {
			t.Errorf("%s:\n%s\nwant\n%s", test.query, strings.Join(got, "\n"), strings.Join(test.want, "\n"))
		}
	}
	compareHalves(t, d)
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	d := accounted(t, randomLog(rand.New(rand.NewPCG(1, 2)), "a", 1, 100, 5))
	memory := made(t, d)
	data, err := memory.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "a b%?#.db") // to be escaped
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	file, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	other := filepath.Join(dir, "other.db")
	only := `the database is read-only: use SELECT, WITH, VALUES or EXPLAIN, not `
	tests := []struct{ query, want string }{
		{"DELETE FROM functions", only + `"DELETE FROM functions"`},
		{"-- select\n/* select */ drop table functions", only + `"drop table functions"`},
		{"ATTACH '" + other + "' AS o", only},
		{"VACUUM INTO '" + other + "'", only},
		{"PRAGMA query_only=0", only},
		{"WITH x AS (SELECT 1) DELETE FROM functions", "the database is read-only"},
		{"WITH x AS (SELECT 1) INSERT INTO meta SELECT 'a', 'b'", "the database is read-only"},
		{"SELECT 1; DELETE FROM functions", "only one query is allowed: a second one begins at column 11"},
		{"SELECT ';' /* ; */ -- ;\n;\n select 2", "only one query is allowed: a second one begins at line 3, column 2"},
		{"SELECT load_extension('/tmp/x.so')", "not authorized"},
		{"SELECT * FROM pragma_query_only(0)", "too many arguments on pragma_query_only() - max 0"},
		{"", "the SQL is empty"},
		{" ; -- nothing", "the SQL is empty"},
		{"SELECT 1\x00", "the SQL contains a zero byte"},
		{"SELEC 1", only + `"SELEC 1"`},
	}
	for _, db := range []*DB{memory, file} {
		before := ask(t, db, "SELECT sum(calls), count(*) FROM functions")
		for _, test := range tests {
			if got := failure(t, db, test.query); !strings.HasPrefix(got, test.want) || strings.Contains(got, "\n") {
				t.Errorf("%q: %q, want %q", test.query, got, test.want)
			}
		}
		if after := ask(t, db, "SELECT sum(calls), count(*) FROM functions;"); !slices.Equal(before, after) {
			t.Errorf("%v before, %v after", before, after)
		}
		// What the words do not stop, the connection does.
		for _, query := range []string{"ATTACH '" + other + "' AS o", "VACUUM INTO '" + other + "'", "DELETE FROM meta", "CREATE TABLE x(y)"} {
			if _, err := db.conn.ExecContext(t.Context(), query); err == nil {
				t.Errorf("%s: done", query)
			}
		}
	}
	if _, err := os.Stat(other); err == nil {
		t.Error("another database was made")
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, data) {
		t.Errorf("the file changed: %v", err)
	}
}

// failure returns the error of a query, and fails the test if there is none.
func failure(t *testing.T, db *DB, query string) string {
	t.Helper()
	rows, err := db.Query(t.Context(), query)
	if err == nil {
		defer rows.Close()
		for _, err = range rows.All() {
			if err != nil {
				break
			}
		}
	}
	if err == nil {
		t.Fatalf("%s: no error", query)
	}
	return err.Error()
}

func TestErrorsTellWhere(t *testing.T) {
	t.Parallel()
	db := made(t, accounted(t))
	hint := " (cairn query --schema lists tables and columns)"
	tests := []struct{ query, want string }{
		{"SELECT nme FROM functions", "no such column: nme at column 8" + hint},
		{"SELECT 1\nFROM function", "no such table: function at line 2, column 6" + hint},
		{"SELECT 1 FORM functions", `near "functions": syntax error at column 15`},
		{`SELECT "nme" FROM functions`, `no such column: "nme" - should this be a string literal in single-quotes? at column 8` + hint},
		{"SELECT foo(1)", "no such function: foo at column 8"},
		{"SELECT 1 +", "incomplete input"},
		{"SELECT id, id FROM functions, stacks", "ambiguous column name: id"},
	}
	for _, test := range tests {
		if got := failure(t, db, test.query); got != test.want {
			t.Errorf("%s: %q, want %q", test.query, got, test.want)
		}
	}
}

// TestInterrupt checks that an endless query ends with its context.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	db := made(t, accounted(t))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	rows, err := db.Query(ctx, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n")
	if err == nil {
		for _, err = range rows.All() {
			continue
		}
		rows.Close()
	}
	if err == nil || !strings.HasPrefix(err.Error(), "the query was interrupted") {
		t.Error(err)
	}
}

// TestNewInterrupted checks that building a database ends with its context at any point.
func TestNewInterrupted(t *testing.T) {
	t.Parallel()
	data := accounted(t)
	for after := time.Duration(0); after < time.Minute; after += 200*time.Microsecond + after/50 {
		ctx, cancel := context.WithTimeout(t.Context(), after)
		db, err := New(ctx, data)
		cancel()
		if err == nil {
			db.Close()
			return
		}
		if db != nil || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("after %v: %v, %v", after, db, err)
		}
	}
	t.Error("a minute was not enough")
}

func TestOpenErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data, err := made(t, accounted(t)).Bytes()
	if err != nil {
		t.Fatal(err)
	}
	if !Detect(data) {
		t.Error("not recognised")
	}
	foreign := slices.Clone(data)
	copy(foreign[68:72], "abcd") // the application's id
	newer := slices.Clone(data)
	newer[63]++
	tests := []struct {
		name string
		data []byte
		want string
	}{
		{"foreign.db", foreign, "an SQLite database that was not written by cairn query --save"},
		{"newer.db", newer, "schema 2 is newer than the supported one (1)"},
		{"text.db", []byte(strings.Repeat("no database ", 100)), "file is not a database"},
		{"cut.db", data[:60], "database disk image is malformed"},
	}
	for _, test := range tests {
		path := filepath.Join(dir, test.name)
		if err := os.WriteFile(path, test.data, 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), path); err == nil || err.Error() != path+": "+test.want {
			t.Errorf("%v, want %s", err, test.want)
		}
	}
	if _, err := Open(t.Context(), filepath.Join(dir, "none.db")); err == nil || strings.Contains(err.Error(), "\n") {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "none.db")); err == nil {
		t.Error("opening made a file")
	}
}

// TestUnits checks that logs with incomparable times are not combined.
func TestUnits(t *testing.T) {
	t.Parallel()
	a, b := &calllog.Memory{About: calllog.Info{File: "a", Clock: calllog.Clock{Hz: 1e9}}}, &calllog.Memory{About: calllog.Info{File: "b"}}
	_, err := New(t.Context(), accounted(t, a, b))
	if want := "a has times in ns, but b in ticks: they cannot be in one database (give the rate of the clock, or one log at a time)"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if got := ask(t, made(t, accounted(t, b)), "SELECT value FROM meta WHERE key = 'unit'"); !slices.Equal(got, []string{"ticks"}) {
		t.Error(got)
	}
}

// TestViewsUseIndexes checks that common queries read stacks through an index.
func TestViewsUseIndexes(t *testing.T) {
	t.Parallel()
	db := made(t, accounted(t))
	for query, want := range map[string]string{
		"SELECT * FROM hot_stacks LIMIT 5":             "USING INDEX stacks_self",
		"SELECT path FROM stack_paths WHERE stack = 5": "USING INTEGER PRIMARY KEY",
		"SELECT * FROM thread_stacks WHERE stack = 5":  "USING INDEX thread_stacks_stack",
		"SELECT id FROM stacks WHERE parent = 5":       "stacks_parent",
		"SELECT * FROM callees WHERE function = 'f1'":  "edges_caller",
	} {
		plan := strings.Join(ask(t, db, "EXPLAIN QUERY PLAN "+query), "\n")
		if !strings.Contains(plan, want) {
			t.Errorf("%s:\n%s\nwithout %s", query, plan, want)
		}
	}
}

// synthetic returns data with a trie of about n stacks.
func synthetic(stacks int) *Data {
	r := rand.New(rand.NewPCG(5, 5))
	trie := calltrie.New()
	for trie.Len() <= stacks {
		id := trie.Child(calltrie.NodeID(r.IntN(trie.Len())), calllog.FuncID(1+r.IntN(2000)))
		for range 1 + r.IntN(20) {
			trie.Node(id).Add(uint64(r.IntN(1e6)), uint64(r.IntN(1e5)))
		}
	}
	log := &calllog.Memory{About: calllog.Info{File: "x", Clock: calllog.Clock{Hz: 1e9}}, List: []calllog.Thread{{TID: 1}}, Content: [][]calllog.Part{nil}}
	d := &Data{Funcs: calllog.Funcs{}, Show: func(s string) string { return s }}
	for i := range 2000 {
		d.Funcs[calllog.FuncID(i+1)] = calllog.Func{Name: fmt.Sprintf("space::function_%d(int, char const*)", i)}
	}
	d.Sources = []Source{{Log: log, Result: &account.Result{Threads: []account.Thread{{Thread: log.List[0], Trie: trie}}}}}
	return d
}

func BenchmarkNew(b *testing.B) {
	d := synthetic(100_000)
	for b.Loop() {
		db, err := New(b.Context(), d)
		if err != nil {
			b.Fatal(err)
		}
		data, err := db.Bytes()
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(data))/1e6, "MB")
		db.Close()
	}
}

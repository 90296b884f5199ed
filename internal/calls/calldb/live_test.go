package calldb

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/account"
)

// replayed returns data with tables of single calls.
func replayed(t testing.TB, logs ...calllog.Log) *Data {
	d := accounted(t, logs...)
	d.Replay = &account.Options{}
	return d
}

// TestCallsConditions checks that with any condition the table calls returns the rows that an
// ordinary SQLite table of all calls returns.
func TestCallsConditions(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		var logs []calllog.Log
		for i := range rapid.IntRange(1, 2).Draw(rt, "logs") {
			logs = append(logs, randomLog(r, fmt.Sprintf("log%d", i), rapid.IntRange(1, 3).Draw(rt, "threads"), rapid.IntRange(0, 200).Draw(rt, "events"), 5))
		}
		d := replayed(t, logs...)
		db := made(t, d)
		defer db.Close()
		// The copy is a table like any other.
		for _, statement := range []string{"PRAGMA query_only=0", "CREATE TABLE copy AS SELECT * FROM calls", "PRAGMA query_only=1"} {
			db.live.ctx = t.Context()
			if _, err := db.conn.ExecContext(t.Context(), statement); err != nil {
				rt.Fatal(err)
			}
		}
		enters := uint64(0)
		for i := range d.Sources {
			enters += d.Sources[i].Result.Total().Enters
		}
		if got := ask(t, db, "SELECT count(*) FROM copy"); got[0] != fmt.Sprint(enters) {
			rt.Fatalf("%s calls of %d", got[0], enters)
		}
		for range 5 {
			where := drawConditions(rt)
			query := func(table string) []string {
				return ask(t, db, "SELECT * FROM "+table+" AS c WHERE "+where+" ORDER BY id")
			}
			if got, want := query("calls"), query("copy"); !slices.Equal(got, want) {
				rt.Fatalf("%s\ngot\n%s\nwant\n%s", where, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
		joined := "SELECT a.id, b.id FROM %s AS a JOIN %s AS b ON b.thread <> a.thread AND b.begin < a.end AND b.end > a.begin WHERE a.depth = 2 ORDER BY 1, 2 LIMIT 50"
		if got, want := ask(t, db, fmt.Sprintf(joined, "calls", "calls")), ask(t, db, fmt.Sprintf(joined, "copy", "copy")); !slices.Equal(got, want) {
			rt.Fatalf("the join gives\n%v\nwant\n%v", got, want)
		}
	})
}

// drawConditions makes a WHERE clause with values of all types.
func drawConditions(rt *rapid.T) string {
	column := rapid.SampledFrom([]string{"id", "parent", "log", "thread", "func", "function", "depth", "begin", "end", "duration", "self", "cpu", "ended"})
	op := rapid.SampledFrom([]string{"=", "<", "<=", ">", ">=", "<>", "IS"})
	value := rapid.OneOf(
		rapid.Map(rapid.IntRange(-2, 500), func(n int) string { return fmt.Sprint(n) }),
		rapid.Map(rapid.IntRange(0, 60_000), func(n int) string { return fmt.Sprint(n) }),
		rapid.SampledFrom([]string{
			"2.5", "-0.5", "3.0", "1e300", "-1e300", "9223372036854775807", "-9223372036854775808", "NULL", "'7'", "'x'", "x'07'", "'«f2»'", "'«F2»' COLLATE NOCASE", "'«f3»  ' COLLATE RTRIM",
		}),
	)
	var list []string
	for range rapid.IntRange(1, 3).Draw(rt, "conditions") {
		if rapid.IntRange(0, 5).Draw(rt, "in") == 0 {
			list = append(list, fmt.Sprintf("c.%s IN (%s, %s)", column.Draw(rt, "column"), value.Draw(rt, "a"), value.Draw(rt, "b")))
			continue
		}
		list = append(list, fmt.Sprintf("c.%s %s %s", column.Draw(rt, "column"), op.Draw(rt, "op"), value.Draw(rt, "value")))
	}
	return strings.Join(list, rapid.SampledFrom([]string{" AND ", " AND ", " OR "}).Draw(rt, "and"))
}

// TestEvents checks that table events has the events that programs logged, with the innermost
// call of each.
func TestEvents(t *testing.T) {
	t.Parallel()
	at := func(time uint64, fn calllog.FuncID, kind calllog.Kind, payload uint32) calllog.Event {
		return calllog.Event{Time: 1000 + time, Func: fn, Kind: kind, Payload: payload, CPU: 3}
	}
	log := &calllog.Memory{
		About: calllog.Info{File: "events.xray", Clock: calllog.Clock{Hz: 1e9, Start: 1000}},
		List:  []calllog.Thread{{TID: 10}, {TID: 11}, {TID: 12}},
		Content: [][]calllog.Part{
			{{
				Events: []calllog.Event{
					at(0, 1, calllog.Enter, 0), at(10, 2, calllog.Enter, 0), at(20, 0, calllog.Custom, 1), at(30, 2, calllog.Exit, 0),
					at(31, 0, calllog.Typed, 2), at(50, 1, calllog.Exit, 0), at(60, 0, calllog.Custom, 0),
				},
				Payloads: []calllog.Payload{{Data: []byte("job 25")}, {Data: []byte{0xff, 0}, Type: 7}},
			}},
			{{Events: []calllog.Event{at(5, 3, calllog.Enter, 0), at(12, 4, calllog.Enter, 0), at(13, 4, calllog.Exit, 0), at(70, 4, calllog.Enter, 0), at(80, 4, calllog.Exit, 0), at(90, 3, calllog.Exit, 0)}}},
			{{Events: []calllog.Event{at(40, 5, calllog.Enter, 0), at(45, 5, calllog.Exit, 0)}}},
		},
	}
	db := made(t, replayed(t, log))
	tests := []struct {
		query string
		want  []string
	}{
		{"SELECT time, kind, type, typeof(data), data, call, cpu, thread, log FROM events ORDER BY time", []string{
			"20 custom <nil> text job 25 2 3 1 1", "31 typed 7 blob [255 0] 1 3 1 1", "60 custom <nil> text  0 3 1 1",
		}},
		{"SELECT time FROM events WHERE time BETWEEN 20.5 AND 59", []string{"31"}},
		{"SELECT time FROM events WHERE call = 2", []string{"20"}},
		{"SELECT time FROM events WHERE thread = 2", nil},
		{"SELECT time FROM events WHERE call = 0", []string{"60"}},
		// What ran on other threads while job 25 ran.
		{
			`SELECT o.thread, o.function, o.begin FROM events AS e JOIN calls AS job ON job.id = e.call
			JOIN calls AS o ON o.log = job.log AND o.thread <> job.thread AND o.begin < job.end AND o.end > job.begin
			WHERE e.data = 'job 25' ORDER BY o.begin`,
			[]string{"2 «f3» 5", "2 «f4» 12"},
		},
	}
	for _, tt := range tests {
		if got := ask(t, db, tt.query); !slices.Equal(got, tt.want) {
			t.Errorf("%s\ngot  %q\nwant %q", tt.query, got, tt.want)
		}
	}
}

// TestLiveErrors checks that an error that ends the reading of a log is returned, and that
// saved databases have no table of single calls.
func TestLiveErrors(t *testing.T) {
	t.Parallel()
	log := randomLog(rand.New(rand.NewPCG(1, 1)), "a", 1, 100, 3)
	d := replayed(t, log)
	d.Sources[0].SumsOnly = true
	db := made(t, d)
	_, err := db.Query(t.Context(), "SELECT count(*) FROM calls")
	if want := "a: it has only sums, no single calls and events"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if got := ask(t, db, "SELECT count(*) FROM threads"); got[0] != "1" {
		t.Errorf("%q threads after an error", got)
	}
	if data, err := db.Bytes(); err != nil || strings.Contains(string(data), "cairn_calls") {
		t.Errorf("the tables are kept, %v", err)
	}
	names, err := db.Names(t.Context())
	if err != nil || !slices.Contains(names, "calls") || !slices.Contains(names, "events") {
		t.Errorf("tables are %q, %v", names, err)
	}
}

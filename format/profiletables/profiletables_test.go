package profiletables_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/cairnprof/cairn/format/parquet/parquettest"
	"github.com/cairnprof/cairn/format/profiletables"
	"github.com/cairnprof/cairn/prof"
)

// module returns a module with functions of two modes and with traces.
func module(functions, traces int) *prof.Module {
	rng := rand.New(rand.NewPCG(1, 2))
	m := &prof.Module{Map: prof.Map{BuildID: "\x1f\x3c", Module: "app", Machine: "x86-64"}, Raws: 100}
	for i := range functions {
		f := prof.Func{Name: fmt.Sprintf("f%d", i), File: "a.c", Mode: prof.ModeOrder, Fragments: []prof.Fragment{{Addr: uint64(i) * 64, Size: 64}}}
		c := prof.Counts{Runs: rng.Uint64N(100)}
		c.OrderSum = c.Runs * 3
		if i%2 == 1 {
			f.Mode, f.Fragments[0].Blocks = prof.ModeFull, []uint32{8, 16}
			c.Calls, c.Blocks = rng.Uint64(), []uint64{0, c.Runs}
		}
		m.Funcs, m.Counts = append(m.Funcs, f), append(m.Counts, c)
	}
	for i := range traces {
		t := prof.Trace{Scenario: fmt.Sprint("scenario", i%2), Weight: 1}
		for _, fn := range rng.Perm(functions)[:functions/2] {
			t.Funcs = append(t.Funcs, uint32(fn))
		}
		m.Traces = append(m.Traces, t)
	}
	return m
}

// write returns the files of the tables of a module.
func write(t testing.TB, m *prof.Module) map[string][]byte {
	t.Helper()
	files := make(map[string]*bytes.Buffer)
	var to []io.Writer
	for _, name := range profiletables.Names {
		files[name] = new(bytes.Buffer)
		to = append(to, files[name])
	}
	w := profiletables.New(to)
	err := w.Builds.Write(profiletables.BuildOf(m))
	if err == nil {
		err = w.Days.Write(profiletables.Day{Program: "app", Build: "1f3c", Day: 20000, Files: 7})
	}
	if err == nil {
		err = w.Module(m, func(s string) string { return s + "()" })
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string][]byte)
	for name, f := range files {
		all[name] = f.Bytes()
	}
	return all
}

func read[T any](t *testing.T, data []byte) []T {
	t.Helper()
	rows, err := parquet.Read[T](bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestModule(t *testing.T) {
	t.Parallel()
	m := module(3000, 4) // more rows than are written at once
	files := write(t, m)
	functions := read[profiletables.Function](t, files["functions"])
	if len(functions) != len(m.Funcs) {
		t.Fatalf("%d functions", len(functions))
	}
	for i, got := range functions {
		c := &m.Counts[i]
		want := profiletables.Function{
			Program: "app", Build: "1f3c", Symbol: m.Funcs[i].Name, Function: m.Funcs[i].Name + "()", File: "a.c", Mode: m.Funcs[i].Mode.String(),
			Addr: int64(i) * 64, Bytes: 64, Runs: int64(c.Runs), Of: 100,
		}
		if c.Runs > 0 {
			want.MeanOrder = new(3.0)
		}
		if i%2 == 1 {
			run := int64(0)
			if c.Runs > 0 {
				run = 2
			}
			want.Calls, want.Blocks, want.BlocksRun = new(int64(min(c.Calls, 1<<63-1))), new(int64(3)), new(run)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("function %d: got %+v, want %+v", i, got, want)
		}
	}
	orders := read[profiletables.Order](t, files["orders"])
	for i, tr := range m.Traces {
		for at, fn := range tr.Funcs {
			want := profiletables.Order{
				Program: "app", Build: "1f3c", Trace: int64(i), Scenario: tr.Scenario, Weight: 1, Position: int64(at + 1), Symbol: m.Funcs[fn].Name,
			}
			if got := orders[i*len(tr.Funcs)+at]; got != want {
				t.Fatalf("got %+v, want %+v", got, want)
			}
		}
	}
}

// DuckDB reads the tables and joins them.
func TestDuckDB(t *testing.T) {
	t.Parallel()
	dir := parquettest.Install(t)
	m := module(3000, 4)
	for name, data := range write(t, m) {
		if err := os.WriteFile(filepath.Join(string(dir), name+".parquet"), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sum, calls := 0.0, 0.0
	for i := range m.Counts {
		sum += float64(m.Counts[i].Runs)
		if i%2 == 1 {
			calls += float64(min(m.Counts[i].Calls, 1<<63-1))
		}
	}
	for query, want := range map[string]any{
		"SELECT sum(functions.runs)::DOUBLE FROM 'functions.parquet' JOIN 'builds.parquet' USING (program, build)": sum,
		"SELECT sum(calls)::DOUBLE FROM 'functions.parquet'":                                                       calls,
		"SELECT count(*)::DOUBLE FROM 'functions.parquet' WHERE calls IS NULL":                                     1500.0,
		"SELECT max(position)::DOUBLE FROM 'orders.parquet' GROUP BY scenario ORDER BY scenario LIMIT 1":           1500.0,
		"SELECT day::VARCHAR FROM 'days.parquet'":                                                                  "2024-10-04",
		"SELECT count(first)::DOUBLE FROM 'builds.parquet'":                                                        0.0,
		"SELECT count(*)::DOUBLE FROM 'spikes.parquet'":                                                            0.0,
		"SELECT count(*)::DOUBLE FROM 'edges.parquet'":                                                             0.0,
	} {
		got := dir.Query(t, query)
		if close, ok := got.(float64); ok && want != got {
			if f, ok := want.(float64); ok && f != 0 && close/f > 1-1e-9 && close/f < 1+1e-9 { // sums of large numbers
				got = want
			}
		}
		if got != want {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
}

func BenchmarkModule(b *testing.B) {
	m := module(10_000, 100)
	for b.Loop() {
		write(b, m)
	}
	b.ReportMetric(float64(len(m.Funcs))*float64(b.N)/b.Elapsed().Seconds(), "functions/s")
}

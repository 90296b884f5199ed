package profiletables

import (
	"github.com/cairnprof/cairn/format/parquet"
	"github.com/cairnprof/cairn/prof"
)

// batch is how many rows are given to a writer at once.
const batch = 1 << 10

// rows writes rows one by one.
type rows[T any] struct {
	to   *parquet.Table[T]
	held []T
}

func (r *rows[T]) add(row T) error {
	if r.held = append(r.held, row); len(r.held) < batch {
		return nil
	}
	return r.flush()
}

func (r *rows[T]) flush() error {
	err := r.to.Write(r.held...)
	r.held = r.held[:0]
	return err
}

func signed(n uint64) int64 { return int64(min(n, 1<<63-1)) }

// Module writes the functions and the orders of a module. show returns the name to read of a symbol.
func (w *Writers) Module(m *prof.Module, show func(string) string) error {
	if err := w.functions(m, show); err != nil {
		return err
	}
	out := rows[Order]{to: w.Orders}
	build := m.BuildID.String()
	for i := range m.Traces {
		t := &m.Traces[i]
		for at, fn := range t.Funcs {
			err := out.add(Order{
				Program: m.Map.Module, Build: build, Trace: int64(i), Scenario: t.Scenario, Weight: signed(t.Weight),
				Position: int64(at) + 1, Symbol: m.Funcs[fn].Name,
			})
			if err != nil {
				return err
			}
		}
	}
	return out.flush()
}

func (w *Writers) functions(m *prof.Module, show func(string) string) error {
	out := rows[Function]{to: w.Functions}
	build := m.BuildID.String()
	for i := range m.Funcs {
		f, c := &m.Funcs[i], &m.Counts[i]
		row := Function{
			Program: m.Map.Module, Build: build, Symbol: f.Name, Function: show(f.Name), File: f.File, Mode: f.Mode.String(),
			Addr: int64(f.Addr()), Bytes: signed(f.Size()), Runs: signed(c.Runs), Of: signed(m.RunsOf(c)), Inexact: c.Inexact,
		}
		if f.Mode.HasCalls() {
			row.Calls = new(signed(c.Calls))
		}
		if f.Mode.HasBlocks() {
			run := int64(0)
			for b := range f.NumBlocks() {
				if c.Covered(b) {
					run++
				}
			}
			row.Blocks, row.BlocksRun = new(int64(f.NumBlocks())), new(run)
		}
		if c.OrderSum > 0 {
			row.MeanOrder = new(c.MeanOrder())
		}
		if err := out.add(row); err != nil {
			return err
		}
	}
	return out.flush()
}

// BuildOf returns the row of builds of a module.
func BuildOf(m *prof.Module) Build {
	b := Build{
		Program: m.Map.Module, Build: m.BuildID.String(), Machine: m.Machine, Mapped: true,
		Functions: int64(len(m.Funcs)), Runs: signed(m.Raws),
	}
	for i := range m.Counts {
		if m.Counts[i].Runs > 0 {
			b.Executed++
		}
	}
	return b
}

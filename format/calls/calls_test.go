package calls_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"github.com/cairnprof/cairn/format/calls"
	"github.com/cairnprof/cairn/format/calls/callstest"
)

func name(fn int64) string { return fmt.Sprintf("space::f%d(int)", fn) }

// generated yields calls as a log has them: ids that end out of order, growing times, few
// functions.
func generated(n int, seed uint64) []calls.Call {
	r := rand.New(rand.NewPCG(seed, 1))
	list := make([]calls.Call, n)
	now := int64(0)
	for i := range list {
		fn := r.Int64N(50) * r.Int64N(40)
		now += r.Int64N(1000)
		d := r.Int64N(3000)
		list[i] = calls.Call{
			Log: 1, Thread: int32(1 + i*4/n), PID: 4711, TID: 4711 + int64(i*4/n), Call: int64(i + 1), Parent: int64(i) + r.Int64N(10),
			Func: fn, Stack: int32(fn*20 + 1), Depth: int32(10 + r.IntN(3)), Start: now, Duration: d, Self: d - r.Int64N(d+1),
			CPU: int32(r.IntN(4)), Outermost: r.IntN(8) > 0, Ended: calls.Exit,
		}
		switch r.IntN(50) {
		case 0:
			list[i].Ended = calls.TailExit
		case 1:
			list[i].Ended = calls.Deduced
		}
	}
	return list
}

func encode(t testing.TB, list []calls.Call) []byte {
	t.Helper()
	var b bytes.Buffer
	w := calls.NewWriter(&b, calls.About{Unit: "ns", Logs: []string{"a.xray", "b.xray"}}, name)
	for i := range list {
		if err := w.Write(&list[i]); err != nil {
			t.Fatal(err)
		}
	}
	if w.Rows() != int64(len(list)) {
		t.Fatalf("%d rows written of %d", w.Rows(), len(list))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func open(t testing.TB, data []byte) *callstest.File {
	t.Helper()
	f, err := callstest.Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestRows reads every row back with the general reader of the Parquet library.
func TestRows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.Int64()
		list := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) calls.Call {
			return calls.Call{
				Log: rapid.Int32().Draw(t, "log"), Thread: rapid.Int32().Draw(t, "thread"), PID: number.Draw(t, "pid"), TID: number.Draw(t, "tid"),
				Call: number.Draw(t, "call"), Parent: number.Draw(t, "parent"), Func: number.Draw(t, "func"),
				Stack: rapid.Int32().Draw(t, "stack"), Depth: rapid.Int32().Draw(t, "depth"),
				Start: number.Draw(t, "start"), Duration: number.Draw(t, "duration"), Self: number.Draw(t, "self"),
				CPU: rapid.Int32().Draw(t, "cpu"), Outermost: rapid.Bool().Draw(t, "outermost"), Ended: rapid.SampledFrom([]string{calls.Exit, calls.TailExit, calls.Deduced, calls.StillOpen}).Draw(t, "ended"),
				Args: rapid.SliceOfN(rapid.Uint64(), 0, 3).Draw(t, "args"),
			}
		}), 0, 50).Draw(t, "calls")
		var b bytes.Buffer
		w := calls.NewWriter(&b, calls.About{Unit: "ticks"}, name)
		for i := range list {
			if err := w.Write(&list[i]); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		got, err := parquet.Read[calls.Call](bytes.NewReader(b.Bytes()), int64(b.Len()))
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(list) {
			t.Fatalf("%d rows of %d", len(got), len(list))
		}
		for i, want := range list {
			want.Function = name(want.Func)
			if !slices.Equal(got[i].Args, want.Args) {
				t.Fatalf("row %d: arguments %v, want %v", i, got[i].Args, want.Args)
			}
			got[i].Args, want.Args = nil, nil
			if !reflect.DeepEqual(got[i], want) {
				t.Fatalf("row %d:\n%+v, want\n%+v", i, got[i], want)
			}
		}
	})
}

func TestSums(t *testing.T) {
	t.Parallel()
	list := generated(100_000, 1)
	want := map[int64]*callstest.Sum{}
	for i := range list {
		c := &list[i]
		s := want[c.Func]
		if s == nil {
			s = &callstest.Sum{Key: c.Func, Function: name(c.Func)}
			want[c.Func] = s
		}
		s.Calls++
		s.Duration += uint64(c.Duration)
		s.Self += uint64(c.Self)
		s.Max = max(s.Max, uint64(c.Duration))
		if c.Outermost {
			s.Total += uint64(c.Duration)
		}
	}
	f := open(t, encode(t, list))
	if f.Rows() != 100_000 || f.About.Unit != "ns" || !slices.Equal(f.About.Logs, []string{"a.xray", "b.xray"}) {
		t.Errorf("%d rows, %+v", f.Rows(), f.About)
	}
	sums, err := f.Sums("func")
	if err != nil {
		t.Fatal(err)
	}
	if len(sums) != len(want) {
		t.Errorf("%d functions, want %d", len(sums), len(want))
	}
	for i, s := range sums {
		if w := want[s.Key]; w == nil || s != *w {
			t.Errorf("%+v, want %+v", s, w)
		}
		if i > 0 && sums[i-1].Key >= s.Key {
			t.Errorf("not in order at %d", i)
		}
	}
}

func TestEmpty(t *testing.T) {
	t.Parallel()
	sums, err := open(t, encode(t, nil)).Sums("func")
	if err != nil || len(sums) != 0 {
		t.Errorf("%v, %v", sums, err)
	}
}

type failing struct{ after int }

func (f *failing) Write(p []byte) (int, error) {
	if f.after -= len(p); f.after < 0 {
		return 0, fmt.Errorf("no space left")
	}
	return len(p), nil
}

// TestWriteError checks that a full disk is an error of Write or Close, and never a short file.
func TestWriteError(t *testing.T) {
	t.Parallel()
	for _, after := range []int{0, 4, 1000} {
		w := calls.NewWriter(&failing{after}, calls.About{}, name)
		list := generated(20_000, 2)
		var err error
		for i := range list {
			if err = w.Write(&list[i]); err != nil {
				break
			}
		}
		if err == nil {
			err = w.Close()
		}
		w.Abort()
		if again := w.Close(); again == nil {
			t.Error("no error the second time")
		}
		if err == nil || !strings.Contains(err.Error(), "no space left") {
			t.Errorf("after %d bytes: %v", after, err)
		}
	}
}

// TestAbort checks that an aborted write leaves neither a file that looks complete nor a
// goroutine.
func TestAbort(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	w := calls.NewWriter(&b, calls.About{}, name)
	list := generated(10_000, 7)
	for i := range list {
		if err := w.Write(&list[i]); err != nil {
			t.Fatal(err)
		}
	}
	w.Abort()
	if err := w.Close(); err == nil {
		t.Error("closed after all")
	}
	if _, err := callstest.Open(bytes.NewReader(b.Bytes()), int64(b.Len())); err == nil {
		t.Error("a file without a footer opens")
	}
}

type counter struct{ n int64 }

func (c *counter) Write(p []byte) (int, error) { c.n += int64(len(p)); return len(p), nil }

func BenchmarkWrite(b *testing.B) {
	list := generated(1<<16, 5)
	var c counter
	rows := int64(0)
	for b.Loop() {
		w := calls.NewWriter(&c, calls.About{Unit: "ns"}, name)
		for range 32 {
			for i := range list {
				if err := w.Write(&list[i]); err != nil {
					b.Fatal(err)
				}
			}
		}
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
		rows += w.Rows()
	}
	b.ReportMetric(float64(rows)/1e6/b.Elapsed().Seconds(), "Mcalls/s")
	b.ReportMetric(float64(c.n)/float64(rows), "B/call")
}

func BenchmarkSums(b *testing.B) {
	f := open(b, encode(b, generated(1<<20, 6)))
	for b.Loop() {
		if _, err := f.Sums("func"); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(f.Rows())*float64(b.N)/1e6/b.Elapsed().Seconds(), "Mcalls/s")
}

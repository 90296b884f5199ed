package rawfiles

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/internal/profile/merge"
	"github.com/cairnprof/cairn/prof"
)

// coverMap returns the map of a module with n functions in mode cover.
func coverMap(id prof.BuildID, n int) *prof.Map {
	m := &prof.Map{BuildID: id, Module: "app", RawAddr: 0x100000, RawSize: uint64(n)}
	for i := range n {
		m.Funcs = append(m.Funcs, prof.Func{
			Name: fmt.Sprintf("f%d", i), File: "app.c", Mode: prof.ModeCover, Record: uint64(i),
			Fragments: []prof.Fragment{{Addr: 0x1000 + uint64(i)*16, Size: 16}},
		})
	}
	return m
}

// writeRaws writes n raw files of m and returns their paths.
func writeRaws(t testing.TB, m *prof.Map, n int, data func(file int) []byte) (paths []string) {
	t.Helper()
	dir := t.TempDir()
	for i := range n {
		raw, err := mip.AppendRaw(nil, mip.Raw{BuildID: m.BuildID, Size: m.RawSize, Data: data(i)})
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, fmt.Sprintf("%d.mipraw", i))
		if err := os.WriteFile(path, raw, 0o666); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

// TestSum sums files with several workers, with bad files among them, while another goroutine
// reads the progress. It checks that the sums do not depend on which worker took which file,
// and that errors are in the order of the files.
func TestSum(t *testing.T) {
	t.Parallel()
	const files, bads, functions = 4 * batch, 3, bufSize + 4*batch
	m := coverMap("\x12", functions)
	paths := writeRaws(t, m, files, func(file int) []byte {
		data := make([]byte, functions) // longer than a worker's first buffer
		data[0], data[1+file] = 1, 1
		if file%100 == 7 {
			data[5000] = 9
		}
		return data
	})
	r := New(paths, nil, &prof.Profile{Modules: []prof.Module{{Map: *m}}}, "app.mip", Traces{})
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		for r.Done.Load() < files {
			runtime.Gosched()
		}
	}()
	sum, bad := r.Run(t.Context())
	<-looked
	if len(bad) != bads || len(sum.Modules) != 1 || sum.Modules[0].Raws != files-bads {
		t.Fatalf("%d bad files, %d modules", len(bad), len(sum.Modules))
	}
	for i, c := range bad {
		if want := paths[100*i+7]; c.File != want || c.Kind != Damaged {
			t.Errorf("complaint %d: %+v, want one of %s", i, c, want)
		}
	}
	counts := sum.Modules[0].Counts
	if counts[0].Runs != files-bads {
		t.Errorf("the first function ran %d times", counts[0].Runs)
	}
	for file := range files {
		want := uint64(1)
		if file%100 == 7 {
			want = 0
		}
		if got := counts[1+file].Runs; got != want {
			t.Errorf("what only file %d ran, ran %d times", file, got)
		}
	}
}

// TestRepeated has files of runs that the profile holds, copies, and a damaged one
// whose run is whole in another.
func TestRepeated(t *testing.T) {
	t.Parallel()
	m := coverMap("\x12", 2)
	dir := t.TempDir()
	var paths []string
	write := func(name string, run uint64, data ...byte) {
		raw, err := mip.AppendRaw(nil, mip.Raw{BuildID: m.BuildID, Run: run, PID: 3, Size: m.RawSize, Data: data})
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, raw, 0o666); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	write("a", 1, 1)
	write("b", 2, 7)
	write("c", 2, 1)
	write("d", 2, 1)
	write("e", 0, 1)
	write("f", 0, 1)
	held := &prof.Profile{Modules: []prof.Module{{Map: *m, Raws: 1, Held: prof.RunSet{IDs: []uint64{merge.RunID(1, 3)}}}}}
	for _, again := range []bool{false, true} {
		want, repeated := uint64(3), 2
		if again {
			want, repeated = 5, 0
		}
		r := New(paths, nil, held, "app.mip", Traces{})
		r.Again = again
		sum, bad := r.Run(t.Context())
		if len(bad) != 1 || sum.Modules[0].Raws != want || r.Repeated != repeated {
			t.Errorf("again %t: %d raw files, %d repeated, %d bad", again, sum.Modules[0].Raws, r.Repeated, len(bad))
		}
	}
}

// BenchmarkSum sums 2,000 raw files of a program of 10,000 functions.
func BenchmarkSum(b *testing.B) {
	m := coverMap("\x12", 10_000)
	data := make([]byte, m.RawSize)
	for i := range data {
		data[i] = byte(i / 3 % 5 & 1)
	}
	data[len(data)-1] = 1
	const files = 2000
	paths := writeRaws(b, m, files, func(int) []byte { return bytes.Clone(data) })
	p := &prof.Profile{Modules: []prof.Module{{Map: *m}}}
	b.SetBytes(files * int64(len(data)))
	for b.Loop() {
		sum, bad := New(paths, nil, p, "app.mip", Traces{}).Run(b.Context())
		if len(bad) > 0 || sum.Modules[0].Raws != files {
			b.Fatalf("%d refused", len(bad))
		}
	}
}

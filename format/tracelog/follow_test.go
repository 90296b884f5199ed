package tracelog_test

import (
	"bytes"
	"cmp"
	"reflect"
	"slices"
	"testing"

	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/format/tracelog/tracelogtest"
	"github.com/cairnprof/cairn/format/tracelog/wire"
)

// growing is a file that is written to.
type growing struct{ data []byte }

func (g *growing) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(g.data).ReadAt(p, off)
}

// TestFollow checks that reading a log while it grows gives what reading it at its end gives,
// although the last record is incomplete each time it is read first.
func TestFollow(t *testing.T) {
	t.Parallel()
	for _, skip := range []bool{false, true} {
		w := tracelogtest.New(header)
		w.Room(3000)
		w.Trailer(&tracelog.Trailer{Time: 1})
		w.Episode(episode(1, 1))
		file := &growing{w.Bytes()}
		log, err := tracelog.Open(file, int64(len(file.data)), "x")
		if err != nil {
			t.Fatal(err)
		}
		f, err := log.Follow(skip)
		if err != nil {
			t.Fatal(err)
		}
		var got []*tracelog.Episode
		read := func() {
			t.Helper()
			list, err := f.Read(int64(len(file.data)))
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, list...)
		}
		for n := uint64(2); n <= 20; n++ {
			w.Episode(episode(uint32(1+n%2), n))
			w.Thread(tracelog.Thread{TID: uint32(n), Name: "late"})
			full := w.Bytes()
			half := bytes.Clone(full)
			end := len(bytes.TrimRight(half, "\x00"))
			clear(half[end-4 : end]) // of the name
			file.data = half
			read()
			file.data = full
		}
		for range 5 {
			read()
		}
		whole, err := tracelog.Open(file, int64(len(file.data)), "x")
		if err != nil {
			t.Fatal(err)
		}
		var want []*tracelog.Episode
		for e, err := range whole.Episodes() {
			if err != nil {
				t.Fatal(err)
			}
			if !skip || e.Number > 1 {
				want = append(want, e)
			}
		}
		byNumber := func(a, b *tracelog.Episode) int { return cmp.Compare(a.Number, b.Number) }
		slices.SortFunc(got, byNumber)
		slices.SortFunc(want, byNumber)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("skip %v: %d episodes were followed, %d are there", skip, len(got), len(want))
		}
		if !reflect.DeepEqual(log.Threads, whole.Threads) {
			t.Errorf("threads %v, not %v", log.Threads, whole.Threads)
		}
	}
}

// FuzzFollow follows files that are not logs.
func FuzzFollow(f *testing.F) {
	data := sample()
	f.Add(data[wire.ChunkSize:wire.ChunkSize+1100], data[wire.ChunkSize:wire.ChunkSize+1500])
	f.Fuzz(func(t *testing.T, before, after []byte) {
		file := &growing{append(bytes.Clone(data[:wire.ChunkSize]), before...)}
		log, err := tracelog.Open(file, int64(len(file.data)), "x")
		if err != nil {
			return
		}
		follower, err := log.Follow(len(before)%2 == 0)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			file.data = append(file.data, after...)
			if _, err := follower.Read(int64(len(file.data))); err != nil {
				t.Fatal(err)
			}
		}
	})
}

package segment

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/cairnprof/cairn/internal/fleet/journal"
	"github.com/cairnprof/cairn/internal/fleet/journal/journaltest"
)

func TestMain(m *testing.M) { journaltest.Main(m, small) }

// small opens a journal of many small segments.
func small(dir string) (journal.Journal, error) {
	return Open(dir, Options{SegmentSize: 10_000})
}

func TestJournal(t *testing.T) {
	t.Parallel()
	journaltest.Run(t, small)
}

// fill fills a new journal, closes it, and returns its directory.
func fill(t *testing.T, segment int64, records ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	j, err := Open(dir, Options{SegmentSize: segment})
	if err != nil {
		t.Fatal(err)
	}
	for _, data := range records {
		if _, err := j.Append(t.Context(), []byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// segments returns the paths of the segments in a directory.
func segments(t *testing.T, dir string) (paths []string) {
	t.Helper()
	ids, err := list(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range ids {
		paths = append(paths, filepath.Join(dir, s.fileName()))
	}
	return paths
}

// read returns what a reader from a record on gets up to the last: data by number, and the numbers that are lost.
func read(t *testing.T, j *Journal, from uint64) (got map[uint64]string, lost map[uint64]bool) {
	t.Helper()
	got, lost = map[uint64]string{}, map[uint64]bool{}
	last, _ := j.Last()
	r, err := j.Read(from)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for next := from; next <= last; next++ {
		record, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if record.Lost == 0 {
			got[record.Seq] = string(record.Data)
		} else if record.Why == "" {
			t.Errorf("%d records up to %d are lost without a reason", record.Lost, record.Seq)
		}
		for seq := record.Seq - record.Lost; seq < record.Seq; seq++ {
			lost[seq+1] = true
		}
		if first := record.Seq - max(record.Lost, 1) + 1; first != next {
			t.Fatalf("record %d, want %d", first, next)
		}
		next = record.Seq
	}
	return got, lost
}

// small3 is what the records of a small journal have.
var small3 = []string{"one", "", "three, which is longer than the head of a record"}

// ends returns where the records of a segment end.
func ends(records []string) (ends []int64) {
	off := int64(headerSize)
	for _, data := range records {
		off += recordHead + int64(len(data))
		ends = append(ends, off)
	}
	return ends
}

// TestTorn cuts the last segment at every byte, and appends garbage to it. It checks that whole records
// are kept, and that appending continues after them.
func TestTorn(t *testing.T) {
	t.Parallel()
	path := segments(t, fill(t, 0, small3...))[0]
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for off := range len(good) + 1 {
		for _, data := range [][]byte{good[:off], append(bytes.Clone(good[:off]), "garbage, longer than the head of a record"...)} {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, filepath.Base(path)), data, 0o600); err != nil {
				t.Fatal(err)
			}
			want := 0
			for _, end := range ends(small3) {
				if end <= int64(off) {
					want++
				}
			}
			checkAppends(t, dir, want)
		}
	}
}

// checkAppends checks that there are so many records, and that appending continues after them.
func checkAppends(t *testing.T, dir string, want int) {
	t.Helper()
	size := func() int64 {
		st, err := os.Stat(segments(t, dir)[0])
		if err != nil {
			t.Fatal(err)
		}
		return st.Size()
	}
	before := size()
	var cut int64
	j, err := Open(dir, Options{Damaged: func(d Damage) {
		if cut = d.Bytes; !d.Tail || d.Err != nil {
			t.Errorf("%v, %v", &d, d.Err)
		} else if aside, err := os.ReadFile(d.Aside); err != nil || int64(len(aside)) != d.Bytes {
			t.Errorf("%d bytes of %v are set aside: %v", len(aside), &d, err)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if last, _ := j.Last(); last != uint64(want) {
		t.Errorf("%d bytes: the last is %d, want %d", before, last, want)
	}
	if after := size(); after >= headerSize && before-cut != after && before >= headerSize {
		t.Errorf("%d bytes became %d, %d were reported", before, after, cut)
	}
	if _, err := j.Append(t.Context(), []byte("behind")); err != nil {
		t.Error(err)
	}
	if got, lost := read(t, j, 1); len(lost) > 0 || got[uint64(want)+1] != "behind" {
		t.Errorf("%d bytes: %v, lost are %v", before, got, lost)
	}
}

// TestFlips flips every bit of a small journal of one segment, and of one of three. It checks that the journal opens,
// that the record with the bit, and no other, is lost, and that it is set aside.
func TestFlips(t *testing.T) {
	t.Parallel()
	for _, segment := range []int64{0, 20} {
		dir := fill(t, segment, small3...)
		good := contents(t, segments(t, dir))
		for path, data := range good {
			for bit := range 8 * len(data) {
				bad := bytes.Clone(data)
				bad[bit/8] ^= 1 << (bit % 8)
				if err := os.WriteFile(path, bad, 0o600); err != nil {
					t.Fatal(err)
				}
				checkFlip(t, dir, path, int64(bit/8))
				restore(t, dir, good)
			}
		}
	}
}

// contents returns the contents of files by path.
func contents(t *testing.T, paths []string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[path] = data
	}
	return files
}

// checkFlip checks that a journal of the records small3 lost what has a byte of a segment.
func checkFlip(t *testing.T, dir, path string, off int64) {
	t.Helper()
	s, _ := idOf(filepath.Base(path))
	bad := uint64(0) // the record that has the byte
	all := small3[s.first-1:]
	if len(segments(t, dir)) > 1 {
		all = all[:1]
	}
	for i, end := range slices.Backward(ends(all)) {
		if off < end && off >= headerSize {
			bad = s.first + uint64(i)
		}
	}
	var found []Damage
	j, err := Open(dir, Options{Damaged: func(d Damage) { found = append(found, d) }})
	if err != nil {
		t.Fatalf("byte %d of %s: %v", off, path, err)
	}
	defer j.Close()
	if bad == 3 { // the last of all: it cannot be told from one that was being written
		if err := j.Advance(3); err != nil {
			t.Fatal(err)
		}
	}
	got, lost := read(t, j, 1)
	for i, want := range small3 {
		seq := uint64(i) + 1
		data, ok := got[seq]
		if seq == bad && (ok || !lost[seq]) || seq != bad && (!ok || lost[seq] || data != want) {
			t.Fatalf("byte %d of %s: record %d is %q, %t; lost are %v", off, path, seq, data, ok, lost)
		}
	}
	if (bad > 0) != (len(found) == 1) {
		t.Fatalf("byte %d of %s: record %d, but %d damages are found", off, path, bad, len(found))
	}
	for _, d := range found {
		if aside, err := os.ReadFile(d.Aside); err != nil || int64(len(aside)) != d.Bytes || d.Off > off || d.Off+d.Bytes <= off {
			t.Errorf("byte %d of %s: set aside are %d bytes of %v: %v", off, path, len(aside), &d, err)
		}
	}
}

// TestRandomFlips flips bits of a large journal: at most the records with such a bit are lost.
func TestRandomFlips(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	var records []string
	for i := range 2000 {
		// Records in the data of a record are none.
		inner := id{1, 0}.appendRecord(nil, uint64(i)+2, []byte("inner"))
		records = append(records, string(inner)+strings.Repeat(string(rune('a'+i%26)), random.IntN(200)))
	}
	dir := fill(t, 60_000, records...)
	paths := segments(t, dir)
	good := contents(t, paths)
	rounds, flips := 2000, 5
	if testing.Short() {
		rounds = 40
	}
	for range rounds {
		for range flips {
			path := paths[random.IntN(len(paths))]
			data := bytes.Clone(good[path])
			data[random.IntN(len(data))] ^= 1 << random.IntN(8)
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		j, err := Open(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Advance(uint64(len(records))); err != nil {
			t.Fatal(err)
		}
		got, lost := read(t, j, 1)
		if len(lost) > flips || len(got)+len(lost) != len(records) {
			t.Fatalf("%d records are lost, %d are there", len(lost), len(got))
		}
		for seq, data := range got {
			if records[seq-1] != data {
				t.Fatalf("record %d is %q", seq, data)
			}
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		restore(t, dir, good)
	}
}

// restore makes a directory have only these files.
func restore(t *testing.T, dir string, files map[string][]byte) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if path := filepath.Join(dir, e.Name()); files[path] == nil {
			err = errors.Join(err, os.Remove(path))
		}
	}
	for path, data := range files {
		err = errors.Join(err, os.WriteFile(path, data, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestLostSegments removes segments: the records of the others are there, and those that are lost are counted.
func TestLostSegments(t *testing.T) {
	t.Parallel()
	for removed := range 4 {
		dir := fill(t, 20, "1", "2", "3", "4")
		if err := os.Remove(segments(t, dir)[removed]); err != nil {
			t.Fatal(err)
		}
		j, err := Open(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Advance(4); err != nil {
			t.Fatal(err)
		}
		if removed == 0 {
			// Without a snapshot it is not known what was in it.
			if _, err := j.Read(1); err == nil {
				t.Error("the first segment is missing, and the journal is read from the start")
			}
		} else if got, lost := read(t, j, 1); len(got) != 3 || !lost[uint64(removed)+1] {
			t.Errorf("without segment %d: %v, lost %v", removed, got, lost)
		}
		if seq, err := j.Append(t.Context(), []byte("5")); seq != 5 || err != nil {
			t.Errorf("without segment %d: the next is %d, %v", removed, seq, err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFull fills a file system. It checks that acknowledged records are kept, and that
// appending works again after trimming.
func TestFull(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("mounting a small file system: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	j, err := Open(dir, Options{SegmentSize: 64 << 10})
	if err != nil {
		t.Fatal(err)
	}
	appended := uint64(0)
	for {
		_, err := j.Append(t.Context(), bytes.Repeat([]byte{1}, 5000))
		if errors.Is(err, journal.ErrFull) {
			break
		}
		if err != nil || appended > 1000 {
			t.Fatalf("%d appended, %v", appended, err)
		}
		appended++
	}
	if got := len(journaltest.ReadAll(t, j, 1)); uint64(got) != appended {
		t.Errorf("%d of %d records are there", got, appended)
	}
	if err := j.Trim(appended); err != nil {
		t.Fatal(err)
	}
	if seq, err := j.Append(t.Context(), bytes.Repeat([]byte{1}, 5000)); err != nil || seq != appended+1 {
		t.Errorf("with room again: %d, %v", seq, err)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}

func BenchmarkAppend(b *testing.B) {
	dir := b.TempDir()
	j, err := Open(dir, Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer j.Close()
	journaltest.BenchmarkAppend(b, j)
}

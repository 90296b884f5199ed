package segment

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
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

// fill returns a directory with a segment of three records, and where each ends in it.
func fill(t *testing.T) (path string, ends []int64) {
	t.Helper()
	dir := t.TempDir()
	j, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	off := int64(headerSize)
	for _, data := range []string{"one", "", "three"} {
		if _, err := j.Append(t.Context(), []byte(data)); err != nil {
			t.Fatal(err)
		}
		off += recordHead + int64(len(data))
		ends = append(ends, off)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, fileName(1)), ends
}

// whole returns how many records end before or at off.
func whole(ends []int64, off int64) int {
	n := 0
	for _, end := range ends {
		if end <= off {
			n++
		}
	}
	return n
}

// TestTorn cuts the last segment at every byte, appends garbage to it, and changes each byte.
// It checks that complete records before the damage are kept, and that appending continues
// after them.
func TestTorn(t *testing.T) {
	t.Parallel()
	path, ends := fill(t)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for off := range good {
		changed := bytes.Clone(good)
		changed[off] ^= 0x41
		for name, data := range map[string][]byte{
			"cut": good[:off], "garbage": append(bytes.Clone(good[:off]), "garbage, longer than the head of a record"...), "changed": changed,
		} {
			if off < headerSize && name != "cut" {
				continue // a header is on the disk before a record is
			}
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, fileName(1)), data, 0o600); err != nil {
				t.Fatal(err)
			}
			want := whole(ends, int64(off))
			var torn int64
			j, err := Open(dir, Options{Torn: func(_ string, _, bytes int64) { torn = bytes }})
			if err != nil {
				t.Fatalf("%s at %d: %v", name, off, err)
			}
			if last, _ := j.Last(); last != uint64(want) {
				t.Errorf("%s at %d: the last is %d, want %d", name, off, last, want)
			}
			if at := int64(len(data)); off >= headerSize && torn != at-max(headerSize, append([]int64{0}, ends...)[want]) {
				t.Errorf("%s at %d: %d bytes were cut off", name, off, torn)
			}
			if _, err := j.Append(t.Context(), []byte("behind")); err != nil {
				t.Error(err)
			}
			all := journaltest.ReadAll(t, j, 1)
			if len(all) != want+1 || string(all[want].Data) != "behind" {
				t.Errorf("%s at %d: %d records", name, off, len(all))
			}
			if err := j.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestDamaged checks that damage of an earlier segment is an error with its position.
func TestDamaged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j, err := Open(dir, Options{SegmentSize: 100})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := j.Append(t.Context(), make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, fileName(1))
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[headerSize+50] = 1
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if j, err = Open(dir, Options{}); err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	r, err := j.Read(1)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Next(t.Context()); err == nil || !bytes.Contains([]byte(err.Error()), []byte("offset 0x18: record 1 is damaged")) {
		t.Errorf("a damaged record: %v", err)
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

// Package journaltest tests drivers of journals: what package journal promises, and that
// nothing acknowledged is lost when the process is killed.
package journaltest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cairnprof/cairn/internal/fleet/journal"
)

// Driver opens the journal in a directory.
type Driver func(dir string) (journal.Journal, error)

// Run tests a driver. The test's package calls Main in its TestMain.
func Run(t *testing.T, open Driver) { run(t, open, false) }

// RunShared tests a driver whose journals several processes use at once.
func RunShared(t *testing.T, open Driver) { run(t, open, true) }

func run(t *testing.T, open Driver, shared bool) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, Driver)
	}{
		{"order", testOrder},
		{"reopen", func(t *testing.T, open Driver) { testReopen(t, open, shared) }},
		{"wait", testWait},
		{"trim", testTrim},
		{"sizes", testSizes},
		{"closed", testClosed},
		{"kill", testKill},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, open)
		})
	}
}

// must returns what f returns without an error.
func must[T any](t *testing.T, f func() (T, error)) T {
	t.Helper()
	v, err := f()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// start opens a journal that is closed with the test.
func start(t *testing.T, open Driver, dir string) journal.Journal {
	t.Helper()
	j, err := open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

// ReadAll returns the records from a number to the last.
func ReadAll(t *testing.T, j journal.Journal, from uint64) []journal.Record {
	t.Helper()
	last := must(t, j.Last)
	r, err := j.Read(from)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var all []journal.Record
	for seq := from; seq <= last; seq++ {
		record, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if record.Seq != seq {
			t.Fatalf("record %d, want %d", record.Seq, seq)
		}
		all = append(all, record)
	}
	return all
}

// testOrder appends from many goroutines: each number is assigned once, and its record has the data of its
// append.
func testOrder(t *testing.T, open Driver) {
	j := start(t, open, t.TempDir())
	const goroutines, each = 8, 25
	var mu sync.Mutex
	want := map[uint64]string{}
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for i := range each {
				data := fmt.Sprintf("%d of %d", i, g)
				seq, err := j.Append(t.Context(), []byte(data))
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				want[seq] = data
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	all := ReadAll(t, j, 1)
	if len(all) != goroutines*each || len(want) != len(all) {
		t.Fatalf("%d records, %d numbers, %d appends", len(all), len(want), goroutines*each)
	}
	for _, r := range all {
		if string(r.Data) != want[r.Seq] {
			t.Errorf("record %d is %q, was appended as %q", r.Seq, r.Data, want[r.Seq])
		}
	}
}

// testReopen opens, appends to and closes a journal several times.
func testReopen(t *testing.T, open Driver, shared bool) {
	dir := t.TempDir()
	for life := range 3 {
		j, err := open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := open(dir); err == nil != shared {
			t.Errorf("a journal is opened twice: %v", err)
		} else if shared {
			defer again.Close()
		}
		if last := must(t, j.Last); last != uint64(2*life) {
			t.Errorf("opened for time %d, the last record is %d", life, last)
		}
		for i := range 2 {
			seq, err := j.Append(t.Context(), []byte{byte(life), byte(i)})
			if err != nil || seq != uint64(2*life+i+1) {
				t.Errorf("opened for time %d: record %d, %v", life, seq, err)
			}
		}
		for i, r := range ReadAll(t, j, 1) {
			if !bytes.Equal(r.Data, []byte{byte(i / 2), byte(i % 2)}) {
				t.Errorf("opened for time %d: record %d is %v", life, r.Seq, r.Data)
			}
		}
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	}
}

// testWait starts a reader before there are records.
func testWait(t *testing.T, open Driver) {
	j := start(t, open, t.TempDir())
	r, err := j.Read(1)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("without records and with a canceled context: %v", err)
	}
	go func() {
		for i := range 3 {
			if _, err := j.Append(context.Background(), []byte{byte(i)}); err != nil {
				t.Error(err)
			}
		}
	}()
	for i := range 3 {
		record, err := r.Next(t.Context())
		if err != nil || record.Seq != uint64(i+1) || !bytes.Equal(record.Data, []byte{byte(i)}) {
			t.Errorf("record %d is %v, %v", i+1, record, err)
		}
	}
	if _, err := j.Read(9); err == nil {
		t.Error("a reader starts far beyond the last record")
	}
}

// testTrim removes records: later ones stay, and numbers continue, also after the journal is opened again.
func testTrim(t *testing.T, open Driver) {
	dir := t.TempDir()
	j := start(t, open, dir)
	big := bytes.Repeat([]byte("trimmed"), 1000)
	for range 20 {
		must(t, func() (uint64, error) { return j.Append(t.Context(), big) })
	}
	if err := j.Trim(15); err != nil {
		t.Fatal(err)
	}
	if got := len(ReadAll(t, j, 16)); got != 5 {
		t.Errorf("%d records after those that were trimmed", got)
	}
	if err := j.Trim(20); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j = start(t, open, dir)
	if last := must(t, j.Last); last != 20 {
		t.Errorf("after all records were trimmed the last is %d", last)
	}
	if seq := must(t, func() (uint64, error) { return j.Append(t.Context(), nil) }); seq != 21 {
		t.Errorf("the next is %d", seq)
	}
	if _, err := readFirst(t, j, 1); err == nil {
		t.Error("a record that was trimmed can be read")
	}
}

// readFirst reads the record with this number.
func readFirst(t *testing.T, j journal.Journal, seq uint64) (journal.Record, error) {
	r, err := j.Read(seq)
	if err != nil {
		return journal.Record{}, err
	}
	defer r.Close()
	record, err := r.Next(t.Context())
	if err == nil && record.Seq != seq {
		err = fmt.Errorf("record %d, want %d", record.Seq, seq)
	}
	return record, err
}

func testSizes(t *testing.T, open Driver) {
	dir := t.TempDir()
	j := start(t, open, dir)
	sizes := []int{0, 1, 1 << 10, 5 << 20, 0, 1 << 20}
	for i, size := range sizes {
		must(t, func() (uint64, error) { return j.Append(t.Context(), bytes.Repeat([]byte{byte(i)}, size)) })
	}
	for range 2 {
		for i, r := range ReadAll(t, j, 1) {
			if len(r.Data) != sizes[i] || slices.ContainsFunc(r.Data, func(b byte) bool { return b != byte(i) }) {
				t.Errorf("record %d has %d bytes, want %d", r.Seq, len(r.Data), sizes[i])
			}
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		j = start(t, open, dir)
	}
}

func testClosed(t *testing.T, open Driver) {
	j := start(t, open, t.TempDir())
	r, err := j.Read(1)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() {
		_, err := r.Next(context.Background())
		ended <- err
	}()
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, journal.ErrClosed) {
		t.Errorf("a reader that waits for a record got %v", err)
	}
	if _, err := j.Append(t.Context(), nil); !errors.Is(err, journal.ErrClosed) {
		t.Errorf("Append: %v", err)
	}
	if err := j.Close(); err != nil {
		t.Errorf("closed again: %v", err)
	}
}

const childVariable = "JOURNALTEST_DIR"

// Main runs tests, or appends to a journal until the process is killed.
func Main(m *testing.M, open Driver) {
	if dir := os.Getenv(childVariable); dir != "" {
		fmt.Fprintln(os.Stderr, appendForever(dir, open))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// appendForever appends records, and writes the number of each that was acknowledged to standard output.
func appendForever(dir string, open Driver) error {
	j, err := open(dir)
	if err != nil {
		return err
	}
	failed := make(chan error)
	for range 4 {
		go func() {
			for i := 0; ; i++ {
				data := []byte(strconv.Itoa(i % 100))
				seq, err := j.Append(context.Background(), bytes.Repeat(data, 50))
				if err != nil {
					failed <- err
				}
				if _, err := os.Stdout.WriteString(fmt.Sprintf("%d %s\n", seq, data)); err != nil {
					failed <- err
				}
			}
		}()
	}
	return <-failed
}

// testKill kills a process that appends, several times: all records that it acknowledged are there.
func testKill(t *testing.T, open Driver) {
	lives := 10
	if testing.Short() {
		lives = 3
	}
	dir := t.TempDir()
	acknowledged := map[uint64]string{}
	for life := range lives {
		killAfter(t, dir, 20+13*life, acknowledged)
	}
	j := start(t, open, dir)
	all := ReadAll(t, j, 1)
	for seq, data := range acknowledged {
		if seq > uint64(len(all)) || string(all[seq-1].Data) != strings.Repeat(data, 50) {
			t.Errorf("record %d of %d was acknowledged, but is missing", seq, len(all))
		}
	}
	t.Logf("%d records, %d acknowledged", len(all), len(acknowledged))
}

// killAfter kills a process after it acknowledged some records.
func killAfter(t *testing.T, dir string, records int, acknowledged map[uint64]string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+dir)
	var talk bytes.Buffer
	cmd.Stderr = &talk
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for n := 0; lines.Scan(); n++ {
		seq, data, _ := strings.Cut(lines.Text(), " ")
		number, err := strconv.ParseUint(seq, 10, 64)
		if err != nil {
			break // cut off
		}
		if _, ok := acknowledged[number]; ok {
			t.Errorf("record %d is acknowledged again", number)
		}
		acknowledged[number] = data
		if n == records {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil || ctx.Err() != nil || talk.Len() > 0 {
		t.Fatalf("%v: %s", err, &talk)
	}
}

// BenchmarkAppend appends records of 1,000 bytes from 64 goroutines for each processor.
func BenchmarkAppend(b *testing.B, j journal.Journal) {
	b.SetBytes(1000)
	b.SetParallelism(64)
	b.RunParallel(func(p *testing.PB) {
		data := bytes.Repeat([]byte("d"), 1000)
		for p.Next() {
			if _, err := j.Append(b.Context(), data); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
}

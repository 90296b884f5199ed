//go:build linux

package marklog

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/format/tracelog/tracelogtest"
	"github.com/cairnprof/cairn/format/tracelog/wire"
	"github.com/cairnprof/cairn/prof"
)

// TestCreate makes several logs of a process. When a file has the name of a log, it has its header, and no other file
// is left.
func TestCreate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for n := range 3 {
		l, err := Create(dir)
		if err != nil || l.Err() != nil {
			t.Fatal(err, l.Err())
		}
		if !strings.HasSuffix(l.Name(), fmt.Sprint(".", n, wire.Suffix)) {
			t.Errorf("log %d is %s", n, l.Name())
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 3 {
		t.Errorf("%v, %v", files, err)
	}
	f, err := createWith([]byte("header"), filepath.Join(dir, "x."))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if data, err := os.ReadFile(filepath.Join(dir, "x.0"+wire.Suffix)); err != nil || string(data) != "header" {
		t.Errorf("%q, %v", data, err)
	}
	if f, err = createWith(nil, filepath.Join(dir, "missing", "x.")); err == nil {
		f.Close()
		t.Error("a log in a directory that does not exist")
	}
}

// TestLog checks that records are in the file at once and complete, over several chunks.
func TestLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, err := Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	const episodes = 300
	for i := range uint64(episodes) {
		e := Episode{
			TID: 7, Number: i + 1, Time: l.Monotonic + i, Lo: 10, Hi: 20, Threshold: 5, Frame: i, Found: 200,
			Stack: make([]Entry, 200), Children: []Entry{{PC: 3, Lo: 1, Hi: 2, SP: 8}},
		}
		e.Stack[0] = Entry{PC: i, Lo: 1, Hi: 2, SP: 16}
		l.Episode(&e)
		l.Text(&Text{7, i + 1, e.Time, wire.TextDescription, 16, i, fmt.Sprint("text ", i)})
		l.Parent(&Parent{TID: 7, Number: i + 1, Time: e.Time, Lo: 11, Hi: 21, PC: 9, SP: 24, Threshold: 5})
		l.Seen(int(i), &Seen{PC: i, Hash: i, Count: 1, Worst: 10, Sum: 10, Last: e.Time, First: i + 1})
	}
	l.Thread(7, strings.Repeat("n", 600), l.Monotonic)
	l.Stall(5, 6)
	l.Trailer(&Trailer{Ticks: 4, Threshold: 5, Period: 6, Low: 7, Episodes: episodes, Borderline: 3, WorstGap: 2, Limited: 1})
	if l.Err() != nil {
		t.Fatal(l.Err())
	}
	log := tracelogtest.Open(t, l.Name())
	n := uint64(0)
	for e, err := range log.Episodes() {
		if err != nil {
			t.Fatal(err)
		}
		if e.Number != n+1 || e.Frame != n || e.Stack[0].PC != n || len(e.Stack)+len(e.Children) != wire.MaxEntries ||
			e.Flags != tracelog.Cut || len(e.Texts) != 1 || e.Texts[0].Text != fmt.Sprint("text ", n) || len(e.Parents) != 1 {
			t.Fatalf("episode %d: %+v", n, e)
		}
		n++
	}
	seen := 0
	for s, err := range log.Seen() {
		if err != nil || s.Count != 1 || s.Hash != s.PC {
			t.Fatalf("%+v %v", s, err)
		}
		seen++
	}
	if n != episodes || seen != episodes || log.Damaged != 0 || log.Orphans != 0 || log.Unknown != 0 {
		t.Errorf("%d episodes, %d seen, %d bytes damaged", n, seen, log.Damaged)
	}
	if tr := log.Trailer; tr == nil || tr.Ticks != 4 || tr.Threshold != 5 || tr.Period != 6 || tr.Low != 7 ||
		tr.Episodes != episodes || tr.Borderline != 3 || tr.WorstGap != 2 || tr.Limited != 1 {
		t.Errorf("trailer %+v", tr)
	}
	if log.Header.Mode != uint32(prof.ModeSpike) || len(log.Stalls) != 1 || len(log.Threads) != 1 || len(log.Threads[0].Name) != wire.MaxText {
		t.Errorf("%+v, %d stalls, threads %v", log.Header, len(log.Stalls), log.Threads)
	}
	second, err := Create(dir)
	if err != nil || second.Name() == l.Name() {
		t.Errorf("a second log: %v", err)
	}
}

// TestProgram checks that the build id of a Go program is found in its memory.
func TestProgram(t *testing.T) {
	t.Parallel()
	m := program()
	if here := reflect.ValueOf(TestProgram).Pointer(); uint64(here) < m.start || uint64(here) >= m.end {
		t.Errorf("%#x is not in %#x..%#x", here, m.start, m.end)
	}
	f, err := elf.Open(m.path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := f.Section(".note.gnu.build-id")
	if s == nil {
		t.Skip("no build id")
	}
	data, err := s.Data()
	if err != nil || !bytes.HasSuffix(data, m.id) || len(m.id) != 20 {
		t.Errorf("build id %x, note %x, %v", m.id, data, err)
	}
}

func TestNoDirectory(t *testing.T) {
	t.Parallel()
	if _, err := Create(filepath.Join(t.TempDir(), "missing")); err == nil {
		t.Error("a log in no directory")
	}
}

func TestBuildID(t *testing.T) {
	t.Parallel()
	note := "\x04\x00\x00\x00\x02\x00\x00\x00\x01\x00\x00\x00Go\x00\x00ab\x00\x00" +
		"\x04\x00\x00\x00\x03\x00\x00\x00\x03\x00\x00\x00GNU\x00xyz\x00"
	if id := buildID([]byte(note)); string(id) != "xyz" {
		t.Errorf("build id %q", id)
	}
	for i := range note {
		if id := buildID([]byte(note[:i])); id != nil && string(id) != "xyz" {
			t.Errorf("cut at %d: %q", i, id)
		}
	}
	if id := buildID([]byte(strings.Repeat("\xff", 40))); id != nil {
		t.Errorf("%q", id)
	}
}

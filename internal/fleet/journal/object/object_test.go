package object

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/fleet/journal"
	"github.com/cairnprof/cairn/internal/fleet/journal/journaltest"
	"github.com/cairnprof/cairn/internal/fleet/journal/segment"
	"github.com/cairnprof/cairn/internal/objectstore"
	"github.com/cairnprof/cairn/internal/objectstore/storetest"
	"github.com/cairnprof/cairn/internal/shorttest"
)

// open opens the journal of a place whose name is that of a directory.
func open(dir string) (journal.Journal, error) {
	b, err := objectstore.Open(storetest.Place + "/" + filepath.ToSlash(dir))
	if err != nil {
		return nil, err
	}
	j, err := Open(b)
	if err != nil {
		return nil, err // no interface with a nil in it
	}
	return j, nil
}

func TestMain(m *testing.M) { journaltest.Main(m, open) }

// setStore starts a store and sets the variables that name it, for the test and the processes that it starts.
func setStore(t *testing.T, start func(testing.TB) *storetest.Store) *storetest.Store {
	t.Helper()
	store := start(t)
	for _, variable := range storetest.Environment(store.URL) {
		name, value, _ := strings.Cut(variable, "=")
		if err := os.Setenv(name, value); err != nil {
			t.Fatal(err)
		}
	}
	return store
}

func TestJournal(t *testing.T) {
	shorttest.Proof(t)
	setStore(t, storetest.Start)
	journaltest.RunShared(t, open)
}

// TestContradiction appends to a store that says of the next object that it exists and does not exist: a gateway that was
// killed left half of it. The append fails.
func TestContradiction(t *testing.T) {
	shorttest.Proof(t)
	store := setStore(t, storetest.StartApart)
	if os.Getenv(storetest.Variable) != "" {
		t.Skip("the files of this store are elsewhere")
	}
	for i := range 2 {
		j, err := open("half")
		if err != nil {
			t.Fatal(err)
		}
		defer j.Close()
		_, err = j.Append(t.Context(), []byte("text"))
		if (i == 0) != (err == nil) || i > 0 && !errors.Is(err, journal.ErrUnavailable) {
			t.Errorf("append %d: %v", i, err)
		}
		if i == 0 {
			err = os.Remove(filepath.Join(store.Root, storetest.Bucket, "half", "journal", "00000000000000000001"))
		}
		if i == 0 && err != nil {
			t.Fatal(err)
		}
	}
}

// TestStale continues journals that others have trimmed meanwhile: what they append gets a new number, and what they read
// is part of the journal, also while an object with a number that was in use before is in the store.
func TestStale(t *testing.T) {
	shorttest.Proof(t)
	store := setStore(t, storetest.Start)
	if os.Getenv(storetest.Variable) != "" {
		t.Skip("the files of this store are elsewhere")
	}
	at := func() *Journal {
		j, err := open("stale")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { j.Close() })
		return j.(*Journal)
	}
	add := func(j *Journal, text string) uint64 {
		seq, err := j.Append(t.Context(), []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return seq
	}
	late, late2, j := at(), at(), at()
	add(j, "1")
	for _, l := range []*Journal{late, late2} {
		if last, err := l.Last(); err != nil || last != 1 {
			t.Fatal(last, err)
		}
	}
	r, err := late.Read(2)
	if err != nil {
		t.Fatal(err)
	}
	for i := 2; i <= 5; i++ {
		add(j, fmt.Sprint(i))
	}
	if err := j.Trim(5); err != nil {
		t.Fatal(err)
	}
	// As another one that was late would have left it, with more records than there are numbers in use.
	stray := filepath.Join(store.Root, storetest.Bucket, "stale", "journal", "00000000000000000002")
	if err := os.WriteFile(stray, segment.Image(2, 7, make([][]byte, 20)), 0o600); err != nil {
		t.Fatal(err)
	}
	if record, err := r.Next(t.Context()); !errors.Is(err, journal.ErrTrimmed) {
		t.Errorf("a reader that is late got record %+v, %v", record, err)
	}
	if last, err := late.Last(); err != nil || last != 5 {
		t.Errorf("the last record is %d, %v", last, err)
	}
	if seq := add(late2, "6"); seq != 6 {
		t.Errorf("an append of one that is late has the number %d", seq)
	}
	if seq := add(late, "7"); seq != 7 {
		t.Errorf("the next append has the number %d", seq)
	}
}

package stream

import (
	"testing"

	"github.com/cairnprof/cairn/internal/fleet/journal"
	"github.com/cairnprof/cairn/internal/fleet/journal/journaltest"
)

func open(dir string) (journal.Journal, error) {
	j, err := Open(dir)
	if err != nil {
		return nil, err // no interface with a nil in it
	}
	return j, nil
}

func TestMain(m *testing.M) { journaltest.Main(m, open) }

func TestJournal(t *testing.T) {
	t.Parallel()
	journaltest.Run(t, open)
}

func BenchmarkAppend(b *testing.B) {
	j, err := Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer j.Close()
	journaltest.BenchmarkAppend(b, j)
}

package tracelogtest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cairnprof/cairn/format/tracelog"
)

// Only opens the only log in a directory, which must have no damage.
func Only(t testing.TB, dir string) *tracelog.Log {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.cairnlog"))
	if err != nil || len(files) != 1 {
		t.Fatalf("logs: %v %v", files, err)
	}
	return Open(t, files[0])
}

// Open opens the log at path, which must have no damage.
func Open(t testing.TB, path string) *tracelog.Log {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	log, err := tracelog.Open(f, st.Size(), path)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range log.Damage {
		t.Error(d)
	}
	return log
}

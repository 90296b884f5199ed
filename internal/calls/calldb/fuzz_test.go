package calldb

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// FuzzQuery checks that no query changes the database, and that each one returns rows or an
// error of one line.
func FuzzQuery(f *testing.F) {
	for _, seed := range []string{
		"SELECT * FROM hot_stacks", "VALUES (1), (NULL), (x'00')", "WITH x AS (SELECT 1) DELETE FROM meta",
		"EXPLAIN DELETE FROM meta", "/* ; */ SELECT ';' -- ;\n;", "SELECT [a;b] FROM \"x;\"\"y\"", "SELECT 'it''s'; DROP TABLE meta",
		"SELECT * FROM pragma_table_info('meta')", "SELECT load_extension('x')", "SELECT 1 /*", "SELECT 'a",
		"SELECT * FROM calls WHERE begin < 9 AND function = 'f'", "SELECT * FROM events, calls ON call = id", "DELETE FROM calls", "SELECT rowid FROM calls LIMIT 1",
	} {
		f.Add(seed)
	}
	db := made(f, replayed(f, randomLog(rand.New(rand.NewPCG(1, 2)), "a", 1, 100, 5)))
	before, err := db.Bytes()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, query string) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := read(ctx, db, query); err != nil && strings.Contains(err.Error(), "\n") && !strings.Contains(query, "\n") {
			t.Errorf("%q: %q", query, err)
		}
		after, err := db.Bytes()
		if err != nil || !slices.Equal(before, after) {
			t.Fatalf("%q changed the database, %v", query, err)
		}
	})
}

// read reads all rows of a query.
func read(ctx context.Context, db *DB, query string) error {
	rows, err := db.Query(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for _, err := range rows.All() {
		if err != nil {
			return err
		}
	}
	return nil
}

// FuzzOpen checks that damaged and malicious files give rows or an error.
func FuzzOpen(f *testing.F) {
	data, err := made(f, accounted(f, randomLog(rand.New(rand.NewPCG(1, 2)), "a", 1, 30, 4))).Bytes()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint64(0), uint8(0))
	f.Add(uint64(1), uint8(1))
	f.Add(uint64(2), uint8(20))
	f.Add(uint64(3), uint8(255))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, seed uint64, changes uint8) {
		r := rand.New(rand.NewPCG(seed, 0))
		bad := slices.Clone(data)
		for range changes {
			// Most of what steers the library is at the beginning of pages.
			at := r.IntN(len(bad))
			if r.IntN(2) == 0 {
				at = at/4096*4096 + r.IntN(110)
			}
			bad[min(at, len(bad)-1)] = byte(r.Uint32())
		}
		if changes%16 == 15 {
			bad = bad[:r.IntN(len(bad))]
		}
		path := filepath.Join(dir, "bad.db")
		if err := os.WriteFile(path, bad, 0o666); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		db, err := Open(ctx, path)
		if err != nil {
			return
		}
		defer db.Close()
		names, err := db.Names(ctx)
		if err != nil {
			return
		}
		for _, name := range names {
			_ = read(ctx, db, "SELECT * FROM "+name)
		}
	})
}

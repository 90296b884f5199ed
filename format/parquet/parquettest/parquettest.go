// Package parquettest asks DuckDB about Parquet files, for tests.
package parquettest

import (
	"encoding/json"
	"os/exec"
	"testing"
)

// DuckDB is a directory in which node finds DuckDB, and in which queries find files.
type DuckDB string

// Install installs DuckDB into a new directory, or skips the test.
func Install(t *testing.T) DuckDB {
	t.Helper()
	if testing.Short() {
		t.Skip("installing DuckDB takes a while")
	}
	dir := t.TempDir()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	c := exec.CommandContext(t.Context(), "npm", "install", "--no-audit", "--no-fund", "--prefix", dir, "@duckdb/node-api@1.5.6-r.1")
	if out, err := c.CombinedOutput(); err != nil {
		t.Skipf("installing DuckDB: %v: %s", err, out)
	}
	return DuckDB(dir)
}

// Query returns the first value of the first row of an answer.
func (d DuckDB) Query(t *testing.T, query string) any {
	t.Helper()
	c := exec.CommandContext(t.Context(), "node", "-e", `
const {DuckDBInstance} = require('@duckdb/node-api');
DuckDBInstance.create().then(i => i.connect()).then(c => c.runAndReadAll(process.argv[1])).then(r => console.log(JSON.stringify(r.getRows()[0][0])))
`, query)
	c.Dir = string(d)
	c.Stderr = t.Output()
	out, err := c.Output()
	var got any
	if err == nil {
		err = json.Unmarshal(out, &got)
	}
	if err != nil {
		t.Errorf("%s: %v", query, err)
	}
	return got
}

package calldb

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/xray"
)

// realLogs opens the logs of XRay in testdata.
func realLogs(t *testing.T) []calllog.Log {
	t.Helper()
	paths, err := filepath.Glob("../../../format/xray/testdata/logs/*.xray")
	if err != nil || len(paths) == 0 {
		t.Fatal("no logs", err)
	}
	var logs []calllog.Log
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		log, err := xray.Open(bytes.NewReader(data), int64(len(data)), filepath.Base(path))
		if err != nil {
			t.Fatal(err)
		}
		logs = append(logs, log)
	}
	return logs
}

func TestHalvesAgreeOnRealLogs(t *testing.T) {
	t.Parallel()
	logs := realLogs(t)
	for _, log := range logs {
		compareHalves(t, accounted(t, log))
	}
	compareHalves(t, accounted(t, logs...))
}

// sqlBlocks matches the text between ```sql and ```.
var sqlBlocks = regexp.MustCompile("(?ms)^```sql\n(.*?)^```$")

// TestPage runs the queries of docs/database.md, and compares the schema in docs/schema.md.
func TestPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/database.md")
	if err != nil {
		t.Fatal(err)
	}
	schema, err := os.ReadFile("../../../docs/schema.md")
	if err != nil {
		t.Fatal(err)
	}
	db := made(t, replayed(t, realLogs(t)...))
	blocks := append(sqlBlocks.FindAllSubmatch(page, -1), sqlBlocks.FindAllSubmatch(schema, -1)...)
	hasSchema := false
	for _, m := range blocks {
		text := string(m[1])
		if strings.Contains(text, "CREATE TABLE") {
			if hasSchema = true; text != Schema+LiveSchema {
				t.Error("docs/schema.md has another schema than schema.sql and live.sql")
			}
			continue
		}
		ask(t, db, text)
	}
	if !hasSchema || len(blocks) < 5 {
		t.Errorf("%d blocks, schema %v", len(blocks), hasSchema)
	}
	for _, name := range []string{"top_functions", "hot_stacks", "stack_paths", "slowest", "thread_activity", "callers", "callees"} {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/database.md does not mention %s", name)
		}
	}
}

// TestSQLiteReadsIt checks that the sqlite3 program, which may be some years old, reads the
// same from a saved database.
func TestSQLiteReadsIt(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("sqlite3"); err != nil {
		t.Skip(err)
	}
	db := made(t, accounted(t, realLogs(t)...))
	data, err := db.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "trace.db")
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	names, err := db.Names(t.Context())
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		query := "SELECT * FROM " + name
		out, err := exec.Command("sqlite3", "-readonly", "-separator", " ", "-nullvalue", "<nil>", path, query).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v: %s", query, err, out)
			continue
		}
		want := ""
		for _, row := range ask(t, db, query) {
			want += row + "\n"
		}
		if string(out) != want {
			t.Errorf("%s: sqlite3 says\n%s\nwant\n%s", query, out, want)
		}
	}
	if out, err := exec.Command("sqlite3", "-readonly", path, "PRAGMA integrity_check").CombinedOutput(); err != nil || string(out) != "ok\n" {
		t.Errorf("%s, %v", out, err)
	}
}

//go:build linux && amd64

package oracle

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var toBeHooked = regexp.MustCompile(`note: hooking ([0-9,]+) functions`)

// TestSQLiteDetours hooks every function of SQLite that can be hooked, in a program that was
// built without cairn, and compares the answers.
func TestSQLiteDetours(t *testing.T) {
	skipLong(t)
	t.Parallel()
	program := buildSQLite(t, "", "gcc", "-O2")
	args := append([]string{"spike", "--attach-by-preload", "--small", "0", "--dir", t.TempDir(), program}, sqliteArgs(t, allPhases)...)
	cmd := command(t, cairn, args...)
	var notes strings.Builder
	cmd.Stderr = &notes
	answer, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, notes.String())
	}
	checkAnswer(t, string(answer), sqliteAnswer(t))
	m := toBeHooked.FindStringSubmatch(notes.String())
	if m == nil {
		t.Fatalf("no note of what is hooked:\n%s", notes.String())
	}
	if n, _ := strconv.Atoi(strings.ReplaceAll(m[1], ",", "")); n < 1000 || strings.Contains(notes.String(), "nothing") {
		t.Errorf("%s", notes.String())
	}
}

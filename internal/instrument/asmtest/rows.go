package asmtest

import (
	"cmp"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// CheckRows compares the unwind rows at marks with those of the program without changes.
func CheckRows(t *testing.T, got, want map[string]string) {
	t.Helper()
	if len(want) < 1000 || len(got) != len(want) {
		t.Fatalf("%d instructions, were %d", len(got), len(want))
	}
	bad := 0
	for mark, row := range want {
		if got[mark] != row {
			if bad++; bad < 4 {
				t.Errorf("%s: %s, was %s", mark, got[mark], row)
			}
		}
	}
}

var fdeLine = regexp.MustCompile(`FDE .*pc=([0-9a-f]+)\.\.([0-9a-f]+)`)

// UnwindRow is a row of the unwind table, from an address on.
type UnwindRow struct {
	At  uint64
	Row string
}

// UnwindRows links text and returns the unwind row at each mark.
func UnwindRows(t *testing.T, dir string, text []byte) map[string]string {
	t.Helper()
	Write(t, filepath.Join(dir, "m.s"), text)
	Command(t, dir, "as", "-L", "--64", "-o", "m.o", "m.s")
	Command(t, dir, "ld", "-e", "0", "--unresolved-symbols=ignore-all", "-o", "m", "m.o")
	var rows []UnwindRow
	var names []string
	var end uint64
	for line := range strings.Lines(string(Command(t, dir, "readelf", "-wF", "m"))) {
		f := strings.Fields(line)
		switch m := fdeLine.FindStringSubmatch(line); {
		case m != nil:
			at, _ := strconv.ParseUint(m[1], 16, 64)
			end, _ = strconv.ParseUint(m[2], 16, 64)
			names = []string{"CFA", "ra"}
			rows = append(rows, UnwindRow{at, "CFA=rsp+8 ra=c-8 "}, UnwindRow{end, ""})
		case strings.Contains(line, " CIE "):
			names = nil
		case len(f) > 0 && f[0] == "LOC":
			names = f[1:]
		case names != nil && len(f) == len(names)+1 && len(f[0]) == 16:
			at, _ := strconv.ParseUint(f[0], 16, 64)
			var cols []string
			for i, v := range f[1:] {
				if v != "u" {
					cols = append(cols, names[i]+"="+v)
				}
			}
			slices.Sort(cols)
			rows = append(rows, UnwindRow{at, strings.Join(cols, " ") + " "})
		}
	}
	SortRows(rows)
	return Marked(t, dir, rows)
}

// SortRows sorts rows by address. An end gives way to the row that begins there; later rows
// of an address to none.
func SortRows(rows []UnwindRow) {
	slices.SortStableFunc(rows, func(a, b UnwindRow) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(min(len(a.Row), 1), min(len(b.Row), 1)))
	})
}

// Marked returns the row at each mark of the program m.
func Marked(t *testing.T, dir string, rows []UnwindRow) map[string]string {
	t.Helper()
	marks := map[string]string{}
	for line := range strings.Lines(string(Command(t, dir, "nm", "m"))) {
		f := strings.Fields(line)
		if len(f) != 3 || !strings.HasPrefix(f[2], ".LVLmark") {
			continue
		}
		at, _ := strconv.ParseUint(f[0], 16, 64)
		i, _ := slices.BinarySearchFunc(rows, at+1, func(r UnwindRow, at uint64) int { return cmp.Compare(r.At, at) })
		marks[f[2]] = ""
		if i > 0 {
			marks[f[2]] = rows[i-1].Row
		}
	}
	return marks
}

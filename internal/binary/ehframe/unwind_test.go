package ehframe

import (
	"bufio"
	"fmt"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/machine"
)

// interpreted reads what readelf says of frames: for each address the canonical frame
// address and where the frame pointer is, in its words.
func interpreted(t *testing.T, path string) map[uint64][2]string {
	t.Helper()
	// It complains of other sections at times.
	out, _ := exec.Command("readelf", "--debug-dump=frames-interp", "-W", path).Output()
	rows := map[uint64][2]string{}
	var columns []string
	zero := false
	s := bufio.NewScanner(strings.NewReader(string(out)))
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		f := strings.Fields(s.Text())
		switch {
		case strings.Contains(s.Text(), " FDE "):
			zero = strings.Contains(s.Text(), "pc=0000000000000000..")
			columns = nil
		case strings.Contains(s.Text(), " CIE "):
			zero = true
		case len(f) > 1 && f[0] == "LOC":
			columns = f
		case zero || len(columns) == 0 || len(f) < 2 || len(f) > len(columns):
		default:
			at, err := strconv.ParseUint(f[0], 16, 64)
			if err != nil {
				continue
			}
			if f[1] == "ZERO" { // terminator
				continue
			}
			row := [2]string{f[1], "u"}
			for i, c := range columns {
				if c == "rbp" && i < len(f) {
					row[1] = f[i]
				}
			}
			rows[at] = row
		}
	}
	return rows
}

// words says a row as readelf does.
func words(r Row) [2]string {
	out := [2]string{"exp", "u"}
	switch r.CFA {
	case CFAStack:
		out[0] = fmt.Sprintf("rsp%+d", r.Offset)
	case CFAFrame:
		out[0] = fmt.Sprintf("rbp%+d", r.Offset)
	}
	switch r.Frame {
	case FrameAtCFA:
		out[1] = fmt.Sprintf("c%+d", r.FrameOffset)
	case FrameAtFrame:
		out[1] = "exp"
	}
	return out
}

// TestRows compares rows with those that readelf prints.
func TestRows(t *testing.T) {
	t.Parallel()
	libs, _ := filepath.Glob("/usr/lib/*/libc.so.6")
	more, _ := filepath.Glob("/usr/lib/*/libstdc++.so.6")
	for _, path := range append(append(libs, more...), build(t, "g++"), build(t, "g++", "-fno-omit-frame-pointer", "-mavx2", "-O3")) {
		data, addr := section(t, path, ".eh_frame")
		rows, err := Rows(data, addr, machine.X86_64)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if !sort.SliceIsSorted(rows, func(i, j int) bool { return rows[i].PC < rows[j].PC }) {
			t.Fatalf("%s: rows are not in order", path)
		}
		same, unknown := 0, 0
		for at, want := range interpreted(t, path) {
			i := sort.Search(len(rows), func(i int) bool { return rows[i].PC > at }) - 1
			if i < 0 {
				t.Fatalf("%s: no row for %#x", path, at)
			}
			if rows[i].CFA == CFAUnknown {
				if strings.HasPrefix(want[0], "rsp+") || strings.HasPrefix(want[0], "rbp+") {
					t.Errorf("%s: %#x is not known, readelf has %v", path, at, want)
				}
				unknown++
				continue
			}
			if rows[i].CFA == CFASignal {
				continue // all is where the kernel puts it
			}
			if got := words(rows[i]); got != want {
				t.Errorf("%s: %#x: %v, readelf has %v", path, at, got, want)
			}
			same++
		}
		if same == 0 || unknown > same/20 {
			t.Errorf("%s: %d rows are as readelf's, %d are not known", path, same, unknown)
		}
	}
}

func FuzzRows(f *testing.F) {
	frames, at := section(f, build(f, "g++"), ".eh_frame")
	f.Add(frames, at)
	f.Add([]byte{}, uint64(0))
	f.Fuzz(func(t *testing.T, data []byte, addr uint64) {
		rows, _ := Rows(data, addr, machine.X86_64)
		for i := range rows {
			if i > 0 && rows[i].PC <= rows[i-1].PC {
				t.Fatalf("%+v behind %+v", rows[i], rows[i-1])
			}
		}
	})
}

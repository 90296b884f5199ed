//go:build cairn

package mark

import (
	"debug/elf"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/format/tracelog/tracelogtest"
)

// readLog reads the log of this process.
func readLog(t *testing.T) (*tracelog.Log, []*tracelog.Episode) {
	t.Helper()
	report.update()
	log := tracelogtest.Only(t, os.Getenv("CAIRN_DIR"))
	var list []*tracelog.Episode
	for e, err := range log.Episodes() {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	return log, list
}

// functionAt returns the function of a return address, from the symbols of the program.
func functionAt(t *testing.T, m *tracelog.Module, pc uint64) string {
	t.Helper()
	f, err := elf.Open(m.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Skip("the test has no symbols")
	}
	for _, s := range symbols {
		if at := pc - 1 - m.Bias; elf.ST_TYPE(s.Info) == elf.STT_FUNC && at >= s.Value && at < s.Value+s.Size {
			return short(s.Name)
		}
	}
	return "?"
}

// TestLog checks that a reader of the log and the program's file gets what was reported.
func TestLog(t *testing.T) {
	list := caught(t, 10*ms, "leaf ^middle ^level", func() {
		s := Section("level")
		defer s.End()
		s.Label("loader")
		s.Desc(func() string { return "level 3" })
		middle(20 * ms)
	})
	if got := peaks(list); got != "leaf ^middle ^level" {
		t.Fatalf("reported %s", got)
	}
	log, episodes := readLog(t)
	if len(log.Modules) != 1 || !log.Modules[0].Holds(uint64(list[0].Stack[0].PC)) {
		t.Fatalf("modules %+v", log.Modules)
	}
	m := &log.Modules[0]
	if name := filepath.Base(log.Name); !strings.HasPrefix(name, filepath.Base(m.Path)+".") ||
		len(m.BuildID) > 5 && !strings.Contains(name, "."+hex.EncodeToString(m.BuildID)[:12]+".") {
		t.Errorf("log %s of %s, build id %x", name, m.Path, m.BuildID)
	}
	e := episodes[len(episodes)-1]
	if e.Number != list[0].Number || len(e.Parents) != 2 || len(e.Stack) != len(list[0].Stack) {
		t.Fatalf("%+v", e)
	}
	if lo := uint64(list[0].Min); e.Peak.Lo != lo || e.Peak.Hi != uint64(list[0].Max) || e.Threshold != 10e6 {
		t.Errorf("peak %v, threshold %d", e.Peak, e.Threshold)
	}
	if d := int64(e.Time) - int64(log.Header.Monotonic); d < 0 || d > 600e9 {
		t.Errorf("%d ns after the start", d)
	}
	if got := functionAt(t, m, e.Stack[0].PC); got != "leaf" {
		t.Errorf("the peak is in %s", got)
	}
	for _, p := range e.Parents {
		found := false
		for i := range e.Stack {
			found = found || e.Stack[i].Timed() && e.Stack[i].SP == p.SP
		}
		if !found {
			t.Errorf("caller %+v is not on the stack", p)
		}
	}
	texts := map[tracelog.TextKind]string{}
	for _, text := range e.Texts {
		texts[text.Kind] = text.Text
	}
	if texts[tracelog.Description] != "level 3" || texts[tracelog.Section] != "level" {
		t.Errorf("texts %v", e.Texts)
	}
	name := ""
	for _, thread := range log.Threads {
		if thread.TID == e.TID {
			name = thread.Name
		}
	}
	if name != "loader" || log.Trailer == nil || log.Trailer.Threshold != 10e6 || log.Trailer.Episodes+report.snapshots != e.Number {
		t.Errorf("goroutine %q, trailer %+v", name, log.Trailer)
	}
}

// TestRate checks that of many spikes in a second some are written and all are counted, and
// that descriptions of the others are not formatted.
func TestRate(t *testing.T) {
	rate := report.rate
	defer func() { report.rate = rate }()
	report.rate = 10
	described, from := 0, time.Now()
	list := caught(t, 1, anything, func() {
		for range 200 {
			s := Section("often")
			s.Desc(func() string { described++; return "" })
			for from := now(); now()-from < int64(ms/2); {
			}
			s.End()
		}
	})
	log, _ := readLog(t)
	most := 40 + int(10*time.Since(from).Seconds()) // of the seconds before, too
	if len(list) > most || described != len(list) || most < 200 && log.Trailer.Limited == 0 {
		t.Errorf("%d reports, %d descriptions, %d left out", len(list), described, log.Trailer.Limited)
	}
	sum := uint64(0)
	for s, err := range log.Seen() {
		if err != nil {
			t.Fatal(err)
		}
		sum += s.Count
	}
	if sum != log.Trailer.Episodes {
		t.Errorf("%d spikes were seen, %d counted", sum, log.Trailer.Episodes)
	}
}

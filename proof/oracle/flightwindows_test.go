//go:build linux && amd64

package oracle

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/internal/shorttest"
)

const flightSource = "testdata/flight.c"

// spikesOf returns the spikes of a log by number.
func spikesOf(t *testing.T, file string) map[uint64]*tracelog.Episode {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	l, err := tracelog.Open(bytes.NewReader(data), int64(len(data)), file)
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[uint64]*tracelog.Episode)
	for _, e := range episodes(t, l) {
		out[e.Number] = e
	}
	return out
}

// stacksAround returns the calls around a spike by stack.
func stacksAround(t *testing.T, file string, spike uint64) map[string]uint64 {
	t.Helper()
	return parseFolded(t, output(t, command(t, cairn, "convert", "--format", "folded", "--by", "calls", "--spike", fmt.Sprint(spike), file)))
}

// holdsPlanted reports whether the planted call is in a window, with all it called.
func holdsPlanted(stacks map[string]uint64) bool {
	for stack, n := range stacks {
		if at, ok := strings.CutSuffix(stack, "planted"); ok && (at == "" || strings.HasSuffix(at, ";")) {
			return stacks[stack+";prepare"] == 100*n && stacks[stack+";prepare;stride"] == 200*n
		}
	}
	return false
}

// TestFlightWindows has more spikes than there is room for windows. It checks that the worst
// one has a window, and that the room is not exceeded. A host that stalls causes more spikes,
// so their number is not checked.
func TestFlightWindows(t *testing.T) {
	t.Parallel()
	for _, compiler := range shorttest.Rows(1, "gcc", "clang-22") {
		program := build(t, "spike --small 0 --flight", compiler, "-O2", flightSource, "-lpthread", "-ldl")
		_, logs := flightLogs(t, "threshold=15ms,flight=1MB,rate=100000", program, "windows", "30", "50", "40", "80", "60", "20", "90", "25")
		if len(logs) != 1 {
			t.Fatalf("%d logs", len(logs))
		}
		const most = 16
		w := openFlight(t, logs[0], tracelog.AllWindows)
		found, worst := spikesOf(t, logs[0]), uint64(0)
		for n, e := range found {
			if worst == 0 || e.Peak.Lo > found[worst].Peak.Lo {
				worst = n
			}
		}
		chunks, has, planted := int64(0), false, 0
		for i, th := range w.Threads() {
			n := w.Windows[i].Episode
			chunks += th.Bytes >> 16
			has = has || n == worst
			if found[n] == nil {
				t.Errorf("a window of spike %d, which is not there", n)
				continue
			}
			if to, end := w.Windows[i].To, found[n].Time; to > end+1_000_000 || end > to+1_000_000_000 {
				t.Errorf("a window ends at %d, its spike at %d", to, end)
			}
			if holdsPlanted(stacksAround(t, logs[0], n)) {
				planted++
			}
		}
		if chunks > 4*most || len(w.Windows) > most {
			t.Errorf("%d chunks in %d windows", chunks, len(w.Windows))
		}
		if !has || planted == 0 {
			t.Errorf("the worst has a window: %v; %d of %d windows have a planted call", has, planted, len(w.Windows))
		}
	}
}

// TestFlightElsewhere checks the window of a planted call in a child, in threads with small
// stacks, and in a library that is loaded.
func TestFlightElsewhere(t *testing.T) {
	t.Parallel()
	mode := "spike --small 0 --flight"
	program := build(t, mode, "gcc", "-O2", flightSource, "-lpthread", "-ldl")
	plain := build(t, "", "gcc", "-O2", flightSource, "-lpthread", "-ldl")
	library := build(t, mode, "gcc", "-O2", "-shared", "-fPIC", "-DLIBRARY", flightSource)
	for _, run := range []struct {
		argv []string
		logs int
	}{
		{[]string{program, "fork"}, 2},
		{[]string{program, "threads", "64"}, 1},
		{[]string{program, "load", library}, 1},
		{[]string{plain, "load", library}, 1},
		{[]string{build(t, "spike --small 0", "gcc", "-O2", flightSource, "-lpthread", "-ldl"), "load", library}, 1},
	} {
		t.Run(filepath.Base(filepath.Dir(run.argv[0]))+" "+run.argv[1], func(t *testing.T) {
			t.Parallel()
			_, logs := flightLogs(t, "threshold=15ms,rate=100000", run.argv[0], run.argv[1:]...)
			if len(logs) != run.logs {
				t.Fatalf("%d logs, want %d", len(logs), run.logs)
			}
			found := 0
			for _, file := range logs {
				for _, w := range openFlight(t, file, tracelog.AllWindows).Windows {
					if holdsPlanted(stacksAround(t, file, w.Episode)) {
						found++
					}
				}
			}
			if found == 0 {
				t.Error("no window has a planted call")
			}
		})
	}
}

// TestFlightCloses checks that a program that closes the log's file, and opens its own in its
// place, finds that as it wrote it.
func TestFlightCloses(t *testing.T) {
	t.Parallel()
	program := build(t, "spike --small 0 --flight", "gcc", "-O2", flightSource, "-lpthread", "-ldl")
	file := filepath.Join(t.TempDir(), "file")
	cmd := command(t, program, "closes", file)
	cmd.Env = append(cmd.Env, "CAIRN_DIR="+t.TempDir(), "CAIRN_SPIKE=threshold=15ms")
	output(t, cmd)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if n := 400 * 4096; len(data) != n || bytes.Count(data, []byte("x")) != n {
		t.Errorf("%d bytes, %d as they were written, %d were", len(data), bytes.Count(data, []byte("x")), n)
	}
}

// TestFlightSQLite checks that a recorded program gives the same answers.
func TestFlightSQLite(t *testing.T) {
	skipLong(t)
	t.Parallel()
	program := buildSQLite(t, "spike --small 0 --flight", "gcc", "-O2")
	cmd := command(t, program, sqliteArgs(t, allPhases)...)
	cmd.Env = append(cmd.Env, "CAIRN_DIR="+t.TempDir(), "CAIRN_SPIKE=threshold=1ms,flight=1MB")
	checkAnswer(t, output(t, cmd), sqliteAnswer(t))
}

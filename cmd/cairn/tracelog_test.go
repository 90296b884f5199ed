package main

import (
	"os"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/xray/xraytest"
)

// makeTraceLog is the script command tracelog, that makes an XRay log: tracelog OUT TEXT.
// Each line of TEXT is one of
//
//	basic 3 | fdr 5         kind and version, if it comes first; else basic 3
//	hz 2600000000           the rate, before any event; 1 GHz otherwise
//	thread PROCESS THREAD   whose the next lines are; 1 1 otherwise
//	TIME enter|exit|tail FUNCTION
//	TIME enter FUNCTION ARGUMENT...
//	TIME custom TEXT
//	TIME typed TYPE TEXT
//
// Blank lines and those that begin with # are left out; leading blanks too, so
// that calls can be indented.
func makeTraceLog(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: tracelog OUT TEXT")
	}
	w := &logWriter{ts: ts, b: xraytest.New(xraytest.Format{Version: 3}), threads: map[string]*xraytest.Thread{}}
	line := 0
	for text := range strings.Lines(ts.ReadFile(args[1])) {
		line++
		w.where = args[1] + ":" + strconv.Itoa(line)
		if words := strings.Fields(text); len(words) > 0 && words[0][0] != '#' {
			w.line(append(words, "", "")[:max(len(words), 3)])
		}
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), w.b.Bytes(), 0o666))
}

// makeLongLog is the script command longlog, that makes a log of the flight data recorder
// of two threads with nested calls, 100 ns apart: longlog OUT CALLS.
func makeLongLog(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: longlog OUT CALLS")
	}
	calls, err := strconv.Atoi(args[1])
	ts.Check(err)
	b := xraytest.New(xraytest.Format{FDR: true, Version: 5})
	threads := []*xraytest.Thread{b.Thread(1, 7), b.Thread(1, 8)}
	var open [2][]calllog.FuncID
	for i := range uint64(calls) {
		n := i / 3 % 2
		for len(open[n]) > int(i%17)+1 {
			last := len(open[n]) - 1
			threads[n].Exit(open[n][last], 1000+100*i)
			open[n] = open[n][:last]
		}
		open[n] = append(open[n], calllog.FuncID(1+i%29))
		threads[n].Enter(open[n][len(open[n])-1], 1050+100*i)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b.Bytes(), 0o666))
}

// A logWriter makes a log line by line.
type logWriter struct {
	ts      *testscript.TestScript
	where   string // the line, for messages
	b       *xraytest.Builder
	threads map[string]*xraytest.Thread
	thread  *xraytest.Thread // whose lines these are
}

func (w *logWriter) number(s string) uint64 {
	n, err := strconv.ParseUint(s, 0, 64)
	if err != nil {
		w.ts.Fatalf("%s: %v", w.where, err)
	}
	return n
}

// use goes on with a thread.
func (w *logWriter) use(pid, tid string) {
	key := pid + " " + tid
	if w.threads[key] == nil {
		w.threads[key] = w.b.Thread(uint32(w.number(pid)), uint32(w.number(tid)))
	}
	w.thread = w.threads[key]
}

// line takes the words of a line, three at least.
func (w *logWriter) line(words []string) {
	switch words[0] {
	case "basic", "fdr":
		w.b = xraytest.New(xraytest.Format{FDR: words[0] == "fdr", Version: int(w.number(words[1]))})
	case "hz":
		w.b.Hz, w.b.WallHz = w.number(words[1]), w.number(words[1])
	case "thread":
		w.use(words[1], words[2])
	default:
		if w.thread == nil {
			w.use("1", "1")
		}
		w.event(w.number(words[0]), words[1], words[2], words[3:])
	}
}

func (w *logWriter) event(when uint64, kind, what string, rest []string) {
	fn := func() calllog.FuncID { return calllog.FuncID(w.number(what)) }
	switch kind {
	case "enter":
		if len(rest) == 0 {
			w.thread.Enter(fn(), when)
			return
		}
		values := make([]uint64, len(rest))
		for i := range rest {
			values[i] = w.number(rest[i])
		}
		w.thread.EnterArgs(fn(), when, values...)
	case "exit":
		w.thread.Exit(fn(), when)
	case "tail":
		w.thread.TailExit(fn(), when)
	case "custom":
		w.thread.Custom(when, []byte(strings.Join(append([]string{what}, rest...), " ")))
	case "typed":
		w.thread.Typed(when, uint16(w.number(what)), []byte(strings.Join(rest, " ")))
	default:
		w.ts.Fatalf("%s: %q is no event", w.where, kind)
	}
}

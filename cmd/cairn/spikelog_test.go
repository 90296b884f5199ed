package main

import (
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/format/tracelog/tracelogtest"
	"github.com/cairnprof/cairn/internal/binary/objfile"
)

// spikelog is the script command that makes a log of spikes: spikelog OUT TEXT.
// Each line of TEXT is one of
//
//	program FILE [PATH]           what was run, and the path that the log has for it
//	thread ID NAME
//	trailer final|running         threshold 10 ms, clock every 1.25 ms
//	stall FROM TO
//	episode THREAD NUMBER END LO HI
//	stack SYMBOL LO HI            a call of the episode, the peak first; LO 0: no times
//	child SYMBOL LO HI
//	parent SYMBOL LO HI AFTER     the end of a call of the stack, after that of the peak
//	desc|msg TEXT                 of the peak
//	seen EPISODE COUNT WORST
//
// Times are milliseconds. Blank lines and those that begin with # are left out.
func spikelog(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: spikelog OUT TEXT")
	}
	w := &spikeWriter{ts: ts, log: tracelogtest.New(tracelog.Header{PID: 42, Realtime: 1e18, Mode: 7})}
	line := 0
	for text := range strings.Lines(ts.ReadFile(args[1])) {
		line++
		w.where = args[1] + ":" + strconv.Itoa(line)
		if words := strings.Fields(text); len(words) > 0 && words[0][0] != '#' {
			w.line(append(words, make([]string, 6)...))
		}
	}
	w.flush()
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), w.log.Bytes(), 0o666))
}

// spikeWriter makes a log line by line.
type spikeWriter struct {
	ts      *testscript.TestScript
	where   string
	log     *tracelogtest.Writer
	symbols map[string]objfile.Symbol
	episode *tracelog.Episode // not written yet
}

// spikeBias is where programs are in memory.
const spikeBias = 0x5555_5555_4000

func (w *spikeWriter) flush() {
	if w.episode != nil {
		w.log.Episode(w.episode)
	}
	w.episode = nil
}

func (w *spikeWriter) number(s string) uint64 {
	n, err := strconv.ParseUint(s, 0, 64)
	if err != nil {
		w.ts.Fatalf("%s: %v", w.where, err)
	}
	return n
}

// time is a number of milliseconds in nanoseconds.
func (w *spikeWriter) time(s string) uint64 {
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		w.ts.Fatalf("%s: %v", w.where, err)
	}
	return uint64(x * 1e6)
}

// address is one in the middle of a function, or what is no symbol's.
func (w *spikeWriter) address(symbol string) uint64 {
	if s, ok := w.symbols[symbol]; ok {
		return spikeBias + s.Addr + s.Size/2
	}
	return w.number(symbol)
}

func (w *spikeWriter) between(lo, hi string) tracelog.Interval {
	return tracelog.Interval{Lo: w.time(lo), Hi: w.time(hi)}
}

func (w *spikeWriter) program(file, path string) {
	f, err := objfile.Open(w.ts.MkAbs(file))
	w.ts.Check(err)
	defer f.Close()
	list, err := f.FuncSymbols()
	w.ts.Check(err)
	w.symbols = make(map[string]objfile.Symbol)
	end := uint64(0)
	for _, s := range list {
		w.symbols[s.Name] = s
		end = max(end, s.Addr+s.Size)
	}
	id, err := f.BuildID()
	w.ts.Check(err)
	if path == "" {
		path = w.ts.MkAbs(file)
	}
	w.log.Module(&tracelog.Module{Bias: spikeBias, Start: spikeBias, End: spikeBias + end, BuildID: []byte(id), Path: path, Main: true, Instrumented: true})
}

// line takes the words of a line and some empty ones.
func (w *spikeWriter) line(a []string) {
	text := strings.TrimSpace(strings.Join(a[1:], " "))
	e := w.episode
	switch a[0] {
	case "program", "thread", "trailer", "stall", "episode", "seen":
		w.flush()
	default:
		if e == nil {
			w.ts.Fatalf("%s: no episode", w.where)
		}
	}
	switch a[0] {
	case "program":
		w.program(a[1], a[2])
	case "thread":
		w.log.Thread(tracelog.Thread{TID: uint32(w.number(a[1])), Name: a[2]})
	case "trailer":
		w.log.Trailer(&tracelog.Trailer{Time: 60e9, Threshold: 10e6, Period: 1250e3, Ticks: 48000, Final: a[1] == "final", Borderline: 4})
	case "stall":
		w.log.Stall(tracelog.Stall{From: w.time(a[1]), To: w.time(a[2])})
	case "episode":
		w.episode = &tracelog.Episode{TID: uint32(w.number(a[1])), Number: w.number(a[2]), Time: w.time(a[3]), Peak: w.between(a[4], a[5]), Threshold: 10e6}
	case "stack":
		x := tracelog.Entry{PC: w.address(a[1]), SP: uint32(0x1000 + 16*len(e.Stack)), Flags: tracelog.NoStamp}
		if a[2] != "0" {
			x.Time, x.Flags = w.between(a[2], a[3]), 0
		}
		e.Stack = append(e.Stack, x)
	case "child":
		e.Children = append(e.Children, tracelog.Entry{PC: w.address(a[1]), Time: w.between(a[2], a[3])})
	case "parent":
		p := tracelog.Parent{PC: w.address(a[1]), Time: w.between(a[2], a[3]), Ended: e.Time + w.time(a[4]), Threshold: 10e6}
		for i := range e.Stack {
			if e.Stack[i].PC == p.PC {
				p.SP = e.Stack[i].SP
			}
		}
		e.Parents = append(e.Parents, p)
	case "desc":
		e.Texts = append(e.Texts, tracelog.Text{Kind: tracelog.Description, SP: e.Stack[0].SP, Text: text})
	case "msg":
		e.Texts = append(e.Texts, tracelog.Text{Kind: tracelog.Message, SP: e.Stack[0].SP, Text: text})
	case "seen":
		w.log.Seen(&tracelog.Seen{PC: 1, Episode: w.number(a[1]), Count: w.number(a[2]), Worst: w.time(a[3])})
	default:
		w.ts.Fatalf("%s: what is %q?", w.where, a[0])
	}
}

// holds is the script command that compares what a program says of its calls
// with what is reported of them: holds TRUTH JSON. TRUTH has the milliseconds
// of each call of the only caller of peaks. Those are inside the caller, which
// is a little longer than it can tell.
func holds(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: holds TRUTH JSON")
	}
	const surely, threshold = 12.5, 10 // ms
	var truth []float64
	for _, word := range strings.Fields(ts.ReadFile(args[0])) {
		x, err := strconv.ParseFloat(word, 64)
		ts.Check(err)
		truth = append(truth, x)
	}
	found := make([]bool, len(truth))
	for text := range strings.Lines(ts.ReadFile(args[1])) {
		var o struct {
			Interval []float64 `json:"interval_ns"`
			Parents  []struct {
				Interval []float64 `json:"interval_ns"`
			} `json:"parents"`
		}
		ts.Check(json.Unmarshal([]byte(text), &o))
		if len(o.Interval) == 0 {
			continue
		}
		if o.Interval[0] < threshold*1e6 {
			ts.Fatalf("no spike: %s", text)
		}
		if len(o.Parents) == 0 {
			continue // main, which had to wait for a processor between its calls
		}
		lo, hi := o.Interval[0]/1e6, o.Parents[0].Interval[1]/1e6
		i := slices.IndexFunc(truth, func(x float64) bool { return lo <= x && x <= hi })
		if i < 0 {
			ts.Fatalf("no call took %v to %v ms: %v", lo, hi, truth)
		}
		// Calls of like length are all the same to us.
		for k, x := range truth {
			if lo <= x && x <= hi && !found[k] {
				found[k] = true
				break
			}
		}
	}
	for i, x := range truth {
		if x >= surely && !found[i] {
			ts.Fatalf("a call of %v ms is not reported: %v", x, truth)
		}
	}
}

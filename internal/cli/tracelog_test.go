package cli

import (
	"os"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/cairnprof/cairn/format/xray/xraytest"
	"github.com/cairnprof/cairn/trace"
)

// tracelog is the script command that makes an XRay log: tracelog OUT TEXT.
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
func tracelog(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: tracelog OUT TEXT")
	}
	b := xraytest.New(xraytest.Format{Version: 3})
	threads := map[string]*xraytest.Thread{}
	var thread *xraytest.Thread
	line := 0
	number := func(s string) uint64 {
		n, err := strconv.ParseUint(s, 0, 64)
		if err != nil {
			ts.Fatalf("%s:%d: %v", args[1], line, err)
		}
		return n
	}
	use := func(pid, tid string) {
		if key := pid + " " + tid; threads[key] == nil {
			threads[key] = b.Thread(uint32(number(pid)), uint32(number(tid)))
		}
		thread = threads[pid+" "+tid]
	}
	for text := range strings.Lines(ts.ReadFile(args[1])) {
		line++
		words := strings.Fields(text)
		if len(words) == 0 || words[0][0] == '#' {
			continue
		}
		words = append(words, "", "")[:max(len(words), 3)]
		switch words[0] {
		case "basic", "fdr":
			b = xraytest.New(xraytest.Format{FDR: words[0] == "fdr", Version: int(number(words[1]))})
			continue
		case "hz":
			b.Hz, b.WallHz = number(words[1]), number(words[1])
			continue
		case "thread":
			use(words[1], words[2])
			continue
		}
		if thread == nil {
			use("1", "1")
		}
		when := number(words[0])
		switch words[1] {
		case "enter":
			var values []uint64
			for _, w := range words[3:] {
				values = append(values, number(w))
			}
			if fn := trace.FuncID(number(words[2])); values != nil {
				thread.EnterArgs(fn, when, values...)
			} else {
				thread.Enter(fn, when)
			}
		case "exit":
			thread.Exit(trace.FuncID(number(words[2])), when)
		case "tail":
			thread.TailExit(trace.FuncID(number(words[2])), when)
		case "custom":
			thread.Custom(when, []byte(strings.Join(words[2:], " ")))
		case "typed":
			thread.Typed(when, uint16(number(words[2])), []byte(strings.Join(words[3:], " ")))
		default:
			ts.Fatalf("%s:%d: %q is no event", args[1], line, words[1])
		}
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b.Bytes(), 0o666))
}

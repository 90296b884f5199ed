package logset

import (
	"strings"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/tracelog"
)

// uncertainSuffix marks a function below one that may not have called it.
const uncertainSuffix = " [uncertain]"

// addUncertain names the functions of calls in windows whose caller is not certain: they have
// other numbers, so that every view of functions shows the mark.
func (t *Set) addUncertain(funcs calllog.Funcs) {
	marked := make(calllog.Funcs)
	for _, log := range t.Logs {
		if !isWindows(log) {
			continue
		}
		for id, fn := range funcs {
			if twin, ok := tracelog.Uncertain(id); ok {
				t.Shown[twin] = t.Names.Show(funcs.Name(id)) + uncertainSuffix
				t.Unmarked[twin] = id
				fn.Name += uncertainSuffix
				marked[twin] = fn
			}
		}
		break
	}
	for id, fn := range marked {
		funcs[id] = fn
	}
}

// isWindows reports whether a log has the calls around spikes.
func isWindows(log calllog.Log) bool {
	for {
		switch l := log.(type) {
		case *tracelog.Windows:
			return true
		case interface{ Unwrap() calllog.Log }:
			log = l.Unwrap()
		default:
			return false
		}
	}
}

// unsuffixed is the symbol of a function whose caller may not be certain.
func unsuffixed(symbol string) string { return strings.TrimSuffix(symbol, uncertainSuffix) }

package stacktext

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/sample"
)

// A call tree that was copied from Instruments (Edit > Deep Copy) has columns separated by tabs, under their names. The
// last one is the function, indented by its depth:
//
//	Weight	Self Weight		Symbol Name
//	4.93 s  100.0%	0 s	 	start
//	4.93 s  99.9%	5.00 ms	 	 main
//
// The weight is a time, cycles or bytes. Old versions have the own time in milliseconds, "Self (ms)", and trees of
// allocations have none: then it is the difference to the callees.
type instruments struct {
	callTree

	columns int  // before that of the function
	own     int  // column of what a function spent itself, -1 if there is none
	millis  bool // its numbers are milliseconds
	base    int  // indentation of the first row, -1 before it
	text    interned
}

func readInstruments(in *lines) Stacks {
	return func(yield func(*sample.NamedStack, error) bool) {
		t := instruments{callTree: callTree{sink: sink{yield: yield}, in: in}, columns: -1, base: -1}
		for !t.done {
			line, ok := in.next()
			if !ok {
				break
			}
			switch {
			case in.cut:
				t.error(in.damage(longLine))
			case len(bytes.TrimSpace(line)) == 0:
			case t.columns < 0:
				t.head(line)
			default:
				t.row(line)
			}
		}
		t.cut(0)
		if in.err != nil {
			t.error(in.err)
		}
	}
}

// isInstrumentsHead reports whether a line names the columns of a call tree.
func isInstrumentsHead(line []byte) bool {
	columns := bytes.Split(bytes.TrimSpace(line), []byte("\t"))
	return len(columns) > 1 && bytes.HasPrefix(columns[len(columns)-1], []byte("Symbol Name"))
}

func (t *instruments) head(line []byte) {
	if !isInstrumentsHead(line) {
		t.error(t.in.damage(badLine))
		return
	}
	columns := strings.Split(strings.TrimSpace(string(line)), "\t")
	t.columns, t.own = len(columns)-1, -1
	for i, name := range columns {
		if strings.HasPrefix(name, "Self") {
			t.own, t.millis = i, strings.Contains(name, "(ms)")
		}
	}
}

func (t *instruments) row(line []byte) {
	columns := bytes.SplitN(line, []byte("\t"), t.columns+1)
	if len(columns) <= t.columns {
		t.error(t.in.damage(badLine))
		return
	}
	value, unit, ok := weight(firstWeight(string(columns[0])), false)
	if !ok {
		t.error(t.in.damage(badValue))
		return
	}
	n := node{value: value}
	if t.own >= 0 {
		if n.own, _, n.hasOwn = weight(string(columns[t.own]), t.millis); !n.hasOwn {
			t.error(t.in.damage(badValue))
			return
		}
	}
	if t.unit == "" {
		t.unit = unit
	}
	name := columns[t.columns]
	margin := indent(name)
	if t.base < 0 {
		t.base = margin
	}
	if name = bytes.TrimSpace(name); len(name) == 0 {
		t.error(t.in.damage(badLine))
		return
	}
	n.frame.Name = t.text.of(name)
	t.add(max(margin-t.base, 0), n)
}

// firstWeight returns the weight in a column that has its share of the whole, too: "4.93 s  100.0%".
func firstWeight(s string) string {
	s = strings.TrimSpace(s)
	if strings.HasSuffix(s, "%") {
		s = s[:max(strings.LastIndexAny(s, " \u2007"), 0)]
		s = strings.Trim(s, " \u2007")
	}
	return s
}

// units are the suffixes of weights.
var units = map[string]struct {
	factor float64
	unit   string
}{
	"ns": {1, sample.Nanoseconds}, "µs": {1e3, sample.Nanoseconds}, "us": {1e3, sample.Nanoseconds}, "ms": {1e6, sample.Nanoseconds},
	"s": {1e9, sample.Nanoseconds}, "min": {60e9, sample.Nanoseconds}, "h": {3600e9, sample.Nanoseconds},
	"c": {1, "cycles"}, "cycles": {1, "cycles"}, "Kc": {1e3, "cycles"}, "kc": {1e3, "cycles"}, "Mc": {1e6, "cycles"}, "Gc": {1e9, "cycles"}, "Tc": {1e12, "cycles"},
	"B": {1, "bytes"}, "Bytes": {1, "bytes"}, "KB": {1 << 10, "bytes"}, "MB": {1 << 20, "bytes"}, "GB": {1 << 30, "bytes"},
	"K": {1 << 10, "bytes"}, "KiB": {1 << 10, "bytes"}, "MiB": {1 << 20, "bytes"}, "GiB": {1 << 30, "bytes"},
}

// weight parses "846.00 ms", "4273.0ms", "-" for 0, and numbers without a unit, which are milliseconds or samples.
func weight(s string, millis bool) (v uint64, unit string, ok bool) {
	s = strings.TrimSpace(strings.ReplaceAll(s, ",", ""))
	if s == "-" {
		return 0, "", true
	}
	end := strings.IndexFunc(s, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	suffix := ""
	if end >= 0 {
		s, suffix = s[:end], strings.Trim(s[end:], " \u2007\u00a0")
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, "", false
	}
	factor := 1.0
	unit = sample.Samples
	if u, known := units[suffix]; known {
		factor, unit = u.factor, u.unit
	} else if suffix != "" {
		return 0, "", false
	} else if millis {
		factor, unit = 1e6, sample.Nanoseconds
	}
	if x *= factor; x < 0 || x >= 1<<62 {
		return 0, "", false
	}
	return uint64(math.Round(x)), unit, true
}

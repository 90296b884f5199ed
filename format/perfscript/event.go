package perfscript

import (
	"bytes"
	"strings"

	"github.com/cairnprof/cairn/sample"
)

// event parses the text after PERF_RECORD_.
func (p *parser) event(s []byte) {
	name, rest := s, []byte(nil)
	if i := bytes.IndexAny(s, " :("); i >= 0 {
		name, rest = s[:i], s[i:]
	}
	var e sample.Event
	ok := false
	switch string(name) {
	case "MMAP", "MMAP2":
		e, ok = parseMap(rest)
	case "COMM":
		e, ok = parseComm(rest)
	case "FORK":
		e, ok = parseTask(rest, sample.Fork)
	case "EXIT":
		e, ok = parseTask(rest, sample.Exit)
	case "LOST", "LOST_SAMPLES":
		p.lost(rest)
		return
	default:
		return // of switches, of the kernel, of the tracer itself
	}
	if !ok {
		p.bad(badEvent)
		return
	}
	if len(p.batch.Samples) > 0 { // events precede all samples of a batch
		p.block.batches = append(p.block.batches, p.batch)
		p.batch = sample.NewBatch()
	}
	p.batch.Events = append(p.batch.Events, e)
	if p.mapped != nil {
		p.mapped.add(&e)
	}
}

// lost reads " lost 12".
func (p *parser) lost(s []byte) {
	number := bytes.TrimSpace(s[bytes.LastIndexByte(s, ' ')+1:])
	const most = 18 // digits
	if !isDecimal(number) || len(number) > most {
		p.bad(badEvent)
		return
	}
	n := uint64(0)
	for _, c := range number {
		n = n*10 + uint64(c-'0')
	}
	p.stats.Lost += n
}

// parseMap reads
//
//	" 71/71: [0x401000(0x1000) @ 0x1000 fe:00 543 0]: r-xp /bin/prog"
//
// where the offset may be a bare 0, and anything may follow it, such as a build id
// in angle brackets.
func parseMap(s []byte) (e sample.Event, ok bool) {
	ids, rest, ok1 := strings.Cut(strings.TrimLeft(string(s), " "), ": [")
	place, rest, ok2 := strings.Cut(rest, "]: ")
	perms, path, ok3 := strings.Cut(rest, " ")
	start, place, ok4 := strings.Cut(place, "(")
	size, place, ok5 := strings.Cut(place, ") @ ")
	offset, file, _ := strings.Cut(place, " ")
	e.Kind = sample.Map
	m := &e.Mapping
	var ok6, ok7, ok8, ok9 bool
	e.PID, e.TID, ok6 = parseIDs([]byte(ids))
	m.Start, ok7 = number(start)
	m.Size, ok8 = number(size)
	m.Offset, ok9 = number(offset)
	m.Path = path
	m.Exec = strings.Contains(perms, "x")
	if id, found := strings.CutPrefix(file, "<"); found {
		m.BuildID = strings.TrimSuffix(id, ">")
	}
	return e, ok1 && ok2 && ok3 && ok4 && ok5 && ok6 && ok7 && ok8 && ok9 && path != ""
}

// number reads a hexadecimal number with 0x, or 0.
func number(s string) (uint64, bool) {
	if s == "0" {
		return 0, true
	}
	v, n := prefixedHex([]byte(s))
	return v, n > 0 && n == len(s)
}

// parseComm reads ": prog name:71/72" or " exec: prog name:71/72".
func parseComm(s []byte) (e sample.Event, ok bool) {
	rest, exec := bytes.CutPrefix(s, []byte(" exec"))
	rest, ok1 := bytes.CutPrefix(rest, []byte(": "))
	i := bytes.LastIndexByte(rest, ':')
	if !ok1 || i < 0 {
		return e, false
	}
	e.Kind = sample.Comm
	if exec {
		e.Kind = sample.Exec
	}
	e.Name = string(rest[:i])
	e.PID, e.TID, ok = parseIDs(bytes.TrimSpace(rest[i+1:]))
	return e, ok
}

// parseTask reads "(71:72):(70:70)": the process and thread, and those that began
// it.
func parseTask(s []byte, kind sample.EventKind) (e sample.Event, ok bool) {
	self, parent, ok1 := strings.Cut(strings.TrimSpace(string(s)), "):(")
	self, ok2 := strings.CutPrefix(self, "(")
	parent, ok3 := strings.CutSuffix(parent, ")")
	e.Kind = kind
	var ok4, ok5 bool
	e.PID, e.TID, ok4 = parseIDs([]byte(strings.Replace(self, ":", "/", 1)))
	e.Parent, _, ok5 = parseIDs([]byte(strings.Replace(parent, ":", "/", 1)))
	return e, ok1 && ok2 && ok3 && ok4 && ok5
}

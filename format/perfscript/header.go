package perfscript

import (
	"bytes"
	"strconv"

	"github.com/cairnprof/cairn/sample"
)

// Header is the line before a sample:
//
//	prog name 71/72 [003] 34438.334131:     1001001 cycles:u:
//
// Which fields it has depends on -F of perf script. Slices are parts of the line.
type Header struct {
	Command  []byte // may be anything, with blanks, nil if it is not printed
	PID, TID int32  // sample.UnknownPID if it is not printed
	Period   uint64 // of the event, 0 if it is not printed
	Event    []byte // without the colon, nil if it is not printed
	// Rest is what follows: the address and symbol of a sample without a stack, a cgroup, the text of a tracepoint.
	Rest []byte
}

// ParseHeader parses the line before a sample. It must have PID/TID, a number before the processor, the time, or the
// event, or the time alone; or, as perf prints samples without stacks, an address in its column.
func ParseHeader(line []byte) (Header, bool) {
	h := Header{PID: sample.UnknownPID, TID: sample.UnknownPID}
	fields := words(line)
	flat := flatAddress(line, fields)
	for i, f := range fields {
		after := fields[i+1:]
		next := len(after) == 0 || isCPU(after[0]) || isTime(after[0])
		switch {
		case isTime(f):
			h.after(line, fields, i, i)
			return h, true
		case f[0] > '9':
			continue // no number: the usual case of a word of the command
		case flat > 0 && i >= flat:
			continue // an address, which may have decimal digits only, or a symbol
		}
		if pid, tid, ok := parseIDs(f); ok && (next || !hasTime(after)) {
			h.PID, h.TID = pid, tid
		} else if tid, ok := parseID(f); ok && (next || flat == i+1 || i > 0 && isEventOnly(after)) {
			// perf prints -F pid and -F tid alike, so it is unknown whose number this is; mostly it is that of the
			// thread.
			h.TID = tid
		} else {
			continue
		}
		h.after(line, fields, i, i+1)
		return h, true
	}
	if flat > 0 { // a command alone is before it
		h.after(line, fields, flat, flat)
		return h, true
	}
	return h, false
}

// column is the number of characters in which perf prints an address, aligned to the right.
const column = 16

// flatAddress returns which word of a line is the address of a sample without a stack, 0 if none is. perf prints it in a
// column of its own, with a blank before it and another after the field before, which is padded if it is PID/TID:
//
//	prog   71      7f00000b24e0 read
//
// Stacks are indented by a tab.
func flatAddress(line []byte, fields [][]byte) int {
	const padding = 7
	for i := len(fields) - 1; i > 0; i-- {
		word := fields[i]
		if _, n := hex(word); n != len(word) {
			continue
		}
		before := fields[i-1]
		gap := offset(line, word) + len(word) - offset(line, before) - len(before) - column - 2
		if gap == 0 || gap > 0 && gap < padding && bytes.IndexByte(before, '/') > 0 {
			return i
		}
	}
	return 0
}

// FlatOnly reports whether a text is of samples without stacks and with no field before the address but that of data
// (-F ip,sym and -F addr,ip,sym): all its lines are addresses in their column. Stacks are indented by a tab, and end with
// a blank line.
func FlatOnly(text []byte) bool {
	found := 0
	for line := range bytes.Lines(text) {
		if line[len(line)-1] != '\n' {
			break // it may be cut off
		}
		if bytes.HasPrefix(line, []byte("#")) || bytes.Contains(line, recordMark) {
			continue
		}
		if !isFlat(WithoutData(line)) || hasBranches(line) {
			return false
		}
		found++
	}
	return found > 1
}

// WithoutData returns a line of a text that is FlatOnly without the address of data.
func WithoutData(line []byte) []byte {
	if len(line) > column && !isFlat(line) && isFlat(line[column:]) && isAddress(line[:column]) {
		return line[column:]
	}
	return line
}

// isFlat reports whether a line begins with an address in its column, after a blank.
func isFlat(line []byte) bool {
	if len(line) < column+2 || line[0] != ' ' || !isSpace(line[column+1]) {
		return false
	}
	return isAddress(line[1 : column+1])
}

// isAddress reports whether the text of a column is an address, aligned to the right.
func isAddress(text []byte) bool {
	word := bytes.TrimLeft(text, " ")
	_, n := hex(word)
	return n > 0 && n == len(word)
}

// after parses the fields from the first on, which is after the ids. The command is before field end.
func (h *Header) after(line []byte, fields [][]byte, end, first int) {
	if end > 0 {
		h.Command = line[offset(line, fields[0]) : offset(line, fields[end-1])+len(fields[end-1])]
	}
	rest := fields[first:]
	if len(rest) > 0 && isCPU(rest[0]) {
		rest = rest[1:]
	}
	if len(rest) > 1 && !isTime(rest[0]) && isTime(rest[1]) {
		rest = rest[1:] // -F misc: flags
	}
	if len(rest) > 0 && isTime(rest[0]) {
		rest = rest[1:]
	}
	const digits = 19
	if len(rest) > 1 && isDecimal(rest[0]) && len(rest[0]) <= digits && isEvent(rest[1]) {
		h.Period, _ = strconv.ParseUint(string(rest[0]), 10, 64)
		rest = rest[1:]
	}
	if len(rest) > 0 && isEvent(rest[0]) {
		h.Event = rest[0][:len(rest[0])-1]
		rest = rest[1:]
	}
	if len(rest) > 0 {
		h.Rest = line[offset(line, rest[0]):]
	}
}

// words returns the words of a line, at most the first 40: more than any header has.
func words(line []byte) [][]byte {
	const most = 40
	list := make([][]byte, 0, 12)
	for i := 0; i < len(line) && len(list) < most; {
		if isSpace(line[i]) {
			i++
			continue
		}
		start := i
		for i < len(line) && !isSpace(line[i]) {
			i++
		}
		list = append(list, line[start:i])
	}
	return list
}

func isSpace(c byte) bool { return c == ' ' || c-'\t' < 5 }

// offset returns where a word of a line begins.
func offset(line, word []byte) int { return cap(line) - cap(word) }

// isEvent reports whether a word is the name of an event, with its colon.
func isEvent(f []byte) bool { return len(f) > 1 && f[len(f)-1] == ':' }

// isEventOnly reports whether fields are an event, after its period if that is printed, and at most what follows in
// the same line: a cgroup, or the address of a sample without a stack.
func isEventOnly(fields [][]byte) bool {
	if len(fields) > 1 && isDecimal(fields[0]) {
		fields = fields[1:]
	}
	if len(fields) == 0 || !isEvent(fields[0]) {
		return false
	}
	if len(fields) == 1 {
		return true
	}
	rest := fields[1]
	_, n := hex(rest)
	return rest[0] == '/' || len(fields) > 2 && n == len(rest)
}

func hasTime(fields [][]byte) bool {
	for _, f := range fields {
		if isTime(f) {
			return true
		}
	}
	return false
}

func isCPU(f []byte) bool {
	return len(f) > 2 && f[0] == '[' && f[len(f)-1] == ']' && isDecimal(f[1:len(f)-1])
}

// isTime reports whether a word is a time in seconds, with a colon after it.
func isTime(f []byte) bool {
	if f[len(f)-1] != ':' {
		return false
	}
	seconds, rest, ok := bytes.Cut(f[:len(f)-1], []byte("."))
	return ok && isDecimal(seconds) && isDecimal(rest)
}

func parseID(f []byte) (int32, bool) {
	v, err := strconv.ParseInt(string(f), 10, 32)
	return int32(v), err == nil && v >= -1 && f[0] != '+'
}

// parseIDs reads PID/TID.
func parseIDs(f []byte) (pid, tid int32, ok bool) {
	first, second, cut := bytes.Cut(f, []byte("/"))
	if !cut || len(first) == 0 || len(second) == 0 {
		return 0, 0, false
	}
	pid, ok1 := parseID(first)
	tid, ok2 := parseID(second)
	return pid, tid, ok1 && ok2
}

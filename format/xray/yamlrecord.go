package xray

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"github.com/cairnprof/cairn/calllog"
)

// yamlRecord is a record of a log in YAML. Its memory is used again.
type yamlRecord struct {
	typ      uint16
	fn       calllog.FuncID
	name     []byte // of the function, nil if the record has none
	cpu      uint16
	tid, pid uint32
	kind     calllog.Kind
	time     uint64
	args     []uint64
	data     []byte
}

// parse reads the record, and returns what is wrong with it.
func (it *yamlItem) parse(rec *yamlRecord) (trouble string) {
	switch {
	case it.trouble != "":
		return it.trouble
	case it.whole && rec.line(it.text):
		return ""
	case it.whole:
		// In a list by itself, a record is valid wherever it was indented.
		return rec.general(append([]byte("- "), it.text...))
	}
	return rec.general(it.text)
}

func yamlKind(name []byte) (calllog.Kind, bool) {
	switch string(name) {
	case "function-enter":
		return calllog.Enter, true
	case "function-exit":
		return calllog.Exit, true
	case "function-tail-exit":
		return calllog.TailExit, true
	case "function-enter-arg":
		return calllog.EnterArgs, true
	case "custom-event":
		return calllog.Custom, true
	case "typed-event":
		return calllog.Typed, true
	}
	return 0, false
}

// general reads any form of a record.
func (r *yamlRecord) general(text []byte) (trouble string) {
	var list []struct {
		Type    uint16   `yaml:"type"`
		Func    *int64   `yaml:"func-id"`
		Name    string   `yaml:"function"`
		Args    []uint64 `yaml:"args"`
		CPU     uint16   `yaml:"cpu"`
		Thread  uint32   `yaml:"thread"`
		Process uint32   `yaml:"process"`
		Kind    string   `yaml:"kind"`
		TSC     *uint64  `yaml:"tsc"`
		Data    string   `yaml:"data"`
	}
	if err := unmarshal(text, &list); err != nil || len(list) != 1 {
		return cmp.Or(err, errors.New("no record")).Error()
	}
	in := &list[0]
	kind, ok := yamlKind([]byte(in.Kind))
	switch {
	case !ok:
		return fmt.Sprintf("kind %q: must be function-enter, function-exit, function-tail-exit, function-enter-arg, custom-event or typed-event", in.Kind)
	case in.TSC == nil:
		return "it has no tsc"
	case kind < calllog.Custom && in.Func == nil:
		return "it has no func-id"
	case in.Func != nil && (*in.Func < math.MinInt32 || *in.Func > math.MaxUint32):
		return fmt.Sprintf("func-id %d: no such number", *in.Func)
	}
	*r = yamlRecord{
		typ: in.Type, cpu: in.CPU, tid: in.Thread, pid: in.Process,
		kind: kind, time: *in.TSC, args: in.Args, data: []byte(in.Data), name: []byte(in.Name),
	}
	if in.Func != nil {
		r.fn = calllog.FuncID(*in.Func)
	}
	return ""
}

// The keys of a record, as bits.
const (
	yamlType = 1 << iota
	yamlFunc
	yamlName
	yamlArgs
	yamlCPU
	yamlThreadID
	yamlProcess
	yamlKindOf
	yamlTSC
	yamlData
)

// line reads a record in the form that llvm-xray and xrayyaml write: braces in one line,
// decimal numbers, texts without escapes. It reports whether the record had this form; general
// reads all others. Most of the time of reading a log in YAML is spent here.
func (r *yamlRecord) line(b []byte) bool {
	r.typ, r.fn, r.cpu, r.tid, r.pid, r.kind, r.time = 0, 0, 0, 0, 0, 0, 0
	r.args, r.data, r.name = r.args[:0], r.data[:0], nil
	seen := 0
	for i := 1; i < len(b); {
		for b[i] == ' ' {
			i++
		}
		from := i
		for i < len(b) && (b[i] >= 'a' && b[i] <= 'z' || b[i] == '-') {
			i++
		}
		if i+2 >= len(b) || b[i] != ':' || b[i+1] != ' ' {
			return false
		}
		key := b[from:i]
		for i++; b[i] == ' '; i++ { // the last byte is a brace
		}
		bit, n := r.field(key, b[i:])
		if n == 0 || seen&bit != 0 {
			return false
		}
		seen |= bit
		for i += n; i < len(b) && b[i] == ' '; i++ {
		}
		if i == len(b) {
			return false
		}
		if b[i] == '}' {
			return i == len(b)-1 && r.complete(seen)
		}
		if b[i] != ',' {
			return false
		}
		i++
	}
	return false
}

// complete reports whether the record has what it must have.
func (r *yamlRecord) complete(seen int) bool {
	return seen&yamlKindOf != 0 && seen&yamlTSC != 0 && (seen&yamlFunc != 0 || r.kind >= calllog.Custom)
}

// field reads the value of a key, which b begins with, and returns its length: 0 if
// line does not support its form.
func (r *yamlRecord) field(key, b []byte) (bit, n int) {
	var v uint64
	switch string(key) {
	case "type":
		v, n = decimal(b, math.MaxUint16)
		r.typ = uint16(v)
		return yamlType, n
	case "func-id":
		v, n = decimal(b, math.MaxUint32)
		r.fn = calllog.FuncID(v)
		return yamlFunc, n
	case "function":
		r.name, n = yamlText(b)
		return yamlName, n
	case "args":
		return yamlArgs, r.list(b)
	case "cpu":
		v, n = decimal(b, math.MaxUint16)
		r.cpu = uint16(v)
		return yamlCPU, n
	case "thread":
		v, n = decimal(b, math.MaxUint32)
		r.tid = uint32(v)
		return yamlThreadID, n
	case "process":
		v, n = decimal(b, math.MaxUint32)
		r.pid = uint32(v)
		return yamlProcess, n
	case "kind":
		for n < len(b) && (b[n] >= 'a' && b[n] <= 'z' || b[n] == '-') {
			n++
		}
		var ok bool
		if r.kind, ok = yamlKind(b[:n]); !ok {
			return 0, 0
		}
		return yamlKindOf, n
	case "tsc":
		r.time, n = decimal(b, math.MaxUint64)
		return yamlTSC, n
	case "data":
		var text []byte
		text, n = yamlText(b)
		r.data = append(r.data, text...)
		return yamlData, n
	}
	return 0, 0
}

// decimal reads a number of at most most. Its length is 0 if b begins with none, or
// with one of another base.
func decimal(b []byte, most uint64) (v uint64, n int) {
	for n < len(b) && b[n] >= '0' && b[n] <= '9' {
		digit := uint64(b[n] - '0')
		if v > (math.MaxUint64-digit)/10 {
			return 0, 0
		}
		v = v*10 + digit
		n++
	}
	if v > most || n > 1 && b[0] == '0' || n == len(b) || b[n] != ' ' && b[n] != ',' && b[n] != '}' && b[n] != ']' {
		return 0, 0
	}
	return v, n
}

// list reads the arguments of a call.
func (r *yamlRecord) list(b []byte) int {
	if b[0] != '[' {
		return 0
	}
	for i := 1; ; {
		i += spaces(b[i:])
		v, n := decimal(b[i:], math.MaxUint64)
		if n == 0 {
			return 0
		}
		r.args = append(r.args, v)
		i += n
		i += spaces(b[i:])
		if i == len(b) {
			return 0
		}
		switch b[i] {
		case ']':
			return i + 1
		case ',':
			i++
		default:
			return 0
		}
	}
}

// yamlText reads a text, in quotes or without. It leaves to general escapes, and
// plain texts with characters other than letters, digits, dots, lines and blanks.
func yamlText(b []byte) (text []byte, n int) {
	quote := b[0]
	if quote == '\'' || quote == '"' {
		for n = 1; n < len(b); n++ {
			switch c := b[n]; {
			case c == quote:
				if n+1 == len(b) || b[n+1] == quote {
					return nil, 0
				}
				return b[1:n], n + 1
			case c == '\\' && quote == '"' || c < ' ' || c >= 0x7f:
				return nil, 0
			}
		}
		return nil, 0
	}
	for n < len(b) && isPlain(b[n]) {
		n++
	}
	if n == len(b) || b[n] != ',' && b[n] != ' ' && b[n] != '}' {
		return nil, 0
	}
	return b[:n], n
}

func isPlain(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '.'
}

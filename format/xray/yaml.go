package xray

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/cairnprof/cairn/trace"
)

// Limits of a log in YAML, which is in memory as a whole: its size, and that of one
// record. Records are parsed one by one, as a parsed one takes twenty times as much
// as its text.
const (
	maxYAML       = 64 << 20
	maxYAMLRecord = 1 << 20
)

// isYAML tells whether head begins a log as llvm-xray convert -f yaml writes it.
func isYAML(head []byte) bool {
	head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte("---")), " \r\n")
	rest, ok := bytes.CutPrefix(head, []byte("header:"))
	return ok && bytes.Contains(rest, []byte("version:")) && bytes.Contains(rest, []byte("cycle-frequency:"))
}

type yamlHeader struct {
	Header struct {
		Version int    `yaml:"version"`
		Type    int    `yaml:"type"`
		Hz      uint64 `yaml:"cycle-frequency"`
	} `yaml:"header"`
}

type yamlRecord struct {
	Type    uint16   `yaml:"type"`
	Func    int64    `yaml:"func-id"`
	Args    []uint64 `yaml:"args"`
	CPU     uint16   `yaml:"cpu"`
	Thread  uint32   `yaml:"thread"`
	Process uint32   `yaml:"process"`
	Kind    string   `yaml:"kind"`
	TSC     uint64   `yaml:"tsc"`
	Data    string   `yaml:"data"`
}

var yamlKinds = map[string]trace.Kind{
	"function-enter": trace.Enter, "function-exit": trace.Exit, "function-tail-exit": trace.TailExit,
	"function-enter-arg": trace.EnterArgs, "custom-event": trace.Custom, "typed-event": trace.Typed,
}

// openYAML reads a log in YAML, of any version. Records of a thread are taken in
// the order of the file.
func openYAML(r io.ReaderAt, size int64, name string) (*Log, error) {
	if size > maxYAML {
		return nil, fmt.Errorf("%s: a log in YAML of %d MiB, and up to %d can be read: give the log that it was made from", name, size>>20, maxYAML>>20)
	}
	text := make([]byte, size)
	if n, err := r.ReadAt(text, 0); int64(n) < size {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	above, records, line := splitYAML(text)
	var doc yamlHeader
	if err := unmarshal(above, &doc); err != nil {
		return nil, fmt.Errorf("%s: header: %w", name, err)
	}
	m := &trace.Memory{}
	index := make(map[owner]int)
	for line, record := range yamlRecords(records, line) {
		if len(record) > maxYAMLRecord {
			return nil, fmt.Errorf("%s: line %d: a record of %d bytes, and up to %d can be read", name, line, len(record), maxYAMLRecord)
		}
		var list []yamlRecord
		if err := unmarshal(record, &list); err != nil || len(list) != 1 {
			return nil, fmt.Errorf("%s: record in line %d: %w", name, line, cmp.Or(err, errors.New("no record")))
		}
		rec := &list[0]
		kind, ok := yamlKinds[rec.Kind]
		if !ok {
			return nil, fmt.Errorf("%s: record in line %d: kind %q: there is function-enter, function-exit, function-tail-exit, function-enter-arg, custom-event and typed-event", name, line, rec.Kind)
		}
		o := owner{rec.Process, rec.Thread}
		t, ok := index[o]
		if !ok {
			t = len(m.List)
			index[o] = t
			m.List = append(m.List, trace.Thread{PID: o.pid, TID: o.tid})
			m.Content = append(m.Content, []trace.Part{{}})
		}
		addYAML(&m.Content[t][0], kind, rec)
	}
	return yamlAsLog(&doc, m, size, name), nil
}

// unmarshal parses text and returns what is wrong with it in one line.
func unmarshal(text []byte, into any) error {
	err := yaml.Unmarshal(text, into)
	var te *yaml.TypeError
	if errors.As(err, &te) && len(te.Errors) > 0 {
		_, what, _ := strings.Cut(te.Errors[0], ": ") // behind a line number of its own
		return errors.New(what)
	}
	return err
}

// splitYAML parts the header from the lines of the records, and returns the number
// of the first of those.
func splitYAML(text []byte) (above, records []byte, line int) {
	mark := []byte("\nrecords:")
	i := bytes.Index(text, mark)
	if i < 0 {
		return text, nil, 0
	}
	above, records = text[:i+1], text[i+1:]
	if end := bytes.IndexByte(records, '\n'); end >= 0 {
		records = records[end+1:]
	} else {
		records = nil
	}
	return above, records, bytes.Count(above, []byte("\n")) + 2
}

// yamlRecords yields the text of each record and the number of its first line. A
// record begins where the first one does in its line.
func yamlRecords(text []byte, line int) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		item := []byte(strings.Repeat(" ", len(text)-len(bytes.TrimLeft(text, " "))) + "- ")
		begin, first := 0, line // of the record
		at := 0
		for next := range bytes.Lines(text) {
			if bytes.HasPrefix(next, []byte("...")) {
				break
			}
			if bytes.HasPrefix(next, item) && at > begin {
				if !yield(first, text[begin:at]) {
					return
				}
				begin, first = at, line
			}
			at += len(next)
			line++
		}
		if record := text[begin:at]; len(bytes.TrimSpace(record)) > 0 {
			yield(first, record)
		}
	}
}

func addYAML(p *trace.Part, kind trace.Kind, rec *yamlRecord) {
	e := trace.Event{Time: rec.TSC, Func: trace.FuncID(rec.Func), CPU: rec.CPU, Kind: kind}
	if len(rec.Args) > 0 && kind == trace.Enter {
		e.Kind = trace.EnterArgs
	}
	if kind >= trace.Custom {
		e.Func = 0 // llvm-xray gives it that of the record before
		p.Payloads = append(p.Payloads, trace.Payload{Data: []byte(rec.Data)})
		if kind == trace.Typed {
			p.Payloads[len(p.Payloads)-1].Type = rec.Type
		}
		e.Payload = uint32(len(p.Payloads))
	} else if len(rec.Args) > 0 && e.Kind == trace.EnterArgs {
		p.Payloads = append(p.Payloads, trace.Payload{Args: rec.Args})
		e.Payload = uint32(len(p.Payloads))
	}
	p.Events = append(p.Events, e)
}

// yamlAsLog returns what was read as a log.
func yamlAsLog(doc *yamlHeader, m *trace.Memory, size int64, name string) *Log {
	order := make([]int, len(m.List))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		x, y := m.List[a], m.List[b]
		return cmp.Or(cmp.Compare(x.PID, y.PID), cmp.Compare(x.TID, y.TID))
	})
	sorted := &trace.Memory{}
	var first []part
	for _, i := range order {
		sorted.List = append(sorted.List, m.List[i])
		sorted.Content = append(sorted.Content, m.Content[i])
		first = append(first, part{first: m.Content[i][0].Events[0].Time, timed: true})
	}
	h := header{fdr: doc.Header.Type == 1, version: doc.Header.Version, hz: doc.Header.Hz}
	l := &Log{head: h, memory: sorted, threads: sorted.Threads()}
	l.info = trace.Info{
		File: name, Size: size, Clock: clock(&h, first),
		Format: fmt.Sprintf("XRay log in YAML (%s, version %d)", h.mode(), h.version),
	}
	l.note(&index{})
	return l
}

package xray

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"

	"github.com/cairnprof/cairn/calllog"
)

// Logs in YAML are written by llvm-xray convert, or by hand:
//
//	# comments and blank lines anywhere
//	---
//	header:
//	  version: 1
//	  type: 0
//	  cycle-frequency: 0
//	records:
//	  - { type: 0, func-id: 1, cpu: 1, thread: 111, kind: function-enter, tsc: 10000 }
//	...
//
// Opening such a text reads it once, which finds its threads and divides it into
// pieces of some hundred KiB between records. A part of a thread is a piece with
// records of the thread; these are parsed again when they are requested.

// Limits of a log in YAML: what is above its records, and one record.
const (
	maxYAMLHeader = 1 << 20
	maxYAMLRecord = 1 << 20
)

// headSize is the number of bytes by which the kind of a file is recognised.
const headSize = 4096

// isYAML reports whether head begins a log in YAML.
func isYAML(head []byte) bool {
	head = bytes.TrimPrefix(head, []byte("\ufeff"))
	for len(head) > 0 {
		line, rest, _ := bytes.Cut(head, []byte("\n"))
		if !isIdle(line) && !bytes.HasPrefix(line, []byte("---")) && line[0] != '%' {
			break
		}
		head = rest
	}
	rest, ok := bytes.CutPrefix(head, []byte("header:"))
	return ok && bytes.Contains(rest, []byte("version:")) && bytes.Contains(rest, []byte("cycle-frequency:"))
}

// isIdle reports whether a line has nothing, or a comment only.
func isIdle(line []byte) bool {
	line = bytes.TrimLeft(line, " \t\r\n")
	return len(line) == 0 || line[0] == '#'
}

type yamlHeader struct {
	Header struct {
		Version int    `yaml:"version"`
		Type    int    `yaml:"type"`
		Hz      uint64 `yaml:"cycle-frequency"`
	} `yaml:"header"`
}

// openYAML makes the index of a log in YAML, of any version. Records of a thread are
// taken in the order of the file.
func openYAML(r io.ReaderAt, size int64, name string) (*Log, error) {
	l := &Log{r: r, text: true, info: calllog.Info{File: name, Size: size}}
	lines := newYAMLLines(r, 0, size)
	if err := l.yamlHeader(lines); err != nil {
		return nil, err
	}
	x := &yamlIndex{index: &index{log: l, ids: make(map[owner]int32)}}
	if err := x.all(lines); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	l.note(x.index)
	return l, nil
}

// yamlHeader reads what is above the records.
func (l *Log) yamlHeader(lines *yamlLines) error {
	name := l.info.File
	var above []byte
	for {
		line, err := lines.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if rest, ok := bytes.CutPrefix(line, []byte("records:")); ok {
			rest = bytes.TrimSpace(rest)
			if !isIdle(rest) && string(rest) != "[]" {
				return fmt.Errorf("%s: line %d: each record must begin on its own line", name, lines.line)
			}
			break
		}
		if len(above)+len(line) > maxYAMLHeader {
			return fmt.Errorf("%s: header: no records within %d bytes", name, maxYAMLHeader)
		}
		if line[0] == '%' { // the version of YAML: the parser takes the first only
			continue
		}
		above = append(above, line...)
	}
	var doc yamlHeader
	if err := unmarshal(above, &doc); err != nil {
		return fmt.Errorf("%s: header: %w", name, err)
	}
	l.head = header{fdr: doc.Header.Type == 1, version: doc.Header.Version, hz: doc.Header.Hz}
	l.info.Format = fmt.Sprintf("XRay log in YAML (%s, version %d)", l.head.mode(), l.head.version)
	return nil
}

// unmarshal parses text and returns what is wrong with it in one line.
func unmarshal(text []byte, into any) error {
	err := yaml.Unmarshal(text, into)
	var te *yaml.TypeError
	if errors.As(err, &te) && len(te.Errors) > 0 {
		_, what, _ := bytes.Cut([]byte(te.Errors[0]), []byte(": ")) // after a line number of its own
		return errors.New(string(what))
	}
	return err
}

// yamlIndex goes over the records of a log in YAML.
type yamlIndex struct {
	*index
	threads []yamlThread // by owner
	cur     int32        // the thread of the previous record, and its owner
	curIs   owner
	// The piece that records are added to.
	off, end int64
	number   int            // counted from 1; 0 before the first
	whose    []int32        // the threads that have a part in it
	broken   bool           // something before it was skipped
	lost     bool           // something was skipped since
	named    calllog.FuncID // the function of the previous record
}

type yamlThread struct {
	parts []part
	piece int   // of the last part
	bytes int64 // of its records
}

// all goes over the records.
func (x *yamlIndex) all(lines *yamlLines) error {
	items := yamlItems{lines: lines}
	var rec yamlRecord
	for {
		it, err := items.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if what := it.parse(&rec); what != "" {
			x.damagef(it.off, it.size, fmt.Sprintf("line %d: %s", it.line, what))
			x.lost = true
			continue
		}
		x.record(&rec, it.off, it.size)
		x.name(&rec)
	}
	x.close()
	x.finishYAML()
	return nil
}

// Limits of the names in a log.
const maxYAMLNames, maxYAMLName = 1 << 20, 1 << 16

// name keeps the name of the function of a record. llvm-xray writes the number if it has none, or an address or a
// number as "@(12)".
func (x *yamlIndex) name(rec *yamlRecord) {
	if len(rec.name) == 0 || len(rec.name) > maxYAMLName || rec.kind >= calllog.Custom || rec.fn == x.named {
		return
	}
	l := x.log
	x.named = rec.fn
	_, known := l.names[rec.fn]
	if known || len(l.names) >= maxYAMLNames || rec.name[0] == '@' || rec.name[0] >= '0' && rec.name[0] <= '9' {
		return
	}
	if l.names == nil {
		l.names = make(map[calllog.FuncID]string)
	}
	l.names[rec.fn] = string(rec.name)
}

// record adds a record.
func (x *yamlIndex) record(rec *yamlRecord, off, size int64) {
	// In a text that is only damage not every record is a piece.
	fresh := x.lost && len(x.log.info.Damage) < maxDamage
	if x.number == 0 || fresh || off+size-x.off > chunk {
		x.close()
		x.off, x.broken, x.lost = off, x.lost, false
		x.number++
	}
	x.end = off + size
	if o := (owner{rec.pid, rec.tid}); o != x.curIs || len(x.threads) == 0 {
		x.cur, x.curIs = x.id(o), o
		if int(x.cur) == len(x.threads) {
			x.threads = append(x.threads, yamlThread{})
		}
	}
	x.objects = x.objects || rec.fn.Object() != 0
	t := &x.threads[x.cur]
	t.bytes += size
	if t.piece != x.number {
		t.piece = x.number
		t.parts = append(t.parts, part{off: x.off, first: rec.time, timed: true, owner: x.cur, lost: x.broken})
		x.whose = append(x.whose, x.cur)
	}
}

// close ends the piece.
func (x *yamlIndex) close() {
	for _, id := range x.whose {
		parts := x.threads[id].parts
		parts[len(parts)-1].size = x.end - x.off
	}
	x.whose = x.whose[:0]
}

func (x *yamlIndex) finishYAML() {
	for i := range x.threads {
		x.parts = append(x.parts, x.threads[i].parts...)
	}
	x.finish()
	x.stepped = 0 // the order is that of the file
	l := x.log
	for i := range l.threads {
		t := &l.threads[i]
		t.Bytes = x.threads[x.ids[owner{t.PID, t.TID}]].bytes
	}
}

// yamlPart decodes the records that a thread has in a piece.
func (d *decoder) yamlPart(p *part, _ int64, yield func(*calllog.Batch, error) bool) bool {
	d.broken = d.broken || p.lost
	lines := newYAMLLines(d.win.r, p.off, p.size)
	defer lines.release()
	items := yamlItems{lines: lines}
	rec := &d.rec
	for {
		it, err := items.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			yield(nil, fmt.Errorf("%s: %w", d.win.name, err))
			return false
		}
		// What cannot be read was reported when the log was opened.
		if it.parse(rec) != "" || (owner{rec.pid, rec.tid}) != d.whose {
			continue
		}
		if d.full() && !d.flush(yield) {
			return false
		}
		d.eventOfYAML(rec)
	}
	return d.flush(yield)
}

// eventOfYAML makes an event of a record.
func (d *decoder) eventOfYAML(rec *yamlRecord) {
	e := calllog.Event{Time: rec.time, Func: rec.fn, CPU: rec.cpu, Kind: rec.kind}
	switch {
	case rec.kind >= calllog.Custom:
		e.Func = 0 // llvm-xray writes that of the previous record
		at := len(d.data)
		d.data = append(d.data, rec.data...)
		p := calllog.Payload{Data: d.data[at:len(d.data):len(d.data)]}
		if rec.kind == calllog.Typed {
			p.Type = rec.typ
		}
		d.payloads = append(d.payloads, p)
		e.Payload = uint32(len(d.payloads))
	case rec.kind.IsEnter() && len(rec.args) > 0:
		e.Kind = calllog.EnterArgs
		at := len(d.args)
		d.args = append(d.args, rec.args...)
		d.payloads = append(d.payloads, calllog.Payload{Args: d.args[at:len(d.args):len(d.args)]})
		e.Payload = uint32(len(d.payloads))
	}
	d.events[d.n] = e
	d.n++
}

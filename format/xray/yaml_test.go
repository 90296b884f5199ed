package xray_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/xray"
	"github.com/cairnprof/cairn/format/xray/xraytest"
)

// What LLVM's tool converts to YAML is the same log.
func TestYAML(t *testing.T) {
	t.Parallel()
	tool := llvmXRay(t)
	b := xraytest.New(fdr5)
	one, two := b.Thread(100, 101), b.Thread(100, 103)
	for i := range uint64(50) {
		one.EnterArgs(calllog.FuncID(1+i), 1000+i*10, i)
		two.Enter(7, 1001+i*10)
		two.Custom(1002+i*10, []byte("it's \"data\" \n"))
		two.TailExit(7, 1003+i*10)
		one.CPU(uint16(i))
		one.Exit(calllog.FuncID(1+i), 1004+i*10)
	}
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := exec.Command(tool, "convert", "-f", "yaml", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	if !xray.Detect(text[:200]) {
		t.Errorf("not detected: %s", text[:200])
	}
	l := open(t, text)
	compare(t, l, b.Memory())
	if in := l.Info(); in.Format != "XRay log in YAML (FDR, version 5)" || in.Clock.Hz != 1e9 || in.Clock.Start != 1000 {
		t.Errorf("%+v", in)
	}
	for _, err := range l.Records() {
		if err == nil || !strings.Contains(err.Error(), "YAML") {
			t.Errorf("records of a log in YAML: %v", err)
		}
	}
}

const (
	yamlHead = "---\nheader:\n  version: 5\n  type: 1\n  cycle-frequency: 0\nrecords:\n"
	yamlCall = "  - { type: 0, func-id: 1, thread: 5, kind: function-enter, tsc: 100 }\n"
)

// The forms in which people write logs, among them all of LLVM's tests of llvm-xray.
func TestYAMLForms(t *testing.T) {
	t.Parallel()
	const header = "header:\n  version: 1\n  type: 0\n  constant-tsc: true\n  nonstop-tsc: true\n  cycle-frequency: 0\n"
	forms := map[string]string{
		"comments first":     "#RUN: llvm-xray account %s -o - -m %S/Inputs/map.yaml -k | FileCheck %s\n\n# And more.\n---\n" + header + "records:\nBODY...\n#CHECK: Functions with latencies: 1\n",
		"a page of comments": strings.Repeat("#RUN: llvm-xray account %s -o - -m %S/Inputs/map.yaml\n", 40) + "---\n" + header + "records:\nBODY",
		"a blank line first": "\n---\n" + header + "records:\nBODY",
		"a directive":        "%YAML 1.2\n--- # the log\n" + header + "records: # of two threads\nBODY...\nanything\n",
		"no beginning":       header + "records:\nBODY\n\n# end",
		"comments in the header": "---\n# one\nheader:\n  # two\n  version: 1\n  type: 0\n\n  cycle-frequency: 0 # three\n" +
			"# four\nrecords:\n# five\n\nBODY",
		"lines of DOS":    "---\n" + header + "records:\nBODY...\n",
		"no last line":    "---\n" + header + "records:\nBODY",
		"two documents":   "---\n" + header + "records:\nBODY---\nheader:\n",
		"byte order mark": "\ufeff---\n" + header + "records:\nBODY",
	}
	bodies := map[string]string{
		"flow": "  - { type: 0, func-id: 1, cpu: 1, thread: 111, kind: function-enter, tsc: 10000 }\n" +
			"  - { type: 0, func-id: 2, function: 'f(long, \"a\")', args: [ 7, 8 ], cpu: 1, thread: 111, process: 3, kind: function-enter-arg, tsc: 10001, data: '' }\n" +
			"  - { type: 0, func-id: 1, cpu: 1, thread: 111, kind: function-exit,  tsc: 10100 }\n",
		"comments between": "# We want to test\n# the case.\n  - { type: 0, func-id: 1, cpu: 1, thread: 111, kind: function-enter, tsc: 10000 }\n\n  # Function id: 2\n" +
			"  - { type: 0, func-id: 2, args: [ 7, 8 ], cpu: 1, thread: 111, process: 3, kind: function-enter-arg, tsc: 10001 } # it begins\n" +
			"   \n# - { type: 0 }\n  - { type: 0, func-id: 1, cpu: 1, thread: 111, kind: function-exit,  tsc: 10100 }\n",
		"blocks": "- type: 0\n  func-id: 1\n  cpu: 1\n  thread: 111\n  kind: function-enter\n  tsc: 10000\n" +
			"-\n  kind: function-enter-arg\n  # its arguments\n  args:\n    - 7\n    - 8\n\n  func-id: 0x2\n  cpu: 1\n  thread: 111\n  process: 3\n  tsc: 10001\n" +
			"- type: 0\n  func-id: 1\n  cpu: 1\n  thread: 111\n  kind: function-exit\n  tsc: 10100\n",
		"flow in lines": "  - { type: 0, func-id: 1, cpu: 1,\n      thread: 111, # of the main thread\n      kind: function-enter, tsc: 10000\n    }\n" +
			"  -   {type: 0, func-id: 2, args: [7, 8], cpu: 1, thread: 111, process: 3, kind: 'function-enter-arg', tsc: 10001}\n" +
			"  - {type: 0, tsc: 10100, kind: function-exit, thread: 111, cpu: 1, func-id: 1}\n",
		"a list in a record": "    - func-id: 1\n      cpu: 1\n      thread: 111\n      kind: function-enter\n      tsc: 10000\n" +
			"    - func-id: 2\n      args:\n      - 7\n      - 8\n      cpu: 1\n      thread: 111\n      process: 3\n      kind: function-enter-arg\n      tsc: 10001\n" +
			"    - { func-id: 1, cpu: 1, thread: 111, kind: function-exit, tsc: 10100 }\n",
	}
	want := []thread{
		{tid: 111, events: []event{
			{Event: calllog.Event{Time: 10000, Func: 1, CPU: 1}},
			{Event: calllog.Event{Time: 10100, Func: 1, CPU: 1, Kind: calllog.Exit}},
		}},
		{pid: 3, tid: 111, events: []event{{Event: calllog.Event{Time: 10001, Func: 2, CPU: 1, Kind: calllog.EnterArgs, Payload: 1}, args: "[7 8]"}}},
	}
	for name, form := range forms {
		for what, body := range bodies {
			text := strings.Replace(form, "BODY", body, 1)
			if name == "lines of DOS" {
				text = strings.ReplaceAll(text, "\n", "\r\n")
			}
			if name == "no last line" {
				text = strings.TrimSuffix(text, "\n")
			}
			if !xray.Detect([]byte(text)) {
				t.Errorf("%s, %s: not detected", name, what)
				continue
			}
			l := open(t, []byte(text))
			got, _ := read(t, l)
			if fmt.Sprint(got) != fmt.Sprint(want) || len(l.Info().Damage) > 0 {
				t.Errorf("%s, %s: %v, damage %v\n%s", name, what, got, l.Info().Damage, text)
			}
		}
	}
}

// Texts that are no log at all.
func TestYAMLRefused(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, want string }{
		{strings.Replace(yamlHead, "5", "x", 1), "log: header: cannot unmarshal"},
		{strings.Replace(yamlHead, "records:", "records: [ {} ]", 1), "log: line 6: each record must begin on its own line"},
		{"header: # version: cycle-frequency:\n" + strings.Repeat("#\n", 1<<19), "log: header: no records within"},
	}
	for _, test := range tests {
		_, err := xray.Open(strings.NewReader(test.text), int64(len(test.text)), "log")
		if err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%v, want %s", err, test.want)
		}
	}
	for _, records := range []string{"", "\n", "# none\n...\n"} {
		empty := open(t, []byte(yamlHead+records))
		if len(empty.Threads()) != 0 || !hasNote(empty, "no calls") || len(empty.Info().Damage) > 0 {
			t.Errorf("%q: %+v", records, empty.Info())
		}
	}
	if none := open(t, []byte(strings.Replace(yamlHead, "records:", "records:         []", 1))); len(none.Threads()) != 0 {
		t.Errorf("%+v", none.Info())
	}
}

// What cannot be read is skipped, and said where it was.
func TestYAMLDamage(t *testing.T) {
	t.Parallel()
	tests := []struct{ bad, want string }{
		{"  - { type: 0, kind: dance, tsc: 5 }\n", `line 8: kind "dance"`},
		{"  - { type: 0, kind: [ }\n", "line 8: yaml: "},
		{"  - { type: x, kind: function-enter }\n", "line 8: cannot unmarshal"},
		{"  - kind: function-enter\n    thread: x\n", "line 8: cannot unmarshal"},
		{"  - { type: 0, func-id: 1, kind: function-enter }\n", "line 8: it has no tsc"},
		{"  - { type: 0, kind: function-enter, tsc: 5 }\n", "line 8: it has no func-id"},
		{"  - { func-id: 1, kind: function-enter, tsc: 184467440737095516160 }\n", "line 8: cannot unmarshal"},
		{"  - { func-id: 4294967296, kind: function-enter, tsc: 1 }\n", "line 8: func-id 4294967296"},
		{"  - { func-id: 1, kind: function-enter, tsc: 1, tsc: 2 }\n", "line 8: mapping key"},
		{"  nothing\n  of use\n", "line 8: no record"},
		{"  - { type: 0, fun", "line 8: yaml: "},
		{"  -\n" + strings.Repeat("    x\n", 1<<18), "line 8: a record of 1572868 bytes"},
		{"  - " + strings.Repeat("x", 3<<20) + "\n", "line 8: a record of 3145733 bytes"},
	}
	for _, test := range tests {
		text := yamlHead + yamlCall + test.bad
		size := len(test.bad)
		if strings.HasSuffix(test.bad, "\n") {
			text += strings.Repeat(yamlCall, 2)
		}
		l := open(t, []byte(text))
		d := l.Info().Damage
		if len(d) != 1 || !strings.HasPrefix(d[0].What, test.want) || d[0].Offset != int64(len(yamlHead+yamlCall)) || d[0].Size != int64(size) {
			t.Errorf("%v, want %s", d, test.want)
		}
		breaks := 0
		for b := range l.Batches(0, 0, l.Threads()[0].Parts) {
			if b.Break {
				breaks++
			}
		}
		if got, _ := read(t, l); totalEvents(got) != 1+2*(strings.Count(text, yamlCall)-1)/2 || breaks != strings.Count(text, yamlCall)/2 {
			t.Errorf("%s: %d events, %d breaks", test.want, totalEvents(got), breaks)
		}
	}
	many := open(t, []byte(yamlHead+strings.Repeat(yamlCall+"  - bad\n", 2000)))
	if n := len(many.Info().Damage); n != 1001 {
		t.Errorf("%d places", n)
	}
	if got, _ := read(t, many); totalEvents(got) != 2000 {
		t.Errorf("%d events", totalEvents(got))
	}
}

// A text of many threads is divided into pieces, in each of which they have a part.
func TestYAMLThreads(t *testing.T) {
	t.Parallel()
	const threads, calls = 20, 1000
	m := &calllog.Memory{}
	var text bytes.Buffer
	text.WriteString(yamlHead)
	for i := range threads {
		m.List = append(m.List, calllog.Thread{PID: 9, TID: uint32(i)})
		m.Content = append(m.Content, []calllog.Part{{}})
	}
	for c := range calls {
		for i := range threads {
			e := calllog.Event{Time: uint64(c*threads + i), Func: calllog.FuncID(1 + c%7), CPU: 3, Kind: calllog.Kind(c % 2)}
			m.Content[i][0].Events = append(m.Content[i][0].Events, e)
			kind := []string{"function-enter", "function-exit"}[e.Kind]
			fmt.Fprintf(&text, "  - { type: 0, func-id: %d, function: f, cpu: 3, thread: %d, process: 9, kind: %s, tsc: %d, data: '' }\n", e.Func, i, kind, e.Time)
		}
	}
	l := open(t, text.Bytes())
	compare(t, l, m)
	var sum int64
	for i, th := range l.Threads() {
		sum += th.Bytes
		if th.Parts < 5 || th.Parts > 20 {
			t.Errorf("thread %d has %d parts", i, th.Parts)
		}
		n := 0
		for k := range th.Parts {
			for b := range l.Batches(i, k, k+1) {
				n += len(b.Events)
			}
		}
		if n != calls {
			t.Errorf("thread %d: %d events in parts", i, n)
		}
	}
	if sum != int64(text.Len()-len(yamlHead)) {
		t.Errorf("threads have %d bytes of %d", sum, text.Len())
	}
}

// yamlStream is a text that repeats a record.
type yamlStream struct{ size int64 }

func (s yamlStream) ReadAt(b []byte, off int64) (int, error) {
	for i := range b {
		at := off + int64(i)
		switch head := int64(len(yamlHead)); {
		case at >= s.size:
			return i, io.EOF
		case at < head:
			b[i] = yamlHead[at]
		default:
			b[i] = yamlCall[(at-head)%int64(len(yamlCall))]
		}
	}
	return len(b), nil
}

// A log in YAML can be larger than memory: it is read as a stream.
func TestYAMLSize(t *testing.T) {
	t.Parallel()
	const calls = 1_000_000 // 71 MB
	s := yamlStream{int64(len(yamlHead)) + calls*int64(len(yamlCall))}
	l, err := xray.Open(s, s.size, "log")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for b := range l.Batches(0, 0, l.Threads()[0].Parts) {
		n += len(b.Events)
	}
	if n != calls || s.size < 64<<20 {
		t.Errorf("%d events of %d bytes", n, s.size)
	}
}

func BenchmarkYAML(b *testing.B) {
	line := "  - { type: 0, func-id: 17, function: 'f(long)', cpu: 3, thread: 11532, process: 11531, kind: function-enter, tsc: 1795176873250910632, data: '' }\n"
	text := []byte(yamlHead + strings.Repeat(line, 100_000))
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		l := open(b, text)
		for range l.Batches(0, 0, l.Threads()[0].Parts) {
		}
	}
}

func FuzzYAML(f *testing.F) {
	f.Add([]byte("---\nheader:\n  version: 5\n  type: 1\n  cycle-frequency: 0\nrecords:\n  - { type: 0, func-id: 3, args: [ 1000 ], thread: 1, kind: function-enter-arg, tsc: 5, data: '' }\n  - { type: 4, kind: typed-event, tsc: 7, data: \"a\\0\" }\n...\n"))
	f.Add([]byte("# one\n\n" + yamlHead + yamlCall + "  - kind: function-exit\n    func-id: 1\n    # two\n    tsc: 4\n" + yamlCall + "x\n" + yamlCall))
	f.Fuzz(func(t *testing.T, text []byte) {
		l, err := xray.Open(bytes.NewReader(text), int64(len(text)), "log")
		if err != nil {
			return
		}
		for i, th := range l.Threads() {
			n := 0
			for b, err := range l.Batches(i, 0, th.Parts) {
				if err != nil {
					t.Fatal(err)
				}
				n += len(b.Events)
			}
			if n == 0 && strings.HasPrefix(l.Info().Format, "XRay log in YAML") {
				t.Errorf("thread %d/%d has no events", th.PID, th.TID)
			}
		}
	})
}

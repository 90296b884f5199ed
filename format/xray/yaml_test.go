package xray_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/format/xray"
	"github.com/cairnprof/cairn/format/xray/xraytest"
	"github.com/cairnprof/cairn/trace"
)

// What LLVM's tool converts to YAML is the same log.
func TestYAML(t *testing.T) {
	t.Parallel()
	tool := llvmXRay(t)
	b := xraytest.New(fdr5)
	one, two := b.Thread(100, 101), b.Thread(100, 103)
	for i := range uint64(50) {
		one.EnterArgs(trace.FuncID(1+i), 1000+i*10, i)
		two.Enter(7, 1001+i*10)
		two.Custom(1002+i*10, []byte("it's \"data\" \n"))
		two.TailExit(7, 1003+i*10)
		one.CPU(uint16(i))
		one.Exit(trace.FuncID(1+i), 1004+i*10)
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

func TestYAMLRefused(t *testing.T) {
	t.Parallel()
	const head = "---\nheader:\n  version: 5\n  type: 1\n  cycle-frequency: 0\nrecords:\n"
	const good = "  - { type: 0, func-id: 1, thread: 5, kind: function-enter, tsc: 100 }\n"
	tests := []struct{ text, want string }{
		{head + good + "  - { type: 0, kind: dance }\n", `log: record in line 8: kind "dance"`},
		{head + good + "  - { type: 0, kind: [ }\n", "log: record in line 8: yaml: "},
		{head + good + "  - { type: x, kind: function-enter }\n", "log: record in line 8: cannot unmarshal"},
		{head + good + "  - kind: function-enter\n    thread: x\n" + good, "log: record in line 8: cannot unmarshal"},
		{head + "  nothing\n", "log: record in line 7: cannot unmarshal"},
		{strings.Replace(head, "5", "x", 1), "log: header: cannot unmarshal"},
		{head + strings.Repeat("#", 2<<20), "log: line 7: a record of 2097152 bytes"},
		{head + strings.Repeat("#", 64<<20), "log: a log in YAML of 64 MiB"},
	}
	for _, test := range tests {
		_, err := xray.Open(strings.NewReader(test.text), int64(len(test.text)), "log")
		if err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%v, want %s", err, test.want)
		}
	}
	blocks := open(t, []byte(head+good+"  - kind: function-exit\n    func-id: 1\n    thread: 5\n    tsc: 110\n"+good+"...\n"))
	if got, _ := read(t, blocks); totalEvents(got) != 3 {
		t.Errorf("%d events", totalEvents(got))
	}
	empty := open(t, []byte(head))
	if len(empty.Threads()) != 0 || !hasNote(empty, "no calls") {
		t.Errorf("%+v", empty.Info())
	}
}

func FuzzYAML(f *testing.F) {
	f.Add([]byte("---\nheader:\n  version: 5\n  type: 1\n  cycle-frequency: 0\nrecords:\n  - { type: 0, func-id: 3, args: [ 1000 ], thread: 1, kind: function-enter-arg, tsc: 5, data: '' }\n  - { type: 4, kind: typed-event, tsc: 7, data: \"a\\0\" }\n...\n"))
	f.Fuzz(func(_ *testing.T, text []byte) {
		l, err := xray.Open(bytes.NewReader(text), int64(len(text)), "log")
		if err != nil {
			return
		}
		for i, th := range l.Threads() {
			for range l.Batches(i, 0, th.Parts) {
			}
		}
	})
}

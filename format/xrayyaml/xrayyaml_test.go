package xrayyaml

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/xray/xraytest"
)

// text writes a log in time order. Without a map llvm-xray has a function's
// number where we have its name.
func text(t interface{ Fatal(args ...any) }, log calllog.Log, h Header, name func(calllog.FuncID) string) string {
	var b bytes.Buffer
	w := NewWriter(&b, h, name)
	threads := log.Threads()
	for it, err := range calllog.ByTime(log) {
		if err != nil {
			t.Fatal(err)
		}
		th := threads[it.Thread]
		if err := w.Write(th.PID, th.TID, &it.Event, it.Data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func byNumber(id calllog.FuncID) string { return strconv.Itoa(int(id)) }

func TestWriter(t *testing.T) {
	t.Parallel()
	b := xraytest.New(xraytest.Format{FDR: true, Version: 5})
	th := b.Thread(11531, 11532)
	th.Enter(1, 1000)
	th.CPU(3)
	th.EnterArgs(2, 1001, 1000, 1<<64-1)
	th.Custom(1002, []byte("hello\x00"))
	th.Typed(1003, 7, []byte{'a', 0xff, 0x85})
	th.TailExit(2, 1004)
	th.Exit(1, 1005)
	names := calllog.Funcs{1: {Name: "main"}, 2: {Name: "it's, f(long)"}}
	got := text(t, b.Memory(), Header{Version: 5, Type: 1, ConstantTSC: true, Hz: 1e9}, names.Name)
	want := `---
header:
  version:         5
  type:            1
  constant-tsc:    true
  nonstop-tsc:     false
  cycle-frequency: 1000000000
records:
  - { type: 0, func-id: 1, function: main, cpu: 0, thread: 11532, process: 11531, kind: function-enter, tsc: 1000, data: '' }
  - { type: 0, func-id: 2, function: 'it''s, f(long)', args: [ 1000, 18446744073709551615 ], cpu: 3, thread: 11532, process: 11531, kind: function-enter-arg, tsc: 1001, data: '' }
  - { type: 0, func-id: 0, function: '', cpu: 3, thread: 11532, process: 11531, kind: custom-event, tsc: 1002, data: "hello\0" }
  - { type: 7, func-id: 0, function: '', cpu: 3, thread: 11532, process: 11531, kind: typed-event, tsc: 1003, data: "a\xFF\x85" }
  - { type: 0, func-id: 2, function: 'it''s, f(long)', cpu: 3, thread: 11532, process: 11531, kind: function-tail-exit, tsc: 1004, data: '' }
  - { type: 0, func-id: 1, function: main, cpu: 3, thread: 11532, process: 11531, kind: function-exit, tsc: 1005, data: '' }
...
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func llvmXRay(t *testing.T) string {
	for _, name := range []string{"llvm-xray-22", "llvm-xray"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no llvm-xray")
	return ""
}

// convert is what llvm-xray makes of a log.
func convert(t *testing.T, tool string, log []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(file, log, 0o666); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(tool, "convert", "-output-format=yaml", file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// same reports the first line in which texts differ.
func same(t *testing.T, got, want string) {
	t.Helper()
	if got == want {
		return
	}
	a, b := strings.SplitAfter(got, "\n"), strings.SplitAfter(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			t.Fatalf("line %d is\n%sllvm-xray has\n%s", i+1, a[i], b[i])
		}
	}
	t.Fatalf("%d lines, llvm-xray has %d", len(a), len(b))
}

// Logs of each version are byte for byte what llvm-xray makes of them.
func TestLLVM(t *testing.T) {
	t.Parallel()
	tool := llvmXRay(t)
	for _, f := range xraytest.Formats() {
		if f.Big || f.FDR && f.Version == 1 || !f.FDR && f.Version < 3 {
			continue // llvm-xray reads filler as records, and padding as a process
		}
		t.Run(f.String(), func(t *testing.T) {
			t.Parallel()
			b := xraytest.New(f)
			th, other := b.Thread(100, 101), b.Thread(100, 102)
			for i := range uint64(50) {
				at := 1795176873250907427 + 10*i
				th.Enter(1, at)
				th.EnterArgs(1<<20, at+1, i)
				other.Enter(calllog.FuncID(2+i), at+2)
				th.TailExit(1<<20, at+3)
				th.CPU(uint16(i / 10))
				other.Exit(calllog.FuncID(2+i), at+4)
				th.Exit(1, at+5)
			}
			h := Header{Version: uint16(f.Version), ConstantTSC: true, NonstopTSC: true, Hz: 1e9}
			if f.FDR {
				h.Type = 1
			}
			log := b.Bytes()
			same(t, text(t, b.Memory(), h, byNumber), convert(t, tool, log))
		})
	}
}

// Any text is quoted and escaped as LLVM does it.
func TestScalarsLLVM(t *testing.T) {
	t.Parallel()
	tool := llvmXRay(t)
	rapid.Check(t, func(rt *rapid.T) {
		b := xraytest.New(xraytest.Format{FDR: true, Version: 5})
		th := b.Thread(1, 1)
		gen := rapid.OneOf(
			rapid.String(), rapid.StringOf(rapid.RuneFrom([]rune("a0 -?:,[]{}#&*!|>'\"%@`/\\\t\n\r\x00\x1b\u0085\u00a0\u2028\uFFFDé\U0001F600~^._"))),
			rapid.StringMatching(`[-+]?(0x|0o)?\.?[0-9a-f]{0,3}\.?[0-9]{0,2}([eE][-+]?[0-9]?)?`),
			rapid.SampledFrom([]string{"null", "Null", "NULL", "~", "true", "TRUE", "False", ".inf", "-.Inf", ".nan", "+.nan", "yes", "no", "0x", "0o8", "1e", "+", "-"}),
		)
		for i := range uint64(200) {
			// llvm-xray takes no event of size 0, and gives the events the
			// function before them.
			// Its Unicode is newer than Go's, and DEL is no YAML.
			s := gen.Filter(func(s string) bool { return s != "" && !strings.ContainsAny(s, "\x7f\u2ffc\u2ffd\u2ffe\u2fff\u31ef") }).Draw(rt, "text")
			if strings.IndexByte(s, ',') > 0 && scalarQuoting(strings.ReplaceAll(s, ",", "_")) == plain {
				continue // that is no YAML
			}
			th.Custom(1000+i, []byte(s))
		}
		log := b.Bytes()
		got := text(rt, b.Memory(), Header{Version: 5, Type: 1, ConstantTSC: true, NonstopTSC: true, Hz: 1e9}, byNumber)
		want := strings.ReplaceAll(convert(t, tool, log), "function: '0'", "function: ''")
		same(t, got, want)
	})
}

func FuzzNames(f *testing.F) {
	for _, s := range []string{"", "main", "a, b", "f(int)", "it's", "1e3", "null", " x ", "a\nb\x00\u2028", "-"} {
		f.Add(s, []byte(s))
	}
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		name = strings.ToValidUTF8(name, "?")
		var b bytes.Buffer
		w := NewWriter(&b, Header{Version: 5}, func(calllog.FuncID) string { return name })
		w.Write(1, 2, &calllog.Event{Func: 1}, nil)
		w.Write(1, 2, &calllog.Event{Kind: calllog.Custom}, &calllog.Payload{Data: data})
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		var doc struct {
			Records []struct{ Function, Data string }
		}
		if err := yaml.Unmarshal(b.Bytes(), &doc); err != nil {
			t.Fatalf("%v in %q", err, b.String())
		}
		var latin []rune // bytes as code points
		for _, c := range data {
			latin = append(latin, rune(c))
		}
		got := doc.Records
		if len(got) != 2 || got[0].Function != name || got[1].Data != string(data) && got[1].Data != string(latin) {
			t.Fatalf("%q, %q came back as %q", name, data, got)
		}
	})
}

func TestEmpty(t *testing.T) {
	t.Parallel()
	got := text(t, &calllog.Memory{}, Header{Version: 3, Hz: 1}, byNumber)
	if !strings.HasSuffix(got, "cycle-frequency: 1\nrecords:         []\n...\n") {
		t.Errorf("got %q", got)
	}
}

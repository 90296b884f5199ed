package xray_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/xray/xraytest"
)

// llvmXRay returns LLVM's tool.
func llvmXRay(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("llvm-xray-22")
	if err != nil {
		t.Skip("needs llvm-xray-22")
	}
	return path
}

// llvmRecord is a record as llvm-xray convert -f yaml prints it.
type llvmRecord struct {
	Type    uint16   `yaml:"type"`
	Func    int32    `yaml:"func-id"`
	Args    []uint64 `yaml:"args"`
	CPU     uint16   `yaml:"cpu"`
	Thread  uint32   `yaml:"thread"`
	Process uint32   `yaml:"process"`
	Kind    string   `yaml:"kind"`
	TSC     uint64   `yaml:"tsc"`
	Data    string   `yaml:"data"`
}

var llvmKinds = map[string]calllog.Kind{
	"function-enter": calllog.Enter, "function-exit": calllog.Exit, "function-tail-exit": calllog.TailExit,
	"function-enter-arg": calllog.EnterArgs, "custom-event": calllog.Custom, "typed-event": calllog.Typed,
}

// text has the fields of a record that must be equal. LLVM's tool gives events the function of
// the record before, records the type of the event before, events before version 4 a CPU from
// padding, and cuts data at the first byte that is no text.
func (r *llvmRecord) text(t *testing.T, pids bool) string {
	kind, ok := llvmKinds[r.Kind]
	if !ok {
		t.Fatalf("kind %q", r.Kind)
	}
	if kind >= calllog.Custom {
		r.Func, r.CPU = 0, 0
	}
	if kind != calllog.Typed {
		r.Type = 0
	}
	if !pids {
		r.Process = 0
	}
	return describe(r.TSC, kind, uint32(r.Func), r.CPU, r.Thread, r.Process, r.Type, fmt.Sprint(r.Args), r.Data)
}

func describe(fields ...any) string {
	text := fmt.Sprintln(fields...)
	if i := strings.IndexFunc(text, func(r rune) bool { return r > unicode.MaxASCII }); i >= 0 {
		text = text[:i]
	}
	return strings.TrimSuffix(text, "\n")
}

// llvmRecords returns the sorted records that LLVM's tool finds, or its error.
func llvmRecords(t *testing.T, tool, path string, pids bool) ([]string, error) {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.Command(tool, "convert", "-f", "yaml", path)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, stderr.Bytes())
	}
	var doc struct{ Records []llvmRecord }
	if err := yaml.Unmarshal(out, &doc); err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, r := range doc.Records {
		list = append(list, r.text(t, pids))
	}
	slices.Sort(list)
	return list, nil
}

// ours returns the same of our reader.
func ours(t *testing.T, data []byte, pids bool) []string {
	t.Helper()
	threads, damage := read(t, open(t, data))
	if len(damage) > 0 {
		t.Errorf("damage %v", damage)
	}
	var list []string
	for _, th := range threads {
		for _, e := range th.events {
			args := e.args
			if args == "" {
				args = "[]"
			}
			pid := th.pid
			if e.Kind >= calllog.Custom {
				e.CPU = 0
			}
			if !pids {
				pid = 0
			}
			list = append(list, describe(e.Time, e.Kind, uint32(e.Func), e.CPU, th.tid, pid, e.kind, args, e.data))
		}
	}
	slices.Sort(list)
	return list
}

func compareLists(t *testing.T, got, want []string) {
	t.Helper()
	if slices.Equal(got, want) {
		return
	}
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	t.Errorf("%d records, LLVM has %d; the first that differs:\n%v\n%v", len(got), len(want), got[at:min(at+1, len(got))], want[at:min(at+1, len(want))])
}

// TestLLVM checks that we and LLVM's tool read what we write in the same way.
func TestLLVM(t *testing.T) {
	tool := llvmXRay(t)
	every(t, func(t *testing.T, b *xraytest.Builder) {
		f := b.Format
		if f.FDR && f.Big {
			t.Skip("LLVM's tool has no big-endian FDR logs")
		}
		b.BufferSize = 1024
		one, two := b.Thread(100, 101), b.Thread(102, 103)
		time := uint64(1 << 40)
		for i := range 500 {
			fn := calllog.MakeFuncID(uint8(i%16), uint32(1+i%9))
			one.EnterArgs(fn, time, uint64(i), 1<<63)
			two.Enter(fn, time+3)
			if i%7 == 0 {
				one.Custom(time+5, []byte("16 bytes of data"))
				one.CPU(uint16(i % 50))
			}
			if i%9 == 0 && f.Version == 5 { // before, LLVM's tool takes the layout of version 5
				two.Typed(time+5, uint16(i), []byte("typed data"))
			}
			two.Exit(fn, time+7)
			one.TailExit(fn, time+9)
			time += 10 + uint64(i%11)<<30
		}
		data := b.Bytes()
		if f.FDR && f.Version == 1 {
			zeroFiller(data[32:], b.BufferSize)
		}
		path := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		pids := f.FDR || f.Version == 3 // else LLVM's tool reads padding
		want, err := llvmRecords(t, tool, path, pids)
		if err != nil {
			t.Fatal(err)
		}
		compareLists(t, ours(t, data, pids), want)
	})
}

// zeroFiller puts zeros after the ends of blocks of version 1: LLVM's tool reads
// what is there.
func zeroFiller(data []byte, size int) {
	for ; len(data) > 0; data = data[size:] {
		end := size
		for data[end-1] == 0xAA {
			end--
		}
		const rest = 15 // of the record that ends the block
		clear(data[end+rest : size])
	}
}

// TestLLVMRealLogs compares logs of real programs with what LLVM's tool reads, where it can.
// That tool counts duplicate blocks, and records of a fork, twice.
func TestLLVMRealLogs(t *testing.T) {
	tool := llvmXRay(t)
	logs, err := filepath.Glob("testdata/logs/*.xray")
	if err != nil || len(logs) == 0 {
		t.Skip("there are no logs")
	}
	compared := 0
	for _, path := range logs {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		l := open(t, data)
		if l.Info().Duplicates > 0 || len(l.Info().Damage) > 0 {
			continue
		}
		want, err := llvmRecords(t, tool, path, true)
		if err != nil {
			continue // an empty log, one that was cut, typed events
		}
		t.Log(filepath.Base(path))
		compareLists(t, ours(t, data, true), want)
		compared++
	}
	if compared < len(logs)/2 {
		t.Errorf("compared only %d of %d logs", compared, len(logs))
	}
}

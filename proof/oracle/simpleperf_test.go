//go:build linux && amd64

package oracle

import (
	"bytes"
	"encoding/binary"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	pdt "github.com/cairnprof/cairn/format/perfdata/perfdatatest"
	"github.com/cairnprof/cairn/format/perfscript"
	samples "github.com/cairnprof/cairn/sample"
)

// callsInARow has calls that follow each other without an instruction between them, of which a return address is in the
// next one.
const callsInARow = `
static volatile long sum;
__attribute__((noinline)) static void first(void) { for (int i = 0; i < 50; i++) sum += i; }
__attribute__((noinline)) static void second(void) { for (int i = 0; i < 90; i++) sum ^= i; }
__attribute__((noinline)) static void both(void) { first(); second(); first(); }
int main(void) { for (int i = 0; i < 400; i++) { both(); both(); second(); } return 0; }
`

// TestSimpleperf writes the stacks of one recording as perf record does, and as simpleperf does in its perf.data and in what
// report-sample --protobuf makes of it, where callers are addresses in calls, and in the last one in files. What is made of
// the three is the same.
func TestSimpleperf(t *testing.T) {
	t.Parallel()
	mustHave(t, "gcc")
	dir := t.TempDir()
	source, program, recorded := filepath.Join(dir, "row.c"), filepath.Join(dir, "row"), filepath.Join(dir, "recorded")
	if err := os.WriteFile(source, []byte(callsInARow), 0o644); err != nil {
		t.Fatal(err)
	}
	output(t, command(t, "gcc", "-O1", "-g", "-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer", "-fno-optimize-sibling-calls", source, "-o", program))
	output(t, command(t, cairn, "record", "-o", recorded, "--every", "97", "--", program))
	r := readStacks(t, recorded)
	if len(r.stacks) < 200 {
		t.Fatalf("%d samples", len(r.stacks))
	}
	files := map[string][]byte{"perf.data": r.perfData(t, false), "simpleperf.data": r.perfData(t, true), "report_sample.trace": r.trace()}
	for _, format := range []string{"folded", "text", "callgraph"} {
		made := map[string]string{}
		for name, data := range files {
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, data, 0o644); err != nil {
				t.Fatal(err)
			}
			made[name] = output(t, command(t, cairn, "profgen", program, path, "--format", format))
		}
		want := made["perf.data"]
		if !strings.Contains(want, "both") || format == "folded" && !strings.Contains(want, "main;both;second ") {
			t.Errorf("%s:\n%s", format, want)
		}
		for name, got := range made {
			if got != want {
				t.Errorf("%s of %s:\n%s\nof perf.data:\n%s", format, name, got, want)
			}
		}
	}
}

// recordedStacks are the samples of a recording, with what was mapped.
type recordedStacks struct {
	spaces   samples.Spaces
	mappings []samples.Mapping
	stacks   [][]uint64
	pid      int32
}

// readStacks reads the stacks of one process that cairn record has written.
func readStacks(t *testing.T, path string) *recordedStacks {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	in, err := perfscript.Open(bytes.NewReader(text), path, int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	r := &recordedStacks{}
	for b, err := range in.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		r.spaces.Apply(b.Events)
		for i := range b.Events {
			if e := &b.Events[i]; e.Kind == samples.Map {
				r.mappings, r.pid = append(r.mappings, e.Mapping), e.PID
			}
		}
		for i := range b.Samples {
			r.stacks = append(r.stacks, slices.Clone(b.Samples[i].Stack))
		}
		b.Release()
	}
	return r
}

// perfData is the recording as perf record writes it, or as simpleperf does: its callers are the bytes before those that
// calls return to, and it has a feature of its own.
func (r *recordedStacks) perfData(t *testing.T, ofSimpleperf bool) []byte {
	t.Helper()
	w := pdt.Writer{Events: []pdt.Event{{SampleType: pdt.IP | pdt.TID | pdt.Time | pdt.Callchain, Name: "cpu-cycles"}}}
	before := uint64(0)
	if ofSimpleperf {
		const metaInfo = 129
		w.Features, before = map[int][]byte{metaInfo: []byte("simpleperf_version\x001.build.1\x00")}, 1
	}
	for i := range r.mappings {
		w.Map(uint32(r.pid), uint64(i), r.mappings[i])
	}
	for i, stack := range r.stacks {
		const user = ^uint64(511)
		chain := []uint64{user, stack[0]}
		for _, addr := range stack[1:] {
			chain = append(chain, addr-before)
		}
		w.Sample(pdt.Sample{IP: stack[0], PID: uint32(r.pid), TID: uint32(r.pid), Time: uint64(1000 + i), Callchain: chain})
	}
	var out bytes.Buffer
	if _, err := w.WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// protoMessage is a message (protocol buffers).
type protoMessage []byte

func (m protoMessage) number(field byte, n uint64) protoMessage {
	return binary.AppendUvarint(append(m, field<<3), n)
}

func (m protoMessage) bytes(field byte, b []byte) protoMessage {
	return append(binary.AppendUvarint(append(m, field<<3|2), uint64(len(b))), b...)
}

// trace is what report-sample makes of the recording. The segments of the program are where they are in its file, as long as
// they are in pages of their own, and so are the addresses in it.
func (r *recordedStacks) trace() []byte {
	out := []byte("SIMPLEPERF\x01\x00")
	record := func(kind byte, m protoMessage) {
		body := protoMessage(nil).bytes(kind, m)
		out = append(binary.LittleEndian.AppendUint32(out, uint32(len(body))), body...)
	}
	record(5, protoMessage(nil).bytes(1, []byte("cpu-cycles")))
	files := map[string]uint64{}
	for _, stack := range r.stacks {
		m := protoMessage(nil).number(2, uint64(r.pid)).number(4, 1)
		for i, addr := range stack {
			path, at := "unknown", addr
			if x := r.spaces.Lookup(r.pid, addr); x != nil {
				path, at = x.Path, x.FileOffset(addr)
			}
			if _, ok := files[path]; !ok {
				files[path] = uint64(len(files))
			}
			m = m.bytes(3, protoMessage(nil).number(1, at-uint64(min(i, 1))).number(2, files[path]).number(3, 1<<64-1))
		}
		record(1, m)
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		record(3, protoMessage(nil).number(1, files[path]).bytes(2, []byte(path)))
	}
	record(4, protoMessage(nil).number(1, uint64(r.pid)).number(2, uint64(r.pid)).bytes(3, []byte("row")))
	return append(out, 0, 0, 0, 0)
}

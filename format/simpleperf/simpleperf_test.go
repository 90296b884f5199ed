package simpleperf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/cairnprof/cairn/sample"
)

// message is a message that is being made.
type message []byte

func (m message) number(field protowire.Number, n uint64) message {
	return protowire.AppendVarint(protowire.AppendTag(m, field, protowire.VarintType), n)
}

func (m message) text(field protowire.Number, text string) message {
	return protowire.AppendString(protowire.AppendTag(m, field, protowire.BytesType), text)
}

// none is the number of a symbol that is not known: -1 in 64 bits, as protocol buffers have negative numbers.
const none = 1<<64 - 1

func frame(file, symbol, kind uint64) message {
	return message(nil).number(1, 0x1000).number(entryFile, file).number(entrySymbol, symbol).number(entryKind, kind)
}

func sampleOf(thread, event, count uint64, chain ...message) message {
	m := message(nil).number(1, 12345).number(sampleThread, thread).number(sampleEvent, event).number(sampleCount, count)
	for _, f := range chain {
		m = m.text(sampleChain, string(f))
	}
	return m
}

// record adds a record to a file.
func record(file []byte, kind protowire.Number, m message) []byte {
	body := message(nil).text(kind, string(m))
	return append(binary.LittleEndian.AppendUint32(file, uint32(len(body))), body...)
}

// begin is a file with two events, before its samples.
func begin() []byte {
	return record([]byte(magic+"\x01\x00"), recordMeta, message(nil).text(metaEvent, "cpu-clock").text(metaEvent, "sched:sched_switch").text(metaEvent, "cpu-cycles:u").text(2, "com.example"))
}

// end is what follows the samples.
func end(file []byte) []byte {
	file = record(file, recordLost, message(nil).number(1, 5).number(lostCount, 0))
	file = record(file, recordFile, message(nil).number(fileID, 0).text(filePath, "/system/lib64/libc.so").text(fileSymbol, "main").text(fileSymbol, "read").text(4, "main").text(4, "read"))
	file = record(file, recordFile, message(nil).number(fileID, 1).text(filePath, "[kernel.kallsyms]").text(fileSymbol, "sys_read"))
	file = record(file, recordFile, message(nil).number(fileID, 2).text(filePath, "/dev/ashmem/jit-cache").text(fileSymbol, "Main.loop"))
	file = record(file, recordThread, message(nil).number(threadID, 7).number(threadProcess, 6).text(threadName, "worker"))
	return binary.LittleEndian.AppendUint32(file, 0)
}

// good is a file with everything.
func good() []byte {
	file := begin()
	file = record(file, recordSample, sampleOf(7, 0, 250, frame(1, 0, 0), frame(0, 1, 0), frame(0, 0, 0)))
	file = record(file, recordSample, sampleOf(7, 1, 99, frame(0, none, 0), frame(2, 0, 2)))
	file = record(file, recordSwitch, message(nil).number(1, 1).number(2, 3))
	file = record(file, recordSample, sampleOf(7, 0, 500, frame(1, 0, 0), frame(0, 1, 0), frame(0, 0, 0)))
	file = record(file, recordSample, sampleOf(8, 2, 1000, frame(9, 0, 0)))
	return end(file)
}

// read returns what is in a file, a line for each stack.
func read(data []byte) (stacks []string, damage []*sample.Damage, failure error) {
	for s, err := range Read(bytes.NewReader(data), "t.trace") {
		var d *sample.Damage
		switch {
		case errors.As(err, &d):
			damage = append(damage, d)
		case err != nil:
			failure = err
		default:
			var names []string
			for _, f := range s.Frames {
				names = append(names, f.Name+[]string{"", "_k", "_i", "_j"}[f.Kind])
			}
			stacks = append(stacks, fmt.Sprintf("%s %d/%d %s %d %s %d %s", s.Command, s.PID, s.TID, s.Event, s.Value, s.Unit, s.Moments, strings.Join(names, ";")))
		}
	}
	return stacks, damage, failure
}

func TestRead(t *testing.T) {
	t.Parallel()
	want := []string{
		"worker 6/7 cpu-clock 750 ns 2 main;read;sys_read_k",
		"worker 6/7 sched:sched_switch 1 samples 1 Main.loop_j;[libc.so]",
		fmt.Sprintf(" %d/8 cpu-cycles:u 1000 cycles 1 [unknown]", sample.UnknownPID),
	}
	stacks, damage, err := read(good())
	if err != nil || len(damage) > 0 || !slices.Equal(stacks, want) {
		t.Errorf("%v %v\ngot  %q\nwant %q", err, damage, stacks, want)
	}
	if !Detect(good()) || Detect([]byte("SIMPLE")) {
		t.Error("not recognised by its beginning")
	}
}

// TestDamage reads files that are not whole: what can be read is there, and the rest is counted.
func TestDamage(t *testing.T) {
	t.Parallel()
	one := sampleOf(7, 0, 250, frame(0, 0, 0))
	huge := append([]byte(magic+"\x01\x00"), 0xff, 0xff, 0xff, 0xff)
	deep := sampleOf(7, 0, 250, slices.Repeat([]message{frame(0, 0, 0)}, maxChain+1)...)
	failed := append(slices.Clone(one), message(nil).text(sampleUnwinding, string(message(nil).number(unwindingError, 2)))...)
	for _, tt := range []struct {
		name   string
		data   []byte
		stacks int
		damage string // its text and count
		err    string
	}{
		{"not whole", good()[:len(good())-4], 3, "the file is cut off: what follows is missing 1", ""},
		{"cut in a record", good()[:len(good())-9], 3, "the file is cut off: what follows is missing 1", ""},
		{"lost", end(record(record(begin(), recordSample, one), recordLost, message(nil).number(lostCount, 12))), 1, "samples were lost while simpleperf recorded 12", ""},
		{"damaged", end(record(record(begin(), recordSample, one), recordSample, message("\x1a\x7f"))), 1, "a record is damaged, and was skipped 1", ""},
		{"too deep", end(record(record(begin(), recordSample, one), recordSample, deep)), 1, "a record is damaged, and was skipped 1", ""},
		{"not unwound", end(record(begin(), recordSample, failed)), 1, "simpleperf could not unwind a stack to its end: it has the frames that are known 1", ""},
		{"another kind", end(record(record(begin(), recordSample, one), 17, one)), 1, "records of a kind that is not known were skipped 1", ""},
		{"another version", []byte(magic + "\x02\x00\x00\x00\x00\x00"), 0, "", "version 2 is unknown"},
		{"too large", huge, 0, "", "offset 12: a record has 4294967295 bytes"},
		{"nothing", []byte(magic), 0, "", "it does not begin with SIMPLEPERF and a version"},
	} {
		stacks, damage, err := read(tt.data)
		got := ""
		for _, d := range damage {
			got += fmt.Sprintf("%s %d", d.What, d.Count)
		}
		if len(stacks) != tt.stacks || got != tt.damage || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %d stacks, damage %q, error %v", tt.name, len(stacks), got, err)
		}
	}
}

// FuzzRead reads anything without a panic, and as many moments as a file has samples at most.
func FuzzRead(f *testing.F) {
	f.Add(good())
	f.Add(good()[:len(good())-4])
	f.Add(end(record(begin(), recordLost, message(nil).number(lostCount, 3))))
	f.Add([]byte(magic + "\x01\x00\x02\x00\x00\x00\x0a\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		moments := uint64(0)
		for s, err := range Read(bytes.NewReader(data), "fuzz") {
			if err == nil {
				moments += s.Moments
			}
		}
		if moments > uint64(len(data)) {
			t.Errorf("%d moments in %d bytes", moments, len(data))
		}
	})
}

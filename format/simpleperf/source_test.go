package simpleperf

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/sample"
)

// placed is a frame without a symbol.
func placed(file, addr uint64) message {
	return message(nil).number(entryAddr, addr).number(entryFile, file).number(entrySymbol, none)
}

// source returns what a Source has, a line for each event and sample.
func source(t *testing.T, data []byte) (lines []string, s *Source) {
	t.Helper()
	s, err := Open(bytes.NewReader(data), int64(len(data)), "t.trace")
	if err != nil {
		t.Fatal(err)
	}
	for b, err := range s.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.Events {
			e := &b.Events[i]
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("%v %d/%d %s %s", e.Kind, e.PID, e.TID, e.Name, e.Mapping.Path)))
			if m := &e.Mapping; e.Kind == sample.Map && (!m.Exec || !m.Linked || m.Offset != 0) {
				t.Errorf("%+v", m)
			}
		}
		for i := range b.Samples {
			x := &b.Samples[i]
			if !x.InCalls || x.Count != 1 {
				t.Errorf("%+v", x)
			}
			lines = append(lines, fmt.Sprintf("%d/%d %s %d %x", x.PID, x.TID, s.Info().Events[x.Event], x.Period, x.Stack))
		}
		b.Release()
	}
	return lines, s
}

// TestSource reads addresses in files: those of the kernel are its own, and those of no file are in no mapping.
func TestSource(t *testing.T) {
	t.Parallel()
	file := begin()
	file = record(file, recordSample, sampleOf(7, 0, 250, placed(1, 0xffffff8000001000), placed(0, 0x1234), placed(2, 0x70001000)))
	file = record(file, recordSample, sampleOf(7, 2, 99, placed(0, 0x1238), placed(9, 0x10), placed(4, 0x20), placed(0, 1<<48)))
	file = record(file, recordSample, sampleOf(8, 17, 1, placed(0, 0x10), placed(3, 0x40)))
	file = record(file, recordFile, message(nil).number(fileID, 3).text(filePath, "/vendor/lib/modules/net.ko"))
	file = record(file, recordFile, message(nil).number(fileID, 4).text(filePath, "unknown"))
	lines, s := source(t, end(file))
	want := []string{
		"comm 6/7 worker",
		"map -1/-1  /system/lib64/libc.so", // of the thread that is not named
		"map 6/6  /system/lib64/libc.so",
		"map 6/6  /dev/ashmem/jit-cache",
		"6/7 cpu-clock 250 [ffffff8000001000 1000000000001234 1002000070001000]",
		"6/7 cpu-cycles:u 99 [1000000000001238 1fff000000000000 1fff000000000000 1fff000000000000]",
		"-1/8  1 [1000000000000010 8000000000000040]",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	info, stats := s.Info(), s.Stats()
	if info.Kind != sample.Stacks || !info.HasPIDs || info.AllPIDs || len(info.Notes) != 1 || info.Size != stats.Bytes {
		t.Errorf("%+v", info)
	}
	if stats.Samples != 3 || stats.Frames != 9 || len(stats.Damage) != 1 || stats.Damage[0].What != badAddress {
		t.Errorf("%+v", stats)
	}
}

// TestSourceMany yields more samples than a batch has, and none after its reader stopped.
func TestSourceMany(t *testing.T) {
	t.Parallel()
	file := begin()
	const samples = 2500
	for i := range uint64(samples) {
		file = record(file, recordSample, sampleOf(7, 0, 1, placed(0, i)))
	}
	data := end(file)
	lines, s := source(t, data)
	if len(lines) != samples+2 || s.Stats().Samples != samples || !s.Info().AllPIDs {
		t.Errorf("%d lines, %d samples", len(lines), s.Stats().Samples)
	}
	s, err := Open(bytes.NewReader(data), int64(len(data)), "t.trace")
	if err != nil {
		t.Fatal(err)
	}
	batches := 0
	for b, err := range s.Batches(t.Context()) {
		if batches++; err != nil || len(b.Samples) == samples {
			t.Errorf("%d samples, %v", len(b.Samples), err)
		}
		break
	}
	if batches != 1 {
		t.Errorf("%d batches", batches)
	}
}

// TestSourceDamage counts what is damaged once, though the file is read twice, and refuses what is no such file.
func TestSourceDamage(t *testing.T) {
	t.Parallel()
	data := good()[:len(good())-4]
	_, s := source(t, data)
	if d := s.Stats().Damage; len(d) != 1 || d[0].Count != 1 || !strings.Contains(d[0].Error(), "t.trace: offset 0x") {
		t.Errorf("%v", d)
	}
	if _, s := source(t, end(begin())); s.Info().Kind != sample.Nothing || s.Stats().Samples != 0 {
		t.Errorf("%+v", s.Info())
	}
	const want = "t.trace: reading samples of simpleperf: version 2 is unknown: 1 is the only one known"
	if _, err := Open(strings.NewReader(magic+"\x02\x00"), 12, "t.trace"); err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
}

// FuzzSource reads anything without a panic, and as many samples as Read does.
func FuzzSource(f *testing.F) {
	f.Add(good())
	f.Add(good()[:len(good())-4])
	f.Add(record(begin(), recordSample, sampleOf(8, 17, 1, placed(1<<13, 0x10), placed(3, 1<<63))))
	f.Fuzz(func(t *testing.T, data []byte) {
		moments := uint64(0)
		for s, err := range Read(bytes.NewReader(data), "fuzz") {
			if err == nil {
				moments += s.Moments
			}
		}
		s, err := Open(bytes.NewReader(data), int64(len(data)), "fuzz")
		if err != nil {
			return
		}
		for b, err := range s.Batches(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			b.Release()
		}
		if s.Stats().Samples != moments {
			t.Errorf("%d samples, %d moments", s.Stats().Samples, moments)
		}
	})
}

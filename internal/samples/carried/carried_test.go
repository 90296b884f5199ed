package carried

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	pdt "github.com/cairnprof/cairn/format/perfdata/perfdatatest"
	"github.com/cairnprof/cairn/format/simpleperf"
	"github.com/cairnprof/cairn/sample"
)

// files are those that ran.
var files = []simpleperf.SymbolFile{
	{Path: "/lib/libapp.so", Kind: simpleperf.ELF, Addr: 0x5000, Offset: 0x4000, Known: true, Symbols: []simpleperf.FileSymbol{{Addr: 0x5100, Size: 0x40, Name: "draw"}, {Addr: 0x5140, Size: 0x40, Name: "loop"}, {Addr: 0x5180, Size: 0x10, Name: "main"}}},
	{Path: "/lib/libold.so", Kind: simpleperf.ELF, Addr: 0x300, Symbols: []simpleperf.FileSymbol{{Addr: 0x310, Size: 0x10, Name: "old"}}},
	{Path: "/data/base.vdex", Kind: simpleperf.Dex, Symbols: []simpleperf.FileSymbol{{Addr: 0x210, Size: 0x10, Name: "a.b.Run"}}},
	{Path: "/data/jit_app_cache", Kind: simpleperf.ELF, Symbols: []simpleperf.FileSymbol{{Addr: 0x70001000, Size: 0x100, Name: "a.b.Hot"}}},
	{Path: "[kernel.kallsyms]", Kind: simpleperf.Kernel, Symbols: []simpleperf.FileSymbol{{Addr: 0xffffff8000001000, Size: 0x100, Name: "sys_read"}}},
}

// first and second are the forms of a file in recordings.
func first(f *simpleperf.SymbolFile) []byte {
	le := binary.LittleEndian
	b := append([]byte(f.Path), 0)
	b = le.AppendUint64(le.AppendUint32(b, uint32(f.Kind)), f.Addr)
	b = le.AppendUint32(b, uint32(len(f.Symbols)))
	for _, s := range f.Symbols {
		b = append(append(le.AppendUint32(le.AppendUint64(b, s.Addr), s.Size), s.Name...), 0)
	}
	switch {
	case f.Kind == simpleperf.Dex:
		b = le.AppendUint64(le.AppendUint32(b, 1), 0x28)
	case f.Kind == simpleperf.ELF && f.Known:
		b = le.AppendUint64(b, f.Offset)
	case f.Kind == simpleperf.ELF:
		b = le.AppendUint64(b, ^uint64(0))
	}
	return b
}

func second(f *simpleperf.SymbolFile) (b []byte) {
	number := func(b []byte, field protowire.Number, n uint64) []byte {
		return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), n)
	}
	text := func(b []byte, field protowire.Number, s []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), s)
	}
	b = number(number(text(nil, 1, []byte(f.Path)), 2, uint64(f.Kind)), 3, f.Addr)
	for _, s := range f.Symbols {
		b = text(b, 4, text(number(number(nil, 1, s.Addr), 2, uint64(s.Size)), 3, []byte(s.Name)))
	}
	if f.Known {
		b = text(b, 6, number(nil, 1, f.Offset))
	}
	return b
}

// record writes a recording whose files are in a feature.
func record(t *testing.T, feature int, section []byte) string {
	t.Helper()
	const kernel, user = ^uint64(127), ^uint64(511)
	w := pdt.Writer{
		Events:   []pdt.Event{{Kind: 1, Config: 0, SampleType: pdt.IP | pdt.TID | pdt.Time | pdt.Period | pdt.Callchain, Name: "cpu-clock"}},
		Features: map[int][]byte{feature: section},
	}
	w.Comm(71, 1000, "app", true)
	for i, m := range []sample.Mapping{
		{Start: 0x10000, Size: 0x1000, Offset: 0x4000, Path: "/lib/libapp.so"},
		{Start: 0x20000, Size: 0x1000, Path: "/lib/libold.so"},
		{Start: 0x30000, Size: 0x1000, Path: "/data/base.vdex"},
		{Start: 0x70000000, Size: 0x10000, Path: "/data/jit_app_cache"},
		{Start: 0x40000, Size: 0x1000, Path: "/lib/libother.so"},
	} {
		m.Exec = true
		w.Map(71, 1001+uint64(i), m)
	}
	w.Sample(pdt.Sample{
		IP: 0x10104, PID: 71, TID: 71, Time: 2000, Period: 7,
		// The caller of draw does not return to loop: its address is the beginning of main.
		Callchain: []uint64{kernel, 0xffffff8000001010, user, 0x10104, 0x10180, 0x20014, 0x70001010, 0x30214, 0x40000, 0x90000},
	})
	var out bytes.Buffer
	if _, err := w.WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "perf.data")
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	if !Detect(out.Bytes()[:128]) {
		t.Errorf("feature %d is not seen", feature)
	}
	return path
}

// section returns a feature with all files.
func section(form func(*simpleperf.SymbolFile) []byte) (b []byte) {
	for i := range files {
		x := form(&files[i])
		b = append(binary.LittleEndian.AppendUint32(b, uint32(len(x))), x...)
	}
	return b
}

func TestStacks(t *testing.T) {
	t.Parallel()
	for feature, form := range map[int]func(*simpleperf.SymbolFile) []byte{simpleperf.FeatureFile: first, simpleperf.FeatureFile2: second} {
		r, err := Open(record(t, feature, section(form)))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		var got strings.Builder
		for s, err := range r.Stacks(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&got, "%s %d %s", s.Command, s.Value, s.Unit)
			for _, f := range s.Frames {
				fmt.Fprintf(&got, " %s:%d", f.Name, f.Kind)
			}
		}
		want := fmt.Sprintf("app 7 ns [unknown]:%d [libother.so]:%[1]d a.b.Run:%[1]d a.b.Hot:%d old:%[1]d loop:%[1]d draw:%[1]d sys_read:%[3]d", sample.UserFrame, sample.JITFrame, sample.KernelFrame)
		if got.String() != want {
			t.Errorf("feature %d: %q, want %q", feature, got.String(), want)
		}
	}
}

// TestPlaces tells the kernel's frames from those of the program, and callers from where the program was, in a recording in
// which the kernel is mapped at all addresses, as simpleperf writes it.
func TestPlaces(t *testing.T) {
	t.Parallel()
	const kernel, user = ^uint64(127), ^uint64(511)
	var section []byte
	for _, f := range []simpleperf.SymbolFile{
		{Path: "/lib/libapp.so", Kind: simpleperf.ELF, Addr: 0x5000, Offset: 0x4000, Known: true, Symbols: []simpleperf.FileSymbol{{Addr: 0x5100, Size: 0x40, Name: "before"}, {Addr: 0x5140, Size: 0x40, Name: "draw"}, {Addr: 0x5180, Size: 0x10, Name: "__dl_main"}}},
		{Path: "perf.data_jit_app_cache:0-4096", Kind: simpleperf.ELF, Symbols: []simpleperf.FileSymbol{{Addr: 0x70001000, Size: 0x100, Name: "a.b.Hot"}}},
		{Path: "perf-71.map", Kind: simpleperf.SymbolMap, Symbols: []simpleperf.FileSymbol{{Addr: 0x7c7930000010, Size: 0x10, Name: "made"}}},
	} {
		x := second(&f)
		section = append(binary.LittleEndian.AppendUint32(section, uint32(len(x))), x...)
	}
	w := pdt.Writer{
		Events:   []pdt.Event{{Kind: 1, Config: 0, SampleType: pdt.IP | pdt.TID | pdt.Time | pdt.Period | pdt.Callchain}},
		Features: map[int][]byte{simpleperf.FeatureFile2: section, 129: []byte("event_type_info\x00cpu-clock,1,0\x00")},
	}
	w.Map(^uint32(0), 0, sample.Mapping{Size: ^uint64(0), Path: "[kernel.kallsyms]", Exec: true})
	w.Map(71, 1, sample.Mapping{Start: 0x10000, Size: 0x1000, Offset: 0x4000, Path: "/lib/libapp.so", Exec: true})
	w.Map(71, 2, sample.Mapping{Start: 0x70000000, Size: 0x10000, Path: "perf.data_jit_app_cache:0-4096", Exec: true})
	w.Map(71, 3, sample.Mapping{Start: 0x50000, Size: 0x1000, Path: "[vdso]", Exec: true})
	for i, c := range []struct {
		chain []uint64
		want  string
	}{
		// A fault at the first instruction of draw; main calls it.
		{[]uint64{kernel, 0xffffff8000001010, user, 0x10140, 0x10180}, "draw:0 draw:0 [kernel]:1"},
		{[]uint64{kernel, 0xc0001010, user, 0x10184, 0xffff8000001010}, "[unknown]:0 main:0 [kernel]:1"}, // of 32 bits
		{[]uint64{user, 0x7c7930000014, 0x70001010, 0xffffff8000001010, 0xc0001010}, "[unknown]:0 [unknown]:0 a.b.Hot:3 made:3"},
		{[]uint64{user, 0x7c7930000024, 0x50010, 0x70002000}, "[JIT app cache]:0 [vdso]:0 [unknown]:0"},
	} {
		one := w
		one.Sample(pdt.Sample{IP: c.chain[1], PID: 71, TID: 71, Time: 2000, Period: 7, Callchain: c.chain})
		var out bytes.Buffer
		if _, err := one.WriteTo(&out); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "perf.data")
		if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		r, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for s, err := range r.Stacks(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			var frames []string
			for _, f := range s.Frames {
				frames = append(frames, fmt.Sprintf("%s:%d", f.Name, f.Kind))
			}
			if got := strings.Join(frames, " "); got != c.want || s.Event != "cpu-clock" || s.Unit != sample.Nanoseconds {
				t.Errorf("%d: %q of %s, want %q", i, got, s.Event, c.want)
			}
		}
	}
}

// TestDamaged refuses functions that are cut off anywhere, and says so.
func TestDamaged(t *testing.T) {
	t.Parallel()
	for feature, form := range map[int]func(*simpleperf.SymbolFile) []byte{simpleperf.FeatureFile: first, simpleperf.FeatureFile2: second} {
		whole := section(form)
		for n := range whole {
			files, err := simpleperf.ReadSymbols(feature, whole[:n])
			if err == nil && n > 0 && len(files) == 5 {
				t.Fatalf("feature %d: %d of %d bytes are all files", feature, n, len(whole))
			}
		}
		r, err := Open(record(t, feature, whole[:len(whole)-3]))
		if err == nil {
			r.Close()
			t.Errorf("feature %d: no error", feature)
		} else if !strings.Contains(err.Error(), "perf.data: the functions that simpleperf recorded are damaged") {
			t.Error(err)
		}
	}
}

func TestDetect(t *testing.T) {
	t.Parallel()
	for _, head := range []string{"", "PERFILE2", "PERFILE2" + strings.Repeat("\x00", 96), "2ELIFREP" + strings.Repeat("\xff", 96), strings.Repeat("\xff", 200)} {
		if Detect([]byte(head)) {
			t.Errorf("%q", head)
		}
	}
}

package perfdata_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/format/perfdata"
	pdt "github.com/cairnprof/cairn/format/perfdata/perfdatatest"
	"github.com/cairnprof/cairn/format/perfscript"
	"github.com/cairnprof/cairn/sample"
)

// show prints each record on one line, without what the text of perf does not have.
func show(b *sample.Batch) string {
	var out strings.Builder
	for _, e := range b.Events {
		m := e.Mapping
		if e.Kind == sample.Map {
			fmt.Fprintf(&out, "map %d/%d %x+%x@%x %s %s %t\n", e.PID, e.TID, m.Start, m.Size, m.Offset, m.Path, m.BuildID, m.Exec)
		} else {
			fmt.Fprintf(&out, "%v %d/%d %d %q\n", e.Kind, e.PID, e.TID, e.Parent, e.Name)
		}
	}
	for _, s := range b.Samples {
		how := ""
		if s.AtCalls {
			how = " at calls"
		}
		fmt.Fprintf(&out, "%d/%d %x %x %b%s\n", s.PID, s.TID, s.Stack, s.Branches, s.Mispredicted, how)
	}
	return out.String()
}

// all reads a source to its end.
func all(t *testing.T, src sample.Source) string {
	t.Helper()
	var out strings.Builder
	for b, err := range src.Batches(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		out.WriteString(show(b))
		b.Release()
	}
	return out.String()
}

func open(t *testing.T, data []byte) *perfdata.Reader {
	t.Helper()
	if !perfdata.Detect(data) {
		t.Error("not detected")
	}
	p, err := perfdata.Open(bytes.NewReader(data), int64(len(data)), "perf.data")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// kernel and user begin the parts of a call chain.
const (
	kernel = 1<<64 - 128
	user   = 1<<64 - 512
)

// forms are the events that are tested, each alone.
var forms = map[string]pdt.Event{
	"hybrid":   {SampleType: pdt.IP | pdt.TID | pdt.Time | pdt.Callchain | pdt.BranchStack | pdt.Period},
	"branches": {SampleType: pdt.IP | pdt.TID | pdt.Time | pdt.BranchStack, BranchType: pdt.HWIndex},
	"stacks":   {SampleType: pdt.Identifier | pdt.IP | pdt.TID | pdt.Time | pdt.Callchain},
	"all fields": {
		SampleType: pdt.Identifier | pdt.IP | pdt.TID | pdt.Time | pdt.Addr | pdt.ID | pdt.StreamID | pdt.CPU | pdt.Period | pdt.Read | pdt.Callchain | pdt.Raw | pdt.BranchStack,
		ReadFormat: 5,
	},
	"group": {SampleType: pdt.IP | pdt.TID | pdt.Time | pdt.Read | pdt.Callchain | pdt.BranchStack, ReadFormat: 12},
}

// record makes a file with all kinds of records, two rounds of them not in order.
func record(e pdt.Event, pipe, big, compress bool) ([]byte, error) {
	e.ID, e.Name = 77, "cycles:u"
	w := pdt.Writer{
		Pipe: pipe, Big: big, Compress: compress,
		Events: []pdt.Event{e}, Command: []string{"perf", "record", "./prog"},
		BuildIDs: map[string][20]byte{"/bin/prog": {1, 2, 3}},
	}
	sampled := func(time, ip uint64) {
		w.Sample(pdt.Sample{
			IP: ip, PID: 71, TID: 72, Time: time, Period: 1000, Raw: make([]byte, 12),
			Callchain:  []uint64{kernel, 0xffffffff81000010, user, ip, 0x401182},
			Branches:   []sample.Branch{{From: 0x40118e, To: 0x401130}, {From: 0x4011a0, To: 0x401180}},
			Mispredict: 2,
		})
	}
	w.Comm(71, 1000, "prog", true)
	w.Map(71, 5000, sample.Mapping{Start: 0x700000, Size: 0x1000, Offset: 0x1000, Path: "/bin/lib", Exec: true})
	w.Map(71, 2000, sample.Mapping{Start: 0x400000, Size: 0x1000, Path: "/bin/data"})
	sampled(3000, 0x401136)
	if compress {
		if err := w.Pack(); err != nil {
			return nil, err
		}
	}
	w.Round()
	sampled(6000, 0x401140)
	sampled(4000, 0x401138)
	w.Fork(80, 71, 7000)
	if compress {
		if err := w.Pack(); err != nil {
			return nil, err
		}
	}
	w.Round()
	w.Round()
	var out bytes.Buffer
	_, err := w.WriteTo(&out)
	return out.Bytes(), err
}

// TestForms reads every form, and what perf script prints of it.
func TestForms(t *testing.T) {
	t.Parallel()
	for name, e := range forms {
		for _, how := range []struct{ pipe, big, compress bool }{{}, {pipe: true}, {big: true}, {compress: true}, {pipe: true, big: true}} {
			t.Run(fmt.Sprintf("%s %+v", name, how), func(t *testing.T) {
				t.Parallel()
				data, err := record(e, how.pipe, how.big, how.compress)
				if err != nil {
					t.Fatal(err)
				}
				p := open(t, data)
				info := p.Info()
				if info.Command != "perf record ./prog" || info.Events[0] != "cycles:u" || !info.HasPIDs {
					t.Errorf("%+v", info)
				}
				if id := info.BuildIDs["/bin/prog"]; id != "0102030000000000000000000000000000000000" {
					t.Errorf("build id %q", id)
				}
				got := all(t, p)
				var order []string
				for line := range strings.Lines(got) {
					order = append(order, strings.Fields(line)[0])
				}
				if want := "exec map 71/72 71/72 map 71/72 fork"; strings.Join(order, " ") != want {
					t.Errorf("order %q, want %q", order, want)
				}
				for _, d := range p.Stats().Damage {
					t.Error(d)
				}
				// Of a pipe in the other byte order perf 6.1 prints processes and
				// threads exchanged, and of a file no protection of mappings.
				if !how.big || !how.pipe {
					comparePerf(t, data, got, !how.big)
				}
			})
		}
	}
}

// perfInput returns the path of perf, "" if it is not installed, and of a file with data for it to read.
func perfInput(t *testing.T, data []byte) (perf, file string) {
	t.Helper()
	perf, err := exec.LookPath("perf")
	if err != nil {
		t.Log("without perf to compare with")
		return "", ""
	}
	file = filepath.Join(t.TempDir(), "perf.data")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return perf, file
}

// comparePerf compares with what perf script prints, if it is there.
func comparePerf(t *testing.T, data []byte, got string, protection bool) {
	t.Helper()
	perf, file := perfInput(t, data)
	if perf == "" {
		return
	}
	cmd := exec.Command(perf, "script", "-f", "-i", file, "--show-mmap-events", "--show-task-events", "-F", "pid,tid,time,ip,brstack")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	if err != nil && len(text) == 0 {
		t.Logf("perf cannot print this: %v: %s", err, &stderr)
		return
	}
	s, err := perfscript.Open(bytes.NewReader(text), "text", int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	want := all(t, s)
	if !protection {
		got, want = strings.ReplaceAll(got, " true\n", "\n"), strings.ReplaceAll(want, " true\n", "\n")
		got, want = strings.ReplaceAll(got, " false\n", "\n"), strings.ReplaceAll(want, " false\n", "\n")
	}
	if got != want {
		t.Errorf("got\n%s\nperf script prints\n%s\n%s", got, want, text)
	}
}

// TestEvents reads samples of several events, and records that are broken.
func TestEvents(t *testing.T) {
	t.Parallel()
	w := pdt.Writer{Events: []pdt.Event{
		{SampleType: pdt.Identifier | pdt.IP | pdt.TID, ID: 5},
		{Kind: 1, Config: 2, SampleType: pdt.Identifier | pdt.IP | pdt.TID | pdt.Callchain, ID: 6},
		{Kind: 9, Config: 9, SampleType: pdt.Identifier | pdt.TID, ID: 7},
	}}
	w.Sample(pdt.Sample{IP: 1, PID: 1, TID: 1})
	w.Sample(pdt.Sample{Event: 1, IP: 2, PID: 1, TID: 1, Callchain: []uint64{user, 2, 3}})
	w.Sample(pdt.Sample{Event: 1, IP: 4, PID: 1, TID: 1})
	w.Sample(pdt.Sample{Event: 2, PID: 1, TID: 1})
	w.Events[0].ID = 99 // which the header does not have
	w.Sample(pdt.Sample{IP: 1})
	w.Events[0].ID = 5
	w.Record(2, 0, make([]byte, 16))
	w.Record(13, 0, []byte{7, 0, 0, 0, 0, 0, 0, 0})
	w.Record(10, 0, make([]byte, 16))
	w.Record(9, 0, make([]byte, 4))
	w.Record(1000, 0, nil)
	var out bytes.Buffer
	if _, err := w.WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	p := open(t, out.Bytes())
	if got, want := fmt.Sprintf("%q %v", p.Info().Events, p.Info().Kind), `["cycles" "page-faults" ""] stacks`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := all(t, p), "1/1 [1] [] 0\n1/1 [2 3] [] 0\n1/1 [4] [] 0\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	var damage []string
	for _, d := range p.Stats().Damage {
		damage = append(damage, fmt.Sprintf("%d %s", d.Count, d.What))
	}
	if got := strings.Join(damage, "\n"); p.Stats().Lost != 7 || len(damage) != 2 ||
		!strings.Contains(got, "2 a sample is of an event that the header does not have") || !strings.Contains(got, "1 a record is shorter") {
		t.Errorf("lost %d, damage %q", p.Stats().Lost, damage)
	}
}

// TestUndecoded says how much of a trace was left out beside the samples.
func TestUndecoded(t *testing.T) {
	t.Parallel()
	w := pdt.Writer{Events: []pdt.Event{{SampleType: pdt.IP | pdt.TID}}}
	w.Sample(pdt.Sample{IP: 2, PID: 1, TID: 1})
	w.Trace(0, 1, -1, 0, make([]byte, 48))
	w.Trace(1, 2, -1, 0, make([]byte, 16))
	w.Sample(pdt.Sample{IP: 3, PID: 1, TID: 1})
	var out bytes.Buffer
	if _, err := w.WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	p := open(t, out.Bytes())
	if got, n := all(t, p), p.Stats().Trace.Undecoded; got != "1/1 [2] [] 0\n1/1 [3] [] 0\n" || n != 64 {
		t.Errorf("%d bytes, %q", n, got)
	}
}

// TestBranchKinds reads branch records that are no list of all branches taken.
func TestBranchKinds(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		branchType uint64
		note, want string
		kind       sample.Kind
	}{
		{1 | 8, "", "1/1 [2 3] [{4 5}] 0\n", sample.Hybrid},
		{1 | 8 | 16, "", "1/1 [2 3] [{4 5}] 0\n", sample.Hybrid},
		{1 | 16, "only some kinds of branches", "1/1 [2 3] [{4 5}] 0\n", sample.Hybrid},
		{1 | 1<<11, "", "1/1 [2 4] [] 0 at calls\n", sample.Stacks},
	} {
		w := pdt.Writer{Events: []pdt.Event{{SampleType: pdt.IP | pdt.TID | pdt.Callchain | pdt.BranchStack, BranchType: tc.branchType}}}
		w.Sample(pdt.Sample{IP: 2, PID: 1, TID: 1, Callchain: []uint64{user, 2, 3}, Branches: []sample.Branch{{From: 4, To: 5}}})
		var out bytes.Buffer
		if _, err := w.WriteTo(&out); err != nil {
			t.Fatal(err)
		}
		p := open(t, out.Bytes())
		if notes := strings.Join(p.Info().Notes, "\n"); p.Info().Kind != tc.kind || !strings.HasPrefix(notes, tc.note) || (notes == "") != (tc.note == "") {
			t.Errorf("%#x: %v, notes %q", tc.branchType, p.Info().Kind, notes)
		}
		if got := all(t, p); got != tc.want {
			t.Errorf("%#x: got %s, want %s", tc.branchType, got, tc.want)
		}
	}
}

// TestCopies reads registers and copies of stacks, as --call-graph dwarf records them.
// inMemory is a file that is mapped.
type inMemory struct {
	io.ReaderAt
	data []byte
}

func (m inMemory) Mapped() []byte { return m.data }

func TestCopies(t *testing.T) {
	t.Parallel()
	const mask = 1<<6 | 1<<7 | 1<<8 | 1<<23
	for _, how := range []string{"read", "mapped", "compressed"} {
		compress := how == "compressed"
		w := &pdt.Writer{Compress: compress, Events: []pdt.Event{{
			SampleType: pdt.IP | pdt.TID | pdt.Time | pdt.Callchain | pdt.BranchStack | pdt.RegsUser | pdt.StackUser,
			BranchType: 1 << 11, Regs: mask, Name: "cpu-clock", // calls in place of branches
		}}}
		regs := []uint64{60, 70, 80, 230}
		state := sample.UserState{Mask: mask, Regs: regs, Stack: []byte{1, 2, 3, 4, 5, 6, 7, 8, 9}}
		branches := []sample.Branch{{From: 1, To: 2}}
		for i, s := range []pdt.Sample{
			{IP: 80, ABI: 2, User: state, Room: 16, Branches: branches},
			{IP: 81, ABI: 1, User: state, Room: 16}, // 32 bits
			{IP: 82, Room: 0},                       // a thread of the kernel
			{IP: 83, ABI: 2, User: sample.UserState{Regs: regs}, Room: 0},
			{IP: 84, ABI: 2, User: state, Room: 4096, Callchain: []uint64{^uint64(127), 1 << 63}},
		} {
			s.PID, s.TID, s.Time = 7, 7, uint64(i+1)
			w.Sample(s)
		}
		if compress {
			if err := w.Pack(); err != nil {
				t.Fatal(err)
			}
		}
		var file bytes.Buffer
		if _, err := w.WriteTo(&file); err != nil {
			t.Fatal(err)
		}
		var in io.ReaderAt = bytes.NewReader(file.Bytes())
		if how == "mapped" {
			in = inMemory{in, file.Bytes()}
		}
		src, err := perfdata.Open(in, int64(file.Len()), "perf.data")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for b, err := range src.Batches(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range b.Samples {
				copied := "none"
				if u := s.User; u != nil {
					copied = fmt.Sprint(u.Mask == mask, u.Regs, u.Stack)
				}
				got = append(got, fmt.Sprintf("%x: %s", s.Stack, copied))
			}
		}
		const whole = "true [60 70 80 230] [1 2 3 4 5 6 7 8 9]"
		want := []string{"[50]: " + whole, "[51]: none", "[52]: none", "[53]: none", "[8000000000000000]: " + whole}
		if !slices.Equal(got, want) || src.Stats().Copies != 2 || len(src.Stats().Damage) > 0 {
			t.Errorf("%s: got  %q\nwant %q; %+v", how, got, want, src.Stats())
		}
	}
}

func TestBuildIDInMap(t *testing.T) {
	t.Parallel()
	id := bytes.Repeat([]byte{0xab}, 20)
	w := pdt.Writer{Events: []pdt.Event{{SampleType: pdt.IP | pdt.TID}}}
	w.Map(1, 0, sample.Mapping{Start: 0x1000, Size: 0x1000, Path: "/bin/prog", BuildID: string(id), Exec: true})
	var out bytes.Buffer
	if _, err := w.WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	if got, want := all(t, open(t, out.Bytes())), "map 1/1 1000+1000@0 /bin/prog "+hex.EncodeToString(id)+" true\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// offsets prints stacks as perf 6.1 does: as offsets in files, where there are files.
func offsets(t *testing.T, src sample.Source) string {
	t.Helper()
	var out strings.Builder
	var spaces sample.Spaces
	for b, err := range src.Batches(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		spaces.Apply(b.Events)
		for _, s := range b.Samples {
			fmt.Fprintf(&out, "%d/%d", s.PID, s.TID)
			for _, addr := range s.Stack {
				// In text, what was printed as an offset is in no mapping.
				if m := spaces.Lookup(s.PID, addr); m != nil && addr < 1<<63 {
					addr = m.FileOffset(addr)
				}
				fmt.Fprintf(&out, " %x", addr)
			}
			out.WriteByte('\n')
		}
		b.Release()
	}
	return out.String()
}

// TestRecorded reads what perf record wrote of a program with two functions.
func TestRecorded(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		file, events string
		samples      uint64
	}{
		{"packed.perf.data", `["cpu-clock"]`, 86},
		{"piped.perf.data", `["cpu-clock" "page-faults"]`, 47},
	} {
		t.Run(tc.file, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join("testdata", tc.file)
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			p := open(t, data)
			got := offsets(t, p)
			if n := p.Stats().Samples; n != tc.samples || len(p.Stats().Damage) > 0 {
				t.Errorf("%d samples, want %d; damage %v", n, tc.samples, p.Stats().Damage)
			}
			if names := fmt.Sprintf("%q", p.Info().Events); names != tc.events || p.Info().Host == "" || !strings.Contains(p.Info().Command, "./spin 20000") {
				t.Errorf("%+v", p.Info())
			}
			perf, err := exec.LookPath("perf")
			if err != nil {
				t.Skip("no perf to compare with")
			}
			// The files may belong to somebody else, which is what -f is for.
			text, err := exec.Command(perf, "script", "-f", "-i", file, "--show-mmap-events", "-F", "pid,tid,time,ip").Output()
			if err != nil {
				t.Fatal(err)
			}
			s, err := perfscript.Open(bytes.NewReader(text), "text", 0)
			if err != nil {
				t.Fatal(err)
			}
			if want := offsets(t, s); got != want {
				t.Errorf("%d bytes of samples, perf script has %d", len(got), len(want))
			}
		})
	}
}

// TestCut reads beginnings of files: what is there, and that it ends.
func TestCut(t *testing.T) {
	t.Parallel()
	for _, how := range []struct{ pipe, compress bool }{{}, {pipe: true}, {compress: true}} {
		data, err := record(forms["hybrid"], how.pipe, false, how.compress)
		if err != nil {
			t.Fatal(err)
		}
		whole := strings.Count(all(t, open(t, data)), "\n")
		most := 0
		for n := range data {
			p, err := perfdata.Open(bytes.NewReader(data[:n]), int64(n), "cut")
			if err != nil {
				if !strings.HasPrefix(err.Error(), "cut: ") || strings.Contains(err.Error(), "\n") {
					t.Errorf("%d bytes: %v", n, err)
				}
				continue
			}
			most = max(most, strings.Count(all(t, p), "\n"))
		}
		if most != whole {
			t.Errorf("at most %d records, the whole file has %d", most, whole)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	good, err := record(forms["hybrid"], false, false, false)
	if err != nil {
		t.Fatal(err)
	}
	change := func(at int, b ...byte) []byte {
		data := bytes.Clone(good)
		copy(data[at:], b)
		return data
	}
	for _, tc := range []struct {
		name string
		data []byte
		want string
	}{
		{"nothing", nil, "not a file of perf record"},
		{"text", []byte("# started on Sat, a line of text\n"), "not a file of perf record"},
		{"header", good[:40], "the file ends in its header"},
		{"entries", change(16, 7), "events with 7 each"},
		{"events", change(24, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f), "the events are after the end of the file"},
		{"ids", change(112+128, 0xff, 0xff, 0xff, 0xff), "the ids of events are after the end of the file"},
	} {
		_, err := perfdata.Open(bytes.NewReader(tc.data), int64(len(tc.data)), "perf.data")
		if err == nil || !strings.Contains(err.Error(), "perf.data: ") || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
	p := open(t, change(48, 0)) // perf had not yet noted the size of the data
	if notes := p.Info().Notes; len(notes) != 1 || !strings.Contains(notes[0], "did not end normally") {
		t.Errorf("%q", notes)
	}
}

// FuzzOpen reads anything.
func FuzzOpen(f *testing.F) {
	for _, e := range forms {
		for _, how := range []struct{ pipe, big, compress bool }{{}, {pipe: true}, {big: true}, {compress: true}} {
			data, err := record(e, how.pipe, how.big, how.compress)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Add(recordSPE(f, false, true))
	f.Add(recordSPE(f, true, false))
	f.Add(recordLossy(f, false))
	f.Add(recordLossy(f, true))
	f.Add(recordMapped(f, mappedFirst(f)))
	f.Add(recordMapped(f, packedMaps(f, mappedFirst(f))))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := perfdata.Open(bytes.NewReader(data), int64(len(data)), "in")
		if err != nil {
			return
		}
		var samples uint64
		for b, err := range p.Batches(context.Background()) {
			if err != nil {
				t.Fatal(err)
			}
			samples += uint64(len(b.Samples))
			b.Release()
		}
		if samples != p.Stats().Samples {
			t.Errorf("%d samples, counted %d", samples, p.Stats().Samples)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	e := forms["hybrid"]
	w := pdt.Writer{Events: []pdt.Event{e}}
	s := pdt.Sample{IP: 1, PID: 71, TID: 71, Callchain: []uint64{user, 1, 2, 3, 4, 5, 6, 7}}
	for i := range uint64(32) {
		s.Branches = append(s.Branches, sample.Branch{From: i, To: i})
	}
	for i := range 30000 {
		s.Time = uint64(i + 1)
		w.Sample(s)
		if i%1000 == 0 {
			w.Round()
		}
	}
	var out bytes.Buffer
	if _, err := w.WriteTo(&out); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(out.Len()))
	b.ReportAllocs()
	for b.Loop() {
		p, err := perfdata.Open(bytes.NewReader(out.Bytes()), int64(out.Len()), "perf.data")
		if err != nil {
			b.Fatal(err)
		}
		for batch, err := range p.Batches(context.Background()) {
			if err != nil {
				b.Fatal(err)
			}
			batch.Release()
		}
	}
}

// TestSpeculation leaves out branches that were not executed, and reads those that recent kernels write, with types,
// cycles, and counters of events between them.
func TestSpeculation(t *testing.T) {
	t.Parallel()
	const cycles, call, wrongPath, correctPath = 12 << 4, 4 << 20, 1 << 24, 3 << 24
	for _, big := range []bool{false, true} {
		e := pdt.Event{
			ID: 77, Name: "cycles:u", SampleType: pdt.IP | pdt.TID | pdt.Time | pdt.Callchain | pdt.BranchStack,
			BranchType: pdt.HWIndex | pdt.Counters,
		}
		w := pdt.Writer{Big: big, Events: []pdt.Event{e}}
		w.Sample(pdt.Sample{
			IP: 1, PID: 71, TID: 72, Time: 1000, Callchain: []uint64{user, 1},
			Branches: []sample.Branch{{From: 0x10, To: 0x20}, {From: 0x30, To: 0x40}, {From: 0x50, To: 0x60}},
			Flags:    []uint64{cycles | call | correctPath, wrongPath, call}, Mispredict: 4,
		})
		var out bytes.Buffer
		if _, err := w.WriteTo(&out); err != nil {
			t.Fatal(err)
		}
		p := open(t, out.Bytes())
		if got, want := all(t, p), "71/72 [1] [{10 20} {50 60}] 10\n"; got != want {
			t.Errorf("big %t: got %s, want %s", big, got, want)
		}
		if n := p.Stats().WrongPath; n != 1 {
			t.Errorf("big %t: %d branches were left out", big, n)
		}
	}
}

// TestDeferred completes stacks whose part of the program comes in a later record.
func TestDeferred(t *testing.T) {
	t.Parallel()
	const deferred = 1<<64 - 640
	e := pdt.Event{ID: 77, Name: "cycles", SampleType: pdt.IP | pdt.TID | pdt.Time | pdt.Callchain}
	w := pdt.Writer{Events: []pdt.Event{e}}
	at := func(tid uint32, time uint64, chain ...uint64) {
		w.Sample(pdt.Sample{IP: chain[1], PID: 71, TID: tid, Time: time, Callchain: chain})
	}
	rest := func(number uint64, chain ...uint64) {
		var b []byte
		for _, v := range append([]uint64{number, uint64(len(chain))}, chain...) {
			b = binary.LittleEndian.AppendUint64(b, v)
		}
		w.Record(22, 0, b)
	}
	at(72, 1000, kernel, 0xffffffff81000010, deferred, 5)
	at(72, 1001, user, 0x401100, 0x401182)
	at(73, 1002, kernel, 0xffffffff81000020, deferred, 6)
	at(72, 1003, kernel, 0xffffffff81000030, deferred, 5)
	w.Round()
	w.Round()
	rest(5, user, 0x401136, 0x401182)
	rest(9, user, 1) // of nothing
	rest(1 << 40)
	w.Record(22, 0, make([]byte, 8)) // cut off
	var out bytes.Buffer
	if _, err := w.WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	p := open(t, out.Bytes())
	const want = `71/72 [401100 401182] [] 0
71/72 [ffffffff81000010 401136 401182] [] 0
71/72 [ffffffff81000030 401136 401182] [] 0
71/73 [ffffffff81000020] [] 0
`
	if got := all(t, p); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if s := p.Stats(); s.Samples != 4 || len(s.Damage) != 2 {
		t.Errorf("%d samples, damage %v", s.Samples, s.Damage)
	}
}

// TestOldMappings reads mappings as kernels without their protection write them.
func TestOldMappings(t *testing.T) {
	t.Parallel()
	for _, big := range []bool{false, true} {
		w := pdt.Writer{Big: big, Events: []pdt.Event{{SampleType: pdt.IP | pdt.TID | pdt.Time}}}
		var order binary.AppendByteOrder = binary.LittleEndian
		if big {
			order = binary.BigEndian
		}
		for i, path := range []string{"/usr/lib64/libc-2.17.so", "[vdso]", "//anon"} {
			body := order.AppendUint32(order.AppendUint32(nil, 71), 71)
			for _, v := range []uint64{0x10000 * uint64(i+1), 0x1000, 0x3000, 0, 0, 0} {
				body = order.AppendUint64(body, v)
			}
			body = append(append(body, path...), make([]byte, 8-len(path)%8)...)
			body = order.AppendUint64(order.AppendUint64(body, 71<<32|71), uint64(i)) // the id and the time
			const mmap2, data = 10, 1 << 13
			w.Record(mmap2, 2|uint16(i%2)*data, body)
		}
		var out bytes.Buffer
		if _, err := w.WriteTo(&out); err != nil {
			t.Fatal(err)
		}
		var got []string
		for b, err := range open(t, out.Bytes()).Batches(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range b.Events {
				got = append(got, fmt.Sprintf("%#x %s %v", e.Mapping.Start, e.Mapping.Path, e.Mapping.Exec))
			}
		}
		if want := []string{"0x10000 /usr/lib64/libc-2.17.so true", "0x20000 [vdso] false", "0x30000 //anon true"}; !slices.Equal(got, want) {
			t.Errorf("big %v: %q, want %q", big, got, want)
		}
	}
}

func TestOldFile(t *testing.T) {
	t.Parallel()
	data := append([]byte("PERFFILE"), make([]byte, 200)...)
	if _, err := perfdata.Open(bytes.NewReader(data), int64(len(data)), "old"); !perfdata.Detect(data) || err == nil || !strings.Contains(err.Error(), "before version 3.4") {
		t.Errorf("%v", err)
	}
}

// TestTracingData reads what follows the description of tracepoints: perf writes it after its record, and simpleperf
// into it.
func TestTracingData(t *testing.T) {
	t.Parallel()
	for name, inside := range map[string]int{"perf": 0, "simpleperf": 16} {
		w := pdt.Writer{Pipe: inside == 0, Events: []pdt.Event{{SampleType: pdt.IP | pdt.TID}}}
		w.Record(66, 0, append([]byte{13, 0, 0, 0}, make([]byte, inside)...))
		if inside == 0 {
			w.Record(1000, 0, make([]byte, 8)) // 16 bytes in place of the description
		}
		w.Sample(pdt.Sample{IP: 2, PID: 1, TID: 1})
		var out bytes.Buffer
		if _, err := w.WriteTo(&out); err != nil {
			t.Fatal(err)
		}
		if got := all(t, open(t, out.Bytes())); got != "1/1 [2] [] 0\n" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

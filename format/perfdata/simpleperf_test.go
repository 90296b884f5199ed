package perfdata_test

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	pdt "github.com/cairnprof/cairn/format/perfdata/perfdatatest"
	"github.com/cairnprof/cairn/sample"
)

// The features and the record of simpleperf.
const (
	metaInfo = 129
	initMap  = 134
	eventID  = 32768 + 6
)

// eventTypes is how simpleperf names the events of a recording.
const eventTypes = "simpleperf_version\x001.build.1\x00event_type_info\x00cpu-cycles,0,0\nsched:sched_switch,2,49\nraw-x,y,4,17\x00trace_offcpu\x00true\x00"

// written returns the file of a writer.
func written(t testing.TB, w *pdt.Writer) []byte {
	t.Helper()
	var out bytes.Buffer
	if _, err := w.WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestSimpleperfEvents names events as simpleperf does, and finds those of samples by the ids that its merge lists.
func TestSimpleperfEvents(t *testing.T) {
	t.Parallel()
	const all = pdt.Identifier | pdt.IP | pdt.TID | pdt.Time
	w := pdt.Writer{
		Features: map[int][]byte{metaInfo: []byte(eventTypes)},
		Events: []pdt.Event{
			{SampleType: all, ID: 5, Flags: 1 << 5},
			{Kind: 2, Config: 49, SampleType: all, ID: 6, Flags: 1 << 4},
			{Kind: 4, Config: 17, SampleType: all, ID: 7, Flags: 1<<4 | 1<<5},
			{Kind: 4, Config: 18, SampleType: all, ID: 8},
		},
	}
	ids := binary.LittleEndian.AppendUint64(nil, 2)
	for _, n := range []uint64{1, 60, 9, 61} { // there is no tenth event
		ids = binary.LittleEndian.AppendUint64(ids, n)
	}
	w.Record(eventID, 0, ids)
	w.Sample(pdt.Sample{IP: 0x10, PID: 1, TID: 1, Time: 10, Event: 1})
	w.Events[1].ID = 60
	w.Sample(pdt.Sample{IP: 0x20, PID: 1, TID: 1, Time: 11, Event: 1})
	w.Events[1].ID = 61
	w.Sample(pdt.Sample{IP: 0x30, PID: 1, TID: 1, Time: 12, Event: 1})
	w.Events[1].ID = 6
	p := open(t, written(t, &w))
	if got, want := p.Info().Events, []string{"cpu-cycles:u", "sched:sched_switch:k", "raw-x,y", ""}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	var events []uint16
	for b, err := range p.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range b.Samples {
			events = append(events, s.Event)
		}
		b.Release()
	}
	if want := []uint16{1, 1}; !slices.Equal(events, want) {
		t.Errorf("events %d, want %d", events, want)
	}
	if d := p.Stats().Damage; len(d) != 1 || d[0].Count != 1 || !strings.Contains(d[0].What, "event that the header does not have") {
		t.Errorf("%v", d)
	}
}

// mappedFirst returns the records of what was mapped before a recording began.
func mappedFirst(t testing.TB) []byte {
	t.Helper()
	w := pdt.Writer{Events: []pdt.Event{{SampleType: pdt.IP | pdt.TID | pdt.Time}}}
	w.Comm(7, 0, "app", false)
	w.Map(7, 0, sample.Mapping{Start: 0x1000, Size: 0x1000, Path: "/lib/libapp.so", Exec: true})
	whole := written(t, &w)
	const at = 40 // of the place of the data in the header
	from, size := binary.LittleEndian.Uint64(whole[at:]), binary.LittleEndian.Uint64(whole[at+8:])
	return whole[from : from+size]
}

// recordMapped returns a recording whose mappings are in a feature.
func recordMapped(t testing.TB, maps []byte) []byte {
	t.Helper()
	w := pdt.Writer{Events: []pdt.Event{{SampleType: pdt.IP | pdt.TID | pdt.Time}}, Features: map[int][]byte{initMap: maps}}
	w.Sample(pdt.Sample{IP: 0x1010, PID: 7, TID: 7, Time: 10})
	return written(t, &w)
}

// packed is maps as simpleperf record -z writes them: a stream of its own, cut anywhere.
func packedMaps(t testing.TB, maps []byte) (out []byte) {
	t.Helper()
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range [][]byte{z.EncodeAll(maps[:20], nil), z.EncodeAll(maps[20:], nil)} {
		out = binary.LittleEndian.AppendUint32(out, 81)
		out = binary.LittleEndian.AppendUint16(out, 0)
		out = binary.LittleEndian.AppendUint16(out, uint16(8+len(part)))
		out = append(out, part...)
	}
	return out
}

// TestInitialMaps reads what simpleperf record -a says was mapped at its beginning, compressed or not.
func TestInitialMaps(t *testing.T) {
	t.Parallel()
	maps := mappedFirst(t)
	want := "comm 7/7 0 \"app\"\nmap 7/7 1000+1000@0 /lib/libapp.so  true\n7/7 [1010] [] 0\n"
	for name, section := range map[string][]byte{"plain": maps, "compressed": packedMaps(t, maps)} {
		p := open(t, recordMapped(t, section))
		if got := all(t, p); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		if d := p.Stats().Damage; len(d) > 0 {
			t.Errorf("%s: %v", name, d[0])
		}
		p = open(t, recordMapped(t, section[:len(section)-2]))
		if got := all(t, p); !strings.HasSuffix(got, "7/7 [1010] [] 0\n") || len(p.Stats().Damage) != 1 {
			t.Errorf("%s, cut: %q, %v", name, got, p.Stats().Damage)
		}
	}
}

// TestNoBranches has where a sample of branches was that has none of these.
func TestNoBranches(t *testing.T) {
	t.Parallel()
	w := pdt.Writer{Events: []pdt.Event{{SampleType: pdt.IP | pdt.TID | pdt.Time | pdt.BranchStack}}}
	w.Sample(pdt.Sample{IP: 0x10, PID: 1, TID: 1, Time: 10})
	w.Sample(pdt.Sample{IP: 0x20, PID: 1, TID: 1, Time: 11, Branches: []sample.Branch{{From: 1, To: 2}}})
	if got, want := all(t, open(t, written(t, &w))), "1/1 [10] [] 0\n1/1 [] [{1 2}] 0\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

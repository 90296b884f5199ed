package tally

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/format/tracelog/tracelogtest"
	"github.com/cairnprof/cairn/internal/fleet/fleettest"
	"github.com/cairnprof/cairn/internal/fleet/inbox"
	"github.com/cairnprof/cairn/prof"
)

var limits = Limits{Traces: fleettest.Traces, Logs: 1 << 20}

// profileOf returns the profile of a program.
func profileOf(s *State, program, prefix string) ([]byte, error) {
	ids, err := Select(s.Builds(Query{}), program, prefix, true)
	if err != nil {
		return nil, err
	}
	var files [][]byte
	for _, id := range ids {
		data, err := s.Profile(id)
		if err != nil {
			return nil, err
		}
		files = append(files, data)
	}
	return Join(files)
}

// memory keeps objects.
type memory map[string][]byte

func (m memory) Put(data []byte) (string, error) {
	name := fmt.Sprintf("%x", sha256.Sum256(data))
	m[name] = bytes.Clone(data)
	return name, nil
}

func (m memory) Get(name string) ([]byte, error) {
	data, ok := m[name]
	if !ok {
		return nil, errors.New("no such object")
	}
	return data, nil
}

func items(t testing.TB, files ...[]byte) []inbox.Item {
	t.Helper()
	var all []inbox.Item
	for _, data := range files {
		list, _, err := inbox.Open(data, inbox.Limits{Files: 10, File: 1 << 20, Total: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, list...)
	}
	return all
}

func programs() []*fleettest.Program {
	return []*fleettest.Program{
		fleettest.NewProgram("app", "\x01\x23", 30), fleettest.NewProgram("app", "\x01\x24", 31), fleettest.NewProgram("tool", "\x02", 5),
	}
}

// TestMerged sends the runs of three builds and their maps in any order, some more than once,
// in records of any length, with snapshots from which another state goes on at any place. Each
// time the profiles are those that cairn merge makes.
func TestMerged(t *testing.T) {
	t.Parallel()
	all := programs()
	rapid.Check(t, func(rt *rapid.T) {
		raws := map[string][]byte{}
		var files [][]byte
		for i, p := range all {
			files = append(files, p.MapFile(t))
			for run := range rapid.IntRange(0, 40).Draw(rt, "runs") {
				data := p.Run(t, uint64(1000*i+run+1))
				raws[fmt.Sprintf("%d", 1000*i+run)] = data
				files = append(files, data)
			}
		}
		for range rapid.IntRange(0, 10).Draw(rt, "repeated") {
			files = append(files, files[rapid.IntRange(0, len(files)-1).Draw(rt, "again")])
		}
		rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "order"), 1)).Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
		objects, limits := memory{}, limits
		limits.Memory = rapid.SampledFrom([]int64{0, 1, 20_000}).Draw(rt, "memory")
		s := New(objects, limits)
		for seq := uint64(1); len(files) > 0; seq++ {
			n := rapid.IntRange(1, len(files)).Draw(rt, "in a record")
			record := items(t, files[:n]...)
			files = files[n:]
			if err := s.Apply(seq, int64(seq), record); err != nil {
				rt.Fatal(err)
			}
			if !rapid.Bool().Draw(rt, "snapshot") {
				continue
			}
			list, err := s.Snapshot()
			if err != nil {
				rt.Fatal(err)
			}
			used := s.Used()
			for name := range objects {
				if !used[name] {
					delete(objects, name)
				}
			}
			if rapid.Bool().Draw(rt, "another state") {
				if s, err = Restore(list, objects, limits); err != nil {
					rt.Fatal(err)
				}
				if err := s.Apply(seq, 0, record); err != nil || s.Seq() != seq { // comes again
					rt.Fatal(err)
				}
			}
		}
		for name, of := range map[string][]*fleettest.Program{"app": all[:2], "tool": all[2:]} {
			got, err := profileOf(s, name, "")
			if err != nil {
				rt.Fatal(err)
			}
			if want := fleettest.Merged(t, of, only(t, raws, of)); !bytes.Equal(got, want) {
				rt.Fatalf("the profile of %s is not what merge makes", name)
			}
		}
		if n, bytes := s.Waiting(); n != 0 || bytes != 0 {
			rt.Fatalf("%d files of %d bytes wait", n, bytes)
		}
	})
}

// only returns the raw files of some builds.
func only(t testing.TB, raws map[string][]byte, of []*fleettest.Program) map[string][]byte {
	kept := map[string][]byte{}
	for name, data := range raws {
		h, err := mip.ParseRawHeader(data)
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(of, func(p *fleettest.Program) bool { return p.BuildID == h.BuildID }) {
			kept[name] = data
		}
	}
	return kept
}

// TestWaiting checks that raw files that wait for their map are in snapshots, and are merged
// when the map arrives.
func TestWaiting(t *testing.T) {
	t.Parallel()
	p := programs()[0]
	raws := map[string][]byte{}
	objects := memory{}
	s := New(objects, limits)
	for run := range uint64(5) {
		data := p.Run(t, run+1)
		raws[fmt.Sprint(run)] = data
		if err := s.Apply(run+1, 0, items(t, data, data)); err != nil {
			t.Fatal(err)
		}
		list, err := s.Snapshot()
		if err == nil {
			s, err = Restore(list, objects, limits)
		}
		if err != nil {
			t.Fatal(err)
		}
		if n, _ := s.Waiting(); n != int(run)+1 {
			t.Fatalf("%d wait after %d", n, run+1)
		}
	}
	if len(s.builds[p.BuildID].Waiting) > 4 {
		t.Errorf("what waits is in %d objects", len(s.builds[p.BuildID].Waiting))
	}
	if _, err := profileOf(s, "app", ""); !errors.Is(err, ErrNone) {
		t.Errorf("without the map: %v", err)
	}
	if err := s.Apply(6, 0, items(t, p.MapFile(t))); err != nil {
		t.Fatal(err)
	}
	got, err := profileOf(s, "app", "0123")
	if err != nil || !bytes.Equal(got, fleettest.Merged(t, []*fleettest.Program{p}, raws)) {
		t.Errorf("not what merge makes: %v", err)
	}
	if want := (Totals{Raws: 5, Maps: 1, Repeated: 5}); s.Totals() != want {
		t.Errorf("%+v, want %+v", s.Totals(), want)
	}
}

// TestDamaged checks that a raw file that does not fit its map changes nothing, and that
// another file of the same run is accepted.
func TestDamaged(t *testing.T) {
	t.Parallel()
	p := programs()[0]
	raw := mip.Raw{BuildID: p.BuildID, PID: 1, Run: 9, Size: p.RawSize, Slots: 4, Data: []byte{7}}
	bad, err := mip.AppendRaw(nil, raw)
	if err != nil {
		t.Fatal(err)
	}
	raw.Data = []byte{1}
	good, err := mip.AppendRaw(nil, raw)
	if err != nil {
		t.Fatal(err)
	}
	raw.Run, raw.Size = 10, p.RawSize+1
	short, err := mip.AppendRaw(nil, raw)
	if err != nil {
		t.Fatal(err)
	}
	for _, mapFirst := range []bool{true, false} {
		s, seq := New(memory{}, limits), uint64(0)
		apply := func(files ...[]byte) {
			seq++
			if err := s.Apply(seq, 0, items(t, files...)); err != nil {
				t.Fatal(err)
			}
		}
		if mapFirst {
			apply(p.MapFile(t))
		}
		apply(bad, short)
		if !mapFirst {
			apply(p.MapFile(t))
		}
		apply(good)
		got, err := profileOf(s, "app", "")
		if err != nil || !bytes.Equal(got, fleettest.Merged(t, []*fleettest.Program{p}, map[string][]byte{"good": good})) {
			t.Errorf("map first %t: not what merge makes: %v", mapFirst, err)
		}
		if want := (Totals{Raws: 1, Maps: 1, Damaged: 2}); s.Totals() != want {
			t.Errorf("%+v, want %+v", s.Totals(), want)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	s := New(memory{}, limits)
	for i, p := range programs() {
		if err := s.Apply(uint64(i+1), int64(i+1), items(t, p.MapFile(t))); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		program, build string
		modules        int
		err            error
	}{
		{"app", "", 2, nil},
		{"app", "0123", 1, nil},
		{"app", "01", 0, ErrAmbiguous},
		{"app", "02", 0, ErrNone},
		{"tool", "0", 1, nil},
		{"none", "", 0, ErrNone},
		{"", "", 0, ErrNone},
	} {
		data, err := profileOf(s, test.program, test.build)
		if !errors.Is(err, test.err) {
			t.Errorf("%s@%s: %v, want %v", test.program, test.build, err, test.err)
		}
		if err != nil {
			continue
		}
		if p, err := mip.ReadProfile(data); err != nil || len(p.Modules) != test.modules {
			t.Errorf("%s@%s: %v, %v", test.program, test.build, p, err)
		}
	}
	if err := s.Apply(9, 0, nil); err == nil {
		t.Error("records may be left out")
	}
	other := fleettest.NewProgram("app", "\x01\x23", 29)
	it := items(t, other.MapFile(t))
	if err := s.CheckMap(&it[0]); err == nil {
		t.Error("another map of the same build is taken")
	}
	if err := s.Apply(4, 0, it); err != nil || s.Totals().Conflicts != 1 {
		t.Errorf("%+v, %v", s.Totals(), err)
	}
	if got, err := s.Map(prof.BuildID("\x01\x23")); err != nil || !bytes.Equal(got, programs()[0].MapFile(t)) {
		t.Errorf("the map is another: %v", err)
	}
}

// TestRetention checks that the newest logs of a build are kept, that builds without uploads
// are removed, and that neither is counted again if it is sent again.
func TestRetention(t *testing.T) {
	t.Parallel()
	log := func(pid uint32) []byte {
		w := tracelogtest.New(tracelog.Header{PID: pid, Realtime: 1})
		w.Module(&tracelog.Module{Number: 1, Start: 0x1000, End: 0x2000, BuildID: []byte("\x01"), Path: "/opt/app", Main: true})
		w.Close()
		return w.Bytes()
	}
	limits := Limits{Traces: fleettest.Traces, Logs: int64(2*len(log(1)) + 1)}
	objects := memory{}
	s := New(objects, limits)
	for pid := range uint32(5) {
		if err := s.Apply(uint64(pid)+1, 1000+int64(pid), items(t, log(pid+1))); err != nil {
			t.Fatal(err)
		}
		if list, err := s.Snapshot(); err != nil {
			t.Fatal(err)
		} else if s, err = Restore(list, objects, limits); err != nil {
			t.Fatal(err)
		}
	}
	logs, err := s.Logs("\x01")
	if err != nil || len(logs) != 2 || logs[1].Time != 1004 || s.Totals().Logs != 5 {
		t.Fatalf("logs: %+v, %v", logs, err)
	}
	if data, err := s.LogFile("\x01", logs[1].Key); err != nil || !bytes.Equal(data, log(5)) {
		t.Errorf("the newest log is changed: %v", err)
	}
	if n := s.Expire(1<<60, 100); n != 0 || s.Len() != 1 {
		t.Errorf("%d builds removed by a clock that is ahead, without an upload since", n)
	}
	other := fleettest.NewProgram("other", "\x02", 3)
	if err := s.Apply(6, 1104, items(t, other.MapFile(t))); err != nil {
		t.Fatal(err)
	}
	if n := s.Expire(1<<60, 100); n != 0 || s.Len() != 2 {
		t.Errorf("%d builds removed 100 ns after the last upload", n)
	}
	if n := s.Expire(1000, 99); n != 0 || s.Len() != 2 {
		t.Errorf("%d builds removed by a clock that is behind", n)
	}
	if n := s.Expire(1<<60, 99); n != 1 || s.Len() != 1 {
		t.Errorf("%d builds removed", n)
	}
	if _, err := s.Snapshot(); err != nil {
		t.Fatal(err)
	}
	if s.Used()[logs[1].Object] {
		t.Error("a snapshot keeps the log of a build that was removed")
	}
	if err := s.Apply(7, 2000, items(t, log(5))); err != nil || s.Totals().Repeated != 1 || s.Len() != 1 {
		t.Errorf("a log that comes again: %+v, %v", s.Totals(), err)
	}
	// A build that was removed gets its map again.
	if n := s.Expire(1<<60, -2000); n != 1 || s.Len() != 0 {
		t.Errorf("%d builds removed", n)
	}
	if err := s.Apply(8, 3000, items(t, other.MapFile(t), other.Run(t, 1))); err != nil || !s.Known(other.BuildID) || s.Totals().Raws != 1 {
		t.Errorf("a build that was removed: %+v, %v", s.Totals(), err)
	}
}

// countRun returns the raw file of a run in mode count.
func countRun(t *testing.T, m *prof.Map, run uint64, calls func(fn int) uint32, position uint32) []byte {
	t.Helper()
	raw := mip.Raw{BuildID: m.BuildID, PID: 1, Run: run, Size: m.RawSize, Single: true, Data: make([]byte, m.RawSize)}
	for i := range m.Funcs {
		record := raw.Data[m.Funcs[i].Record:]
		binary.LittleEndian.PutUint32(record, -calls(i))
		binary.LittleEndian.PutUint32(record[wire.OrderOffset:], position+uint32(i))
	}
	data, err := mip.AppendRaw(nil, raw)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestLiar checks that a run with the largest possible counts and order weighs no more than
// MaxCalls, and that the profile equals that of cairn merge --max-calls.
func TestLiar(t *testing.T) {
	t.Parallel()
	const honest, maxCalls, functions = 100, 10_000, 20
	m := &prof.Map{BuildID: "\x0a", Module: "app", RawAddr: 0x100000, RawSize: functions*wire.CountSize + 4, Machine: "x86-64"}
	for i := range functions {
		m.Funcs = append(m.Funcs, prof.Func{
			Name: fmt.Sprint("f", i), File: "a.c", Mode: prof.ModeCount, Record: uint64(i) * wire.CountSize,
			Fragments: []prof.Fragment{{Addr: 0x1000 + uint64(i)*16, Size: 16}},
		})
	}
	program := &fleettest.Program{Map: *m, Functions: functions}
	raws := map[string][]byte{}
	for run := range honest {
		raws[fmt.Sprint(run)] = countRun(t, m, uint64(run+1), func(fn int) uint32 { return uint32(fn + 1) }, 1)
	}
	raws["liar"] = countRun(t, m, honest+1, func(fn int) uint32 {
		if fn == 7 {
			return 1<<32 - 1
		}
		return 1
	}, 1<<31-functions)
	s := New(memory{}, Limits{Traces: fleettest.Traces, Logs: 1 << 20, MaxCalls: maxCalls})
	files := [][]byte{program.MapFile(t)}
	for _, name := range slices.Sorted(maps.Keys(raws)) {
		files = append(files, raws[name])
	}
	if err := s.Apply(1, 1, items(t, files...)); err != nil {
		t.Fatal(err)
	}
	got, err := s.Profile(m.BuildID)
	if err != nil {
		t.Fatal(err)
	}
	if want := fleettest.MergedWithin(t, []*fleettest.Program{program}, raws, maxCalls); !bytes.Equal(got, want) {
		t.Error("the profile is not that of cairn merge --max-calls")
	}
	p, err := mip.ReadProfile(got)
	if err != nil {
		t.Fatal(err)
	}
	calls := uint64(0)
	for i := range p.Modules[0].Counts {
		c := &p.Modules[0].Counts[i]
		calls += c.Calls
		if c.Runs != honest+1 || c.Calls < honest*uint64(i+1)+1 || c.MeanOrder() > functions || !c.Inexact {
			t.Errorf("function %d: %+v", i, c)
		}
	}
	if most := uint64(honest*functions*(functions+1)/2 + maxCalls + functions); calls > most {
		t.Errorf("%d calls in all, more than %d", calls, most)
	}
}

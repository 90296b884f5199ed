package join

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/prof"
)

// function returns one with a second block, at an address.
func function(name string, signature uint32, addr uint64) prof.Func {
	return prof.Func{
		Name: name, File: "a.c", Mode: prof.ModeFull, Signature: signature, Record: addr - 0x4000,
		Fragments: []prof.Fragment{{Addr: addr, Size: 0x20, Blocks: []uint32{8}}},
	}
}

// module returns a build with a run of each of its functions, which the first of them
// called.
func module(id string, funcs ...prof.Func) prof.Module {
	m := prof.Module{Map: prof.Map{BuildID: prof.BuildID(id), Module: "app", RawAddr: 0x9000, RawSize: 0x1000, Funcs: funcs}, Raws: 1, TracesSeen: 1}
	t := prof.Trace{Weight: 1, Key: uint64(id[0])}
	for i := range funcs {
		m.Counts = append(m.Counts, prof.Counts{
			Runs: 1, Calls: uint64(len(funcs[i].Name)), OrderSum: uint64(i) + 1, Blocks: []uint64{1},
			Callers: []prof.Site{{Addr: funcs[0].Addr() + 5, Runs: 1}},
		})
		t.Funcs = append(t.Funcs, uint32(len(funcs)-1-i))
	}
	m.Traces = []prof.Trace{t}
	m.Held = prof.RunSet{IDs: []uint64{uint64(id[0])}}
	return m
}

// names returns the functions of a module with their calls and what called them.
func names(m *prof.Module) (list []string) {
	for i := range m.Funcs {
		callers := []string{}
		for _, s := range m.Counts[i].Callers {
			who := "?"
			for k := range m.Funcs {
				if f := &m.Funcs[k]; s.Addr > f.Addr() && s.Addr <= f.Addr()+f.Size() {
					who = f.Name
				}
			}
			callers = append(callers, fmt.Sprint(who, " ", s.Runs))
		}
		list = append(list, fmt.Sprintf("%s/%d: %d calls, %d of %d runs, from %s", m.Funcs[i].Name, m.Funcs[i].Signature, m.Counts[i].Calls, m.Counts[i].Runs, m.RunsOf(&m.Counts[i]), strings.Join(callers, ", ")))
	}
	return list
}

func TestModules(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		modules []prof.Module
		want    []string
		changed int
	}{
		"variants": {
			[]prof.Module{module("1", function("a", 1, 0x4000), function("ccc", 1, 0x4100)), module("2", function("bb", 2, 0x4200))},
			[]string{"a/1: 1 calls, 1 of 1 runs, from a 1", "bb/2: 2 calls, 1 of 1 runs, from bb 1", "ccc/1: 3 calls, 1 of 1 runs, from a 1"},
			0,
		},
		"two builds": {
			[]prof.Module{module("1", function("a", 1, 0x4000), function("bb", 1, 0x4100)), module("2", function("bb", 1, 0x4000), function("a", 1, 0x4300))},
			[]string{"a/1: 2 calls, 2 of 2 runs, from a 1, bb 1", "bb/1: 4 calls, 2 of 2 runs, from a 1, bb 1"},
			0,
		},
		"changed": {
			[]prof.Module{module("1", function("a", 1, 0x4000)), module("2", function("a", 2, 0x4000), function("bb", 1, 0x4100))},
			[]string{"a/1: 1 calls, 1 of 1 runs, from a 1", "bb/1: 2 calls, 1 of 1 runs, from ? 1"},
			1,
		},
		"two of a name": {
			[]prof.Module{module("1", function("a", 1, 0x4000), function("a", 1, 0x4100)), module("2", function("a", 1, 0x4200))},
			[]string{"a/1: 2 calls, 2 of 2 runs, from a 2", "a/1: 1 calls, 1 of 1 runs, from a 1"},
			0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res, err := Modules(tc.modules)
			if err != nil {
				t.Fatal(err)
			}
			if got := names(&res.Module); !slices.Equal(got, tc.want) || res.Changed != tc.changed {
				t.Errorf("%d changed\n%s", res.Changed, strings.Join(got, "\n"))
			}
			p := &prof.Profile{Modules: []prof.Module{res.Module}}
			var b bytes.Buffer
			if err := mip.WriteProfile(&b, p); err != nil {
				t.Fatal(err)
			}
			if back, err := mip.ReadProfile(b.Bytes()); err != nil || len(back.Modules[0].Held.IDs) != 2 || back.Modules[0].Raws != 2 || len(back.Modules[0].Traces) != 2 {
				t.Errorf("read back: %v", err)
			}
			again, err := Modules([]prof.Module{res.Module})
			if err != nil || !reflect.DeepEqual(again.Module, res.Module) {
				t.Errorf("a joined module is not joined to itself: %v", err)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	count := function("a", 1, 0x4000)
	count.Mode, count.Fragments = prof.ModeCount, []prof.Fragment{{Addr: 0x4000, Size: 0x20}}
	other := module("2", count)
	other.Counts[0].Blocks = nil
	if err := mip.WriteProfile(io.Discard, &prof.Profile{Modules: []prof.Module{other}}); err != nil {
		t.Fatal(err)
	}
	if _, err := Modules([]prof.Module{module("1", function("a", 1, 0x4000)), other}); err == nil || !strings.Contains(err.Error(), "a has mode count in one build (32)") {
		t.Errorf("builds of different modes: %v", err)
	}
	if _, err := Modules(nil); err == nil {
		t.Error("no modules were joined")
	}
}

// Package fleettest makes maps of builds and raw files of their runs for tests of collectors, and the profile that
// cairn merge makes of them.
package fleettest

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/internal/profile/merge"
	"github.com/cairnprof/cairn/internal/profile/rawfiles"
	"github.com/cairnprof/cairn/prof"
)

// Program is a build of a program with functions in mode order.
type Program struct {
	prof.Map
	Functions int
}

// Traces is how many traces profiles keep: fewer than there are runs in the tests.
const Traces = 20

// NewProgram returns the build of a program with this id.
func NewProgram(name string, id prof.BuildID, functions int) *Program {
	p := &Program{Functions: functions}
	p.Map = prof.Map{BuildID: id, Module: name, RawAddr: 0x100000, RawSize: uint64(functions + 4), Machine: "x86-64"}
	for i := range functions {
		p.Funcs = append(p.Funcs, prof.Func{
			Name: fmt.Sprintf("f%d", i), File: "app.c", Mode: prof.ModeOrder, Record: uint64(i),
			Fragments: []prof.Fragment{{Addr: 0x1000 + uint64(i)*16, Size: 16}},
		})
	}
	return p
}

// MapFile returns the map as a file.
func (p *Program) MapFile(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := mip.WriteMap(&b, &p.Map); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Run returns the raw file of a run, by its number: the functions that ran, and their order.
func (p *Program) Run(t testing.TB, run uint64) []byte {
	t.Helper()
	rng := rand.New(rand.NewPCG(run, 1))
	raw := mip.Raw{BuildID: p.BuildID, PID: uint32(run%30000) + 1, Run: run, Size: p.RawSize, Slots: uint32(p.Functions), Data: make([]byte, p.RawSize)}
	for _, fn := range rng.Perm(p.Functions)[:1+rng.IntN(p.Functions)] {
		raw.Data[fn] = 1
		raw.Order = append(raw.Order, uint32(fn))
	}
	raw.Next = uint32(len(raw.Order))
	raw.Scenario = []string{"", "start", "open a file"}[rng.IntN(3)]
	data, err := mip.AppendRaw(nil, raw)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Merged returns the profile that cairn merge makes of raw files and the maps of builds.
func Merged(t testing.TB, programs []*Program, raws map[string][]byte) []byte {
	t.Helper()
	return MergedWithin(t, programs, raws, 0)
}

// MergedWithin returns the profile that cairn merge --max-calls makes of them.
func MergedWithin(t testing.TB, programs []*Program, raws map[string][]byte, maxCalls uint64) []byte {
	t.Helper()
	p := new(prof.Profile)
	for _, program := range programs {
		empty := merge.NewAccumulator(merge.NewLayout(&program.Map), 0).Module()
		if err := merge.Profiles(p, &prof.Profile{Modules: []prof.Module{empty}}); err != nil {
			t.Fatal(err)
		}
	}
	var paths []string
	for path := range raws {
		paths = append(paths, path)
	}
	sum, bad := rawfiles.New(paths, raws, p, "test", rawfiles.Traces{Limit: Traces, Weight: 1, MaxCalls: maxCalls}).Run(context.Background())
	if len(bad) > 0 {
		t.Fatalf("%s: %s", bad[0].File, bad[0].Reason)
	}
	if err := merge.Profiles(p, sum); err != nil {
		t.Fatal(err)
	}
	for i := range p.Modules {
		merge.Sample(&p.Modules[i], Traces)
	}
	var b bytes.Buffer
	if err := mip.WriteProfile(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

package machinecode

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/objfile"
)

// TestLazySet compares a lazy set, of which addresses are asked in any order, with one that has all code.
func TestLazySet(t *testing.T) {
	t.Parallel()
	p, _ := load(t, build(t, "-O2"))
	for _, programs := range [][]*objfile.Program{{p}, {program(0x400000), p, program(0)}} {
		all, err := NewSet(programs...)
		if err != nil {
			t.Fatal(err)
		}
		few, err := NewLazySet(programs...)
		if err != nil {
			t.Fatal(err)
		}
		compareLazy(t, all, few)
	}
}

func compareLazy(t *testing.T, all, few *Set) {
	t.Helper()
	type place struct {
		binary int
		addr   uint64
	}
	place0 := func(s *Set, r Ref) place {
		if !r.IsInstruction() {
			return place{-1, uint64(r)}
		}
		return place{slices.Index(s.Binaries(), s.Binary(r)), s.Address(r)}
	}
	var places []place
	for i, b := range all.Binaries() {
		for k := range b.texts {
			for off := range b.texts[k].data {
				places = append(places, place{i, b.texts[k].addr + uint64(off)})
			}
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	r.Shuffle(len(places), func(i, k int) { places[i], places[k] = places[k], places[i] })
	for _, p := range places {
		a, b := all.Binaries()[p.binary].At(p.addr), few.Binaries()[p.binary].At(p.addr)
		if place0(all, a) != place0(few, b) {
			t.Fatalf("%x: %v, and when all is read %v", p, place0(few, b), place0(all, a))
		}
		if !a.IsInstruction() {
			continue
		}
		ta, oka := all.Target(a)
		tb, okb := few.Target(b)
		if all.Class(a) != few.Class(b) || all.Departs(a) != few.Departs(b) || all.Size(a) != few.Size(b) || ta != tb || oka != okb ||
			place0(all, all.CallBefore(a)) != place0(few, few.CallBefore(b)) || all.OfSwitch(a) != few.OfSwitch(b) {
			t.Fatalf("%x: %v, call %x; when all is read %v, call %x", p, few.Class(b), place0(few, few.CallBefore(b)), all.Class(a), place0(all, all.CallBefore(a)))
		}
		ca, oka := all.Constant(a)
		cb, okb := few.Constant(b)
		if ca != cb || oka != okb {
			t.Fatalf("%x: the constant %x, and when all is read %x", p, cb, ca)
		}
	}
	for i, b := range all.Binaries() {
		few.ReadAll(few.Binaries()[i])
		for k := range b.Ranges() {
			a, o := all.Dispatches(b, &b.Ranges()[k]), few.Dispatches(few.Binaries()[i], &few.Binaries()[i].Ranges()[k])
			if len(a) != len(o) {
				t.Fatalf("%d indirect calls, and when all is read %d", len(o), len(a))
			}
			for at, d := range a {
				if got := o[few.Binaries()[i].At(all.Address(at))]; got != d {
					t.Errorf("%x: %v, and when all is read %v", all.Address(at), got, d)
				}
			}
		}
	}
	for _, lists := range [][2][]Ref{{all.LeavingJumps(), few.LeavingJumps()}, {all.IndirectJumps(), few.IndirectJumps()}} {
		same := func(a, b Ref) bool { return place0(all, a) == place0(few, b) }
		if !slices.EqualFunc(lists[0], lists[1], same) {
			t.Errorf("%d jumps, and when all is read %d", len(lists[1]), len(lists[0]))
		}
	}
}

package blockcount

import (
	"slices"
	"testing"

	"github.com/cairnprof/cairn/prof"
)

// seen has what samples show of the code below: executions by the beginning of a block, jumps by the block and the target.
type seen struct {
	of    map[uint64]uint64
	on    map[uint64]uint64
	taken map[[2]uint64]uint64
}

func (s *seen) Of(lo, _ uint64) uint64        { return s.of[lo] }
func (s *seen) On(lo, _ uint64) uint64        { return s.on[lo] }
func (s *seen) Taken(lo, _, to uint64) uint64 { return s.taken[[2]uint64{lo, to}] }

// loop enters block 1, which goes on to 3 or, by the edge that is block 2, back to itself; 3 leaves.
func loop() *prof.Map {
	return &prof.Map{Funcs: []prof.Func{{
		Name: "loop", Mode: prof.ModeSampled, Fragments: []prof.Fragment{{Addr: 0x100, Size: 0x40, Blocks: []uint32{0x10, 0x20, 0x20}}},
		Implied: []prof.Implied{{Block: 1}, {Block: 3}},
		Flow:    []prof.Flow{{Next: []uint32{1}, Entered: true}, {Next: []uint32{2, 3}}, {Next: []uint32{1}}, {Leaves: true}},
	}}}
}

// TestEstimate sees more going around a loop than running in it, as at the ends of samples.
func TestEstimate(t *testing.T) {
	t.Parallel()
	s := &seen{
		of:    map[uint64]uint64{0x100: 9, 0x110: 105, 0x120: 11},
		taken: map[[2]uint64]uint64{{0x110, 0x110}: 97},
	}
	got := Estimate(loop(), s)[0]
	// The loop ran as often as it was entered and went back; of the entry and the exit, the one that ran less is kept.
	if got.Calls != 9 || !slices.Equal(got.Times, []uint64{106, 97, 9}) || got.Runs != 1 || !slices.Equal(got.Blocks, []uint64{1, 1, 1}) {
		t.Errorf("%+v", got)
	}
	got = Estimate(loop(), &seen{})[0]
	if got.Calls != 0 || got.Runs != 0 || !slices.Equal(got.Times, []uint64{0, 0, 0}) || !slices.Equal(got.Blocks, []uint64{0, 0, 0}) {
		t.Errorf("without samples: %+v", got)
	}
}

// TestWayOn has the edge to the code behind the jump, not one that a jump takes.
func TestWayOn(t *testing.T) {
	t.Parallel()
	m := loop()
	// Block 1 jumps back to itself, or goes on to 3 by the edge that is block 2; 0 jumps to 3 as well.
	m.Funcs[0].Flow = []prof.Flow{{Next: []uint32{1, 3}, Entered: true}, {Next: []uint32{1, 2}}, {Next: []uint32{3}}, {Leaves: true}}
	s := &seen{of: map[uint64]uint64{0x100: 10, 0x110: 50, 0x120: 10}, on: map[uint64]uint64{0x110: 4}}
	if got := Estimate(m, s)[0]; got.Times[1] != 4 || got.Times[2] != 10 || got.Calls != 10 {
		t.Errorf("%+v", got)
	}
}

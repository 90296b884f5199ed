package sample

import (
	"strings"
	"testing"
)

func TestStats(t *testing.T) {
	t.Parallel()
	var s, other Stats
	s.Add(&Sample{Stack: make([]uint64, 3), Branches: make([]Branch, 32), Count: 2})
	s.Damaged("no number", "a", 7, 100)
	other.Add(&Sample{Branches: make([]Branch, 1000), Count: 1})
	other.Damaged("no number", "a", 9, 200)
	other.Damaged("too long", "a", 9, 200)
	s.Merge(&other)
	if s.Samples != 3 || s.Records != 2 || s.Frames != 6 || s.Branches != 1064 || s.ByDepth[32] != 2 || s.ByDepth[MaxDepth+1] != 1 {
		t.Errorf("%+v", s)
	}
	if len(s.Damage) != 2 {
		t.Fatalf("%d kinds of damage", len(s.Damage))
	}
	for i, want := range []string{"a: line 7: no number (2 such places, this is the first)", "a: line 9: too long"} {
		if got := s.Damage[i].Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := (&Damage{What: "cut off", File: "b", Offset: 0x20, Count: 1}).Error(); !strings.HasPrefix(got, "b: offset 0x20: cut off") {
		t.Error(got)
	}
}

func TestCountsSort(t *testing.T) {
	t.Parallel()
	c := Counts{
		Ranges:   []RangeCount{{2, 3, 1}, {1, 9, 1}, {1, 2, 1}},
		Branches: []BranchCount{{Branch{5, 1}, 1}, {Branch{4, 2}, 1}, {Branch{4, 1}, 1}},
	}
	c.Sort()
	if c.Ranges[0].Last != 2 || c.Ranges[2].First != 2 || c.Branches[0].To != 1 || c.Branches[2].From != 5 {
		t.Errorf("%+v", c)
	}
}

func TestUserState(t *testing.T) {
	t.Parallel()
	u := UserState{Mask: 1<<6 | 1<<7 | 1<<63, Regs: []uint64{60, 70}}
	for reg, want := range map[int]uint64{6: 60, 7: 70} {
		if got, ok := u.Reg(reg); !ok || got != want {
			t.Errorf("register %d is %d, %v", reg, got, ok)
		}
	}
	for _, reg := range []int{5, 8, 63} { // the last one is in the mask, but has no value
		if got, ok := u.Reg(reg); ok {
			t.Errorf("register %d is %d", reg, got)
		}
	}
	b := NewBatch()
	b.Frame(1)
	b.End(Sample{Count: 1, User: &u})
	b.Frame(1)
	b.End(Sample{Count: 1})
	if b = fold(b); len(b.Samples) != 2 {
		t.Errorf("samples with different copies are one: %+v", b.Samples)
	}
}

package sample

import (
	"testing"

	"pgregory.net/rapid"
)

func mapped(pid int32, start, size, offset uint64, path string) Event {
	return Event{Kind: Map, PID: pid, Mapping: Mapping{Start: start, Size: size, Offset: offset, Path: path}}
}

// path names what is at an address.
func path(s *Spaces, pid int32, addr uint64) string {
	if m := s.Lookup(pid, addr); m != nil {
		return m.Path
	}
	return ""
}

func TestSpaces(t *testing.T) {
	t.Parallel()
	var s Spaces
	s.Apply([]Event{
		mapped(1, 0x1000, 0x1000, 0x3000, "prog"),
		mapped(2, 0x8000, 0x1000, 0x3000, "prog"),
		mapped(UnknownPID, 0xffffffff80000000, ^uint64(0), 0, "kernel"),
		mapped(1, 0x5000, 0, 0, "empty"),
		{Kind: Fork, PID: 3, Parent: 1},
		{Kind: Fork, PID: 1, TID: 9, Parent: 1}, // a thread
		mapped(3, 0x4000, 0x1000, 0, "plugin"),
		{Kind: Exit, PID: 1},
		{Kind: Exec, PID: 2},
	})
	for _, tc := range []struct {
		pid  int32
		addr uint64
		want string
	}{
		{1, 0xfff, ""},
		{1, 0x1000, "prog"},
		{1, 0x1fff, "prog"},
		{1, 0x2000, ""},
		{1, 0x4000, ""}, // only the child has it
		{2, 0x8000, ""}, // another program now
		{3, 0x1000, "prog"},
		{3, 0x4000, "plugin"},
		{4, 0x1000, ""},
		{4, 0xffffffff80000001, "kernel"},
		{UnknownPID, 0x8000, "prog"},
		{UnknownPID, 0x4000, "plugin"},
	} {
		if got := path(&s, tc.pid, tc.addr); got != tc.want {
			t.Errorf("process %d has %q at %#x, want %q", tc.pid, got, tc.addr, tc.want)
		}
	}
	if got := s.Lookup(1, 0x1010).FileOffset(0x1010); got != 0x3010 {
		t.Errorf("file offset %#x", got)
	}
	if s.Conflicts() != 0 {
		t.Errorf("%d conflicts", s.Conflicts())
	}
	s.Apply([]Event{mapped(4, 0x1000, 0x1000, 0x3000, "prog"), mapped(5, 0x1800, 0x1000, 0x3000, "prog")})
	if s.Conflicts() != 1 {
		t.Errorf("%d conflicts of one file at two addresses", s.Conflicts())
	}
}

// TestSpacesNamed has nothing of any process if all samples name theirs.
func TestSpacesNamed(t *testing.T) {
	t.Parallel()
	var s Spaces
	s.Named()
	s.Apply([]Event{mapped(4, 0x1000, 0x1000, 0, "prog"), mapped(5, 0x1000, 0x1000, 0, "other"), mapped(UnknownPID, 1<<63, 0x1000, 0, "kernel")})
	for pid, want := range map[int32][2]string{4: {"prog", "kernel"}, 5: {"other", "kernel"}, UnknownPID: {}} {
		if got := [2]string{path(&s, pid, 0x1000), path(&s, pid, 1<<63)}; got != want {
			t.Errorf("process %d has %q, want %q", pid, got, want)
		}
	}
	if s.Conflicts() != 0 {
		t.Error("conflicts were counted")
	}
}

// TestSpacesBounded maps for many processes, which end.
func TestSpacesBounded(t *testing.T) {
	t.Parallel()
	var s Spaces
	const n = 3 * maxAnywhere
	for pid := range int32(n) {
		s.Apply([]Event{
			{Kind: Fork, PID: pid, TID: pid, Parent: n + 1},
			mapped(pid, 0x1000+0x2000*uint64(pid), 0x1000, 0, "prog"),
			{Kind: Exit, PID: pid, TID: pid + 1},
			{Kind: Exit, PID: pid, TID: pid},
		})
		if pid == 5 { // another one has the number
			s.Apply([]Event{{Kind: Fork, PID: 5, TID: 5, Parent: n + 1}, mapped(5, 0x1000, 0x1000, 0, "again")})
		}
	}
	if len(s.processes) > maxEnded+2 || len(s.anywhere.mappings) > maxAnywhere {
		t.Errorf("%d processes and %d mappings are known", len(s.processes), len(s.anywhere.mappings))
	}
	if got := path(&s, 5, 0x1000); got != "again" {
		t.Errorf("process 5 has %q", got)
	}
	if got := path(&s, n-1, 0x1000+0x2000*(n-1)); got != "prog" {
		t.Errorf("the last process has %q", got)
	}
	if got := path(&s, 4, 0x1000+0x2000*4); got != "" {
		t.Errorf("process 4 has %q", got)
	}
}

// TestSpacesAgree compares with a model that knows of each address what is there.
func TestSpacesAgree(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var s Spaces
		var model [64]struct {
			name   string
			offset uint64
		}
		for range rapid.IntRange(0, 30).Draw(t, "mappings") {
			start := rapid.IntRange(0, 60).Draw(t, "start")
			size := rapid.IntRange(0, 64-start).Draw(t, "size")
			name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name")
			s.Apply([]Event{mapped(7, uint64(start), uint64(size), 1000, name)})
			for i := range size {
				model[start+i].name, model[start+i].offset = name, uint64(1000+i)
			}
		}
		for addr, want := range model {
			for _, pid := range []int32{7, UnknownPID} {
				m := s.Lookup(pid, uint64(addr))
				switch {
				case m == nil && want.name != "":
					t.Fatalf("nothing at %d, want %v", addr, want)
				case m != nil && (m.Path != want.name || m.FileOffset(uint64(addr)) != want.offset):
					t.Fatalf("%v at %d, want %v", *m, addr, want)
				}
			}
		}
	})
}

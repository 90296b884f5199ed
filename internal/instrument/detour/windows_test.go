package detour_test

import (
	"testing"

	"github.com/cairnprof/cairn/internal/binary/ehframe"
	"github.com/cairnprof/cairn/internal/instrument/detour"
)

// TestUnknownUnwind plans hooks in a program for Windows whose table of functions names one twice: with unwind information that
// is known, and before, longer, with some that is not.
func TestUnknownUnwind(t *testing.T) {
	t.Parallel()
	const at, other = 0x1000, 0x1010
	code := make([]byte, 0x20)
	for i := range code {
		code[i] = 0xc3
	}
	copy(code, "\x48\x83\xec\x28\x31\xc0\x48\x83\xc4\x28")
	copy(code[other-at:], "\xe8\xeb\xff\xff\xff")
	known := []byte{1, 4, 1, 0, 4, 0x42}
	for _, c := range []struct {
		first []byte
		want  int
	}{{known, 1}, {nil, 0}} {
		plan := detour.Make(&detour.Module{
			Sections:   []detour.Section{{Addr: at, Data: code, Code: true, Functions: true}},
			Functions:  []detour.Function{{Name: "f", Addr: at, Size: 16, Unwind: c.first}, {Addr: at, Size: 11, Unwind: known}, {Addr: other, Size: 16, Unwind: known}},
			Frames:     []ehframe.Frame{{Lo: at, Hi: at + 16}, {Lo: at, Hi: at + 11, Called: true}, {Lo: other, Hi: other + 16}},
			Referenced: true,
		}, detour.Options{})
		if len(plan.Sites) != c.want {
			t.Errorf("%d functions hooked, want %d: %v", len(plan.Sites), c.want, plan.Refused)
		}
		if len(plan.Sites) == 0 && plan.Refused[0].Reason != detour.Unwinds {
			t.Errorf("%v", plan.Refused)
		}
		detour.EncodeImages([]detour.PlannedImage{{Plan: plan}})
	}
}

package detour_test

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/ehframe"
	"github.com/cairnprof/cairn/internal/instrument/detour"
)

// FuzzMake plans any code as two functions, and checks the trampolines of those
// that are hooked.
func FuzzMake(f *testing.F) {
	for _, seed := range []string{
		"554889e54883ec10c9c3", "f30f1efa4157415689fbc3", "488b05100000000fb600c3", "85ff740253 5bc3", "31c0c30f1f440000",
		"c705100000000700000 0c3", "e9000000009090", "62f17c48280d40000000c3", "75fe90909090c3",
	} {
		code, _ := hex.DecodeString(strings.ReplaceAll(seed, " ", ""))
		f.Add(code, []byte{0, 0, 0, 0, 4, 0, 0, 0}, uint8(8))
	}
	f.Fuzz(func(t *testing.T, code, data []byte, split uint8) {
		const at, dataAt = 0x10000, 0x20000
		if len(code) > 1000 || len(data) > 1000 {
			return
		}
		n := min(uint64(split), uint64(len(code)))
		m := &detour.Module{
			Sections: []detour.Section{
				{Addr: at, Data: code, Code: true, Functions: true},
				{Addr: dataAt, Data: data},
			},
			Functions: []detour.Function{{Name: "a", Addr: at, Size: n}, {Name: "b", Addr: at + n, Size: uint64(len(code)) - n}},
		}
		for _, f := range m.Functions {
			m.Frames = append(m.Frames, ehframe.Frame{Lo: f.Addr, Hi: f.Addr + f.Size, Called: true})
		}
		plan := detour.Make(m, detour.Options{})
		checkPlan(t, m, plan)
		detour.Make(m, detour.Options{Small: 1000}) // looks for loops
		for i, s := range plan.Sites {
			if i > 0 && s.At < plan.Sites[i-1].At+5 {
				t.Fatalf("%+v overlaps %+v", s, plan.Sites[i-1])
			}
		}
		if size := len(detour.Encode([]detour.Planned{{Plan: plan, BuildID: data}})); size%8 != 0 {
			t.Fatalf("%d bytes", size)
		}
	})
}

package unwind

import (
	"fmt"
	"testing"
)

func TestKernelPart(t *testing.T) {
	t.Parallel()
	names := map[uint64]string{1 << 63: "read", 1<<63 + 1: "entry"}
	addrs := []uint64{1 << 63, 1<<63 + 2, 1<<63 + 3, 1<<63 + 1} // innermost first
	for _, tc := range []struct {
		kernel *Kernel
		want   string
	}{
		{&Kernel{}, "[entry [kernel] read]"},
		{&Kernel{One: true}, "[[kernel]]"},
		{&Kernel{Omit: true}, "[]"},
	} {
		loads := 0
		tc.kernel.SetNames(func() func(addr uint64) string {
			loads++
			return func(addr uint64) string { return names[addr] }
		})
		if got := fmt.Sprint(tc.kernel.Part(addrs, false).Names); got != tc.want {
			t.Errorf("%s, want %s", got, tc.want)
		}
		if a, b := tc.kernel.part(addrs, false), tc.kernel.part(addrs, true); a == b || a != tc.kernel.part(addrs, false) || !tc.kernel.at(b).Outside {
			t.Errorf("parts %d and %d", a, b)
		}
		if want := 1; !tc.kernel.One && !tc.kernel.Omit && loads != want || loads > 1 {
			t.Errorf("the names were loaded %d times", loads)
		}
		tc.kernel.SetNames(nil)
		if got := fmt.Sprint(tc.kernel.Part(addrs, false).Names); !tc.kernel.Omit && got != "[[kernel]]" {
			t.Errorf("without names: %s", got)
		}
	}
	if (*Kernel)(nil).at(3) != nil || (&Kernel{}).at(0) != nil {
		t.Error("a part of nothing")
	}
}

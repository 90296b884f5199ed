package machine

import "testing"

func TestOnly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		k    Kind
		of   []Kind
		want string
	}{
		{AArch64, []Kind{X86_64, AArch64}, "<nil>"},
		{AArch64, []Kind{X86_64}, "its code is for AArch64, and dogs bark only for x86-64"},
		{200, []Kind{X86_64, AArch64, RISCV}, "its code is for a machine that cairn does not know, and dogs bark only for x86-64, AArch64 and RISC-V"},
	} {
		got := "<nil>"
		if err := c.k.Only("dogs bark", c.of...); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

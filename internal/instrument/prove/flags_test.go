package prove

import (
	"testing"

	"github.com/cairnprof/cairn/internal/binary/x86"
)

// TestFlags checks the table of instructions and flags against the processor's manual.
func TestFlags(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text   string
		code   []byte
		reads  flagSet
		writes flagSet
	}{
		{"add %rcx, %rax", []byte{0x48, 0x01, 0xc8}, noFlags, allFlags},
		{"adc %ecx, %eax", []byte{0x11, 0xc8}, carry, allFlags},
		{"bt %eax, %esi", []byte{0x0f, 0xa3, 0xc6}, noFlags, carry},
		{"inc %eax", []byte{0xff, 0xc0}, noFlags, allFlags &^ carry},
		{"shr $59, %rax", []byte{0x48, 0xc1, 0xe8, 0x3b}, noFlags, allFlags},
		{"shr $0, %eax", []byte{0xc1, 0xe8, 0x20}, noFlags, noFlags},
		{"shr $32, %rax", []byte{0x48, 0xc1, 0xe8, 0x20}, noFlags, allFlags},
		{"shr $64, %rax", []byte{0x48, 0xc1, 0xe8, 0x40}, noFlags, noFlags},
		{"shr %eax", []byte{0xd1, 0xe8}, noFlags, allFlags},
		{"shr %cl, %eax", []byte{0xd3, 0xe8}, noFlags, noFlags},
		{"rol $3, %eax", []byte{0xc1, 0xc0, 0x03}, noFlags, noFlags},
		{"rcl $1, %eax", []byte{0xd1, 0xd0}, carry, noFlags},
		{"jb", []byte{0x72, 0x00}, carry, noFlags},
		{"jg", []byte{0x7f, 0x00}, zero | sign | overflow, noFlags},
		{"sets %al", []byte{0x0f, 0x98, 0xc0}, sign, noFlags},
		{"cmovbe %ecx, %eax", []byte{0x0f, 0x46, 0xc1}, carry | zero, noFlags},
		{"mov %eax, %ecx", []byte{0x89, 0xc1}, noFlags, noFlags},
		{"pushf", []byte{0x9c}, allFlags, noFlags},
		{"not %eax", []byte{0xf7, 0xd0}, noFlags, noFlags},
		{"ret", []byte{0xc3}, noFlags, allFlags},
		{"fildl -4(%rsp)", []byte{0xdb, 0x44, 0x24, 0xfc}, noFlags, noFlags},
		{"fisubl -8(%rsp)", []byte{0xda, 0x64, 0x24, 0xf8}, noFlags, noFlags},
		{"fcmovb %st(1), %st", []byte{0xda, 0xc1}, carry | zero | parity, noFlags},
		{"fcmovnu %st(1), %st", []byte{0xdb, 0xd9}, carry | zero | parity, noFlags},
		{"fucomi %st(1), %st", []byte{0xdb, 0xe9}, noFlags, allFlags},
		{"fcomip %st(1), %st", []byte{0xdf, 0xf1}, noFlags, allFlags},
		{"vcomisd %xmm1, %xmm0", []byte{0xc5, 0xf9, 0x2f, 0xc1}, noFlags, allFlags},
		{"vucomiss %xmm9, %xmm0", []byte{0xc4, 0xc1, 0x78, 0x2e, 0xc1}, noFlags, allFlags},
		{"vaddsd %xmm1, %xmm2, %xmm0", []byte{0xc5, 0xeb, 0x58, 0xc1}, noFlags, noFlags},
		{"andn %rdx, %rax, %rdx", []byte{0xc4, 0xe2, 0xf8, 0xf2, 0xd2}, noFlags, allFlags},
		{"blsr %eax, %edx", []byte{0xc4, 0xe2, 0x68, 0xf3, 0xc8}, noFlags, allFlags},
		{"shlx %eax, %ecx, %edx", []byte{0xc4, 0xe2, 0x79, 0xf7, 0xd1}, noFlags, noFlags},
		{"fnclex", []byte{0xdb, 0xe2}, noFlags, noFlags},
	} {
		in, err := x86.Decode(c.code)
		if err != nil {
			t.Fatal(c.text, err)
		}
		if reads, writes := flagsOf(in, c.code); reads != c.reads || writes != c.writes {
			t.Errorf("%s: reads %b and writes %b, want %b and %b", c.text, reads, writes, c.reads, c.writes)
		}
	}
}

package prove

import (
	"testing"

	"github.com/cairnprof/cairn/internal/binary/x86"
)

// TestRegisters checks the table of instructions and registers against the processor's manual.
func TestRegisters(t *testing.T) {
	t.Parallel()
	const rbx, rsp, rsi, rdi = 3, 4, 6, 7
	set := func(regs ...int) (s uint16) {
		for _, r := range regs {
			s |= 1 << r
		}
		return s
	}
	all := uint16(0xffff)
	for _, c := range []struct {
		text          string
		code          []byte
		reads, writes uint16
	}{
		{"mov %rcx, %rax", []byte{0x48, 0x89, 0xc8}, set(rcx), set(rax)},
		{"mov (%rdi,%r9,8), %r8d", []byte{0x46, 0x8b, 0x04, 0xcf}, set(rdi, 9), set(8)},
		{"mov %ax, %cx", []byte{0x66, 0x89, 0xc1}, set(rax, rcx), 0},
		{"mov %ah, %cl", []byte{0x88, 0xe1}, set(rsp, rax, rcx), 0},
		{"mov $1, %sil", []byte{0x40, 0xb6, 0x01}, set(rsi), 0},
		{"mov $1, %dh", []byte{0xb6, 0x01}, set(rsi, rdx), 0},
		{"mov $1, %r10", []byte{0x49, 0xc7, 0xc2, 1, 0, 0, 0}, 0, set(10)},
		{"movl $1, (%rax)", []byte{0xc7, 0x00, 1, 0, 0, 0}, set(rax), 0},
		{"mov 0x10(%rip), %ecx", []byte{0x8b, 0x0d, 0x10, 0, 0, 0}, 0, set(rcx)},
		{"mov 0x10, %ecx", []byte{0x8b, 0x0c, 0x25, 0x10, 0, 0, 0}, 0, set(rcx)},
		{"lea 1(%rdx), %edx", []byte{0x8d, 0x52, 0x01}, set(rdx), set(rdx)},
		{"xor %edx, %edx", []byte{0x31, 0xd2}, 0, set(rdx)},
		{"xor %r10d, %edx", []byte{0x44, 0x31, 0xd2}, set(10, rdx), 0},
		{"sub %dx, %dx", []byte{0x66, 0x29, 0xd2}, set(rdx), 0},
		{"add $1, %r11", []byte{0x49, 0x83, 0xc3, 1}, set(11), 0},
		{"cltd", []byte{0x99}, set(rax), set(rdx)},
		{"cqto", []byte{0x48, 0x99}, set(rax), set(rdx)},
		{"idiv %esi", []byte{0xf7, 0xfe}, set(rsi, rax, rdx), 0},
		{"mul %rcx", []byte{0x48, 0xf7, 0xe1}, set(rax, rcx), set(rdx)},
		{"mul %rdx", []byte{0x48, 0xf7, 0xe2}, set(rax, rdx), 0},
		{"imul $3, %rsi, %rdi", []byte{0x48, 0x6b, 0xfe, 3}, set(rsi), set(rdi)},
		{"shl %cl, %eax", []byte{0xd3, 0xe0}, set(rax, rcx), 0},
		{"sete %al", []byte{0x0f, 0x94, 0xc0}, set(rax), 0},
		{"cmove %ecx, %eax", []byte{0x0f, 0x44, 0xc1}, set(rax, rcx), 0},
		{"movzbl %ah, %edx", []byte{0x0f, 0xb6, 0xd4}, set(rsp, rax), set(rdx)},
		{"bsf %ecx, %eax", []byte{0x0f, 0xbc, 0xc1}, set(rcx, rax), 0},
		{"tzcnt %ecx, %eax", []byte{0xf3, 0x0f, 0xbc, 0xc1}, set(rcx), set(rax)},
		{"pop %r9", []byte{0x41, 0x59}, 0, set(9)},
		{"push %r9", []byte{0x41, 0x51}, set(9), 0},
		{"rep stosq", []byte{0xf3, 0x48, 0xab}, all, 0},
		{"cpuid", []byte{0x0f, 0xa2}, all, 0},
		{"addsd %xmm1, %xmm0", []byte{0xf2, 0x0f, 0x58, 0xc1}, 0, 0},
		{"movsd (%rsi), %xmm1", []byte{0xf2, 0x0f, 0x10, 0x0e}, set(rsi), 0},
		{"movq %xmm1, %rax", []byte{0x66, 0x48, 0x0f, 0x7e, 0xc8}, 0, set(rax)},
		{"movq %rax, %xmm1", []byte{0x66, 0x48, 0x0f, 0x6e, 0xc8}, set(rax), 0},
		{"cvtsi2sd %ecx, %xmm0", []byte{0xf2, 0x0f, 0x2a, 0xc1}, set(rcx), 0},
		{"vaddsd %xmm1, %xmm2, %xmm0", []byte{0xc5, 0xeb, 0x58, 0xc1}, 0, 0},
		{"vmovd %ecx, %xmm0", []byte{0xc5, 0xf9, 0x6e, 0xc1}, set(rax, 8, rcx, 9), 0},
		{"vmovss (%r9), %xmm0", []byte{0xc4, 0xc1, 0x7a, 0x10, 0x01}, set(rcx, 9), 0},
		{"andn %eax, %ecx, %edx", []byte{0xc4, 0xe2, 0x70, 0xf2, 0xd0}, all, 0},
		{"call", []byte{0xe8, 0, 0, 0, 0}, all, 0},
		{"ret", []byte{0xc3}, all, 0},
		{"jmp *%rax", []byte{0xff, 0xe0}, all, 0},
		{"jmp", []byte{0xeb, 0}, 0, 0},
		{"je", []byte{0x74, 0}, 0, 0},
		{"jrcxz", []byte{0xe3, 0}, set(rcx), 0},
		{"ud2", []byte{0x0f, 0x0b}, 0, 0},
		{"xchg %rax, %r8", []byte{0x49, 0x90}, set(rax, 8), 0},
		{"fnstsw %ax", []byte{0xdf, 0xe0}, set(rax), 0},
		{"bswap %r8d", []byte{0x41, 0x0f, 0xc8}, set(8), 0},
		{"mov (%rbx), %ebx", []byte{0x8b, 0x1b}, set(rbx), set(rbx)},
	} {
		in, err := x86.Decode(c.code)
		if err != nil || int(in.Len) != len(c.code) {
			t.Fatal(c.text, err)
		}
		for reg := range uint8(16) {
			reads, writes := registerOf(in, c.code, reg)
			if want := c.reads&(1<<reg) != 0; reads != want {
				t.Errorf("%s: reads register %d: %v", c.text, reg, reads)
			}
			if want := c.writes&(1<<reg) != 0; writes != want && !reads {
				t.Errorf("%s: overwrites register %d: %v", c.text, reg, writes)
			}
		}
	}
}

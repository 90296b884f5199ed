package x86

import (
	"bytes"
	"testing"
)

// TestLength has the lengths that GNU as gives to instructions of all kinds that compilers write.
func TestLength(t *testing.T) {
	t.Parallel()
	for insn, want := range map[string]int{
		"ret": 1, "endbr64": 4, "cltq": 2, "cltd": 1, "vzeroupper": 3, "jne\t.L3": 2, "jmp\t.L3": 2, "call\tf@PLT": 5, "jmp\t*.L4(,%rax,8)": 7,
		"jmp\t*%rax": 2, "pushq\t%rbx": 1, "pushq\t%r12": 2, "movl\t%eax, %edx": 2, "movq\t%rdi, %rbx": 3, "movl\t%r8d, %eax": 3,
		"movl\t$5, %eax": 5, "movq\t$-1, %rax": 7, "movl\t$5, 8(%rsp)": 8, "movabsq\t$-7046029288634856825, %rax": 10,
		"addl\t$1, %eax": 3, "addq\t$1000, %rcx": 7, "cmpb\t$2, %cl": 3, "cmpb\t$2, (%rdi)": 3, "testb\t%al, %al": 2, "testb\t%sil, %sil": 3,
		"movzbl\t(%rbx), %eax": 3, "movzwl\t2(%rbx,%rax,2), %r8d": 6, "movslq\t%edi, %rdi": 3, "leaq\ttab(%rip), %rdx": 7, "movq\t(%r12), %rax": 4,
		"movq\t128(%rsp), %rax": 8, "leaq\t0(,%rax,4), %rdx": 8, "movq\t%fs:40, %rax": 9, "imull\t%esi, %eax": 3, "sete\t%al": 3, "cmovne\t%rax, %rdx": 4,
		"shrq\t$3, %rax": 4, "movdqu\t(%rsi), %xmm0": 4, "movups\t%xmm0, 16(%rdi)": 4, "pxor\t%xmm9, %xmm9": 5, "vmovdqu\t(%rsi), %ymm0": 4,
		"vpaddd\t%zmm1, %zmm0, %zmm0": 6, "shrxq\t%rdx, %rbp, %rbp": 5, "tzcntl\t%eax, %eax": 4, "rep movsb": 2, "lock xaddl\t%eax, (%rdx)": 4,
		"movw\t%ax, 2(%rdi)": 4, "leaq\t\"a ()\"(%rip), %rax": 7, "bswapq\t%rax": 3, "prefetcht0\t(%rax)": 3,
	} {
		word, rest, _ := bytes.Cut([]byte(insn), []byte("\t"))
		if first, more, found := bytes.Cut(word, []byte(" ")); found {
			word, rest = first, append(append(append([]byte{}, more...), '\t'), rest...)
		}
		if got := Length(word, rest); got != want {
			t.Logf("%s: %d bytes, want %d", insn, got, want)
			t.Fail()
		}
	}
}

// TestLengthOdd estimates lengths of text that no assembler accepts, and of names with parentheses.
func TestLengthOdd(t *testing.T) {
	t.Parallel()
	for _, rest := range []string{"(", "()", "(),%rax", "$", "$,", "*", "%", "%r", ":", ":(", "%fs:()", ")(", "#", ";", "\"f ()\"(%rip), %rax", "9999999999999999999(%rax)"} {
		for _, word := range []string{"movl", "leaq", "lock", "rep", "jmp", "call", "pushq", "vmovdqu", "bswapq", "q"} {
			if n := Length([]byte(word), []byte("\t"+rest)); n < 1 || n > 15 {
				t.Errorf("%s\t%s: %d bytes", word, rest, n)
			}
		}
	}
}

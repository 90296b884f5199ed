package x86

import "testing"

func TestEffect(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		line      string
		use, kill Set
	}{
		{"movl\t$1, %eax", 0, rax},
		{"movb\t%al, %cl", rax | rcx, 0},
		{"movq\t8(%rsp,%rdi,4), %r11", rsp | rdi, r11},
		{"movq\t%rax, (%rdx)", rax | rdx, 0},
		{"xorl\t%edx, %edx", 0, rdx | Flags},
		{"subq\t$8, %rsp", rsp, Flags},
		{"addl\t(%rax), %ecx", rax | rcx, Flags},
		{"incl\t%ecx", rcx, 0},
		{"adcq\t$0, %rdx", rdx | Flags, 0},
		{"sarl\t$3, %eax", rax, Flags},
		{"sarl\t%cl, %eax", rax | rcx, 0},
		{"cltd", rax, rdx},
		{"idivl\t%esi", rax | rdx | rsi, Flags},
		{"imulq\t%rax, %rcx", rax | rcx, Flags},
		{"imull\t$10, %edi, %ecx", rdi, rcx | Flags},
		{"sete\t%al", rax | Flags, 0},
		{"cmovle\t%eax, %ecx", rax | rcx | Flags, 0},
		{"jne\t.L4", Flags, 0},
		{"je\tother", Flags, 0},
		{"ucomisd\t%xmm0, %xmm1", 0, Flags},
		{"cvttsd2sil\t%xmm0, %eax", rax, 0},
		{"movaps\t%xmm0, 16(%rbx)", rbx, 0},
		{"fldt\t16(%rsp)", rsp, 0},
		{"fcmovbe\t%st(1), %st", All, 0},
		{"rep stosq", All, 0},
		{"lock addl\t$1, (%rdi)", All, 0},
		{"jrcxz\t.L3", All, 0},
		{"call\tf", arguments | rsp, Flags},
		{"call\t__x86_indirect_thunk_r11", rax | rcx | rdx | rsi | rdi | rsp | r8 | r9 | r10 | r11, Flags},
		{"jmp\t.L5", arguments | rsp, 0}, // a second jump of the same comparison may be there
		{"mulq\t%rcx", rax | rcx, rdx | Flags},
		{"imull\t%ecx", rax | rcx, rdx | Flags},
		{"mulb\t%cl", rax | rcx, Flags},
		{"imulw\t%cx", rax | rcx, Flags},
		{"mulx\t%rcx, %rax, %r8", All, 0}, // it reads rdx
		{"mulxq\t%rcx, %rax, %r8", All, 0},
		{"imulq\t%rcx # a, b", rax | rcx, rdx | Flags}, // -fverbose-asm
		{"movsb # 12", All, 0},
		{"movq\t%rax, %rcx # 7", rax, rcx},
		{"ret", All &^ Flags, Flags},
		{"popq\t%rbx", rsp, rbx},
		{"pushq\t%rbx", rsp | rbx, 0},
		{"movq\t%fs:40, %rax", 0, rax},
		{"movq\t%rax, %fs:40", rax, 0},
		{"leave", rbp | rsp, 0},
		{"leaq\t1(%rsp), %rsp", rsp, 0},
		{"cpuid", All, 0},
		{"pcmpistri\t$12, %xmm0, %xmm1", All, 0},
	} {
		if use, kill := Effect([]byte("\t"+tc.line+"\n"), false); use != tc.use || kill != tc.kill {
			t.Errorf("%s: reads %#x, overwrites %#x; want %#x, %#x", tc.line, use, kill, tc.use, tc.kill)
		}
	}
	if use, kill := Effect([]byte("\tmovl\t$1, %eax"), true); use != All || kill != 0 {
		t.Error("inline assembly may read everything")
	}
}

func TestName(t *testing.T) {
	t.Parallel()
	for set, want := range map[Set]string{rax: "rax", r11: "r11", Flags: "", 1 << 15: "r15", 0: ""} {
		if got := Name(set); got != want {
			t.Errorf("Name(%#x) = %q, want %q", set, got, want)
		}
	}
}

package x86_test

import (
	"testing"

	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/asmtest"
	"github.com/cairnprof/cairn/internal/instrument/isa/x86"
)

func TestClassify(t *testing.T) {
	t.Parallel()
	asmtest.CheckClassify(t, x86.Machine{}, []asmtest.Classified{
		{"movl %eax, %ebx", asm.FlowNext, ""},
		{"call foo", asm.FlowCall, "foo"},
		{"callq foo@PLT", asm.FlowCall, "foo@PLT"},
		{"call *%rax", asm.FlowCall, "*%rax"},
		{"call *foo@GOTPCREL(%rip)", asm.FlowCall, "*foo@GOTPCREL(%rip)"},
		{"notrack call *%rax", asm.FlowCall, "*%rax"},
		{"callq\t($s4main3addyS2iF)", asm.FlowCall, "$s4main3addyS2iF"},
		{"callq\t($s4main3addyS2iF)@PLT", asm.FlowCall, "$s4main3addyS2iF@PLT"},
		{"callq\t*($s4main3addyS2iF)@GOTPCREL(%rip)", asm.FlowCall, "*$s4main3addyS2iF@GOTPCREL(%rip)"},
		{"jmp\t($s4main3addyS2iF)                # TAILCALL", asm.FlowJump, "$s4main3addyS2iF"},
		{"jne\t($s4main3addyS2iF)", asm.FlowBranch, "$s4main3addyS2iF"},
		{"jmp\t*($s4main5tableSivp)", asm.FlowJump, "*$s4main5tableSivp"},
		{"cmovne %eax, %ebx", asm.FlowNext, ""},
		{"jmp .L3", asm.FlowJump, ".L3"},
		{"jmp\t.L3 # comment", asm.FlowJump, ".L3"},
		{"jmpq *%rax", asm.FlowJump, "*%rax"},
		{"notrack jmp *.L4(,%rdi,8)", asm.FlowJump, "*.L4("},
		{"bnd jmp foo", asm.FlowJump, "foo"},
		{"jne .L3", asm.FlowBranch, ".L3"},
		{"js foo", asm.FlowBranch, "foo"},
		{"jrcxz .L1", asm.FlowShort, ".L1"},
		{"jecxz .L1", asm.FlowShort, ".L1"},
		{"loop .L1", asm.FlowShort, ".L1"},
		{"loopne .L1", asm.FlowShort, ".L1"},
		{"xbegin .L1", asm.FlowBranch, ".L1"},
		{"xabort $1", asm.FlowNext, ""},
		{"ret", asm.FlowEnd, ""},
		{"retq $8", asm.FlowEnd, ""},
		{"rep ret", asm.FlowEnd, ""},
		{"repz retq", asm.FlowEnd, ""},
		{"rep movsb", asm.FlowNext, ""},
		{"rep stosq", asm.FlowNext, ""},
		{"ud2", asm.FlowEnd, ""},
		{"ud1l 2(%eax), %eax", asm.FlowEnd, ""},
		{"hlt", asm.FlowEnd, ""},
		{"iretq", asm.FlowEnd, ""},
		{"int3", asm.FlowNext, ""},
		{"int $128", asm.FlowNext, ""},
		{"syscall", asm.FlowNext, ""},
		{"endbr64", asm.FlowLanding, ""},
		{"nop", asm.FlowNop, ""},
		{"nopw 0(%rax,%rax,1)", asm.FlowNop, ""},
		{"negl %eax", asm.FlowNext, ""},
		{"leave", asm.FlowNext, ""},
		{"lock cmpxchgl %ecx, (%rdi)", asm.FlowNext, ""},
	})
}

func TestCallee(t *testing.T) {
	t.Parallel()
	for operand, want := range map[string]string{
		"foo": "foo", "foo@PLT": "foo", "*foo@GOTPCREL(%rip)": "foo", "$s4main3addyS2iF@PLT": "$s4main3addyS2iF", "*$s4main3addyS2iF@GOTPCREL(%rip)": "$s4main3addyS2iF", `"odd name"@PLT`: "", `"quoted"`: "quoted",
		"_ZN3app5firstEi": "_ZN3app5firstEi", "größe": "größe", "foo.part.0": "foo.part.0",
		"*%rax": "", "*foo(%rip)": "", "*8(%rax)": "", "foo+4": "", "": "", "1f": "1f",
		".Lfoo$local": "foo", ".L_Z3foov$local": "_Z3foov", ".L3": ".L3", "foo$local": "foo$local",
	} {
		if got := (x86.Machine{}).Callee([]byte(operand)); got != want {
			t.Errorf("%s: %q, want %q", operand, got, want)
		}
	}
}

package asmtext

import (
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"
)

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	code, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// TestX86: the texts are those of LLVM 22. proof/oracle compares whole programs with it.
func TestX86(t *testing.T) {
	t.Parallel()
	const addr = 0x401000
	for _, x := range []struct{ code, att, intel string }{
		{"55", "pushq	%rbp", "push	rbp"},
		{"4889e5", "movq	%rsp, %rbp", "mov	rbp, rsp"},
		{"69c7abaaaaaa", "imull	$2863311531, %edi, %eax", "imul	eax, edi, 2863311531"},
		{"83d0ff", "adcl	$-1, %eax", "adc	eax, -1"},
		{"4883e4f0", "andq	$-16, %rsp", "and	rsp, -16"},
		{"48ba0100480048000000", "movabsq	$309242363905, %rdx", "movabs	rdx, 309242363905"},
		{"4889bd60ffffff", "movq	%rdi, -160(%rbp)", "mov	qword ptr [rbp - 160], rdi"},
		{"8d0439", "leal	(%rcx,%rdi), %eax", "lea	eax, [rcx + rdi]"},
		{"488b04c5f0ffffff", "movq	-16(,%rax,8), %rax", "mov	rax, qword ptr [8*rax - 16]"},
		{"64488b042528000000", "movq	%fs:40, %rax", "mov	rax, qword ptr fs:[40]"},
		{"0fb6c1", "movzbl	%cl, %eax", "movzx	eax, cl"},
		{"4863c8", "movslq	%eax, %rcx", "movsxd	rcx, eax"},
		{"4898", "cltq", "cdqe"},
		{"d1e8", "shrl	%eax", "shr	eax"},
		{"e800000000", "callq	0x401005", "call	0x401005"},
		{"ff1500010000", "callq	*256(%rip)", "call	qword ptr [rip + 256]"},
		{"ffe0", "jmpq	*%rax", "jmp	rax"},
		{"7402", "je	0x401004", "je	0x401004"},
		{"f3c3", "rep		retq", "rep		ret"},
		{"f348ab", "rep		stosq	%rax, %es:(%rdi)", "rep		stosq	qword ptr es:[rdi], rax"},
		{"f3a4", "rep		movsb	(%rsi), %es:(%rdi)", "rep		movsb	byte ptr es:[rdi], byte ptr [rsi]"},
		{"f0", "lock", "lock"},
		{"4887f7", "xchgq	%rdi, %rsi", "xchg	rsi, rdi"},
		{"662e0f1f840000000000", "nopw	%cs:(%rax,%rax)", "nop	word ptr cs:[rax + rax]"},
		{"6690", "nop", "nop"},
		{"cc", "int3", "int3"},
		{"f30f1efa", "endbr64", "endbr64"},
		{"c5f877", "vzeroupper", "vzeroupper"},
		{"664c0f38f6c9", "adcxq	%rcx, %r9", "adcx	r9, rcx"},
		{"f20f10157fc90700", "movsd	510335(%rip), %xmm2", "movsd	xmm2, qword ptr [rip + 510335]"},
		{"660fc2d901", "cmpltpd	%xmm1, %xmm3", "cmpltpd	xmm3, xmm1"},
		{"f2480f2ac0", "cvtsi2sd	%rax, %xmm0", "cvtsi2sd	xmm0, rax"},
		{"c5fb101547b20700", "vmovsd	504391(%rip), %xmm2", "vmovsd	xmm2, qword ptr [rip + 504391]"},
		{"62f37d203f0700", "vpcmpeqb	(%rdi), %ymm16, %k0", "vpcmpeqb	k0, ymm16, ymmword ptr [rdi]"},
		{"62f2fd18a8d1", "vfmadd213pd	{rn-sae}, %zmm1, %zmm0, %zmm2", "vfmadd213pd	zmm2, zmm0, zmm1, {rn-sae}"},
		{"c4e3d96b35d0b2070070", "vfmaddsd	504528(%rip), %xmm7, %xmm4, %xmm6", "vfmaddsd	xmm6, xmm4, xmm7, qword ptr [rip + 504528]"},
		{"dee9", "fsubrp	%st, %st(1)", "fsubp	st(1), st"},
		{"db29", "fldt	(%rcx)", "fld	tbyte ptr [rcx]"},
		{"c8448ec9", "enter	$-29116, $-55", "enter	-29116, -55"},
		{"06", "<unknown>", "<unknown>"},
		{"f1", "<unknown>", "<unknown>"},
	} {
		code := unhex(t, x.code)
		for syntax, want := range []string{x.att, x.intel} {
			got := X86(code, addr, Syntax(syntax))
			if got.Words != "\t"+want || !got.Known || got.Size != len(code) {
				t.Errorf("%s: %q, %d bytes, known %v; want %q", x.code, got.Words, got.Size, got.Known, "\t"+want)
			}
		}
	}
}

// TestAsBytes: an instruction without a known name is bytes that assemblers accept.
func TestAsBytes(t *testing.T) {
	t.Parallel()
	code := unhex(t, "8fe878c2ec0e") // vprotd of AMD's XOP
	if got := X86(code, 0, ATT); got.Known || got.Size != 6 || got.Words != "\t.byte\t0x8f, 0xe8, 0x78, 0xc2, 0xec, 0x0e" {
		t.Errorf("%+v", got)
	}
}

// TestAArch64: the texts are those of LLVM 22, but for the targets of branches, which llvm-profgen
// prints four bytes too high.
func TestAArch64(t *testing.T) {
	t.Parallel()
	const addr = 0x401004
	for code, want := range map[string]string{
		"fd7bbfa9": "stp	x29, x30, [sp, #-16]!",
		"fd7bc1a8": "ldp	x29, x30, [sp], #16",
		"75022891": "add	x21, x19, #2560",
		"000446f9": "ldr	x0, [x0, #3080]",
		"41686178": "ldrh	w1, [x2, x1]",
		"03000014": "b	0x401010",
		"a3000054": "b.lo	0x401018",
		"600400f0": "adrp	x0, 0x490000",
		"61000010": "adr	x1, 0x401010",
		"00008012": "mov	w0, #-1",
		"61fda772": "movk	w1, #16363, lsl #16",
		"54d03bd5": "mrs	x20, TPIDR_EL0",
		"1820601e": "fcmpe	d0, #0.0",
		"07106c1e": "fmov	d7, #0.50000000",
		"a2a0004c": "st1	{ v2.16b, v3.16b }, [x5]",
		"06e4002f": "movi	d6, #0000000000000000",
		"e0b5006f": "bic	v0.8h, #15, lsl #8",
		"00000000": "udf	#0",
		"c0035fd6": "ret",
	} {
		if got := AArch64(unhex(t, code), addr); got.Words != "\t"+want || got.Size != 4 || !got.Known {
			t.Errorf("%s: %q, %d bytes, known %v; want %q", code, got.Words, got.Size, got.Known, want)
		}
	}
	if got := AArch64(unhex(t, "000060d9"), addr); got.Known || got.Words != "\t.byte\t0x00, 0x00, 0x60, 0xd9" {
		t.Errorf("%+v", got)
	}
	if got := AArch64(unhex(t, "000060"), addr); got.Words != Unknown || got.Size != 3 {
		t.Errorf("%+v", got)
	}
}

func FuzzAArch64(f *testing.F) {
	f.Add(uint32(0xa9bf7bfd), uint64(0x401000))
	f.Add(uint32(0xd9600000), uint64(0))
	f.Fuzz(func(t *testing.T, word uint32, addr uint64) {
		got := AArch64(binary.LittleEndian.AppendUint32(nil, word), addr)
		if got.Size != 4 || !strings.HasPrefix(got.Words, "\t") || strings.ContainsAny(got.Words, "\n\x00") {
			t.Errorf("%#x is %+v", word, got)
		}
	})
}

func FuzzX86(f *testing.F) {
	for _, code := range []string{"\x55", "\x62\xf2\xfd\x18\xa8\xd1", "\xc4\xe3\xd9\x6b\x35\xd0\xb2\x07\x00\x70", "\xf3\x48\xab", "\x67\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00", "\xde\xe9", "\x66\x4c\x0f\x38\xf6\xc9"} {
		f.Add([]byte(code), uint64(0x401000))
	}
	f.Fuzz(func(t *testing.T, code []byte, addr uint64) {
		if len(code) == 0 {
			return
		}
		for _, syntax := range []Syntax{ATT, Intel} {
			got := X86(code, addr, syntax)
			if got.Size < 1 || got.Size > 15 || got.Size > len(code) {
				t.Errorf("%x has %d bytes", code, got.Size)
			}
			if !strings.HasPrefix(got.Words, "\t") || strings.ContainsAny(got.Words, "\n\x00") {
				t.Errorf("%x is %q", code, got.Words)
			}
		}
	})
}

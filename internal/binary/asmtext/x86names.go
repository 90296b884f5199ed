package asmtext

import (
	"strings"
	"sync"

	"golang.org/x/arch/x86/x86asm"

	"github.com/cairnprof/cairn/internal/binary/x86"
)

// registerNames are the names of registers as assemblers have them.
var registerNames = sync.OnceValue(func() []string {
	names := make([]string, 256)
	for i := range names {
		r := x86asm.Reg(i)
		s := strings.ToLower(r.String())
		switch {
		case x86asm.SPB <= r && r <= x86asm.DIB:
			s = s[:2] + "l"
		case x86asm.R8L <= r && r <= x86asm.R15L && s[0] == 'r':
			s = s[:len(s)-1] + "d"
		case x86asm.F0 <= r && r <= x86asm.F7:
			s = "st(" + s[1:] + ")"
		case x86asm.M0 <= r && r <= x86asm.M7:
			s = "mm" + s[1:]
		case x86asm.X0 <= r && r <= x86asm.X31:
			s = "xmm" + s[1:]
		case x86asm.Y0 <= r && r <= x86asm.Y31:
			s = "ymm" + s[1:]
		case x86asm.Z0 <= r && r <= x86asm.Z31:
			s = "zmm" + s[1:]
		}
		names[i] = s
	}
	return names
})

func ops(list ...x86asm.Op) func() map[x86asm.Op]bool {
	return sync.OnceValue(func() map[x86asm.Op]bool {
		m := map[x86asm.Op]bool{}
		for _, op := range list {
			m[op] = true
		}
		return m
	})
}

// stringOps are the instructions whose destination is in the segment es.
var stringOps = ops(
	x86asm.MOVSB, x86asm.MOVSW, x86asm.MOVSD, x86asm.MOVSQ, x86asm.STOSB, x86asm.STOSW, x86asm.STOSD, x86asm.STOSQ,
	x86asm.CMPSB, x86asm.CMPSW, x86asm.CMPSD, x86asm.CMPSQ, x86asm.SCASB, x86asm.SCASW, x86asm.SCASD, x86asm.SCASQ,
	x86asm.INSB, x86asm.INSW, x86asm.INSD,
)

// moves has the sizes of the moved data.
var moves = map[x86asm.Op]int{
	x86asm.MOVSB: 1, x86asm.MOVSW: 2, x86asm.MOVSD: 4, x86asm.MOVSQ: 8, x86asm.STOSB: 1, x86asm.STOSW: 2, x86asm.STOSD: 4, x86asm.STOSQ: 8,
	x86asm.CMPSB: 1, x86asm.CMPSW: 2, x86asm.CMPSD: 4, x86asm.CMPSQ: 8, x86asm.SCASB: 1, x86asm.SCASW: 2, x86asm.SCASD: 4, x86asm.SCASQ: 8,
	x86asm.LODSB: 1, x86asm.LODSW: 2, x86asm.LODSD: 4, x86asm.LODSQ: 8, x86asm.INSB: 1, x86asm.INSW: 2, x86asm.INSD: 4,
	x86asm.OUTSB: 1, x86asm.OUTSW: 2, x86asm.OUTSD: 4,
}

// suffixed has the instructions whose AT&T mnemonic ends in a letter for the operand size.
var suffixed = ops(
	x86asm.ADC, x86asm.ADD, x86asm.SUB, x86asm.SBB, x86asm.AND, x86asm.OR, x86asm.XOR, x86asm.CMP, x86asm.TEST, x86asm.MOV,
	x86asm.LEA, x86asm.XCHG, x86asm.XADD, x86asm.CMPXCHG, x86asm.INC, x86asm.DEC, x86asm.NEG, x86asm.NOT, x86asm.MUL,
	x86asm.IMUL, x86asm.DIV, x86asm.IDIV, x86asm.SHL, x86asm.SHR, x86asm.SAR, x86asm.ROL, x86asm.ROR, x86asm.RCL,
	x86asm.RCR, x86asm.SHLD, x86asm.SHRD, x86asm.BT, x86asm.BTS, x86asm.BTR, x86asm.BTC, x86asm.BSF, x86asm.BSR,
	x86asm.LZCNT, x86asm.TZCNT, x86asm.POPCNT, x86asm.BSWAP, x86asm.MOVBE, x86asm.NOP, x86asm.MOVNTI,
	x86asm.CMOVA, x86asm.CMOVAE, x86asm.CMOVB, x86asm.CMOVBE, x86asm.CMOVE, x86asm.CMOVG, x86asm.CMOVGE, x86asm.CMOVL,
	x86asm.CMOVLE, x86asm.CMOVNE, x86asm.CMOVNO, x86asm.CMOVNP, x86asm.CMOVNS, x86asm.CMOVO, x86asm.CMOVP, x86asm.CMOVS,
	x86asm.ANDN, x86asm.BEXTR, x86asm.BLSI, x86asm.BLSMSK, x86asm.BLSR, x86asm.BZHI, x86asm.MULX, x86asm.PDEP,
	x86asm.PEXT, x86asm.RORX, x86asm.SARX, x86asm.SHLX, x86asm.SHRX, x86asm.RDRAND, x86asm.PUSH, x86asm.POP,
	x86asm.IN, x86asm.OUT, x86asm.LAR, x86asm.LSL, x86asm.UD1,
)

// rotates has the shifts, whose second operand does not give the size of the first.
var rotates = ops(x86asm.SHL, x86asm.SHR, x86asm.SAR, x86asm.ROL, x86asm.ROR, x86asm.RCL, x86asm.RCR)

// signed has the instructions that sign-extend an immediate of one byte.
var signed = ops(
	x86asm.ADC, x86asm.ADD, x86asm.SUB, x86asm.SBB, x86asm.AND, x86asm.OR, x86asm.XOR, x86asm.CMP, x86asm.TEST, x86asm.MOV,
	x86asm.IMUL, x86asm.PUSH, x86asm.XABORT,
)

// unsigned reports whether an immediate of one byte is unsigned.
func (p *x86Printer) unsigned() bool { return !signed()[p.Op] }

// noWidth has the instructions whose memory operand has no size in the Intel syntax.
var noWidth = ops(
	x86asm.FXSAVE, x86asm.FXRSTOR, x86asm.FXSAVE64, x86asm.FXRSTOR64, x86asm.XSAVE, x86asm.XRSTOR, x86asm.XSAVEC, x86asm.XSAVEOPT,
	x86asm.XSAVE64, x86asm.XRSTOR64, x86asm.XSAVEC64, x86asm.XSAVEOPT64, x86asm.FLDENV, x86asm.FNSTENV, x86asm.FNSAVE, x86asm.FRSTOR,
	x86asm.LGDT, x86asm.LIDT, x86asm.SGDT, x86asm.SIDT, x86asm.LFS, x86asm.LGS, x86asm.LSS, x86asm.LDS, x86asm.LES,
)

// suppressesOnly reports whether an instruction with {sae} has no rounding mode, because it
// does not round, or its name or an immediate gives the mode.
func suppressesOnly(name string) bool {
	for _, part := range strings.Fields("CMP COMI MAX MIN CVTT GETEXP GETMANT RANGE REDUCE RNDSCALE FIXUPIMM CVTPS2PD CVTSS2SD CVTPH2PS CVTPS2PH RCP28 RSQRT28 EXP2") {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// drops reports whether LLVM omits an operand.
func (p *x86Printer) drops(i int, a x86asm.Arg) bool {
	switch {
	case a == x86asm.Imm(1) && p.in.Map == x86.MapOne && (p.in.Opcode == 0xd0 || p.in.Opcode == 0xd1):
		return true
	case p.Op == x86asm.INT && p.in.ImmSize == 0, p.Op == x86asm.XLATB:
		return true
	}
	if _, ok := a.(x86asm.Imm); ok && p.predicate() != "" {
		return true
	}
	return false
}

// stackTop reports whether operand i, the top of the x87 stack, is implied and printed without
// its number.
func (p *x86Printer) stackTop(i int) bool {
	implied := 0
	if p.in.Opcode == 0xdc || p.in.Opcode == 0xde {
		implied = 1
	}
	return p.Args[1] != nil && i == implied
}

// name returns the mnemonic.
func (p *x86Printer) name() string {
	name := strings.ToLower(p.Op.String())
	if pred := p.predicate(); pred != "" {
		stem, vector := strings.CutPrefix(name, "v")
		packed := strings.HasPrefix(stem, "pcmp")
		at := 3
		if packed {
			at = 4
		}
		name = stem[:at] + pred + stem[at:]
		if vector {
			name = "v" + name
		}
	}
	if s := renamed[p.Op]; s != "" {
		name = s
	}
	name = strings.TrimSuffix(name, "_xmm")
	switch {
	case p.Op == x86asm.MOV && p.wideMove():
		name = "movabs"
	case p.Op == x86asm.INT && p.in.ImmSize == 0:
		return "int3"
	}
	if p.syntax == Intel {
		return p.nameIntel(name)
	}
	return p.nameATT(name)
}

// nameIntel returns the mnemonic in the syntax of Intel.
func (p *x86Printer) nameIntel(name string) string {
	switch {
	case p.Op == x86asm.LRET && p.in.Wide():
		return name + "q"
	case (p.Op == x86asm.LCALL || p.Op == x86asm.LJMP) && !p.in.Wide():
		return name[1:]
	}
	return name
}

// wideMove reports whether a mov has a 64-bit immediate or address.
func (p *x86Printer) wideMove() bool {
	return p.in.Map == x86.MapOne && (p.in.ImmSize == 8 || p.in.DispSize == 8)
}

// nameATT returns the mnemonic with the suffixes and changes of the AT&T syntax.
func (p *x86Printer) nameATT(name string) string {
	if s := renamedATT[p.Op]; s != "" {
		return s
	}
	switch p.Op {
	case x86asm.MOVSXD:
		return "movslq"
	case x86asm.MOVZX, x86asm.MOVSX:
		return name[:4] + letter(p.sourceBytes()) + letter(p.bytes())
	case x86asm.CALL, x86asm.RET:
		return name + "q"
	case x86asm.LRET:
		return "lret" + letter(p.branchBytes())
	case x86asm.IN, x86asm.OUT:
		return name + letter(p.portBytes())
	case x86asm.JMP, x86asm.LJMP, x86asm.LCALL:
		if !p.in.Relative() {
			return name + letter(p.branchBytes())
		}
		return name
	case x86asm.NOP:
		if p.in.Map == x86.MapOne {
			return name
		}
	case x86asm.CVTSI2SD, x86asm.CVTSI2SS, x86asm.VCVTSI2SD, x86asm.VCVTSI2SS:
		if p.hasMemory() {
			return name + letter(p.MemBytes)
		}
		return name
	}
	if p.in.Map == x86.MapOne && p.in.Opcode&^7 == 0xd8 && p.in.Prefix&x86.PrefixVector == 0 {
		return p.reversed(name) + p.floatSuffix()
	}
	if suffixed()[p.Op] {
		return name + p.suffix()
	}
	return name
}

// branchBytes returns the size of the target of an indirect branch.
func (p *x86Printer) branchBytes() int {
	switch {
	case p.Op != x86asm.JMP && p.Op != x86asm.CALL:
		if p.in.Wide() {
			return 8
		}
		return p.DataSize / 8
	}
	return 8
}

// reversed swaps subtractions and divisions with their reverse if the destination is not the
// top of the stack, as AT&T assemblers have always done.
func (p *x86Printer) reversed(name string) string {
	if p.hasMemory() || p.in.Opcode != 0xdc && p.in.Opcode != 0xde {
		return name
	}
	switch p.Op {
	case x86asm.FSUB, x86asm.FDIV:
		return name + "r"
	case x86asm.FSUBP, x86asm.FDIVP:
		return name[:4] + "rp"
	case x86asm.FSUBR, x86asm.FDIVR:
		return name[:4]
	case x86asm.FSUBRP, x86asm.FDIVRP:
		return name[:4] + "p"
	}
	return name
}

// portBytes returns the operand size of in and out: that of the accumulator.
func (p *x86Printer) portBytes() int {
	for _, a := range p.Args {
		if r, ok := a.(x86asm.Reg); ok && (r == x86asm.AL || r == x86asm.AX || r == x86asm.EAX) {
			return gprBytes(r)
		}
	}
	return 0
}

// floatSuffix returns the suffix for the size of an x87 operand.
func (p *x86Printer) floatSuffix() string {
	if !p.hasMemory() || plainFloat()[p.Op] {
		return ""
	}
	integer := p.Op.String()[1] == 'I'
	switch p.MemBytes {
	case 0, 10:
		return "t"
	case 2:
		return "s"
	case 4:
		if integer {
			return "l"
		}
		return "s"
	case 8:
		if integer {
			return "ll"
		}
		return "l"
	}
	return ""
}

// plainFloat has the x87 instructions without a suffix.
var plainFloat = ops(
	x86asm.FLDCW, x86asm.FNSTCW, x86asm.FNSTSW, x86asm.FLDENV, x86asm.FNSTENV, x86asm.FNSAVE, x86asm.FRSTOR, x86asm.FBLD, x86asm.FBSTP,
)

// sourceBytes returns the size of the second operand.
func (p *x86Printer) sourceBytes() int {
	switch a := p.Args[1].(type) {
	case x86asm.Reg:
		return gprBytes(a)
	case x86asm.Mem:
		return p.MemBytes
	}
	return 0
}

// renamed has the mnemonics that LLVM spells differently.
var renamed = map[x86asm.Op]string{
	x86asm.FCOMIP: "fcompi", x86asm.FUCOMIP: "fucompi", x86asm.FWAIT: "wait", x86asm.ICEBP: "int1",
	x86asm.LRET: "retf",
}

// renamedATT has those with another name in the AT&T syntax.
var renamedATT = map[x86asm.Op]string{
	x86asm.CBW: "cbtw", x86asm.CWDE: "cwtl", x86asm.CDQE: "cltq", x86asm.CWD: "cwtd", x86asm.CDQ: "cltd", x86asm.CQO: "cqto",
	x86asm.MOVSD: "movsl", x86asm.STOSD: "stosl", x86asm.LODSD: "lodsl", x86asm.SCASD: "scasl", x86asm.CMPSD: "cmpsl",
	x86asm.INSD: "insl", x86asm.OUTSD: "outsl", x86asm.IRETD: "iretl", x86asm.IRET: "iretl",
}

// comparisons has the predicates of comparing instructions, by immediate. SSE has the first
// eight.
var comparisons = strings.Fields(`eq lt le unord neq nlt nle ord eq_uq nge ngt false neq_oq ge gt true
	eq_os lt_oq le_oq unord_s neq_us nlt_uq nle_uq ord_s eq_us nge_uq ngt_uq false_os neq_os ge_oq gt_oq true_us`)

// maskComparisons has those of vpcmp, "" if there is none.
var maskComparisons = [8]string{0: "eq", 1: "lt", 2: "le", 4: "neq", 5: "nlt", 6: "nle"}

// predicate returns the predicate of a comparison, if it is part of the mnemonic.
func (p *x86Printer) predicate() string {
	imm := int64(-1)
	for _, a := range p.Args {
		if v, ok := a.(x86asm.Imm); ok {
			imm = int64(v)
		}
	}
	if imm < 0 {
		return ""
	}
	switch p.Op {
	case x86asm.CMPPS, x86asm.CMPPD, x86asm.CMPSS, x86asm.CMPSD_XMM:
		if imm < 8 {
			return comparisons[imm]
		}
	case x86asm.VCMPPS, x86asm.VCMPPD, x86asm.VCMPSS, x86asm.VCMPSD:
		if imm < int64(len(comparisons)) {
			return comparisons[imm]
		}
	case x86asm.VPCMPB, x86asm.VPCMPW, x86asm.VPCMPD, x86asm.VPCMPQ, x86asm.VPCMPUB, x86asm.VPCMPUW, x86asm.VPCMPUD, x86asm.VPCMPUQ:
		if imm < 8 {
			return maskComparisons[imm]
		}
	}
	return ""
}

// suffix returns the letter for the size of the operands.
func (p *x86Printer) suffix() string {
	return letter(p.bytes())
}

func letter(bytes int) string {
	switch bytes {
	case 1:
		return "b"
	case 2:
		return "w"
	case 4:
		return "l"
	case 8:
		return "q"
	}
	return ""
}

// bytes returns the size of the operation: that of its first general register, or else that of
// its memory operand.
func (p *x86Printer) bytes() int {
	if p.Op == x86asm.PUSH || p.Op == x86asm.POP {
		if p.in.Prefix&x86.PrefixData != 0 {
			return 2
		}
		return 8
	}
	for i, a := range p.Args {
		switch a := a.(type) {
		case x86asm.Reg:
			if n := gprBytes(a); n > 0 && (i == 0 || !rotates()[p.Op]) {
				return n
			}
		case x86asm.Mem:
			if p.MemBytes > 0 && p.Op != x86asm.LEA {
				return p.MemBytes
			}
		}
	}
	return p.DataSize / 8
}

package asmtext

import (
	"strconv"
	"strings"

	"golang.org/x/arch/x86/x86asm"

	"github.com/cairnprof/cairn/internal/binary/x86"
)

// memory returns the text of a memory operand.
func (p *x86Printer) memory(m x86asm.Mem) string {
	segment := p.segment()
	if stringOps()[p.Op] && (m.Base == x86asm.RDI || m.Base == x86asm.EDI) {
		segment = "es"
	}
	if p.in.RIP { // x/arch drops it from vector instructions
		m.Base = x86asm.RIP
		if p.in.Prefix&x86.PrefixAddress != 0 {
			m.Base = x86asm.EIP
		}
	}
	if p.in.HasModRM && p.in.DispSize == 4 {
		m.Disp = int64(p.in.Disp) // some displacements of x/arch lack the sign
	}
	if p.syntax == Intel {
		return p.memoryIntel(m, segment)
	}
	var b strings.Builder
	if segment != "" {
		b.WriteString("%" + segment + ":")
	}
	index, scale := p.index(m)
	if m.Disp != 0 || m.Base == 0 && index == "" {
		b.WriteString(strconv.FormatInt(m.Disp, 10))
	}
	if m.Base == 0 && index == "" {
		return b.String()
	}
	b.WriteByte('(')
	if m.Base != 0 {
		b.WriteString(p.register(m.Base))
	}
	if index != "" {
		b.WriteString("," + index)
		if scale != 1 {
			b.WriteString("," + strconv.Itoa(scale))
		}
	}
	b.WriteByte(')')
	return b.String()
}

// index returns the index register and its scale. If the encoding has a scale, or needs an
// index byte for its base, but no index, LLVM prints riz, which is no register.
func (p *x86Printer) index(m x86asm.Mem) (register string, scale int) {
	if m.Scale != 0 && m.Index != 0 {
		return p.register(m.Index), int(m.Scale)
	}
	scale = 1 << (p.in.SIB >> 6)
	sib := p.in.HasModRM && p.in.Mod() != 3 && p.in.ModRM&7 == 4 && p.in.Prefix&x86.PrefixVector == 0
	if !sib || p.in.Prefix&x86.PrefixAddress != 0 || scale == 1 && (m.Base == 0 || m.Base == x86asm.RSP || m.Base == x86asm.R12) {
		return "", 0
	}
	if p.syntax == ATT {
		return "%riz", scale
	}
	return "riz", scale
}

// memoryIntel returns a memory operand in the syntax of Intel.
func (p *x86Printer) memoryIntel(m x86asm.Mem, segment string) string {
	var b strings.Builder
	b.WriteString(p.width())
	if segment != "" {
		b.WriteString(segment + ":")
	}
	b.WriteByte('[')
	index, scale := p.index(m)
	if m.Base != 0 {
		b.WriteString(p.register(m.Base))
	}
	if index != "" {
		if m.Base != 0 {
			b.WriteString(" + ")
		}
		if scale != 1 || m.Base == 0 && p.Op.String()[0] != 'V' {
			b.WriteString(strconv.Itoa(scale) + "*")
		}
		b.WriteString(index)
	}
	switch {
	case m.Base == 0 && index == "":
		b.WriteString(strconv.FormatInt(m.Disp, 10))
	case m.Disp < 0:
		b.WriteString(" - " + strconv.FormatUint(uint64(-m.Disp), 10))
	case m.Disp > 0:
		b.WriteString(" + " + strconv.FormatInt(m.Disp, 10))
	}
	b.WriteByte(']')
	return b.String()
}

// width returns the size of a memory operand in the syntax of Intel.
func (p *x86Printer) width() string {
	bytes := p.MemBytes
	switch name := p.Op.String(); {
	case strings.Contains(name, "GATHER"), strings.Contains(name, "SCATTER"):
		bytes = 4
		if last := name[len(name)-1]; last == 'D' && name[len(name)-2] == 'P' || last == 'Q' {
			bytes = 8
		}
	case bytes != 0:
	case strings.HasPrefix(name, "PREFETCH"), p.Op == x86asm.CLFLUSH, p.Op == x86asm.INVLPG:
		bytes = 1
	case p.Op == x86asm.FLD, p.Op == x86asm.FSTP, p.Op == x86asm.FBLD, p.Op == x86asm.FBSTP:
		bytes = 10
	case moves[p.Op] != 0:
		bytes = moves[p.Op]
	}
	if p.Op == x86asm.LEA || noWidth()[p.Op] {
		return ""
	}
	switch bytes {
	case 1:
		return "byte ptr "
	case 2:
		return "word ptr "
	case 4:
		return "dword ptr "
	case 8:
		return "qword ptr "
	case 10:
		return "tbyte ptr "
	case 16:
		return "xmmword ptr "
	case 32:
		return "ymmword ptr "
	case 64:
		return "zmmword ptr "
	}
	return ""
}

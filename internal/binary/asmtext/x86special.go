package asmtext

import (
	"slices"
	"strings"

	"golang.org/x/arch/x86/x86asm"

	"github.com/cairnprof/cairn/internal/binary/x86"
)

// special returns the words of instructions that x/arch decodes wrongly or not at all.
func (p *x86Printer) special() string {
	vector := p.in.Prefix&x86.PrefixVector != 0
	rep := p.in.Prefix&x86.PrefixRep != 0
	switch {
	case p.in.Map == x86.Map0F && rep && p.in.Mod() == 3 && (p.in.Opcode == 0x1e && p.in.ModRM>>3&7 == 1 || p.in.Opcode == 0xae && p.in.ModRM>>3&7 == 5):
		return p.shadowStack()
	case p.in.Map == x86.Map0F && p.in.Opcode == 0x1e && p.in.Prefix&x86.PrefixRep != 0 && p.in.ModRM == 0xfa:
		return "endbr64"
	case vector && p.in.Map == x86.Map0F && p.in.Opcode == 0x77 && p.code[0] == 0xc5:
		if p.code[1]&4 != 0 {
			return "vzeroall"
		}
		return "vzeroupper"
	case p.in.Map == x86.Map0F38 && p.in.Opcode == 0xf6 && !vector && (rep || p.in.Prefix&x86.PrefixData != 0):
		return p.carries()
	case vector && p.code[0] == 0xc4 && p.in.Map == x86.Map0F3A && fma4[p.in.Opcode] != "":
		return p.fma4()
	case p.in.Map == x86.Map0F && p.in.Opcode == 0xc7 && p.in.Mod() == 3 && p.in.ModRM>>3&7 == 7 && !rep:
		return p.randomSeed()
	case p.in.Map == x86.Map0F && p.in.Opcode == 0x0e && len(p.code) == 2:
		return "femms"
	case p.in.Map == x86.MapOne && p.in.Opcode == 0xf1: // int1, which LLVM does not know
		return Unknown[1:]
	case p.in.Map == x86.MapOne && p.in.Opcode == 0x8d && p.in.Mod() == 3: // lea of a register
		return Unknown[1:]
	}
	return ""
}

// shadowStack returns the words of the two user-mode shadow-stack instructions.
func (p *x86Printer) shadowStack() string {
	name, reg, letter := "incssp", x86asm.EAX+x86asm.Reg(p.in.RM()), "d"
	if p.in.Opcode == 0x1e {
		name = "rdssp"
	}
	if p.in.Wide() {
		reg, letter = x86asm.RAX+x86asm.Reg(p.in.RM()), "q"
	}
	return name + letter + "\t" + p.register(reg)
}

// carries returns the words of adcx and adox.
func (p *x86Printer) carries() string {
	name, letter, first, bytes := "adcx", "l", x86asm.EAX, 4
	if p.in.Prefix&x86.PrefixRep != 0 {
		name = "adox"
	}
	if p.in.Wide() {
		letter, first, bytes = "q", x86asm.RAX, 8
	}
	reg, rm := p.register(first+x86asm.Reg(p.in.Reg())), ""
	if p.in.Mod() == 3 {
		rm = p.register(first + x86asm.Reg(p.in.RM()))
	} else {
		p.Op, p.MemBytes = x86asm.ADC, bytes
		rm = p.memory(p.plainMemory(p.in.Rex))
	}
	if p.syntax == Intel {
		return name + "\t" + reg + ", " + rm
	}
	return name + letter + "\t" + rm + ", " + reg
}

// fma4 has the mnemonics of AMD's four-operand instructions, by opcode.
var fma4 = func() (names [256]string) {
	types := [4]string{"ps", "pd", "ss", "sd"}
	for op, stem := range map[int]string{0x68: "vfmadd", 0x6c: "vfmsub", 0x78: "vfnmadd", 0x7c: "vfnmsub"} {
		for i, t := range types {
			names[op+i] = stem + t
		}
	}
	for i, t := range types[:2] {
		names[0x5c+i], names[0x5e+i] = "vfmaddsub"+t, "vfmsubadd"+t
	}
	return names
}()

// fma4 returns the words of one of these, which x/arch does not support.
func (p *x86Printer) fma4() string {
	rex := p.code[1]>>5 ^ 7 // R, X, B
	first, bytes := x86asm.X0, 16
	switch name := fma4[p.in.Opcode]; {
	case strings.HasSuffix(name, "ss"):
		bytes = 4
	case strings.HasSuffix(name, "sd"):
		bytes = 8
	case p.code[2]&4 != 0:
		first, bytes = x86asm.Y0, 32
	}
	vector := func(n byte) string { return p.register(first + x86asm.Reg(n)) }
	rm := ""
	if p.in.Mod() == 3 {
		rm = vector(p.in.ModRM&7 | rex&1<<3)
	} else {
		p.Op, p.MemBytes = x86asm.VMOVUPS, bytes
		rm = p.memory(p.plainMemory(rex))
	}
	fourth := vector(p.code[len(p.code)-1] >> 4)
	args := []string{vector(p.in.ModRM>>3&7 | rex&4<<1), vector(p.code[2]>>3&15 ^ 15), rm, fourth}
	if p.code[2]&0x80 != 0 {
		args[2], args[3] = fourth, rm
	}
	if p.syntax == ATT {
		slices.Reverse(args)
	}
	return fma4[p.in.Opcode] + "\t" + strings.Join(args, ", ")
}

// plainMemory returns the memory operand of an instruction whose REX bits are given.
func (p *x86Printer) plainMemory(rex byte) x86asm.Mem {
	m := x86asm.Mem{Disp: int64(p.in.Disp), Base: x86asm.RAX + x86asm.Reg(p.in.ModRM&7|rex&1<<3)}
	if p.in.ModRM&7 != 4 {
		return m
	}
	m.Base = x86asm.RAX + x86asm.Reg(p.in.SIB&7|rex&1<<3)
	if p.in.SIB&7 == 5 && p.in.Mod() == 0 {
		m.Base = 0
	}
	if index := p.in.SIB>>3&7 | rex&2<<2; index != 4 {
		m.Index, m.Scale = x86asm.RAX+x86asm.Reg(index), 1<<(p.in.SIB>>6)
	}
	return m
}

// randomSeed returns the words of rdseed.
func (p *x86Printer) randomSeed() string {
	letter, reg := "l", x86asm.EAX
	switch {
	case p.in.Wide():
		letter, reg = "q", x86asm.RAX
	case p.in.Prefix&x86.PrefixData != 0:
		letter, reg = "w", x86asm.AX
	}
	if p.syntax == Intel {
		letter = ""
	}
	return "rdseed" + letter + "\t" + p.register(reg+x86asm.Reg(p.in.RM()))
}

package asmtext

import (
	"slices"
	"strconv"
	"strings"

	"golang.org/x/arch/x86/x86asm"

	"github.com/cairnprof/cairn/internal/binary/x86"
)

// X86 returns the text of the instruction at the start of code, which is at addr.
func X86(code []byte, addr uint64, syntax Syntax) Text {
	if name := lonePrefix(code); name != "" {
		return Text{"\t" + name, 1, true}
	}
	in, err := x86.Decode(code)
	if err != nil {
		return Text{Unknown, 1, true}
	}
	code = code[:in.Len]
	p := x86Printer{in: in, code: code, addr: addr, syntax: syntax}
	if words := p.special(); words != "" {
		return Text{"\t" + words, len(code), true}
	}
	if p.Inst, err = x86asm.Decode(code, 64); err != nil || p.Len != len(code) || p.Op == 0 {
		return asBytes(code)
	}
	return Text{p.text(), len(code), true}
}

// lonePrefix returns the name of a prefix that LLVM prints as an instruction: lock, and the hints
// of transactions, which are rep and repne before a locked instruction or an exchange.
func lonePrefix(code []byte) string {
	if len(code) == 0 {
		return ""
	}
	switch code[0] {
	case 0xf0:
		return "lock"
	case 0xf2, 0xf3:
		if len(code) < 2 {
			return ""
		}
		next := code[1]
		hint := next == 0xf0 || next&0xfe == 0x86 || next&0xf8 == 0x90 && (code[0] == 0xf2 || next != 0x90)
		stores := code[0] == 0xf3 && (next == 0x88 || next == 0x89 || next == 0xc6 || next == 0xc7)
		if !hint && !stores {
			return ""
		}
		if code[0] == 0xf2 {
			return "xacquire"
		}
		return "xrelease"
	}
	return ""
}

// x86Printer prints one instruction.
type x86Printer struct {
	x86asm.Inst
	in     x86.Inst
	code   []byte
	addr   uint64
	syntax Syntax
}

// text returns prefixes, mnemonic and operands.
func (p *x86Printer) text() string {
	name, args := p.name(), p.operands()
	var b strings.Builder
	b.WriteString(p.prefixes())
	b.WriteByte('\t')
	b.WriteString(name)
	if len(args) == 0 {
		return b.String()
	}
	b.WriteByte('\t')
	if p.Op == x86asm.XCHG && !p.hasMemory() {
		slices.Reverse(args)
	}
	if p.syntax == ATT && !slices.Contains(intelOrder, p.Op) {
		slices.Reverse(args)
	}
	b.WriteString(strings.Join(args, ", "))
	return b.String()
}

// intelOrder has the instructions whose operands have the same order in both syntaxes.
var intelOrder = []x86asm.Op{x86asm.ENTER, x86asm.BOUND}

// prefixes returns those that are printed before the mnemonic.
func (p *x86Printer) prefixes() string {
	words := ""
	if p.in.Prefix&x86.PrefixVector != 0 {
		return ""
	}
	explicit := func(b x86asm.Prefix) bool {
		return slices.ContainsFunc(p.Prefix[:], func(x x86asm.Prefix) bool {
			return x&0xff == b && x&x86asm.PrefixImplicit == 0 && x != 0
		})
	}
	switch {
	case explicit(0xf3):
		words += "\trep\t"
	case explicit(0xf2):
		words += "\trepne\t"
	}
	if p.in.Prefix&x86.PrefixAddress != 0 && !p.hasMemory() && explicit(0x67) {
		words += "\taddr32\t"
	}
	return words
}

func (p *x86Printer) hasMemory() bool {
	return slices.ContainsFunc(p.Args[:], func(a x86asm.Arg) bool { _, ok := a.(x86asm.Mem); return ok })
}

// segment returns the register of the last segment prefix, or "" if there is none.
func (p *x86Printer) segment() string {
	last := ""
	for _, b := range p.code {
		switch b {
		case 0x26:
			last = "es"
		case 0x2e:
			last = "cs"
		case 0x36:
			last = "ss"
		case 0x3e:
			last = "ds"
		case 0x64:
			last = "fs"
		case 0x65:
			last = "gs"
		case 0x66, 0x67, 0xf0, 0xf2, 0xf3:
		default:
			return last
		}
	}
	return last
}

// operands returns the operands in Intel's order.
func (p *x86Printer) operands() []string {
	var out []string
	for i, a := range p.Args {
		if a == nil {
			break
		}
		if p.drops(i, a) {
			continue
		}
		if r, ok := a.(x86asm.Reg); ok && i == 1 && p.masks(r) {
			if r != x86asm.K0 {
				out[0] += " {" + p.register(r) + "}"
			}
			if p.Zeroing {
				out[0] += " {z}"
			}
			continue
		}
		out = append(out, p.operand(i, a))
	}
	if p.SAE {
		out = p.rounding(out)
	}
	return out
}

// masks reports whether the second operand of an EVEX instruction is the mask of the first.
func (p *x86Printer) masks(r x86asm.Reg) bool {
	return x86asm.K0 <= r && r <= x86asm.K7 && p.code[p.vectorAt()] == 0x62 && p.Op.String()[0] != 'K'
}

// vectorAt returns the offset of the vector prefix, or of the first byte that is not a prefix.
func (p *x86Printer) vectorAt() int {
	for i, b := range p.code {
		switch b {
		case 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf0, 0xf2, 0xf3:
		default:
			return i
		}
	}
	return 0
}

// rounding adds the rounding control or {sae}, before the immediate if there is one.
func (p *x86Printer) rounding(out []string) []string {
	word := "{sae}"
	if !suppressesOnly(p.Op.String()) {
		word = [...]string{"{rn-sae}", "{rd-sae}", "{ru-sae}", "{rz-sae}"}[p.Rounding&3]
	}
	at := len(out)
	if at > 0 && p.endsInImmediate() {
		at--
	}
	return slices.Insert(out, at, word)
}

func (p *x86Printer) endsInImmediate() bool {
	for i := len(p.Args) - 1; i >= 0; i-- {
		if p.Args[i] != nil {
			_, imm := p.Args[i].(x86asm.Imm)
			return imm && !p.drops(i, p.Args[i])
		}
	}
	return false
}

// operand returns the text of an operand.
func (p *x86Printer) operand(i int, a x86asm.Arg) string {
	switch a := a.(type) {
	case x86asm.Reg:
		if a == x86asm.F0 && p.stackTop(i) {
			return strings.TrimSuffix(p.register(a), "(0)")
		}
		return p.indirect(p.register(a))
	case x86asm.Mem:
		return p.indirect(p.memory(a) + p.broadcast())
	case x86asm.Imm:
		return p.immediate(i, int64(a))
	case x86asm.Rel:
		return "0x" + strconv.FormatUint(p.addr+uint64(len(p.code))+uint64(int64(a)), 16)
	}
	return a.String()
}

// indirect marks the operand of an indirect call or jump.
func (p *x86Printer) indirect(text string) string {
	switch p.Op {
	case x86asm.CALL, x86asm.JMP, x86asm.LCALL, x86asm.LJMP:
		if p.syntax == ATT {
			return "*" + text
		}
	}
	return text
}

// register returns the name of a register.
func (p *x86Printer) register(r x86asm.Reg) string {
	name := registerNames()[r]
	if p.syntax == ATT {
		return "%" + name
	}
	return name
}

// broadcast returns how often a memory element is repeated, or "" if it is not.
func (p *x86Printer) broadcast() string {
	if !p.Broadcast || p.MemBytes == 0 {
		return ""
	}
	bytes := 0
	for _, a := range p.Args {
		if r, ok := a.(x86asm.Reg); ok {
			bytes = max(bytes, vectorBytes(r))
		}
	}
	if bytes == 0 {
		return ""
	}
	return "{1to" + strconv.Itoa(bytes/p.MemBytes) + "}"
}

func vectorBytes(r x86asm.Reg) int {
	switch {
	case x86asm.X0 <= r && r <= x86asm.X31:
		return 16
	case x86asm.Y0 <= r && r <= x86asm.Y31:
		return 32
	case x86asm.Z0 <= r && r <= x86asm.Z31:
		return 64
	}
	return 0
}

// gprBytes returns the size of a general register, or 0 if r is none.
func gprBytes(r x86asm.Reg) int {
	switch {
	case x86asm.AL <= r && r <= x86asm.R15B:
		return 1
	case x86asm.AX <= r && r <= x86asm.R15W:
		return 2
	case x86asm.EAX <= r && r <= x86asm.R15L:
		return 4
	case x86asm.RAX <= r && r <= x86asm.R15:
		return 8
	}
	return 0
}

// immediate returns an immediate in LLVM's form: signed, but unsigned if it is as wide as an
// operand of 16 or 32 bits, or if it is not an operand of arithmetic.
func (p *x86Printer) immediate(i int, v int64) string {
	switch {
	case p.in.ImmSize == 1 && p.unsigned():
		v = int64(uint8(v))
	case p.in.ImmSize == 1:
		v = int64(int8(v))
	case p.in.ImmSize == 2 && (p.Op == x86asm.RET || p.Op == x86asm.LRET), p.in.ImmSize == 3 && i == 0:
		v = int64(int16(v))
	case p.in.ImmSize == 3: // the second of enter
		v = int64(int8(v))
	case p.in.ImmSize == 2:
		v = int64(uint16(v))
	case p.in.ImmSize == 4 && p.DataSize == 32:
		v = int64(uint32(v))
	case p.in.ImmSize == 4:
		v = int64(int32(v))
	}
	text := strconv.FormatInt(v, 10)
	if p.syntax == ATT {
		return "$" + text
	}
	return text
}

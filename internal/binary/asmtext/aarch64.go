package asmtext

import (
	"encoding/binary"
	"strconv"
	"strings"

	"golang.org/x/arch/arm64/arm64asm"
)

const aarch64Size = 4 // bytes of an instruction

// AArch64 returns the text of the instruction at the start of code, which is at addr.
func AArch64(code []byte, addr uint64) Text {
	if len(code) < aarch64Size {
		return Text{Unknown, max(1, len(code)), true}
	}
	code = code[:aarch64Size]
	word := binary.LittleEndian.Uint32(code)
	if word>>16 == 0 {
		return Text{"\tudf\t#" + strconv.Itoa(int(word)), aarch64Size, true}
	}
	in, err := arm64asm.Decode(code)
	if err != nil {
		return asBytes(code)
	}
	p := aarch64Printer{word: word, addr: addr}
	words := arm64asm.GNUSyntax(in)
	p.name, words, _ = strings.Cut(strings.TrimSpace(words), " ")
	return Text{p.text(words), aarch64Size, true}
}

// aarch64Printer converts the text of x/arch, which is that of the GNU tools, to LLVM's.
type aarch64Printer struct {
	word uint32
	addr uint64
	name string
}

// text returns the mnemonic and the operands.
func (p *aarch64Printer) text(operands string) string {
	name := p.name
	if cond, ok := strings.CutPrefix(name, "b."); ok {
		name = "b." + condition(cond)
	}
	if operands == "" {
		return "\t" + name
	}
	args := strings.Split(operands, ",")
	for i := range args {
		args[i] = p.operand(strings.TrimSpace(args[i]), args[0])
	}
	return "\t" + name + "\t" + strings.NewReplacer("{", "{ ", "}", " }").Replace(strings.Join(args, ", "))
}

// operand returns an operand, or the part of one between commas. first is the first operand.
func (p *aarch64Printer) operand(arg, first string) string {
	switch {
	case strings.HasPrefix(arg, ".+0x"):
		return p.target(arg[4:])
	case strings.HasPrefix(arg, "#0x"):
		return p.immediate(arg, first)
	case strings.HasPrefix(arg, "#") && strings.Contains(arg, "e") && p.name == "fmov":
		return float(arg)
	case strings.HasPrefix(p.name, "fcmp") && arg == "#0":
		return "#0.0"
	case strings.HasPrefix(arg, "s") && strings.Contains(arg, "_c"):
		return systemRegister(arg)
	}
	return condition(arg)
}

// target returns the target of a branch, or the address that adr or adrp computes.
func (p *aarch64Printer) target(distance string) string {
	n, err := strconv.ParseUint(distance, 16, 64)
	if err != nil {
		return distance
	}
	from := p.addr
	if p.name == "adrp" {
		from &^= 1<<12 - 1
	}
	return "0x" + strconv.FormatUint(from+n, 16)
}

// float returns a floating-point number with eight digits.
func float(arg string) string {
	x, err := strconv.ParseFloat(arg[1:], 64)
	if err != nil {
		return arg
	}
	return "#" + strconv.FormatFloat(x, 'f', 8, 64)
}

// immediate returns a number in decimal, except for operands of logical instructions.
func (p *aarch64Printer) immediate(arg, first string) string {
	vector := strings.HasPrefix(first, "v")
	switch p.name {
	case "and", "ands", "orr", "eor", "tst", "bic", "brk", "hlt":
		if !vector {
			return arg
		}
	case "movi": // 64 bits, each byte 0 or 255
		if first[0] == 'd' || strings.HasSuffix(first, ".2d") {
			return "#" + strings.Repeat("0", max(0, 19-len(arg))) + arg[3:]
		}
	}
	// What follows the number belongs to a memory operand: #0x8]!
	digits := strings.TrimRight(arg[3:], "]!")
	n, err := strconv.ParseUint(digits, 16, 64)
	if err != nil {
		return arg
	}
	if p.name == "mov" && first[0] == 'w' {
		n = uint64(int64(int32(n)))
	}
	return "#" + strconv.FormatInt(int64(n), 10) + arg[3+len(digits):]
}

// condition returns LLVM's name of a condition; other words are unchanged.
func condition(word string) string {
	switch word {
	case "cs":
		return "hs"
	case "cc":
		return "lo"
	}
	return word
}

// systemRegister returns the name of a system register that programs can access.
func systemRegister(encoded string) string {
	if name := systemRegisters[encoded]; name != "" {
		return name
	}
	return strings.ToUpper(encoded)
}

var systemRegisters = map[string]string{
	"s3_3_c13_c0_2": "TPIDR_EL0", "s3_3_c4_c4_0": "FPCR", "s3_3_c4_c4_1": "FPSR", "s3_3_c0_c0_7": "DCZID_EL0", "s3_3_c0_c0_1": "CTR_EL0",
	"s3_3_c14_c0_2": "CNTVCT_EL0", "s3_3_c14_c0_0": "CNTFRQ_EL0", "s3_0_c0_c0_0": "MIDR_EL1", "s3_3_c4_c2_0": "NZCV",
}

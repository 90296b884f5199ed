package asm

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// CFIState is a row of the unwind table.
type CFIState struct {
	Reg   int    // register that the CFA is computed from
	Off   int    // offset that is added
	Expr  string // the CFA as an expression: operands of .cfi_escape
	rules map[int]string
	Args  string // operands of .cfi_escape for DW_CFA_GNU_args_size, or ""
	Sign  string // the directive that marked the return address as signed, or ""
}

const (
	cfaExpression  = 0x0f // DW_CFA_def_cfa_expression
	RegExpression  = 0x10 // DW_CFA_expression
	ValExpression  = 0x16 // DW_CFA_val_expression
	gnuArgsSize    = 0x2e // DW_CFA_GNU_args_size
	DwarfRSP       = 7
	MaxRememberCFI = 64 // states remembered at a time
)

// EntryCFI is the state at the entry of a function for x86: all registers unchanged.
var EntryCFI = CFIState{Reg: DwarfRSP, Off: 8}

// Equal reports whether two rows are the same.
func (c *CFIState) Equal(d *CFIState) bool {
	return c.Reg == d.Reg && c.Off == d.Off && c.Expr == d.Expr && c.Args == d.Args && c.Sign == d.Sign && maps.Equal(c.rules, d.rules)
}

// Apply returns the state after a directive.
func (c CFIState) Apply(word string, ops []string) (CFIState, bool) {
	nums := make([]int, len(ops))
	for i, op := range ops {
		n, ok := cfiRegister(op)
		if !ok {
			return c, false
		}
		nums[i] = n
	}
	want := 1
	switch word {
	case ".cfi_def_cfa", ".cfi_offset", ".cfi_rel_offset", ".cfi_register":
		want = 2
	case ".cfi_escape":
		return c.escape(nums)
	}
	if len(nums) != want {
		return c, false
	}
	known := c.Expr == ""
	switch word {
	case ".cfi_def_cfa":
		c.Reg, c.Off, c.Expr, known = nums[0], nums[1], "", true
	case ".cfi_def_cfa_register":
		c.Reg = nums[0]
	case ".cfi_def_cfa_offset":
		c.Off = nums[0]
	case ".cfi_adjust_cfa_offset":
		c.Off += nums[0]
	case ".cfi_offset":
		c.rules, known = c.with(nums[0], ".cfi_offset "+strconv.Itoa(nums[0])+", "+strconv.Itoa(nums[1])), true
	case ".cfi_rel_offset":
		c.rules = c.with(nums[0], ".cfi_offset "+strconv.Itoa(nums[0])+", "+strconv.Itoa(nums[1]-c.Off))
	case ".cfi_register":
		c.rules, known = c.with(nums[0], ".cfi_register "+strconv.Itoa(nums[0])+", "+strconv.Itoa(nums[1])), true
	case ".cfi_undefined", ".cfi_same_value":
		c.rules, known = c.with(nums[0], word+" "+strconv.Itoa(nums[0])), true
	case ".cfi_restore":
		c.rules, known = c.with(nums[0], ""), true
	default:
		return c, false
	}
	return c, known
}

// escape applies the raw bytes that gcc writes for expressions and for the size of pushed arguments.
func (c CFIState) escape(b []int) (CFIState, bool) {
	for _, v := range b {
		if v < 0 || v > 255 {
			return c, false
		}
	}
	text := make([]string, len(b))
	for i, v := range b {
		text[i] = "0x" + strconv.FormatInt(int64(v), 16)
	}
	operands := strings.Join(text, ",")
	switch {
	case len(b) >= 2 && b[0] == cfaExpression && b[1] < 0x80 && len(b) == 2+b[1]:
		c.Reg, c.Off, c.Expr = 0, 0, operands
	case len(b) >= 3 && (b[0] == RegExpression || b[0] == ValExpression) && b[1] < 0x80 && b[2] < 0x80 && len(b) == 3+b[2]:
		c.rules = c.with(b[1], ".cfi_escape "+operands)
	case len(b) >= 2 && b[0] == gnuArgsSize:
		for i, v := range b[1:] {
			if (v < 0x80) != (i == len(b)-2) {
				return c, false
			}
		}
		c.Args = operands
		if len(b) == 2 && b[1] == 0 {
			c.Args = ""
		}
	default:
		return c, false
	}
	return c, true
}

// with returns the rules with that of reg replaced; "" restores it.
func (c *CFIState) with(reg int, rule string) map[int]string {
	rules := maps.Clone(c.rules)
	if rules == nil {
		rules = map[int]string{}
	}
	if rule == "" {
		delete(rules, reg)
	} else {
		rules[reg] = rule
	}
	return rules
}

// AppendChange appends the directives that lead from one state to another.
func AppendChange(out []byte, from, to *CFIState) []byte {
	line := func(parts ...string) {
		out = append(out, '\t')
		for _, s := range parts {
			out = append(out, s...)
		}
		out = append(out, '\n')
	}
	reg, off := strconv.Itoa(to.Reg), strconv.Itoa(to.Off)
	switch {
	case to.Expr != "" && to.Expr != from.Expr:
		line(".cfi_escape ", to.Expr)
	case to.Expr != "":
	case from.Expr != "" || from.Reg != to.Reg && from.Off != to.Off:
		line(".cfi_def_cfa ", reg, ", ", off)
	case from.Reg != to.Reg:
		line(".cfi_def_cfa_register ", reg)
	case from.Off != to.Off:
		line(".cfi_def_cfa_offset ", off)
	}
	for _, r := range slices.Sorted(maps.Keys(from.rules)) {
		if to.rules[r] == "" {
			line(".cfi_restore ", strconv.Itoa(r))
		}
	}
	for _, r := range slices.Sorted(maps.Keys(to.rules)) {
		if rule := to.rules[r]; rule != from.rules[r] {
			line(rule)
		}
	}
	if (to.Sign == "") != (from.Sign == "") {
		line(to.Sign + from.Sign) // one of them is empty
	}
	if to.Args != from.Args {
		if to.Args == "" {
			line(".cfi_escape 0x2e,0x0")
		} else {
			line(".cfi_escape ", to.Args)
		}
	}
	return out
}

// PlainOperands returns the operands of a directive without the comment, which begins with # or //; the
// relevant directives contain neither otherwise.
func PlainOperands(rest []byte) []byte {
	rest, _, _ = bytes.Cut(rest, []byte("#"))
	rest, _, _ = bytes.Cut(rest, []byte("//"))
	return rest
}

// CFIOperands returns the operands of an unwind directive.
func CFIOperands(rest []byte) []string {
	rest = PlainOperands(rest)
	if len(bytes.TrimSpace(rest)) == 0 {
		return nil
	}
	ops := strings.Split(string(rest), ",")
	for i := range ops {
		ops[i] = strings.TrimSpace(ops[i])
	}
	return ops
}

// CFINumber parses a number. It rejects numbers beyond a sensible range.
func CFINumber(op string) (int, bool) {
	n, err := strconv.ParseInt(op, 0, 32)
	return int(n), err == nil
}

// DwarfRegisters are the numbers of the registers of x86-64 in unwind tables (System V ABI, figure 3.36).
var DwarfRegisters = map[string]int{
	"rax": 0, "rdx": 1, "rcx": 2, "rbx": 3, "rsi": 4, "rdi": 5, "rbp": 6, "rsp": 7,
	"r8": 8, "r9": 9, "r10": 10, "r11": 11, "r12": 12, "r13": 13, "r14": 14, "r15": 15, "rip": 16,
}

// cfiRegister reads a number, or the name of a register: of x86 with %, of AArch64 without.
func cfiRegister(op string) (int, bool) {
	if name, ok := strings.CutPrefix(op, "%"); ok {
		n, ok := DwarfRegisters[name]
		return n, ok
	}
	if op == "sp" || op == "wsp" {
		return 31, true
	}
	if len(op) < 2 || op[1] < '0' || op[1] > '9' {
		return CFINumber(op)
	}
	n, err := strconv.Atoi(op[1:])
	switch {
	case err != nil || n > 31:
	case (op[0] == 'x' || op[0] == 'w') && n < 31:
		return n, true
	case strings.IndexByte("bhsdqv", op[0]) >= 0:
		return 64 + n, true
	}
	return CFINumber(op)
}

// CFAOnStack reports whether, after a text that begins with a function, the CFA is relative to the stack
// pointer, which directives name in one of these ways.
func CFAOnStack(text []byte, pointer ...string) bool {
	onStack := true
	var kept []bool
	for line := range bytes.Lines(text) {
		fields := bytes.Fields(line)
		if len(fields) == 0 {
			continue
		}
		switch string(fields[0]) {
		case ".cfi_def_cfa", ".cfi_def_cfa_register":
			if len(fields) > 1 {
				onStack = slices.Contains(pointer, string(bytes.TrimSuffix(fields[1], []byte(","))))
			}
		case ".cfi_remember_state":
			kept = append(kept, onStack)
		case ".cfi_restore_state":
			if n := len(kept); n > 0 {
				onStack, kept = kept[n-1], kept[:n-1]
			}
		}
	}
	return onStack
}

package x86

import (
	"bytes"
	"strconv"
	"strings"
)

// Length estimates the bytes of an instruction, whose jumps are taken to be short: the assembler knows, and only when it has
// the whole text. Of code of compilers the sum over a loop is right to a few per cent.
func Length(mnemonic, rest []byte) int {
	code, _, _ := bytes.Cut(rest, []byte("#"))
	ops := bytes.TrimSpace(code)
	word := string(mnemonic)
	switch {
	case strings.HasPrefix(word, "lock"), strings.HasPrefix(word, "rep"), word == "notrack", word == "bnd", word == "data16":
		next, operands, _ := bytes.Cut(bytes.TrimLeft(ops, "; \t"), []byte("\t"))
		if len(next) == 0 {
			return 1
		}
		if next, more, found := bytes.Cut(next, []byte(" ")); found {
			return 1 + Length(next, more)
		}
		return 1 + Length(next, operands)
	case len(ops) == 0:
		return alone(word)
	case word[0] == 'j' && ops[0] != '*':
		return 2
	case strings.HasPrefix(word, "call") && ops[0] != '*':
		return 5
	case strings.HasPrefix(word, "movabs"):
		return 10
	case (strings.HasPrefix(word, "push") || strings.HasPrefix(word, "pop")) && ops[0] == '%':
		return 1 + rex(word, ops)
	}
	size := 1 + addressed(ops) + immediate(word, ops)
	if bytes.IndexByte(ops, '%') >= 0 || bytes.IndexByte(ops, '(') >= 0 {
		size++ // what the operands are
	}
	switch {
	case word[0] == 'v' && bytes.Contains(ops, []byte("%zmm")) || bytes.Contains(ops, []byte("%k")):
		return size + 4
	case isVEX(word):
		return size + 3
	case word[0] == 'v':
		return size + 2 + rex("", ops)
	case bytes.Contains(ops, []byte("%xmm")) && strings.HasSuffix(word, "ps"):
		return size + 1 + rex("", ops)
	case bytes.Contains(ops, []byte("%xmm")):
		return size + 2 + rex("", ops)
	case strings.HasPrefix(word, "bswap"):
		size--
	}
	return size + rex(word, ops) + escape(word) + narrow(word)
}

// alone is the length of an instruction without operands.
func alone(word string) int {
	switch word {
	case "ret", "retq", "nop", "movsb", "movsl", "stosb", "stosl", "lodsb", "scasb", "cmpsb", "leave", "cltd", "cwtl", "int3":
		return 1
	case "endbr64":
		return 4
	case "vzeroupper", "lfence", "mfence", "sfence":
		return 3
	}
	return 2
}

// isVEX reports whether an instruction of general registers has the long prefix of vector instructions.
func isVEX(word string) bool {
	switch strings.TrimRight(word, "lq") {
	case "shlx", "shrx", "sarx", "rorx", "mulx", "pdep", "pext", "bzhi", "bextr", "andn", "blsr", "blsi", "blsmsk":
		return true
	}
	return false
}

// rex is 1 if operands need the prefix of 64 bits or of the registers from r8 on.
func rex(word string, ops []byte) int {
	wide := word != "" && !strings.HasPrefix(word, "push") && !strings.HasPrefix(word, "pop") && ops[0] != '*'
	if wide && strings.HasSuffix(word, "q") {
		return 1
	}
	inside := false // of an address
	for i := 0; i+2 < len(ops); i++ {
		switch ops[i] {
		case '(', ')':
			inside = ops[i] == '('
		case '%':
			name, digit := ops[i+1:], ops[i+2] >= '0' && ops[i+2] <= '9'
			high := bytes.HasPrefix(name, []byte("xmm")) && len(name) > 3 && (name[3] >= '8' || len(name) > 4 && name[4] >= '0' && name[4] <= '9')
			low := wide && (bytes.HasPrefix(name, []byte("sil")) || bytes.HasPrefix(name, []byte("dil")))
			if high || low || name[0] == 'r' && (digit || wide && !inside) {
				return 1
			}
		}
	}
	return 0
}

// escape is 1 or 2 if the opcode is not of the first table.
func escape(word string) int {
	for _, prefix := range []string{"movz", "movs", "cmov", "set", "bt", "bsf", "bsr", "bswap", "shld", "shrd", "xadd", "cmpxchg", "prefetch", "imul"} {
		if strings.HasPrefix(word, prefix) && word != "movsl" && word != "movslq" {
			return 1
		}
	}
	for _, prefix := range []string{"popcnt", "lzcnt", "tzcnt"} {
		if strings.HasPrefix(word, prefix) {
			return 2
		}
	}
	return 0
}

// narrow is 1 for operands of 16 bits.
func narrow(word string) int {
	if strings.HasSuffix(word, "w") && !strings.HasPrefix(word, "movz") && !strings.HasPrefix(word, "movs") {
		return 1
	}
	return 0
}

// addressed is how many bytes an address in memory takes behind the opcode and the byte of operands.
func addressed(ops []byte) int {
	if i := bytes.IndexByte(ops, ':'); i >= 0 { // of a segment
		if ops = ops[i+1:]; bytes.IndexByte(ops, '(') < 0 {
			return 6
		}
		return 1 + addressed(ops)
	}
	at := bytes.LastIndexByte(ops, '(') // names in quotes may have others
	if at < 0 {
		return 0
	}
	begin := bytes.LastIndexAny(ops[:at], " \t,*:") + 1
	in, _, _ := bytes.Cut(ops[at+1:], []byte(")"))
	size := 0
	if bytes.IndexByte(in, ',') >= 0 || bytes.HasPrefix(in, []byte("%rsp")) || bytes.HasPrefix(in, []byte("%r12")) {
		size = 1
	}
	n, err := strconv.ParseInt(string(ops[begin:at]), 0, 64)
	switch {
	case at == begin && !bytes.HasPrefix(in, []byte("%rbp")) && !bytes.HasPrefix(in, []byte("%r13")) && !bytes.HasPrefix(in, []byte(",")):
	case at > begin && err != nil || n < -128 || n > 127 || bytes.HasPrefix(in, []byte(",")):
		size += 4
	default:
		size++
	}
	return size
}

// immediate is how many bytes a constant takes.
func immediate(word string, ops []byte) int {
	if ops[0] != '$' {
		return 0
	}
	value, _, _ := bytes.Cut(ops[1:], []byte(","))
	n, err := strconv.ParseInt(string(bytes.TrimSpace(value)), 0, 64)
	switch {
	case strings.HasPrefix(word, "mov") && !strings.HasSuffix(word, "b") && !strings.HasSuffix(word, "w"):
		if !strings.HasSuffix(word, "q") && bytes.IndexByte(ops, '(') < 0 {
			return 3 // and no byte of operands
		}
		return 4
	case err == nil && n >= -128 && n <= 127, strings.HasSuffix(word, "b"):
		return 1
	case strings.HasSuffix(word, "w"):
		return 2
	}
	return 4
}

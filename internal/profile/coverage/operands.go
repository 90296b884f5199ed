package coverage

import "strings"

// Compilers give constants and variables among the operands of a conditional expression the line of its condition, also
// without optimisation: of
//
//	C ?
//	    f() : 0
//
// the second line has no code but the call. Where the expression had its third operand, that line ran, too.

// operands returns in how many runs a conditional expression had an operand on the line of r that has no code there: r
// begins with the second one.
func (r *remnant) operands(src Sources) uint64 {
	fl := r.flow
	if len(fl.preds[r.piece]) != 1 {
		return 0
	}
	from := fl.preds[r.piece][0]
	p := &fl.pieces[from]
	if !p.ran || !p.decides {
		return 0
	}
	text, ahead, known := src.Between(p.insts[len(p.insts)-1].addr, r.addr)
	if !known || ahead || !beginsOperand(withoutComments(text)) {
		return 0
	}
	if _, after, known := src.Line(r.addr); !known || !thirdOperand(after) {
		return 0
	}
	for _, to := range p.ways {
		if to == r.piece || to == nowhere {
			continue
		}
		if runs, known := fl.edgeRuns(from, to); known {
			return runs
		}
		if len(fl.preds[to]) == 1 {
			return blockRuns(fl.counts, fl.pieces[to].block)
		}
	}
	return 0
}

// beginsOperand reports whether the text up to a place ends with the beginning of the second operand of a conditional
// expression: gcc's place of a call is its bracket.
func beginsOperand(text string) bool {
	i := strings.LastIndexByte(text, '?')
	if i < 0 {
		return false
	}
	name := strings.NewReplacer("::", "", "->", "").Replace(text[i+1:])
	return strings.IndexFunc(name, func(c rune) bool {
		return !(c < 0x80 && isWord(byte(c))) && !strings.ContainsRune(" \t\r\n.*&!~-", c)
	}) < 0
}

// thirdOperand reports whether the third operand of a conditional expression begins in the rest of a line that begins with
// the second.
func thirdOperand(rest string) bool {
	rest = withoutComments(rest)
	depth, nested := 0, 0
	for i := 0; i < len(rest); i++ {
		switch rest[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth < 0 {
				return false
			}
		case '"', '\'', ';', '#':
			return false
		case '?':
			if depth == 0 {
				nested++
			}
		case ':':
			switch {
			case strings.HasPrefix(rest[i:], "::"):
				i++
			case depth > 0:
			case nested > 0:
				nested--
			default:
				return strings.TrimSpace(rest[i+1:]) != ""
			}
		}
	}
	return false
}

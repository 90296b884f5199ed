package coverage

import "strings"

// The end of a block before else jumps past what follows else, and gcc leads this jump past a jump that is next:
//
//	if (C) {
//	    S          the jump at its end goes where the break goes
//	} else {
//	    T
//	}
//	break;
//
// So the break ran if that jump did. S may be a loop. All blocks that end between S and the break must be those of if and
// else: at the end of a loop its test is next.

// overElse reports whether the end of the statement between head and text leads past an else to the end of text.
func overElse(head, text string) bool {
	rest, ok := afterStatement(head, text)
	if !ok {
		return false
	}
	kinds, skipped := openBlocks(head), false
	for rest = strings.TrimSpace(rest); rest != ""; rest = strings.TrimSpace(rest) {
		switch {
		case rest[0] == '}':
			if len(kinds) == 0 || kinds[0] != "if" && kinds[0] != "else" {
				return false
			}
			kinds, rest = kinds[1:], rest[1:]
		case firstWord(rest) == "else":
			if rest, ok = skipStatement(strings.TrimSpace(rest[len("else"):])); !ok {
				return false
			}
			skipped = true
		default:
			return false
		}
	}
	return skipped
}

// jumps are the keywords of statements that jump.
var jumps = nameSet("break continue goto return co_return throw")

// mayHideJump reports whether the statement that text begins with may be a macro that jumps. head is the text before it.
func mayHideJump(head, text string) bool {
	head = strings.TrimRight(head, " \t\n")
	begins := head == "" || strings.IndexByte(";{})", head[len(head)-1]) >= 0
	word := firstWord(text)
	next := strings.TrimSpace(text[len(word):])
	return begins && word != "" && (next == "" || strings.IndexByte("(;", next[0]) >= 0)
}

// afterStatement returns what follows the statement between head and text, which is no jump. In C++ the jump at the end of
// a block has the place of its bracket.
func afterStatement(head, text string) (rest string, ok bool) {
	if strings.HasPrefix(text, "}") {
		return text, true
	}
	if word := firstWord(text); jumps()[word] || otherStatements()[word] || strings.HasSuffix(strings.TrimRight(head, " \t\n"), "else") {
		return "", false
	}
	// How many brackets are open there: it may be in the head of a loop.
	open, depth := 0, 0
	for i := len(head) - 1; i >= 0 && head[i] != '{' && head[i] != '}'; i-- {
		switch head[i] {
		case ')':
			depth++
		case '(':
			if depth--; depth < 0 {
				depth, open = 0, open+1
			}
		}
	}
	level := 0
	for i := range len(text) {
		switch text[i] {
		case '(':
			level++
		case ')':
			if level--; open > 0 && level == -open {
				return skipStatement(strings.TrimSpace(text[i+1:]))
			}
		case ';':
			if open == 0 {
				return text[i+1:], true
			}
		case '{', '}', '#':
			return "", false
		}
	}
	return "", false
}

// skipStatement returns what follows the statement that a text begins with: a block, a simple statement, or one of if with
// a block, without its else.
func skipStatement(text string) (rest string, ok bool) {
	if firstWord(text) == "if" {
		text = strings.TrimSpace(text[len("if"):])
		n := 0
		if strings.HasPrefix(text, "(") {
			n = closing(text)
		}
		if n == 0 {
			return "", false
		}
		text = strings.TrimSpace(text[n:])
	}
	if strings.HasPrefix(text, "{") {
		n := closing(text)
		return text[n:], n > 0
	}
	i := strings.IndexAny(text, ";{}#")
	if i < 0 || text[i] != ';' {
		return "", false
	}
	switch firstWord(text) {
	case "for", "while", "do", "switch", "if", "else":
		return "", false
	}
	return text[i+1:], true
}

// openBlocks returns the keywords of the statements whose blocks are open at the end of a text, the innermost first; "" for
// other blocks.
func openBlocks(head string) (kinds []string) {
	depth := 0
	for i := len(head) - 1; i >= 0; i-- {
		switch head[i] {
		case '}':
			depth++
		case '{':
			if depth--; depth < 0 {
				depth = 0
				kinds = append(kinds, blockKind(head[:i]))
			}
		}
	}
	return kinds
}

// overElse reports whether the jump at the end of a piece leads past an else and past r.
func (fl *flow) overElse(from int, r *remnant, src Sources) bool {
	insts, jump := fl.pieces[from].insts, fl.pieces[r.piece].insts
	last := insts[len(insts)-1]
	if !last.jump {
		return false
	}
	head, ahead, known := src.Between(fl.entry, last.addr)
	if !known || ahead {
		return false
	}
	text, ahead, known := src.Between(last.addr, jump[r.last].addr)
	return known && !ahead && overElse(withoutComments(head), withoutComments(text))
}

// endsWithCall reports whether the last instruction of a piece before its jump calls the function with a name: the text is
// no macro then. The jump may have a block of its own, behind the call.
func (fl *flow) endsWithCall(at int, name string) bool {
	c, ok := fl.code.(Callees)
	if !ok {
		return false
	}
	insts := fl.pieces[at].insts
	for insts = insts[:len(insts)-1]; ; insts = fl.pieces[at].insts {
		for k := len(insts) - 1; k >= 0; k-- {
			if in := &insts[k]; in.kind != none {
				return in.kind == calls && in.target != 0 && c.Callee(in.target) == name
			}
		}
		if at == 0 || len(fl.preds[at]) != 1 || fl.preds[at][0] != at-1 {
			return false
		}
		at--
	}
}

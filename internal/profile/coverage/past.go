package coverage

import "strings"

// An edge that is known to have run proves that a jump past which it leads ran, if the statements of the source leave no
// other meaning:
//
//   - if (C) S J, and also with brackets closed before J: where C does not hold, J is next. The other way of the test
//     leads to code of S, and so the edge is this one;
//   - if (C || D) J: the ways of the tests of one condition lead to another test, to J or past it. That past it is known
//     from the test before J;
//   - if (C) { S } else { T } J: see overelse.go;
//   - for (...) { if (C) { break; } T } J: the break of a loop or switch leads behind its bracket, where J is.
//
// The condition is read from its place in the source. Whatever is not understood, such as a directive of the preprocessor
// among the brackets, proves nothing.

// proves reports whether a run of the way from one piece to another proves that r, a jump, ran.
func (fl *flow) proves(from, to int, r *remnant, src Sources) bool {
	insts := fl.pieces[from].insts
	test, at := insts[len(insts)-1].addr, fl.pieces[r.piece].insts[r.last].addr
	head, ahead, known := src.Between(fl.entry, test)
	if !known || ahead {
		return false
	}
	text, ahead, known := src.Between(test, at)
	if !known || ahead {
		return false
	}
	head, text = withoutComments(head), withoutComments(text)
	switch {
	case len(fl.pieces[from].succs) == 1:
		return breaksTo(head, text) || overElse(head, text) && (!mayHideJump(head, text) || fl.endsWithCall(from, firstWord(text)))
	case !fl.pieces[from].decides:
		return false
	}
	cond, ok := condition(head, text)
	if !ok {
		return false
	}
	rest := strings.TrimSpace(text[cond:])
	if rest == "" || rest == "{" {
		// The test before the jump has another way, which leads past it.
		last := fl.preds[r.piece]
		if len(last) != 1 || !fl.pieces[last[0]].decides {
			return false
		}
		for _, s := range fl.pieces[last[0]].ways {
			if s == to || s == nowhere {
				return false
			}
		}
		between, ahead, known := src.Between(test, fl.pieces[last[0]].insts[len(fl.pieces[last[0]].insts)-1].addr)
		return known && !ahead && len(withoutComments(between)) <= cond
	}
	return oneStatement(rest) && fl.worksBetween(from, to, r, cond, src)
}

// worksBetween reports whether the other way from a piece leads to code of what follows the condition, and on to r.
func (fl *flow) worksBetween(from, to int, r *remnant, cond int, src Sources) bool {
	insts := fl.pieces[from].insts
	test, at := insts[len(insts)-1].addr, fl.pieces[r.piece].insts[r.last].addr
	for _, s := range fl.pieces[from].succs {
		for seen := map[int]bool{}; s != to && s != nowhere && !seen[s]; s = fl.after[s] {
			seen[s] = true
			for k := range fl.pieces[s].insts {
				in := &fl.pieces[s].insts[k]
				if in.kind == none || in.jump {
					continue
				}
				between, ahead, known := src.Between(test, in.addr)
				if _, behind, ok := src.Between(in.addr, at); known && !ahead && ok && !behind && len(withoutComments(between)) >= cond {
					return true
				}
			}
		}
	}
	return false
}

// condition returns the length of the rest of the condition in text, with its bracket, if the place between head and text
// is in a condition of if or while.
func condition(head, text string) (length int, ok bool) {
	if word := firstWord(text); word == "if" || word == "while" {
		head, text, length = word, strings.TrimLeft(text[len(word):], " \t\n"), len(text)
		length -= len(text)
	}
	if strings.HasPrefix(text, "(") && endsWithKeyword(strings.TrimRight(head, " \t\n")) {
		n := closing(text)
		return length + n, n > 0
	}
	// How many brackets are open there.
	depth, opened := 0, 0
	for i := len(head) - 1; ; i-- {
		if i < 0 || strings.IndexByte(";{}#", head[i]) >= 0 {
			return 0, false
		}
		switch head[i] {
		case ')':
			depth++
		case '(':
			if depth--; depth >= 0 {
				continue
			}
			depth, opened = 0, opened+1
			if !endsWithKeyword(strings.TrimRight(head[:i], " \t\n")) {
				continue
			}
			// The brackets from there on.
			at := 0
			for k := range len(text) {
				switch text[k] {
				case '(':
					at++
				case ')':
					if at--; at == -opened {
						return k + 1, true
					}
				case ';', '{', '}', '#':
					return 0, false
				}
			}
			return 0, false
		}
	}
}

// endsWithKeyword reports whether a text ends with the keyword of a statement that has a condition.
func endsWithKeyword(text string) bool {
	for _, word := range []string{"if", "while"} {
		if rest, ok := strings.CutSuffix(text, word); ok && (rest == "" || !isWord(rest[len(rest)-1])) {
			return true
		}
	}
	return false
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// closing returns the length of the text up to the bracket that closes the one that it begins with, or 0.
func closing(text string) int {
	pairs, at := map[byte]byte{'(': ')', '{': '}'}, 0
	for i := range len(text) {
		switch text[i] {
		case text[0]:
			at++
		case pairs[text[0]]:
			if at--; at == 0 {
				return i + 1
			}
		case '#':
			return 0
		}
	}
	return 0
}

// oneStatement reports whether a text is one simple statement of C, or one block, and then nothing but closing brackets of
// blocks.
func oneStatement(text string) bool {
	n := 0
	if strings.HasPrefix(text, "{") {
		n = closing(text)
	} else if i := strings.IndexAny(text, ";{}#"); i > 0 && text[i] == ';' && !otherStatements()[firstWord(text)] {
		n = i + 1
	}
	return n > 0 && strings.Trim(text[n:], "} \t\n") == ""
}

// firstWord returns the identifier that a text begins with.
func firstWord(text string) string {
	n := 0
	for n < len(text) && isWord(text[n]) {
		n++
	}
	return text[:n]
}

// breaksTo reports whether the statement that text begins with is a break of the loop or switch whose last bracket is the
// last of the text. head is the text before it.
func breaksTo(head, text string) bool {
	rest, ok := strings.CutPrefix(text, "break")
	rest = strings.TrimSpace(rest)
	if !ok || !strings.HasPrefix(rest, ";") {
		return false
	}
	if rest = withoutGroups(rest); strings.Contains(rest, "#") {
		return false
	}
	levels, ok := loopAround(withoutGroups(head))
	if !ok {
		return false
	}
	at := 0
	for i := range len(rest) {
		switch rest[i] {
		case '{':
			at++
		case '}':
			if at--; at == -levels {
				return strings.TrimSpace(rest[i+1:]) == ""
			}
		}
	}
	return false
}

// loopAround returns how many blocks are open at the end of a text, from that of the innermost loop or switch on.
func loopAround(head string) (levels int, ok bool) {
	depth := 0
	for i := len(head) - 1; i >= 0; i-- {
		switch head[i] {
		case '#':
			return 0, false
		case '}':
			depth++
		case '{':
			if depth--; depth >= 0 {
				continue
			}
			depth, levels = 0, levels+1
			switch blockKind(head[:i]) {
			case "for", "while", "switch", "do":
				return levels, true
			case "if", "else":
			default:
				return 0, false
			}
		}
	}
	return 0, false
}

// blockKind returns the keyword of the statement whose block begins behind a text, or "".
func blockKind(head string) string {
	head = strings.TrimRight(head, " \t\n")
	if strings.HasSuffix(head, ")") {
		depth := 0
		for i := len(head) - 1; i >= 0; i-- {
			switch head[i] {
			case ')':
				depth++
			case '(':
				depth--
			case '{', '}', '#':
				return ""
			}
			if depth == 0 {
				head = strings.TrimRight(head[:i], " \t\n")
				break
			}
		}
	}
	n := len(head)
	for n > 0 && isWord(head[n-1]) {
		n--
	}
	return head[n:]
}

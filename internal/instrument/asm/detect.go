package asm

import "bytes"

// IsCompilerOutput reports whether src was written by a compiler, not by hand.
// Compilers begin with a .file directive; a preprocessed .S file begins with
// line markers, and hand-written files that name a file have neither a
// compiler's .ident at their end nor the compilers' marks around functions.
func IsCompilerOutput(src []byte) bool {
	if !startsWithFile(src) {
		return false
	}
	tail := src[max(0, len(src)-4096):]
	for _, mark := range []string{"\t.ident\t\"GCC: ", "\t.ident\t\"clang", "\t.ident\t\"Debian clang", " clang version ", "\t.ident\t\"rustc version "} {
		if bytes.Contains(tail, []byte(mark)) {
			return true
		}
	}
	// -fno-ident: look for a function as compilers mark it, or for what gcc's linker plugin compiles.
	for _, mark := range []string{"\n.LFB", "\n.Lfunc_end", "# -- Begin function", "\n.LFE", "\n\t.seh_proc\t", "\n\t.section\t.gnu.lto_"} {
		if bytes.Contains(src, []byte(mark)) {
			return true
		}
	}
	return startsFunction(src)
}

// HoldsNoCode reports whether src, whoever wrote it, certainly puts nothing into a section of code.
func HoldsNoCode(src []byte) bool {
	inCode := true
	for line := range bytes.Lines(src) {
		text := bytes.TrimSpace(line)
		s := ParseLine(text)
		if s.Kind == LineLabel {
			text = bytes.TrimSpace(s.Rest)
			s = ParseLine(text)
		}
		word := string(s.Word)
		switch {
		case s.Kind == LineBlank && (len(text) == 0 || text[0] == '#'):
		case s.Kind != LineDirective, severalStatements(s.Rest):
			return false
		case word == ".section":
			inCode = !isSectionOfData(s.Rest)
		case word == ".text", word == ".data", word == ".bss":
			inCode = word == ".text"
		case EmitsBytes(s.Word):
			if inCode {
				return false
			}
		case !placesNothing[word]:
			return false
		}
	}
	return true
}

// placesNothing has the directives that put no bytes into a section, but for padding, and do not change how others
// are read.
var placesNothing = map[string]bool{
	".file": true, ".ident": true, ".size": true, ".type": true, ".globl": true, ".global": true, ".weak": true, ".hidden": true,
	".protected": true, ".internal": true, ".local": true, ".comm": true, ".lcomm": true, ".set": true,
	".align": true, ".p2align": true, ".balign": true,
}

// severalStatements reports whether another statement follows in the line of which rest are the operands.
func severalStatements(rest []byte) bool {
	quoted := false
	for i := 0; i < len(rest); i++ {
		switch c := rest[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && quoted:
			i++
		case c == ';' && !quoted:
			return true
		}
	}
	return false
}

// isSectionOfData reports whether the operands of .section name one that certainly holds no code. Without flags, the
// assembler gives those to a section that its name stands for.
func isSectionOfData(rest []byte) bool {
	ops := SplitOperands(rest)
	if len(ops) > 1 {
		return bytes.HasPrefix(ops[1], []byte(`"`)) && !bytes.Contains(ops[1], []byte("x"))
	}
	name := Unquote(bytes.TrimSpace(ops[0]))
	for _, prefix := range []string{".data", ".rodata", ".bss", ".note", ".debug_", ".comment"} {
		if bytes.HasPrefix(name, []byte(prefix)) {
			return true
		}
	}
	return false
}

// LacksPatterns reports whether src is gcc's output without the patterns of its instructions (-dp), so probably
// compiled with -fipa-ra as well: in timed modes, neither where its functions are left is known for certain nor
// which registers are free there. Of functions that the compiler proved unreachable there is no instruction, and
// so no pattern.
func LacksPatterns(src []byte) bool {
	has := func(mark string) bool { return bytes.Contains(src, []byte(mark)) }
	return has("@function") && !has("[c=") && !has("[length = ") && !has(".Lfunc_end") && !has("-- Begin function") && !has("clang version") &&
		hasInstruction(src)
}

// hasInstruction reports whether a line is an instruction as compilers write them: a tab and a word. Those of inline
// assembly have no patterns.
func hasInstruction(src []byte) bool {
	for {
		before, rest, ok := bytes.Cut(src, []byte("\n\t"))
		switch {
		case !ok:
			return false
		case bytes.LastIndex(before, []byte("#APP")) > bytes.LastIndex(before, []byte("#NO_APP")):
			_, rest, _ = bytes.Cut(rest, []byte("\n#NO_APP"))
		case len(rest) > 0 && rest[0] >= 'a' && rest[0] <= 'z':
			return true
		}
		src = rest
	}
}

// startsFunction looks for a function as gcc announces it without unwind tables, with the same tabs and blanks,
// and the label on the next line.
func startsFunction(src []byte) bool {
	for {
		_, rest, ok := bytes.Cut(src, []byte("\n\t.type\t"))
		if !ok {
			return false
		}
		line, after, _ := bytes.Cut(rest, []byte("\n"))
		name, ok := bytes.CutSuffix(bytes.Replace(line, []byte("%"), []byte("@"), 1), []byte(", @function"))
		if ok && bytes.HasPrefix(after, append(name[:len(name):len(name)], ':')) {
			return true
		}
		src = rest
	}
}

// startsWithFile reports whether the first statement is .file, or one of the
// directives that gcc puts before it, without line markers ahead.
func startsWithFile(src []byte) bool {
	for range 32 {
		line, rest, ok := bytes.Cut(src, []byte("\n"))
		if len(line) > 2 && line[0] == '#' && line[1] == ' ' && line[2] >= '0' && line[2] <= '9' {
			return false
		}
		s := ParseLine(line)
		if s.Kind == LineDirective && string(s.Word) == ".file" {
			return true
		}
		if s.Kind == LineInsn || s.Kind == LineLabel && !IsLocal(s.Word) || s.Kind == LineApp || !ok {
			return false
		}
		src = rest
	}
	return false
}

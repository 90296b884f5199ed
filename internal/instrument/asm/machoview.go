package asm

import (
	"bytes"
	"strconv"

	"github.com/cairnprof/cairn/internal/binary/machine"
)

// Object is the kind of object file that text is assembled to.
type Object uint8

// The kinds.
const (
	ELF Object = iota
	MachO
	COFF
)

// compactFrame is the size in bytes of the largest frame without a frame pointer that a compact unwind entry
// of x86-64 contains. For larger ones, the entry has the offset of the sub instruction, whose operand unwinders
// read. The assembler computes this offset from the unwind directives, and assumes that nothing precedes the
// pushes of registers.
const compactFrame = 255 * 8

// IsMachO reports whether a compiler's output is for Mach-O.
func IsMachO(src []byte) bool {
	for line := range bytes.Lines(src) {
		line = bytes.TrimSpace(line)
		switch {
		case len(line) == 0:
		case bytes.HasPrefix(line, []byte(".build_version")), bytes.HasPrefix(line, []byte(".section\t__TEXT,")),
			bytes.HasPrefix(line, []byte(".macosx_version_min")), bytes.HasPrefix(line, []byte(".ios_version_min")):
			return bytes.Contains(src[max(0, len(src)-4096):], []byte(".subsections_via_symbols"))
		default:
			return false
		}
	}
	return false
}

// View returns a line of the text in ELF's syntax: without its comment, local labels with
// a dot, names without the underscore of C.
func (u *Unit) View(line []byte) []byte {
	if u.Object != MachO {
		return line
	}
	trimmed := bytes.TrimLeft(line, " \t")
	comment := ";"
	if u.Kind == machine.X86_64 {
		comment = "##"
	}
	if text, ok := bytes.CutPrefix(trimmed, []byte(comment)); ok {
		switch text = bytes.TrimSpace(text); {
		case bytes.HasPrefix(text, []byte("InlineAsm Start")), bytes.HasPrefix(text, []byte("Start of file scope inline assembly")):
			return []byte("#APP")
		case bytes.HasPrefix(text, []byte("InlineAsm End")), bytes.HasPrefix(text, []byte("End of file scope inline assembly")):
			return []byte("#NO_APP")
		}
		return nil
	}
	if bytes.HasPrefix(trimmed, []byte(".section")) {
		trimmed, _, _ = bytes.Cut(trimmed, []byte(comment)) // section names are not symbols
		return bytes.TrimRight(trimmed, " \t\r\n")
	}
	out := make([]byte, 0, len(line)+8)
	for i := 0; i < len(line); {
		switch c := line[i]; {
		case c == '"':
			n := QuotedLength(line[i:])
			if n > 2 && line[i+1] == '_' {
				out = append(append(out, '"'), line[i+2:i+n]...)
			} else {
				out = append(out, line[i:i+n]...)
			}
			i += n
		case bytes.HasPrefix(line[i:], []byte(comment)):
			i = len(line)
		case SymbolByte[c]:
			n := WordEnd(line, i)
			word := line[i:n]
			switch word[0] {
			case 'L':
				out = append(out, '.')
			case '_':
				word = word[1:]
			}
			out = append(out, word...)
			i = n
		default:
			out = append(out, c)
			i++
		}
	}
	return bytes.TrimRight(out, " \t\r\n")
}

// QuotedLength returns the length of the quoted string that text begins with.
func QuotedLength(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// ParseLine classifies a line of the unit.
func (u *Unit) ParseLine(line []byte) Statement {
	line = bytes.TrimRight(line, "\r\n")
	switch u.Object {
	case ELF:
		return ParseLine(line)
	case COFF:
		return parseCOFF(line)
	}
	s := ParseLine(u.View(line))
	if rest, ok := bytes.CutPrefix(bytes.TrimLeft(s.Rest, " \t"), []byte("=")); ok && s.Kind == LineInsn || ok && s.Kind == LineDirective {
		return Statement{LineDirective, []byte(".set"), rest} // L1_set_2 = LBB1_2-LJTI1_0
	}
	return s
}

// machOSections are directives that change to a section of data.
var machOSections = map[string]bool{
	".const": true, ".static_const": true, ".cstring": true, ".literal4": true, ".literal8": true, ".literal16": true,
	".constructor": true, ".destructor": true, ".fvmlib_init0": true, ".fvmlib_init1": true, ".static_data": true,
	".const_data": true, ".dyld": true, ".mod_init_func": true, ".mod_term_func": true, ".lazy_symbol_pointer": true,
	".non_lazy_symbol_pointer": true, ".thread_init_func": true, ".tdata": true, ".tlv": true, ".thread_local_variable_pointer": true,
}

// machODirective handles directives that only Mach-O has, and reports whether s was one.
func (p *Parser) machODirective(s Statement, next int) bool {
	switch word := string(s.Word); word {
	case ".section":
		ops := SplitOperands(s.Rest)
		name, code := string(ops[0]), false
		if len(ops) > 1 {
			name += "," + string(ops[1])
		}
		for _, op := range ops[min(2, len(ops)):] {
			code = code || bytes.Contains(op, []byte("pure_instructions")) || bytes.Contains(op, []byte("some_instructions"))
		}
		p.Enter(name, "", code)
	case ".weak_definition", ".weak_def_can_be_hidden":
		p.weak[string(Unquote(Operand(s.Rest)))] = true
	case ".private_extern":
		p.global[string(Unquote(Operand(s.Rest)))] = true
	case ".alt_entry":
		name := string(Unquote(Operand(s.Rest)))
		p.within[name], p.taken[name] = true, true
	case ".set":
		p.Mention(s.Rest)
	case ".data_region":
		p.table = true
		if f := p.Sec.Cur; f != nil {
			f.State = Unreached
		}
	case ".end_data_region":
		p.table = false
	case ".cfi_endproc":
		if f := p.Sec.Cur; f != nil {
			f.Behind = next
		}
	case ".cfi_def_cfa_offset":
		if f := p.Sec.Cur; f != nil && p.Unit.Kind == machine.X86_64 {
			n, err := strconv.Atoi(string(Operand(s.Rest)))
			f.Indirect = f.Indirect || err == nil && n > compactFrame
		}
	case ".file", ".loh", ".subsections_via_symbols", ".zerofill", ".tbss", ".comm", ".lcomm":
	default:
		if !machOSections[word] && !bytes.HasPrefix(s.Word, []byte(".objc_")) {
			return false
		}
		p.Enter(word, "", false)
	}
	return true
}

package split

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/instrument/asm"
)

// Debuggers look up the line table of an address by the ranges of the compilation unit, so the cold parts are
// added to them: to .debug_aranges, and to the unit's own entry, which has a list, or one range that becomes a
// list. This is done for DWARF 5 with one unit in the text. If the text has another form, some tools do not
// find the line information of cold parts.

// split returns the plans with a cold part.
func (s *splitter) split() (plans []*splitPlan) {
	for _, p := range s.plans {
		if p.moved > 0 {
			plans = append(plans, p)
		}
	}
	return plans
}

// debugRanges plans the edits.
func (s *splitter) debugRanges() {
	bySection := map[string][]int{}
	for i := range s.text.lines {
		l := &s.text.lines[i]
		if sec := s.text.secs[l.sec]; sec.debug && !l.switches && l.kind != asm.LineBlank {
			switch sec.name {
			case ".debug_info", ".debug_abbrev", ".debug_aranges", ".debug_rnglists":
				bySection[sec.name] = append(bySection[sec.name], i)
			}
		}
	}
	s.aranges(bySection[".debug_aranges"])
	if info := bySection[".debug_info"]; len(info) > 8 && len(bySection[".debug_abbrev"]) > 8 {
		s.gccUnit(info, bySection[".debug_abbrev"])
		s.clangUnit(info, bySection[".debug_abbrev"], bySection[".debug_rnglists"])
	}
}

// is reports whether a line is a directive with one operand, as given.
func (s *splitter) is(i int, word, operand string) bool {
	st := s.text.statement(i)
	ops := asm.CFIOperands(st.Rest)
	return s.text.dialect.data(st.Word) == word && len(ops) == 1 && ops[0] == operand
}

// operandOf returns the only operand of a directive, or "".
func (s *splitter) operandOf(i int, word string) string {
	st := s.text.statement(i)
	if ops := asm.CFIOperands(st.Rest); s.text.dialect.data(st.Word) == word && len(ops) == 1 {
		return ops[0]
	}
	return ""
}

// coldRanges appends entries of a DWARF 5 range list for the cold parts.
func (s *splitter) coldRanges(out []byte) []byte {
	const startLength = 7 // DW_RLE_start_length
	for _, p := range s.split() {
		out = fmt.Appendf(out, "\t.byte %d\n\t.quad %s\n\t.uleb128 %s-%s\n", startLength, p.name("c"), p.name("z"), p.name("c"))
	}
	return out
}

// aranges adds the cold parts to the table that gcc writes.
func (s *splitter) aranges(lines []int) {
	n := len(lines)
	if n < 9 || !s.is(lines[1], ".value", "0x2") || !s.is(lines[n-1], ".quad", "0") || !s.is(lines[n-2], ".quad", "0") {
		return
	}
	size, ok := asm.CFINumber(s.operandOf(lines[0], ".long"))
	if !ok || size != 12+8*(n-7) { // header and padding, pairs
		return
	}
	plans := s.split()
	s.replaced[lines[0]] = fmt.Appendf(nil, "\t.long\t%#x\n", size+16*len(plans))
	var pairs []byte
	for _, p := range plans {
		pairs = fmt.Appendf(pairs, "\t.quad\t%s\n\t.quad\t%s-%s\n", p.name("c"), p.name("z"), p.name("c"))
	}
	s.replaced[lines[n-2]] = append(pairs, s.text.raw(lines[n-2])...)
}

// gccUnit adds the cold parts to the ranges of the unit's entry in gcc's form.
func (s *splitter) gccUnit(info, abbrev []int) {
	const version = 2 // line of the header, counted with its label
	at := -1
	for n, i := range info {
		if s.is(i, ".long", ".Ldebug_line0") {
			if at >= 0 {
				return // several units
			}
			at = n
		}
	}
	if at < 8 || at > 40 || !s.is(info[version], ".value", "0x5") {
		return
	}
	high, low := info[at-1], info[at-2]
	if list := s.operandOf(low, ".long"); s.is(high, ".quad", "0") {
		if def, ok := s.text.defs[list]; ok && s.text.secs[s.text.lines[def.line].sec].name == ".debug_rnglists" {
			s.replaced[int(def.line)] = s.coldRanges(slices.Clone(s.text.raw(int(def.line))))
		}
		return
	}
	begin := s.operandOf(low, ".quad")
	size := s.operandOf(high, ".quad")
	if begin == "" || !strings.HasSuffix(size, "-"+begin) {
		return
	}
	// low_pc, address; high_pc, data8: eight bytes that become two offsets.
	code := s.operandOf(info[6], ".uleb128")
	for n := 0; n+3 < len(abbrev); n++ {
		if s.is(abbrev[n], ".uleb128", code) && s.is(abbrev[n+1], ".uleb128", "0x11") && s.is(abbrev[n+2], ".byte", "0x1") {
			for n += 3; n+1 < len(abbrev) && !s.is(abbrev[n], ".byte", "0"); n += 2 {
				if s.is(abbrev[n], ".uleb128", "0x12") && s.is(abbrev[n+1], ".uleb128", "0x7") {
					// DW_AT_ranges and DW_AT_rnglists_base as DW_FORM_sec_offset
					s.replaced[abbrev[n]] = []byte("\t.uleb128 0x55\n\t.uleb128 0x17\n\t.uleb128 0x74\n")
					s.replaced[abbrev[n+1]] = []byte("\t.uleb128 0x17\n")
					s.replaced[high] = []byte("\t.long\t.Lcairn_ranges\n\t.long\t.Lcairn_ranges\n")
					s.newRanges(begin, size)
					return
				}
			}
			return
		}
	}
}

// newRanges appends a range list of the unit.
func (s *splitter) newRanges(begin, size string) {
	t := append(s.tail, "\t.section\t.debug_rnglists,\"\",@progbits\n\t.long\t.Lcairn_ranges2-.Lcairn_ranges1\n"+
		".Lcairn_ranges1:\n\t"+s.text.dialect.half+"\t5\n\t.byte\t8\n\t.byte\t0\n\t.long\t0\n.Lcairn_ranges:\n"...)
	t = fmt.Appendf(t, "\t.byte 7\n\t.quad %s\n\t.uleb128 %s\n", begin, size)
	s.tail = append(s.coldRanges(t), "\t.byte 0\n.Lcairn_ranges2:\n"...)
}

// comment reports whether a line ends in a given comment of clang's.
func (s *splitter) comment(i int, text string) bool {
	_, c, _ := bytes.Cut(s.text.raw(i), []byte(s.text.dialect.comment+" "))
	return strings.HasPrefix(strings.TrimSpace(string(c)), text)
}

// clangUnit does the same for clang's form, which it recognizes by the comments.
func (s *splitter) clangUnit(info, abbrev, lists []int) {
	unit := -1
	for n, i := range info {
		if s.comment(i, "Abbrev [") && bytes.Contains(s.text.raw(i), []byte("DW_TAG_compile_unit")) {
			if unit >= 0 {
				return
			}
			unit = n
		}
	}
	if unit < 0 || !s.is(info[3], ".short", "5") || !s.comment(info[3], "DWARF version") || !s.is(info[unit], ".byte", "1") {
		return
	}
	for _, i := range info[unit+1:] {
		switch {
		case s.comment(i, "Abbrev ["):
			return
		case s.comment(i, "DW_AT_ranges"):
			if n, ok := asm.CFINumber(s.operandOf(i, ".byte")); ok {
				s.extendList(lists, n)
			}
			return
		case s.comment(i, "DW_AT_high_pc"):
			size := s.operandOf(i, ".long")
			_, begin, ok := strings.Cut(size, "-")
			if ok && s.clangAbbrev(abbrev) {
				s.replaced[i] = []byte("\t.long\t.Lcairn_ranges\n")
				s.newRanges(begin, size)
			}
			return
		}
	}
}

// extendList adds the cold parts to list n of clang's table.
func (s *splitter) extendList(lists []int, n int) {
	for k, i := range lists {
		if st := s.text.statement(i); st.Kind != asm.LineLabel || !bytes.HasPrefix(st.Word, []byte(".Lrnglists_table_base")) {
			continue
		}
		if k+1+n >= len(lists) {
			return
		}
		label, _, _ := strings.Cut(s.operandOf(lists[k+1+n], ".long"), "-")
		if def, ok := s.text.defs[label]; ok && s.text.secs[s.text.lines[def.line].sec].name == ".debug_rnglists" {
			s.replaced[int(def.line)] = s.coldRanges(slices.Clone(s.text.raw(int(def.line))))
		}
		return
	}
}

// clangAbbrev turns high_pc of the first abbreviation, four bytes, into ranges.
func (s *splitter) clangAbbrev(abbrev []int) bool {
	for n := range min(40, len(abbrev)-1) {
		if s.comment(abbrev[n], "DW_AT_high_pc") {
			if !s.is(abbrev[n], ".byte", "18") || !s.is(abbrev[n+1], ".byte", "6") {
				return false
			}
			s.replaced[abbrev[n]] = []byte("\t.byte\t85\n")
			s.replaced[abbrev[n+1]] = []byte("\t.byte\t23\n")
			return true
		}
		if n > 0 && s.comment(abbrev[n], "EOM(2)") {
			return false
		}
	}
	return false
}

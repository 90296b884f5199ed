package native

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// scanEarly finds the names that .set gives, the functions that run before the runtime's constructor, and the
// registers that fragments save.
//
// Resolvers of indirect functions run while the program is being relocated, and so do their callees.
// Constructors are left alone if they may run before the constructor of the runtime, which in a shared library is
// one of several.
func (t *timer) scanEarly() {
	t.aliases, t.early, t.unwound = map[string]string{}, map[string]string{}, map[*fragment][]string{}
	resolved := map[string]bool{}
	src := t.unit.Src
	early := false
	frags := t.fragmentsByLabel()
	for pos := 0; pos < len(src); {
		next := lineEnd(src, pos)
		s := parseLine(bytes.TrimRight(src[pos:next], "\r\n"))
		if s.kind == lineInsn { // clang's way to write .set
			if value, ok := bytes.CutPrefix(bytes.TrimLeft(s.rest, " \t"), []byte("=")); ok {
				t.aliases[string(s.word)] = string(unquote(operand(value)))
			}
		}
		if s.kind == lineDirective {
			switch string(s.word) {
			case ".set":
				if ops := splitOperands(s.rest); len(ops) == 2 {
					t.aliases[string(unquote(ops[0]))] = string(unquote(ops[1]))
				}
			case ".type":
				if ops := splitOperands(s.rest); len(ops) == 2 && bytes.HasSuffix(ops[1], []byte("gnu_indirect_function")) {
					resolved[string(unquote(ops[0]))] = true
				}
			case ".section", ".pushsection":
				early = isEarlySection(string(unquote(splitOperands(s.rest)[0])))
			case ".text", ".data", ".bss", ".popsection", ".previous":
				early = false
			case ".quad", ".xword", ".8byte", ".dword":
				if early {
					t.early[string(unquote(operand(s.rest)))] = SkipConstructor
				}
			case ".cfi_offset", ".cfi_rel_offset", ".cfi_escape":
				if i, _ := slices.BinarySearchFunc(frags, pos, func(f *fragment, at int) int { return cmp.Compare(f.label, at+1) }); i > 0 {
					t.saves(frags[i-1], string(s.word), splitOperands(s.rest))
				}
			}
		}
		pos = next
	}
	for name := range resolved {
		t.early[t.resolve(name)] = SkipResolver
	}
	t.spreadEarly()
}

// fragmentsByLabel returns all fragments in the order of the text.
func (t *timer) fragmentsByLabel() (out []*fragment) {
	for _, fn := range t.unit.funcs {
		out = append(out, fn.frags...)
	}
	slices.SortFunc(out, func(a, b *fragment) int { return cmp.Compare(a.label, b.label) })
	return out
}

// saves notes a register that a fragment saves.
func (t *timer) saves(f *fragment, word string, ops [][]byte) {
	reg := string(ops[0])
	if word == ".cfi_escape" {
		if len(ops) < 2 {
			return
		}
		if n, err := strconv.ParseUint(reg, 0, 8); err != nil || n != regExpression && n != valExpression {
			return
		}
		n, err := strconv.ParseUint(string(ops[1]), 0, 8)
		if err != nil {
			return
		}
		reg = strconv.FormatUint(n, 10)
	}
	if !slices.Contains(t.unwound[f], reg) {
		t.unwound[f] = append(t.unwound[f], reg)
	}
}

// scratchRegisters are those that calls may change, as unwind directives name them. A function that saves one
// has another calling convention, or returns by __builtin_eh_return.
var scratchRegisters = map[string]bool{
	"0": true, "1": true, "2": true, "4": true, "5": true, "8": true, "9": true, "10": true, "11": true,
	"%rax": true, "%rdx": true, "%rcx": true, "%rsi": true, "%rdi": true,
	"%r8": true, "%r9": true, "%r10": true, "%r11": true,
}

// isEarlySection reports whether a section lists constructors that may run
// before the runtime's, which has priority 0.
func isEarlySection(name string) bool {
	if name == ".preinit_array" {
		return true
	}
	if n, ok := strings.CutPrefix(name, ".init_array."); ok {
		priority, err := strconv.Atoi(n)
		return err == nil && priority == 0
	}
	if n, ok := strings.CutPrefix(name, ".ctors."); ok { // these run in descending order
		priority, err := strconv.Atoi(n)
		return err == nil && priority >= 65535
	}
	return false
}

// spreadEarly adds the callees of early functions in the unit.
func (t *timer) spreadEarly() {
	byName := map[string]*function{}
	for _, fn := range t.unit.funcs {
		for _, f := range fn.frags {
			byName[f.name] = fn
		}
	}
	var work []string
	for name := range t.early {
		work = append(work, name)
	}
	slices.Sort(work)
	for len(work) > 0 {
		name := work[0]
		work = work[1:]
		fn := byName[name]
		if fn == nil {
			continue
		}
		for _, f := range fn.frags {
			for _, c := range f.calls {
				if to := t.resolve(c.callee); byName[to] != nil && t.early[to] == "" {
					t.early[to] = t.early[name]
					work = append(work, to)
				}
			}
		}
	}
}

// stubPlace returns the offset for the stubs of a fragment whose code ends at end, and whether unwind
// directives are in force there: after the labels and lines that belong to that code, before the end of the
// function is declared.
func stubPlace(src []byte, end int) (at int, unwound bool) {
	at = end
	ended := false
	for pos := end; pos < len(src); {
		next := lineEnd(src, pos)
		s := parseLine(bytes.TrimRight(src[pos:next], "\r\n"))
		word := string(s.word)
		belongs := s.kind == lineLabel && isLocal(s.word) && !strings.HasPrefix(word, ".LFE") && !strings.HasPrefix(word, ".Lfunc_end") ||
			s.kind == lineDirective && (word == ".loc" || strings.HasPrefix(word, ".cfi_"))
		switch {
		case s.kind == lineDirective && word == ".cfi_endproc":
			return at, true
		case s.kind == lineInsn, s.kind == lineApp, s.kind == lineDirective && word == ".cfi_startproc":
			return at, false
		case belongs && !ended:
			at = next
		case s.kind != lineBlank:
			ended = true // gcc may have an exception table before .cfi_endproc
		}
		pos = next
	}
	return at, false
}

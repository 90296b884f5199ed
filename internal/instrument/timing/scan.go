package timing

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// scanEarly finds the names that .set gives, the functions that run before the runtime's constructor, and the
// registers that fragments save.
//
// Resolvers of indirect functions run while the program is being relocated, and so do their callees.
// Constructors are left alone if they may run before the constructor of the runtime, which in a shared library is
// one of several.
func (t *timer) scanEarly() {
	t.aliases, t.early, t.unwound = map[string]string{}, map[string]string{}, map[*asm.Fragment][]string{}
	resolved := map[string]bool{}
	src := t.Unit.Src
	early := false
	frags := t.fragmentsByLabel()
	for pos := 0; pos < len(src); {
		next := asm.LineEnd(src, pos)
		s := t.Unit.ParseLine(src[pos:next])
		if s.Kind == asm.LineInsn { // clang's way to write .set
			if value, ok := bytes.CutPrefix(bytes.TrimLeft(s.Rest, " \t"), []byte("=")); ok {
				t.aliases[string(s.Word)] = string(asm.Unquote(asm.Operand(value)))
			}
		}
		if s.Kind == asm.LineDirective {
			switch string(s.Word) {
			case ".set":
				if ops := asm.SplitOperands(s.Rest); len(ops) == 2 {
					t.aliases[string(asm.Unquote(ops[0]))] = string(asm.Unquote(ops[1]))
				}
			case ".type":
				if ops := asm.SplitOperands(s.Rest); len(ops) == 2 && bytes.HasSuffix(ops[1], []byte("gnu_indirect_function")) {
					resolved[string(asm.Unquote(ops[0]))] = true
				}
			case ".section", ".pushsection":
				early = isEarlySection(string(asm.Unquote(asm.SplitOperands(s.Rest)[0])))
			case ".text", ".data", ".bss", ".popsection", ".previous":
				early = false
			case ".quad", ".xword", ".8byte", ".dword":
				if early {
					t.early[string(asm.Unquote(asm.Operand(s.Rest)))] = SkipConstructor
				}
			case ".cfi_offset", ".cfi_rel_offset", ".cfi_escape":
				if i, _ := slices.BinarySearchFunc(frags, pos, func(f *asm.Fragment, at int) int { return cmp.Compare(f.Label, at+1) }); i > 0 {
					t.saves(frags[i-1], string(s.Word), asm.SplitOperands(s.Rest))
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
func (t *timer) fragmentsByLabel() (out []*asm.Fragment) {
	for _, fn := range t.Unit.Funcs {
		out = append(out, fn.Frags...)
	}
	stablesort.Func(out, func(a, b *asm.Fragment) int { return cmp.Compare(a.Label, b.Label) })
	return out
}

// saves notes a register that a fragment saves.
func (t *timer) saves(f *asm.Fragment, word string, ops [][]byte) {
	reg := string(ops[0])
	if word == ".cfi_escape" {
		if reg = escapedRegister(ops); reg == "" {
			return
		}
	}
	if !slices.Contains(t.unwound[f], reg) {
		t.unwound[f] = append(t.unwound[f], reg)
	}
}

// escapedRegister returns the register for which the operands of a .cfi_escape have a rule, "" if they say something else.
func escapedRegister(ops [][]byte) string {
	if len(ops) < 2 {
		return ""
	}
	if n, err := strconv.ParseUint(string(ops[0]), 0, 8); err != nil || n != asm.RegExpression && n != asm.ValExpression {
		return ""
	}
	n, err := strconv.ParseUint(string(ops[1]), 0, 8)
	if err != nil {
		return ""
	}
	return strconv.FormatUint(n, 10)
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
	byName := map[string]*asm.Function{}
	for _, fn := range t.Unit.Funcs {
		for _, f := range fn.Frags {
			byName[f.Name] = fn
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
		for _, f := range fn.Frags {
			for _, c := range f.Calls {
				if to := t.resolve(c.Callee); byName[to] != nil && t.early[to] == "" {
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
func (t *timer) stubPlace(end int) (at int, unwound bool) {
	src := t.Unit.Src
	at = end
	ended := false
	for pos := end; pos < len(src); {
		next := asm.LineEnd(src, pos)
		s := t.Unit.ParseLine(src[pos:next])
		word := string(s.Word)
		belongs := s.Kind == asm.LineLabel && asm.IsLocal(s.Word) && !strings.HasPrefix(word, ".LFE") && !strings.HasPrefix(word, ".Lfunc_end") ||
			s.Kind == asm.LineDirective && (word == ".loc" || strings.HasPrefix(word, ".cfi_"))
		switch {
		case s.Kind == asm.LineDirective && word == ".cfi_endproc":
			return at, !t.isMachO()
		case s.Kind == asm.LineInsn, s.Kind == asm.LineApp, s.Kind == asm.LineDirective && word == ".cfi_startproc":
			return at, false
		case belongs && !ended:
			at = next
		case s.Kind != asm.LineBlank:
			ended = true // gcc may have an exception table before .cfi_endproc
		}
		pos = next
	}
	return at, false
}

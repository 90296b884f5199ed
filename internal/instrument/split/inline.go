package split

import (
	"bytes"
	"strconv"

	"github.com/cairnprof/cairn/internal/instrument/asm"
)

// checkAsm refuses inline assembly that may refer to code around it by other means than symbols.
func (p *splitPlan) checkAsm() {
	t := p.text
	for i := p.first; i <= p.last && p.refused == ""; {
		if t.lines[i].app == 0 {
			i++
			continue
		}
		app := t.lines[i].app
		start := i
		for i <= p.last && t.lines[i].app == app {
			i++
		}
		if i > p.last {
			p.refuse("unterminated inline assembly")
			return
		}
		p.asmRegion(start, i)
	}
}

// asmRegion checks the inline assembly in lines [start, end).
func (p *splitPlan) asmRegion(start, end int) {
	t := p.text
	text := t.src[t.lines[start].at:t.lines[end-1].next]
	for _, bad := range []string{".section", ".pushsection", ".popsection", ".previous", ".subsection", ".text", ".data", ".bss", ".cfi", ".org", ".macro", ".altmacro", ".size"} {
		if bytes.Contains(text, []byte(bad)) {
			p.refuse("inline assembly with " + bad)
			return
		}
	}
	labels := asmLabels{}
	for i := start; i < end; i++ {
		for s := t.statement(i); s.Kind == asm.LineLabel; s = asm.ParseLine(s.Rest) {
			labels[string(s.Word)] = append(labels[string(s.Word)], i)
		}
	}
	for i := start; i < end && p.refused == ""; i++ {
		if s := t.statement(i); s.Kind != asm.LineDirective || string(s.Word) != ".loc" {
			p.asmWords(i, labels)
		}
	}
}

// asmLabels are the lines of the labels that inline assembly defines.
type asmLabels map[string][]int

// leads reports whether a numbered label with its suffix, b or f, at line i is
// one of them.
func (l asmLabels) leads(number string, suffix byte, i int) bool {
	at := l[number]
	return len(at) > 0 && (suffix == 'b' && at[0] <= i || suffix == 'f' && at[len(at)-1] > i)
}

// asmWords examines the labels that the line at of inline assembly names. labels are its own.
func (p *splitPlan) asmWords(at int, labels asmLabels) {
	text := p.text.raw(at)
	for i := 0; i < len(text); {
		if !asm.SymbolByte[text[i]] || text[i] == '$' {
			i++
			continue
		}
		n := asm.WordEnd(text, i)
		word := text[i:n]
		i = n
		if k := len(word) - 1; k > 0 && (word[k] == 'b' || word[k] == 'f') {
			if _, err := strconv.Atoi(string(word[:k])); err == nil && !labels.leads(string(word[:k]), word[k], at) {
				p.refuse("inline assembly that jumps to a label elsewhere")
			}
		}
		if asm.IsLocal(word) && labels[string(word)] == nil {
			if d, ok := p.text.defs[string(word)]; !ok || int(d.line) >= p.first && int(d.line) <= p.last {
				p.refuse("inline assembly that refers to a label of the function")
			}
		}
	}
}

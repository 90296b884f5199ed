package split

import (
	"bytes"
	"slices"
	"sort"
	"strings"

	"github.com/cairnprof/cairn/internal/instrument/asm"
)

// splitText is an index of a unit's lines.
type splitText struct {
	src     []byte
	dialect *dialect
	lines   []textLine
	secs    []*textSection
	defs    map[string]labelDef // local labels
	// symbols are the other labels.
	symbols []string
	// distances are the entries of jump tables that hold distances in instructions.
	distances []codeDistance
}

// textLine describes a line, without what can be parsed again when needed.
type textLine struct {
	at, next int32
	sec      int32 // index of the section after the line
	app      int32 // number of the inline assembly it is in, from 1; 0 if none
	kind     asm.LineKind
	switches bool // it changes the section
	stmt     bool // is_stmt after a .loc
}

// textSection is a section as the unit names it.
type textSection struct {
	key     *asm.Section
	name    string
	flags   string
	group   string
	operand string // operands of the first .section directive, or ""
	debug   bool
}

type labelDef struct{ line, app int32 }

// scanText makes the index.
func scanText(src []byte, dialect *dialect) *splitText {
	t := &splitText{src: src, dialect: dialect, defs: map[string]labelDef{}}
	p := &asm.Parser{Unit: &asm.Unit{Src: src}, ByKey: map[string]*asm.Section{}}
	byKey := map[*asm.Section]int32{}
	p.Enter(".text", "", true)
	cur := t.section(p.Sec, ".text", nil, byKey)
	t.secs[cur].flags = "ax"
	app, apps, stmt := int32(0), int32(0), true
	for pos := 0; pos < len(src); {
		next := asm.LineEnd(src, pos)
		s := asm.ParseLine(bytes.TrimRight(src[pos:next], "\r\n"))
		l := textLine{at: int32(pos), next: int32(next), kind: s.Kind}
		switch {
		case s.Kind == asm.LineApp && app == 0:
			apps++
			app = apps
			l.app = app
		case s.Kind == asm.LineNoApp:
			l.app, app = app, 0
		case s.Kind == asm.LineDirective && string(s.Word) == ".loc":
			// gcc ends inline assembly at the next instruction, and writes its own directives before that.
			stmt = locStmt(s.Rest, stmt)
			l.stmt, l.app = stmt, app
		case app > 0:
			l.app = app
		case s.Kind == asm.LineDirective:
			if p.SectionDirective(s) {
				l.switches = true
				cur = t.section(p.Sec, string(s.Word), s.Rest, byKey)
			} else if dialect.near && holdsTables(t.secs[cur].name) && asm.EmitsBytes(s.Word) {
				if d, ok := distanceOf(s); ok {
					t.distances = append(t.distances, d)
				}
			}
		}
		if s.Kind == asm.LineLabel {
			switch {
			case asm.IsAlias(s.Word): // goes with its function
			case asm.IsLocal(s.Word):
				t.defs[string(s.Word)] = labelDef{int32(len(t.lines)), app}
			default:
				t.symbols = append(t.symbols, string(s.Word))
			}
		}
		l.sec = cur
		t.lines = append(t.lines, l)
		pos = next
	}
	return t
}

// section returns the index of the section that a directive leads to.
func (t *splitText) section(key *asm.Section, word string, rest []byte, byKey map[*asm.Section]int32) int32 {
	if i, ok := byKey[key]; ok {
		return i
	}
	s := &textSection{key: key, name: key.Name, group: key.Group}
	if word == ".section" || word == ".pushsection" {
		ops := asm.SplitOperands(rest)
		s.operand = strings.TrimSpace(string(rest))
		if len(ops) > 1 {
			s.flags = string(asm.Unquote(ops[1]))
		} else if strings.HasPrefix(s.name, ".text") {
			s.flags = "ax"
		}
	} else if key.Code {
		s.flags = "ax"
	}
	s.debug = strings.HasPrefix(s.name, ".debug_") || strings.HasPrefix(s.name, ".zdebug_")
	byKey[key] = int32(len(t.secs))
	t.secs = append(t.secs, s)
	return byKey[key]
}

// lineAt returns the index of the line that begins at an offset, or -1.
func (t *splitText) lineAt(at int) int {
	i := sort.Search(len(t.lines), func(i int) bool { return int(t.lines[i].at) >= at })
	if i < len(t.lines) && int(t.lines[i].at) == at {
		return i
	}
	return -1
}

func (t *splitText) raw(i int) []byte { return t.src[t.lines[i].at:t.lines[i].next] }

func (t *splitText) statement(i int) asm.Statement {
	return asm.ParseLine(bytes.TrimRight(t.raw(i), "\r\n"))
}

// sectionOf returns the section of a fragment, or nil.
func (t *splitText) sectionOf(f *asm.Fragment) *textSection {
	i := t.lineAt(f.Label)
	if i < 1 {
		return nil
	}
	return t.secs[t.lines[i-1].sec]
}

// locStmt returns the is_stmt in effect after a .loc.
func locStmt(rest []byte, before bool) bool {
	words := locWords(rest)
	if i := slices.Index(words, "is_stmt"); i >= 0 && i+1 < len(words) {
		return words[i+1] != "0"
	}
	return before
}

// locWords splits the operands of a .loc, without the comment.
func locWords(rest []byte) []string {
	rest = asm.PlainOperands(rest)
	return strings.Fields(string(rest))
}

package split

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/internal/instrument/asm"
)

// splitPlan is the split of one function, or the reason against it.
type splitPlan struct {
	fn      *asm.Function
	unit    *asm.Unit
	frag    *asm.Fragment // the piece of code to split: that of the entry
	text    *splitText
	refused string

	first, last int // lines after the label and of .size
	sec         int32
	pieces      []piece
	tail        int // first line after the last code
	moved       int // cold pieces
	arrangement

	begins  map[int]bool // pieces that get a label at their beginning for debug information,
	ends    map[int]bool // and at their end
	returns map[int]bool // and behind the call at their end

	cfi  cfiTrack
	lsda *lsda
	locs []int32 // by line from first: the .loc in effect, or -1

	id   int    // in labels
	cold string // symbol of the cold part
}

// arrangement is the order of the hot pieces.
type arrangement struct {
	flow    *pieceFlow // nil: not known
	order   []int
	ordered bool // that is another one than in the text
	packed  bool // loops are not to be padded
	random  bool // branches would go either way too often for another order (random.go)
	tops    map[int]bool
	align   []int // lines that align the tops of loops
	written int   // pieces of the text; behind them are copies
	// uncopied are the pieces as they were before some were copied.
	uncopied []piece
	// fitted are the directives of those tops whose loops are to be in few lines of the cache; "": none is needed.
	fitted map[int]string
	// realigned is what the text of lines becomes that align something, where the order is that of the text.
	realigned map[int]string
}

// piece is a basic block with the labels and directives before it.
type piece struct {
	first, end int // lines
	code       int // its first code, or end
	last       int // line of its last instruction, or -1
	insns      int
	cold       bool
	lands      bool     // begins with a landing pad
	flow       asm.Flow // how it ends
	target     int      // piece that its last instruction goes to, or -1
	behind     int      // piece that control goes on to otherwise, or -1 if it is the last
	led        bool     // target is another than the text has
	copied     bool     // a copy of another piece, which has its lines (copies.go)
	label      string   // that another piece can jump to; "" if none yet
	own        bool     // label is to be written
}

func (p *splitPlan) refuse(why string) {
	if p.refused == "" {
		p.refused = why
	}
}

// own reports whether a line belongs to the function's own section.
func (p *splitPlan) own(i int) bool {
	l := &p.text.lines[i]
	return l.sec == p.sec && !l.switches
}

// analyse finds the pieces and checks that everything in them is known.
func (p *splitPlan) analyse() {
	f, t := p.frag, p.text
	p.first = t.lineAt(f.Label)
	p.last = len(t.lines) - 1
	if f.SizeLine < len(t.src) {
		p.last = t.lineAt(f.SizeLine) - 1
	}
	if f.SizeLine < 0 || p.first < 1 || p.last < p.first {
		p.refuse("the function has no .size")
		return
	}
	p.sec = t.lines[p.first-1].sec
	p.last = t.behindEndproc(p.last)
	sec := t.secs[p.sec]
	switch {
	case sec.flags != "ax" && sec.flags != "axG" || !isText(sec.name):
		p.refuse("in section " + sec.name)
	case f.Short:
		p.refuse("a branch with limited range")
	case !plainName(p.fn.Name):
		p.refuse("a name that needs quotes")
	case t.lines[p.last].sec != p.sec:
		p.refuse("the function ends in another section")
	}
	if p.refused != "" {
		return
	}
	p.cut()
	p.checkAsm()
	if p.refused != "" {
		return
	}
	p.link()
	p.trackLocs()
	p.trackCFI()
	if p.refused == "" && p.cfi.lsda != "" {
		p.lsda = p.readLSDA()
	}
}

// behindEndproc returns the line of .cfi_endproc if it follows line i, as clang writes it after .size, or i. If
// the function has a local alias, as in code of ThinLTO, the .size of that is in between.
func (t *splitText) behindEndproc(i int) int {
	for k := i + 1; k < len(t.lines) && !t.lines[k].switches; k++ {
		switch t.lines[k].kind {
		case asm.LineBlank:
			continue
		case asm.LineDirective:
			switch string(t.statement(k).Word) {
			case ".cfi_endproc":
				return k
			case ".size":
				continue
			}
		}
		break
	}
	return i
}

// isText reports whether compilers put functions into a section by themselves. What they take for unlikely ran all the same
// if the profile says so: clang's guesses go from a function to those that call it.
func isText(name string) bool {
	if name == ".text.split" || strings.HasPrefix(name, ".text.split.") { // parts of functions
		return false
	}
	name, _, _ = strings.Cut(name, ",unique,")
	return name == ".text" || strings.HasPrefix(name, ".text.")
}

// cut divides the lines into pieces, one for each block of the fragment, and refuses unknown statements. It
// checks the numbering against the parser's.
func (p *splitPlan) cut() {
	blocks := p.frag.Blocks
	c := cutter{splitPlan: p, cur: piece{first: p.first, code: -1, last: -1}, start: -1, opened: blocks[0].Used}
	for i := p.first; i <= p.last && p.refused == ""; i++ {
		c.line(i)
	}
	if p.refused != "" {
		return
	}
	if c.start < 0 {
		c.start = p.last
	}
	c.cur.end, p.tail = c.start, c.start
	p.pieces = append(p.pieces, c.cur)
	if len(p.pieces) != len(blocks) {
		p.refuse("blocks were not found again")
		return
	}
	p.written = len(p.pieces)
	if p.runsOff(&c.cur) {
		p.refuse("it falls through its end")
	}
	for k := range p.pieces {
		pc := &p.pieces[k]
		if pc.code < 0 {
			pc.code = pc.end
		}
		pc.flow, pc.target, pc.behind = blocks[k].Last, -1, k+1
		if k+1 == len(p.pieces) {
			pc.behind = -1
		}
		if pc.flow != asm.FlowNext && pc.last < 0 {
			p.refuse("a block with an unknown end")
		}
	}
}

// cutter is the state of cut between two lines.
type cutter struct {
	*splitPlan
	cur    piece // the one that lines belong to
	start  int   // line where the next piece begins, after the last code or at the first leading label; -1: not known
	leader bool  // a leading label was seen since the last code
	ended  bool  // control does not continue after the last code
	opened bool  // a block has begun
}

// line assigns a line.
func (c *cutter) line(i int) {
	l := &c.text.lines[i]
	switch {
	case !c.own(i):
		c.knownSwitch(i)
		return
	case l.app > 0 && l.kind != asm.LineApp:
		return
	case l.app == 0 && l.kind == asm.LineBlank:
		if !c.text.dialect.isBlank(c.text.raw(i)) {
			c.refuse("an unknown statement") // {vex} and the like
		}
		return
	}
	s := c.text.statement(i)
	if l.app == 0 && !c.known(s) {
		return
	}
	switch l.kind {
	case asm.LineLabel:
		if asm.IsLeader(s.Word) {
			c.leader = true
			if c.start < 0 {
				c.start = i
			}
		}
	case asm.LineInsn, asm.LineApp:
		c.code(i, s)
	case asm.LineDirective:
		if asm.EmitsBytes(s.Word) {
			c.code(i, s)
		}
	}
}

// code assigns a line of code: to the piece that begins with it, or to the current one.
func (c *cutter) code(i int, s asm.Statement) {
	l := &c.text.lines[i]
	kind := asm.FlowNext
	if l.kind == asm.LineInsn {
		kind, _ = c.unit.Machine.Classify(s.Word, s.Rest)
	}
	next := len(c.pieces) + 1
	switch blocks := c.frag.Blocks; {
	case next < len(blocks) && blocks[next].Probe == int(l.at):
		if c.start < 0 {
			c.refuse("a block at an unexpected place")
			return
		}
		c.cur.end = c.start
		c.pieces = append(c.pieces, c.cur)
		c.cur = piece{first: c.start, code: i, last: -1}
		c.opened, c.ended = true, false
	case c.skips(i, kind, s):
		return
	case c.ended || !c.opened || c.leader && !(len(c.pieces) == 0 && c.cur.code < 0):
		c.refuse("unreachable code without a label")
		return
	}
	if c.cur.code < 0 {
		c.cur.code = i
	}
	c.start, c.leader = i+1, false
	c.cur.last = -1
	c.cur.insns++
	if l.kind == asm.LineApp {
		for c.start <= c.splitPlan.last && c.text.lines[c.start].app == l.app {
			c.start++
		}
		c.cur.flow = asm.FlowNext
		return
	}
	if l.kind == asm.LineInsn {
		c.cur.last = i
	}
	c.ended = kind == asm.FlowJump || kind == asm.FlowEnd
}

// skips reports whether an instruction is in no block: endbr64, which belongs to the block that follows it, code
// before the probe, which belongs to the head of the function, and padding after the end of a block.
func (c *cutter) skips(i int, kind asm.Flow, s asm.Statement) bool {
	l := &c.text.lines[i]
	head := kind == asm.FlowLanding || kind == asm.FlowSign || kind == asm.FlowNop
	switch {
	case l.kind != asm.LineInsn:
		return false
	case kind == asm.FlowLanding && c.leader:
		return true // the next piece begins at the label
	case head && int(l.at) < c.frag.Probe,
		c.ended && (kind == asm.FlowNop || c.unit.Machine.IsTrap(s.Word) || string(s.Word) == "int3"):
		c.start = i + 1
		return true
	}
	return false
}

// runsOff reports whether the last piece falls through into what follows the function. After a call that does
// not return nothing follows.
func (p *splitPlan) runsOff(pc *piece) bool {
	if p.frag.Blocks[len(p.frag.Blocks)-1].Last != asm.FlowNext || pc.insns == 0 {
		return false
	}
	if pc.last < 0 {
		return true
	}
	kind, _ := p.classify(p.text.statement(pc.last))
	return kind != asm.FlowCall && kind != asm.FlowNop
}

// knownSwitch refuses changes of section that the parser does not distinguish.
func (p *splitPlan) knownSwitch(i int) {
	if !p.text.lines[i].switches {
		return
	}
	if s := p.text.statement(i); string(s.Word) == ".text" && len(asm.Operand(s.Rest)) > 0 {
		p.refuse("a subsection")
	}
}

// known refuses statements whose meaning splitting does not know.
func (p *splitPlan) known(s asm.Statement) bool {
	switch s.Kind {
	case asm.LineLabel:
		switch rest := bytes.TrimSpace(s.Rest); {
		case !asm.IsLocal(s.Word) && !asm.IsAlias(s.Word):
			p.refuse("a second symbol in the function")
		case !p.text.dialect.isBlank(rest):
			p.refuse("a statement behind a label")
		case bytes.HasPrefix(s.Word, []byte(".Lxray_")):
			p.refuse("space for patches in the function")
		}
	case asm.LineInsn:
		p.knownInsn(s)
	case asm.LineDirective:
		switch string(s.Word) {
		case ".loc", ".file", ".p2align", ".align", ".balign", ".size",
			".globl", ".global", ".weak", ".hidden", ".protected", ".internal", ".local", ".type", ".tlsdesccall":
		default:
			if bytes.HasPrefix(s.Word, []byte(".cfi_")) {
				break
			}
			if !asm.EmitsBytes(s.Word) || string(s.Word) == ".reloc" || string(s.Word) == ".incbin" {
				p.refuse("directive " + string(s.Word))
				break
			}
			asm.LocalNames(s.Rest, func([]byte, int, int) { p.refuse("a table in the code") })
			if bytes.IndexByte(s.Rest, '.') >= 0 {
				p.refuse("data in the code")
			}
		}
	}
	return p.refused == ""
}

func (p *splitPlan) knownInsn(s asm.Statement) {
	code := p.text.dialect.code(s.Rest)
	if i := bytes.IndexByte(code, ';'); i >= 0 {
		switch string(s.Word) {
		case "rep", "repe", "repz", "repne", "repnz", "lock":
			if len(bytes.TrimSpace(code[:i])) == 0 && bytes.IndexByte(code[i+1:], ';') < 0 {
				break
			}
			fallthrough
		default:
			p.refuse("several statements in a line")
			return
		}
	}
	kind, target := p.unit.Machine.Classify(s.Word, s.Rest)
	switch {
	case string(s.Word) == "hlt":
		p.refuse("hlt, which may continue")
	case kind == asm.FlowCall && asm.IsLocal(target):
		p.refuse("a call of a label")
	case kind == asm.FlowBranch || kind == asm.FlowJump || kind == asm.FlowCall:
		if n := len(target); n > 0 && target[0] != '*' && p.unit.Machine.Callee(target) == "" {
			p.refuse("a branch to an expression")
		} else if n > 0 && target[0] >= '0' && target[0] <= '9' {
			p.refuse("a numbered label")
		}
	}
	if operands := bytes.TrimSpace(code); len(operands) > 0 && operands[0] == '=' {
		p.refuse("a symbol that is given a value")
	}
	if before, _, ok := bytes.Cut(code, []byte("(%rip)")); ok {
		at := bytes.LastIndexAny(before, " \t,*:(") + 1
		if _, err := strconv.ParseInt(string(before[at:]), 0, 64); err == nil || at == len(before) {
			p.refuse("an address relative to the place")
		}
	}
	for i, c := range code {
		bare := c == '.' && (i == 0 || !asm.SymbolByte[code[i-1]]) && (i+1 == len(code) || !asm.SymbolByte[code[i+1]])
		if bare {
			p.refuse("an address relative to the place")
		}
	}
}

// link finds the pieces that branches go to.
func (p *splitPlan) link() {
	byLabel := map[string]int{}
	for k := range p.pieces {
		pc := &p.pieces[k]
		for i := pc.first; i < pc.code; i++ {
			if !p.own(i) || p.text.lines[i].kind != asm.LineLabel {
				continue
			}
			name := string(p.text.statement(i).Word)
			byLabel[name] = k
			if pc.label == "" && asm.IsLeader([]byte(name)) {
				pc.label = name
			}
		}
	}
	for k := range p.pieces {
		if target := p.frag.Blocks[k].Target; len(target) > 0 {
			if to, ok := byLabel[string(target)]; ok {
				p.pieces[k].target = to
			}
		}
	}
}

// choose decides which pieces to move.
func (p *splitPlan) choose(cold []bool, minInsns int) {
	for k := range p.pieces {
		p.pieces[k].cold = k > 0 && cold[k]
	}
	if p.lsda != nil {
		p.lsda.choose(p)
	}
	for k := 0; k < len(p.pieces); {
		n, insns := k, 0
		for n < len(p.pieces) && p.pieces[n].cold {
			insns += p.pieces[n].insns
			n++
		}
		if insns < minInsns {
			for i := k; i < n; i++ {
				p.pieces[i].cold = p.pieces[i].lands && p.lsda.moved
			}
		}
		k = max(n, k+1)
	}
	p.keepTogether(p.together())
	for i := range p.pieces {
		if p.pieces[i].cold {
			p.moved++
		}
	}
}

// pieceOf returns the piece of a line, or -1 in the tail.
func (p *splitPlan) pieceOf(line int) int {
	k, found := slices.BinarySearchFunc(p.pieces[:p.written], line, func(pc piece, line int) int { return pc.first - line })
	if !found {
		k--
	}
	// An empty piece shares its first line with the next.
	for k+1 < p.written && p.pieces[k].end <= line && p.pieces[k+1].first <= line {
		k++
	}
	if k >= 0 && line >= p.pieces[k].end {
		return -1
	}
	return k
}

package native

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

// Unit is the structure of one assembly file: where its functions are and
// where their probes can go. Offsets are byte offsets into Src.
type Unit struct {
	Src     []byte
	Source  string // operand of the first .file directive
	funcs   []*function
	secs    []*section
	taken   map[string]bool // local labels that something other than a branch refers to
	returns map[string]bool // functions whose calls come back
}

// section is a code section of the unit.
type section struct {
	name  string
	group string // operands that name its group, as in "_Z1fv,comdat"; "" if none
	code  bool
	// state while parsing
	cur       *fragment // the fragment that code in this section belongs to
	content   bool      // something has been placed in it
	alignment int       // offset of the alignment that awaits code, or -1
	preamble  int       // offset of the first directive that announces a symbol, or -1
}

// fragment is a piece of code under a function symbol of its own.
type fragment struct {
	name     string
	sec      *section
	parent   *function
	label    int // offset behind the line of its label
	probe    int // offset for the entry probe
	stub     int // offset for the first-call stub ahead of it, or -1
	sizeLine int // offset behind its .size line, or -1
	end      int // offset behind its last code
	blocks   []block
	labels   []blockLabel
	calls    []call
	insns    int
	state    blockState
	entered  bool // probe is final
	called   bool // split off, and entered by calls rather than branches
	hasAsm   bool
	compiled bool // has an instruction that a naked function cannot have
	short    bool // has a branch that cannot reach further
}

// blockState says what the next code in a fragment is.
type blockState uint8

const (
	inBlock    blockState = iota // continues the open block
	startBlock                   // begins a block
	unreached                    // belongs to none: no label leads to it
)

// block is a basic block; block 0 of a function's first fragment is the entry
// block, which has no probe of its own.
type block struct {
	probe  int    // offset for its probe
	used   bool   // there is code in it
	leaves bool   // it may be left in the middle: by a computed call, or in inline assembly
	traps  bool   // it ends in a trap, or in a jump to who knows where
	last   flow   // how it ends
	target []byte // local label its last instruction names
}

// blockLabel is a local label and the index of the block it leads to.
type blockLabel struct {
	name  []byte
	block int
}

type call struct {
	block  int // index into the fragment's blocks
	callee string
	tail   bool // it ends the block
}

// function is a symbol with an entry, and its fragments.
type function struct {
	name  string
	frags []*fragment
	skip  string // why it gets no probes, "" if it does
}

// main returns the fragment of the entry.
func (f *function) main() *fragment { return f.frags[0] }

// SyntaxError is input that cannot be instrumented, with its place.
type SyntaxError struct {
	Line   int
	Reason string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }

// fragmentName matches the names that gcc and clang give to the pieces they
// split off a function: f.cold, f.cold.3, f.part.0, f.__part.1.
var fragmentName = regexp.MustCompile(`^(.+?)\.(?:cold(?:\.\d+)?|(?:__)?part\.\d+(?:\..+)?)$`)

// parser is the state of one pass over the text.
type parser struct {
	unit      *Unit
	byKey     map[string]*section
	sec       *section
	prev      *section
	stack     []*section
	isFunc    map[string]bool // named by .type as functions
	global    map[string]bool // visible outside the unit
	byName    map[string]*function
	taken     map[string]bool // local labels that something other than a branch refers to
	app       bool            // inside inline assembly
	appBranch bool            // it names a local label
	line      int
}

// Parse reads a compiler's assembly output. It returns a *SyntaxError for
// text in another syntax or for another mode of the processor.
func Parse(src []byte) (*Unit, error) {
	p := &parser{
		unit:   &Unit{Src: src},
		byKey:  map[string]*section{},
		isFunc: map[string]bool{},
		byName: map[string]*function{},
		taken:  map[string]bool{},
		global: map[string]bool{},
	}
	p.enter(".text", "", true)
	for pos := 0; pos < len(src); {
		next := len(src)
		if i := bytes.IndexByte(src[pos:], '\n'); i >= 0 {
			next = pos + i + 1
		}
		p.line++
		if err := p.statement(src[pos:next], pos, next); err != nil {
			return nil, err
		}
		pos = next
	}
	p.adopt()
	p.unit.taken = p.taken
	p.unit.returns = p.returning()
	return p.unit, nil
}

func (p *parser) statement(text []byte, pos, next int) error {
	s := parseLine(bytes.TrimRight(text, "\r\n"))
	if p.app && s.kind != lineNoApp {
		p.inlineAsm(s, text, next)
		return nil
	}
	switch s.kind {
	case lineLabel:
		p.label(s.word, pos, next)
	case lineDirective:
		if emitsBytes(s.word) {
			p.mention(s.rest)
		}
		return p.directive(s, pos, next)
	case lineInsn:
		p.instruction(s, pos, next)
	case lineApp:
		p.app, p.appBranch = true, false
		if f := p.sec.cur; f != nil {
			f.hasAsm = true
			f.code(pos, next)
			f.leave()
		}
		p.placed()
	case lineNoApp:
		p.app = false
		if f := p.sec.cur; f != nil {
			f.end = next
			if p.appBranch {
				f.state = startBlock
			}
		}
	}
	return nil
}

// inlineAsm follows only what changes where the text after it lands.
func (p *parser) inlineAsm(s statement, text []byte, next int) {
	if p.mention(text) {
		p.appBranch = true
	}
	if s.kind == lineDirective {
		p.sectionDirective(s)
	}
	if f := p.sec.cur; f != nil {
		f.end = next
	}
}

// mention notes the local labels in text as taken and reports whether there
// are any.
func (p *parser) mention(text []byte) bool {
	found := false
	for {
		i := bytes.Index(text, []byte(".L"))
		if i < 0 {
			return found
		}
		n := 2
		for i+n < len(text) && symbolByte[text[i+n]] {
			n++
		}
		if name := text[i : i+n]; isLeader(name) || bytes.HasPrefix(name, []byte(".Ltmp")) {
			p.taken[string(name)] = true
		}
		text = text[i+n:]
		found = true
	}
}

// placed notes that code or data now follows what announced it.
func (p *parser) placed() {
	p.sec.content = true
	p.sec.alignment, p.sec.preamble = -1, -1
}

func (p *parser) label(name []byte, pos, next int) {
	if !p.sec.code {
		return
	}
	if !isLocal(name) && p.isFunc[string(name)] {
		p.begin(string(name), next)
		return
	}
	f := p.sec.cur
	if f == nil {
		return
	}
	if isLeader(name) {
		f.enter(pos)
		f.state = startBlock
	}
	if f.state == startBlock {
		f.labels = append(f.labels, blockLabel{name, len(f.blocks)})
	}
}

// begin opens the fragment of a function symbol.
func (p *parser) begin(name string, next int) {
	f := &fragment{
		name: name, sec: p.sec, label: next, probe: next, end: next, stub: -1, sizeLine: -1,
		blocks: []block{{}},
	}
	if p.sec.content {
		f.stub = p.sec.alignment
		if f.stub < 0 {
			f.stub = p.sec.preamble
		}
	}
	fn := &function{name: name, frags: []*fragment{f}}
	f.parent = fn
	p.unit.funcs = append(p.unit.funcs, fn)
	p.byName[name] = fn
	p.sec.cur = f
	p.placed()
}

func (p *parser) instruction(s statement, pos, next int) {
	f := p.sec.cur
	if f == nil {
		p.placed()
		return
	}
	kind, target := classify(s.word, s.rest)
	if (kind == flowLanding || kind == flowNop) && !f.entered {
		f.probe, f.end = next, next
		p.placed()
		return
	}
	if kind == flowLanding && f.state == startBlock {
		f.end = next
		p.placed()
		return
	}
	f.code(pos, next)
	f.insns++
	switch kind {
	case flowCall:
		if callee(target) == "" {
			f.leave()
		}
	case flowNext:
		p.mention(s.rest)
	}
	if string(s.word) != "ud2" && kind != flowNop {
		f.compiled = true
	}
	f.transfer(kind, target, string(s.word) == "ud2" || string(s.word) == "hlt")
	p.placed()
}

// enter makes the entry probe's place final: before pos.
func (f *fragment) enter(pos int) {
	if !f.entered {
		f.probe, f.entered = pos, true
	}
}

// code notes bytes of code in [pos, next) and opens a block if one is due.
func (f *fragment) code(pos, next int) {
	f.enter(pos)
	if f.state == startBlock {
		f.blocks = append(f.blocks, block{probe: pos})
		f.state = inBlock
	}
	if f.state == inBlock {
		f.blocks[len(f.blocks)-1].used = true
	}
	f.end = next
}

// leave notes that the open block may be left in the middle.
func (f *fragment) leave() {
	if f.state == inBlock {
		f.blocks[len(f.blocks)-1].leaves = true
	}
}

// transfer notes what an instruction does to the flow of control.
func (f *fragment) transfer(kind flow, target []byte, isTrap bool) {
	if kind == flowShort {
		f.short = true
	}
	if f.state == unreached {
		return
	}
	b := &f.blocks[len(f.blocks)-1]
	switch kind {
	case flowCall, flowBranch, flowJump:
		if !isLocal(target) {
			if name := callee(target); name != "" {
				f.calls = append(f.calls, call{len(f.blocks) - 1, name, kind != flowCall})
			}
		}
	}
	switch kind {
	case flowBranch, flowShort:
		f.state = startBlock
	case flowJump, flowEnd:
		b.traps = kind == flowEnd && isTrap || kind == flowJump && !isLocal(target) && callee(target) == ""
		f.state = unreached
	default:
		return
	}
	b.last = kind
	if isLocal(target) {
		b.target = target
	}
}

func (p *parser) directive(s statement, pos, next int) error {
	if p.sectionDirective(s) {
		return nil
	}
	switch word := string(s.word); word {
	case ".type":
		p.typeDirective(s.rest)
		p.announce(pos)
	case ".globl", ".global", ".weak":
		p.global[string(unquote(operand(s.rest)))] = true
		p.announce(pos)
	case ".hidden", ".protected", ".internal", ".local":
		p.announce(pos)
	case ".p2align", ".align", ".balign":
		if p.sec.alignment < 0 {
			p.sec.alignment = pos
		}
	case ".size":
		p.size(unquote(operand(s.rest)), next)
	case ".file":
		if p.unit.Source == "" {
			p.unit.Source = string(unquote(operand(s.rest)))
		}
	case ".intel_syntax":
		return &SyntaxError{p.line, "Intel syntax is not supported; compile with -masm=att"}
	case ".code32", ".code16", ".code16gcc":
		return &SyntaxError{p.line, "only 64-bit code is supported; " + word + " found"}
	default:
		if emitsBytes(s.word) {
			p.data(s, pos, next)
		}
	}
	return nil
}

// announce notes a directive about a symbol that is to come.
func (p *parser) announce(pos int) {
	if p.sec.preamble < 0 {
		p.sec.preamble = pos
	}
}

// data handles bytes in a code section. They are code, such as the prefixes
// of a TLS sequence, unless they are a table of labels.
func (p *parser) data(s statement, pos, next int) {
	f := p.sec.cur
	if f == nil || !p.sec.code {
		p.placed()
		return
	}
	if isLocal(operand(s.rest)) {
		f.state, f.end = unreached, next
	} else {
		f.code(pos, next)
	}
	p.placed()
}

func (p *parser) typeDirective(rest []byte) {
	ops := splitOperands(rest)
	if len(ops) < 2 {
		return
	}
	switch string(ops[1]) {
	case "@function", "%function", "STT_FUNC":
		p.isFunc[string(unquote(ops[0]))] = true
	}
}

// size closes the fragment that a .size directive names.
func (p *parser) size(name []byte, next int) {
	fn := p.byName[string(name)]
	if fn == nil {
		return
	}
	f := fn.main()
	if p.sec == f.sec {
		f.sizeLine = next
	}
	if f.sec.cur == f {
		f.sec.cur = nil
	}
}

// sectionDirective follows a change of section and reports whether s was one.
func (p *parser) sectionDirective(s statement) bool {
	switch string(s.word) {
	case ".text":
		p.enter(".text", "", true)
	case ".data", ".bss":
		p.enter(string(s.word), "", false)
	case ".section":
		p.enterOperands(s.rest)
	case ".pushsection":
		p.stack = append(p.stack, p.sec)
		p.enterOperands(s.rest)
	case ".popsection":
		if n := len(p.stack); n > 0 {
			p.prev, p.sec = p.sec, p.stack[n-1]
			p.stack = p.stack[:n-1]
		}
	case ".previous":
		if p.prev != nil {
			p.prev, p.sec = p.sec, p.prev
		}
	default:
		return false
	}
	return true
}

// enterOperands handles .section NAME[,"flags"[,@type[,...]]].
func (p *parser) enterOperands(rest []byte) {
	ops := splitOperands(rest)
	name := string(unquote(ops[0]))
	flags, group := "", ""
	if len(ops) > 1 {
		flags = string(unquote(ops[1]))
	}
	extra := ops[min(len(ops), 3):]
	if strings.Contains(flags, "M") && len(extra) > 0 {
		extra = extra[1:]
	}
	if strings.Contains(flags, "o") && len(extra) > 0 {
		extra = extra[1:]
	}
	if strings.Contains(flags, "G") && len(extra) > 0 {
		group = string(extra[0])
		extra = extra[1:]
		if len(extra) > 0 && string(extra[0]) == "comdat" {
			group += ",comdat"
			extra = extra[1:]
		}
	}
	if len(extra) == 2 && string(extra[0]) == "unique" {
		name += ",unique," + string(extra[1]) // a section of its own under a shared name
	}
	code := strings.Contains(flags, "x") || flags == "" && strings.HasPrefix(name, ".text")
	p.enter(name, group, code)
}

func (p *parser) enter(name, group string, code bool) {
	key := name
	if group != "" {
		key = name + "\x00" + group
	}
	s := p.byKey[key]
	if s == nil {
		s = &section{name: name, group: group, code: code, alignment: -1, preamble: -1}
		p.byKey[key] = s
		p.unit.secs = append(p.unit.secs, s)
	}
	p.prev, p.sec = p.sec, s
}

// adopt gives split-off fragments to the function they came from. A .part
// whose function is not here, or is in another COMDAT group and may be
// dropped without it, is a function of its own.
func (p *parser) adopt() {
	kept := p.unit.funcs[:0]
	for _, fn := range p.unit.funcs {
		f := fn.main()
		parent := p.parentOf(fn.name)
		if parent == nil || parent.main().sec.group != f.sec.group {
			kept = append(kept, fn)
			continue
		}
		f.join(parent)
	}
	p.unit.funcs = kept
}

// join makes f a fragment of parent. What was its entry block becomes a block
// like any other, or nothing if a label stands before all code.
func (f *fragment) join(parent *function) {
	f.parent = parent
	f.called = !strings.Contains(f.name, ".cold")
	parent.frags = append(parent.frags, f)
	f.blocks[0].probe = f.probe
	if f.blocks[0].used {
		return
	}
	f.blocks = f.blocks[1:]
	for i := range f.labels {
		f.labels[i].block--
	}
	for i := range f.calls {
		f.calls[i].block--
	}
}

// parentOf returns the function that name was split from, or nil. A part of a
// part belongs to the whole.
func (p *parser) parentOf(name string) *function {
	m := fragmentName.FindStringSubmatch(name)
	if m == nil {
		return nil
	}
	parent := p.byName[m[1]]
	if parent == nil {
		return nil
	}
	if up := p.parentOf(parent.name); up != nil {
		return up
	}
	return parent
}

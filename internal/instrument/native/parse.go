package native

import (
	"bytes"
	"fmt"

	"github.com/cairnprof/cairn/internal/binary/machine"
)

// Unit is the structure of one assembly file: where its functions are and
// where their probes can go. Offsets are byte offsets into Src.
type Unit struct {
	Src      []byte
	Machine  Machine
	Kind     machine.Kind
	Source   string // operand of the first .file directive
	funcs    []*function
	secs     []*section
	taken    map[string]bool // local labels that something other than a branch refers to
	returns  map[string]bool // functions whose calls come back
	global   map[string]bool // symbols visible outside of the unit
	tables   []jumpTable     // compressed ones
	files    sourceFiles
	lineless []int // offsets after the .loc directives of code that has no line
	object   Object
	plain    bool            // compiled without optimisation
	weak     map[string]bool // functions that the linker may take from another object; of Mach-O
}

// SyntaxError describes input that cannot be instrumented, and its place.
type SyntaxError struct {
	Line   int
	Reason string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }

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
	sized     *fragment       // fragment of the last .size, until an unwind entry ends
	taken     map[string]bool // local labels that something other than a branch refers to
	arch      string          // operand of the last directive that chose an architecture
	dataLabel string          // the last label outside of code
	weak      map[string]bool // named as weak definitions, of Mach-O
	within    map[string]bool // symbols that do not begin a function, of Mach-O
	table     bool            // inside of a region of data, of Mach-O
	hint      int             // offset of a label that belongs to the next code, or -1: see bound
	app       bool            // inside inline assembly
	appBranch bool            // it names a local label
	line      int
	reader    Reader // nil for most machines
}

// ParseOptions say how the text was made.
type ParseOptions struct {
	Object Object // kind of object file
	// Plain reports that it was compiled without optimisation. Blocks end at calls then, which may throw, or never
	// return: so it is known of each line whether it ran. In optimised code these blocks would cost too much.
	Plain bool
}

// Parse reads a compiler's assembly output for a machine, on. It returns a *SyntaxError for
// text in another syntax or for another mode of the processor.
func (o ParseOptions) Parse(src []byte, kind machine.Kind, on Machine) (*Unit, error) {
	p := &parser{
		unit:   &Unit{Src: src, Machine: on, Kind: kind, object: o.Object, plain: o.Plain},
		hint:   -1,
		weak:   map[string]bool{},
		within: map[string]bool{},
		byKey:  map[string]*section{},
		isFunc: map[string]bool{},
		byName: map[string]*function{},
		taken:  map[string]bool{},
		global: map[string]bool{},
	}
	p.reader = p.unit.Machine.Reader()
	p.enter(".text", "", true)
	for pos := 0; pos < len(src); {
		next := lineEnd(src, pos)
		p.line++
		if err := p.statement(src[pos:next], pos, next); err != nil {
			return nil, err
		}
		pos = next
	}
	p.assignCold()
	p.unit.taken, p.unit.global, p.unit.weak = p.taken, p.global, p.weak
	p.unit.returns = p.returning()
	return p.unit, nil
}

// parseLine classifies a line of the text.
func (p *parser) parseLine(line []byte) statement {
	if p.reader != nil {
		return p.reader.Statement(line)
	}
	return p.unit.parseLine(line)
}

func (p *parser) statement(text []byte, pos, next int) error {
	s := p.parseLine(bytes.TrimRight(text, "\r\n"))
	if p.app && s.kind != lineNoApp {
		p.inlineAsm(text, pos, next)
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

// inlineAsm records the effect of a line of inline assembly on the code around it. Its section directives have
// none: compilers assume that the section is the same before and after.
func (p *parser) inlineAsm(text []byte, pos, next int) {
	if p.mention(p.unit.view(text)) {
		p.appBranch = true
	}
	if f := p.sec.cur; f != nil {
		f.note(pos, next, true)
		f.end = next
	}
}

// mention marks the local labels in text as taken and reports whether there are any.
func (p *parser) mention(text []byte) bool {
	found := false
	for {
		i := bytes.Index(text, []byte(".L"))
		if i < 0 {
			return found
		}
		n := wordEnd(text, i+2)
		if name := text[i:n]; isLeader(name) || bytes.HasPrefix(name, []byte(".Ltmp")) {
			p.taken[string(name)] = true
		}
		text = text[n:]
		found = true
	}
}

// placed records that the announced code or data has begun.
func (p *parser) placed() {
	p.sec.content = true
	p.sec.alignment, p.sec.preamble = -1, -1
}

func (p *parser) label(name []byte, pos, next int) {
	if !p.sec.code {
		p.dataLabel = string(name)
		return
	}
	if p.bound(name) {
		if p.hint < 0 {
			p.hint = pos
		}
		return
	}
	if isAlias(name) {
		return
	}
	if !isLocal(name) && (p.isFunc[string(name)] || p.unit.object == MachO && !p.within[string(name)]) {
		p.begin(string(name), next)
		return
	}
	f := p.sec.cur
	if f == nil || p.reader != nil && p.reader.Label(f, name, pos) {
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

// bound reports whether a label must stay with the code that follows it, so that probes are inserted before
// both: the label of a linker optimisation hint of Mach-O identifies its instruction, and that of an XRay sled
// the bytes that XRay overwrites.
func (p *parser) bound(name []byte) bool {
	if p.unit.object == MachO {
		return bytes.HasPrefix(name, []byte(".Lloh"))
	}
	sled := bytes.HasPrefix(name, []byte(".Lxray_sled_"))
	if f := p.sec.cur; f != nil && sled {
		f.sleds = true
	}
	return sled
}

// take returns the offset of the code at pos with the labels that must stay with it.
func (p *parser) take(pos int) int {
	if p.hint >= 0 {
		pos, p.hint = p.hint, -1
	}
	return pos
}

// begin opens the fragment of a function symbol.
func (p *parser) begin(name string, next int) {
	f := &fragment{
		name: name, arch: p.arch, sec: p.sec, label: next, probe: next, end: next, stub: -1, sizeLine: -1, behind: -1,
		blocks: []block{{}},
	}
	if p.sec.content && p.unit.object == ELF {
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
	if p.reader != nil {
		p.reader.Begin(f)
	}
	p.placed()
}

func (p *parser) instruction(s statement, pos, next int) {
	kind, target := p.unit.Machine.Classify(s.word, s.rest)
	f := p.sec.cur
	at := p.take(pos)
	if f == nil && kind == flowNop {
		p.announce(pos) // room for patching that must stay right before its function
		return
	}
	if f == nil {
		p.placed()
		return
	}
	if (kind == flowLanding || kind == flowSign || kind == flowNop) && !f.entered {
		f.probe, f.end = next, next
		p.placed()
		return
	}
	if kind == flowLanding && f.state == startBlock {
		f.pads = append(f.pads, pad{pos, 4})
		f.end = next
		p.placed()
		return
	}
	f.code(at, next)
	f.note(pos, next, false)
	f.insns++
	if p.reader != nil && p.reader.Instruction(p, f, &kind, s, pos, next) {
		p.placed()
		return
	}
	name := p.unit.Machine.Callee(target)
	known := name != "" // otherwise the target is computed, or not understood
	if kind == flowCall && (!known || isLocal(target)) {
		f.leave() // a retpoline calls a local label
	}
	if kind == flowNext || kind == flowCall || !known {
		p.mention(s.rest)
	}
	trap := p.unit.Machine.IsTrap(s.word)
	if !trap && kind != flowNop {
		f.compiled = true
	}
	f.transfer(kind, target, name, trap)
	if kind == flowCall && p.endsBlock(f, s, target) {
		f.state = startBlock
	}
	p.placed()
}

// endsBlock reports whether a call ends its block. In Mach-O, what follows a call may be a marker for the runtime
// of Objective-C, which must stay behind it; on Arm, calls may be conditional.
func (p *parser) endsBlock(f *fragment, s statement, target []byte) bool {
	return p.unit.plain && f.state == inBlock && p.unit.object == ELF && !isLocal(target) && (p.reader == nil || p.reader.Unconditional(s.word))
}

func (p *parser) directive(s statement, pos, next int) error {
	p.debugLine(s, next)
	if why := p.unit.Machine.Refuse(string(s.word), s.rest); why != "" {
		return &SyntaxError{p.line, why}
	}
	if p.unit.object == MachO && p.machODirective(s, next) || p.sectionDirective(s) ||
		p.reader != nil && p.reader.Directive(p, s, pos, next) {
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
		if f := p.sec.cur; f != nil {
			f.pads = append(f.pads, pad{pos, alignmentSize(word, s.rest)})
		}
	case ".size":
		p.size(unquote(operand(s.rest)), next)
	case ".cfi_startproc":
		p.sized = nil
		if f := p.sec.cur; f != nil && !f.entered {
			f.unwind = true
		}
	case ".cfi_window_save", ".cfi_negate_ra_state":
		if f := p.sec.cur; f != nil && !f.entered {
			f.probe, f.end = next, next // the unwind directive after the signing instruction
		}
	case ".arch", ".arch_extension":
		p.arch += "+" + string(operand(s.rest))
		if word == ".arch" {
			p.arch = string(operand(s.rest))
		}
	case ".cfi_endproc":
		// clang writes it after .size.
		if p.sized != nil && p.sized.sec == p.sec {
			p.sized.behind = next
		}
		p.sized = nil
	case ".file":
		if p.unit.Source == "" {
			p.unit.Source = quotedString(s.rest)
		}
	default:
		if emitsBytes(s.word) {
			p.data(s, pos, next)
		}
	}
	return nil
}

// announce records a directive about a symbol that follows.
func (p *parser) announce(pos int) {
	if p.sec.preamble < 0 {
		p.sec.preamble = pos
	}
}

// data handles bytes in a code section. They are code, such as the prefixes
// of a TLS sequence, unless they are a table of labels.
func (p *parser) data(s statement, pos, next int) {
	f := p.sec.cur
	if !p.sec.code {
		p.tableLine(s, pos, next)
	}
	at := p.take(pos)
	if f == nil || !p.sec.code || p.table {
		p.placed()
		return
	}
	f.pads = append(f.pads, pad{pos, dataSize(s)})
	if isLocal(operand(s.rest)) {
		f.state, f.end = unreached, next
	} else {
		f.code(at, next)
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
		f.sizeLine, f.behind = next, next
		p.sized = f
	}
	if f.sec.cur == f {
		f.sec.cur = nil
	}
}

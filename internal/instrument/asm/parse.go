package asm

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
	Funcs    []*Function
	secs     []*Section
	Taken    map[string]bool // local labels that something other than a branch refers to
	Returns  map[string]bool // functions whose calls come back
	Global   map[string]bool // symbols visible outside of the unit
	Tables   []JumpTable     // compressed ones
	Files    sourceFiles
	Lineless []int // offsets after the .loc directives of code that has no line
	Object   Object
	Plain    bool            // compiled without optimisation
	Weak     map[string]bool // functions that the linker may take from another object; of Mach-O
}

// SyntaxError describes input that cannot be instrumented, and its place.
type SyntaxError struct {
	Line   int
	Reason string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }

// Parser is the state of one pass over the text.
type Parser struct {
	Unit     *Unit
	ByKey    map[string]*Section
	Sec      *Section
	Prev     *Section
	stack    []*Section
	counts   bool   // see ParseOptions
	handlers bool   // see ParseOptions
	reader   Reader // nil for most machines
	symbols
	place
}

// symbols is what the text has said of symbols.
type symbols struct {
	isFunc map[string]bool // named by .type as functions
	global map[string]bool // visible outside the unit
	weak   map[string]bool // named as weak definitions, of Mach-O
	within map[string]bool // symbols that do not begin a function, of Mach-O
	taken  map[string]bool // local labels that something other than a branch refers to
	byName map[string]*Function
}

// place is what the text before a line means for the line.
type place struct {
	line      int
	sized     *Fragment // fragment of the last .size, until an unwind entry ends
	arch      string    // operand of the last directive that chose an architecture
	dataLabel string    // the last label outside of code
	table     bool      // inside of a region of data, of Mach-O
	defined   string    // operand of the last .def, of COFF
	hint      int       // offset of a label that belongs to the next code, or -1: see bound
	app       bool      // inside inline assembly
	appBranch bool      // it names a local label
}

// ParseOptions say how the text was made.
type ParseOptions struct {
	Object Object // kind of object file
	// Plain reports that it was compiled without optimisation. Blocks end at calls then, which may throw, or never
	// return: so it is known of each line whether it ran. In optimised code these blocks would cost too much.
	Plain bool
	// Counts ends blocks at calls that may return more often than they are made, such as that of setjmp, so that it is
	// known how often the code after them ran.
	Counts bool
	// Handlers makes the handlers of exceptions of MSVC's unwinder, which have names of their own, parts of their functions. In modes
	// that measure time they are functions: they are called, and return, in the midst of calls.
	Handlers bool
}

// Parse reads a compiler's assembly output for a machine, on. It returns a *SyntaxError for
// text in another syntax or for another mode of the processor.
func (o ParseOptions) Parse(src []byte, kind machine.Kind, on Machine) (*Unit, error) {
	p := &Parser{
		Unit:     &Unit{Src: src, Machine: on, Kind: kind, Object: o.Object, Plain: o.Plain},
		ByKey:    map[string]*Section{},
		counts:   o.Counts,
		handlers: o.Handlers,
		symbols: symbols{
			isFunc: map[string]bool{}, global: map[string]bool{}, weak: map[string]bool{}, within: map[string]bool{},
			taken: map[string]bool{}, byName: map[string]*Function{},
		},
		place: place{hint: -1},
	}
	p.reader = p.Unit.Machine.Reader()
	p.Enter(".text", "", true)
	for pos := 0; pos < len(src); {
		next := LineEnd(src, pos)
		p.line++
		if err := p.statement(src[pos:next], pos, next); err != nil {
			return nil, err
		}
		pos = next
	}
	p.assignCold()
	p.Unit.Taken, p.Unit.Global, p.Unit.Weak = p.taken, p.global, p.weak
	p.Unit.Returns = p.returning()
	return p.Unit, nil
}

// parseLine classifies a line of the text.
func (p *Parser) parseLine(line []byte) Statement {
	if p.reader != nil {
		return p.reader.Statement(line)
	}
	return p.Unit.ParseLine(line)
}

func (p *Parser) statement(text []byte, pos, next int) error {
	s := p.parseLine(bytes.TrimRight(text, "\r\n"))
	if p.app && s.Kind != LineNoApp {
		p.inlineAsm(text, pos, next)
		return nil
	}
	switch s.Kind {
	case LineLabel:
		p.label(s.Word, pos, next)
	case LineDirective:
		if EmitsBytes(s.Word) && !p.Sec.debug() { // nothing jumps to an address in debug information
			p.Mention(s.Rest)
		}
		return p.directive(s, pos, next)
	case LineInsn:
		p.instruction(s, pos, next)
	case LineApp:
		p.app, p.appBranch = true, false
		if f := p.Sec.Cur; f != nil {
			f.HasAsm = true
			f.Code(pos, next)
			f.leave()
		}
		p.Placed()
	case LineNoApp:
		p.app = false
		if f := p.Sec.Cur; f != nil {
			f.End = next
			if p.appBranch {
				f.State = StartBlock
			}
		}
	}
	return nil
}

// inlineAsm records the effect of a line of inline assembly on the code around it. Its section directives have
// none: compilers assume that the section is the same before and after.
func (p *Parser) inlineAsm(text []byte, pos, next int) {
	if p.Mention(p.Unit.View(text)) {
		p.appBranch = true
	}
	if f := p.Sec.Cur; f != nil {
		f.Note(pos, next, true)
		f.End = next
	}
}

// Mention marks the local labels in text as taken and reports whether there are any.
func (p *Parser) Mention(text []byte) bool {
	found := false
	for {
		i := bytes.Index(text, []byte(".L"))
		if i < 0 {
			return found
		}
		n := WordEnd(text, i+2)
		if name := text[i:n]; IsLeader(name) || bytes.HasPrefix(name, []byte(".Ltmp")) {
			p.taken[string(name)] = true
		}
		text = text[n:]
		found = true
	}
}

// Placed records that the announced code or data has begun.
func (p *Parser) Placed() {
	p.Sec.content = true
	p.Sec.alignment, p.Sec.preamble = -1, -1
}

func (p *Parser) label(name []byte, pos, next int) {
	if !p.Sec.Code {
		p.dataLabel = string(name)
		return
	}
	if p.bound(name) {
		if p.hint < 0 {
			p.hint = pos
		}
		return
	}
	if IsAlias(name) {
		return
	}
	if !IsLocal(name) && (p.isFunc[string(name)] || p.Unit.Object == MachO && !p.within[string(name)]) {
		p.begin(string(name), next)
		return
	}
	f := p.Sec.Cur
	if f == nil || p.reader != nil && p.reader.Label(f, name, pos) {
		return
	}
	if IsLeader(name) {
		f.Enter(pos)
		f.State = StartBlock
	}
	if f.State == StartBlock {
		f.Labels = append(f.Labels, BlockLabel{name, len(f.Blocks)})
	}
}

// bound reports whether a label must stay with the code that follows it, so that probes are inserted before
// both: the label of a linker optimisation hint of Mach-O identifies its instruction, and that of an XRay sled
// the bytes that XRay overwrites.
func (p *Parser) bound(name []byte) bool {
	if p.Unit.Object == MachO {
		return bytes.HasPrefix(name, []byte(".Lloh"))
	}
	sled := bytes.HasPrefix(name, []byte(".Lxray_sled_"))
	if f := p.Sec.Cur; f != nil && sled {
		f.Sleds = true
	}
	return sled
}

// begins returns the offset of the code at pos with the labels that must stay with it.
func (p *Parser) begins(pos int) int {
	if p.hint >= 0 {
		pos, p.hint = p.hint, -1
	}
	return pos
}

// begin opens the fragment of a function symbol.
func (p *Parser) begin(name string, next int) {
	f := &Fragment{
		Name: name, Arch: p.arch, Sec: p.Sec,
		Marks:    Marks{Label: next, Probe: next, End: next, Stub: -1, SizeLine: -1, Behind: -1},
		Contents: Contents{Blocks: []Block{{}}},
	}
	if p.Sec.content && p.Unit.Object != MachO {
		f.Stub = p.Sec.alignment
		if f.Stub < 0 {
			f.Stub = p.Sec.preamble
		}
	}
	fn := &Function{Name: name, Frags: []*Fragment{f}}
	f.Parent = fn
	p.Unit.Funcs = append(p.Unit.Funcs, fn)
	p.byName[name] = fn
	p.Sec.Cur = f
	if p.reader != nil {
		p.reader.Begin(f)
	}
	p.Placed()
}

func (p *Parser) instruction(s Statement, pos, next int) {
	kind, target := p.Unit.Machine.Classify(s.Word, s.Rest)
	f := p.Sec.Cur
	at := p.begins(pos)
	if f == nil && kind == FlowNop {
		p.Announce(pos) // room for patching that must stay right before its function
		return
	}
	if f == nil {
		p.Placed()
		return
	}
	if (kind == FlowLanding || kind == FlowSign || kind == FlowNop) && !f.entered {
		f.Probe, f.End = next, next
		p.Placed()
		return
	}
	if kind == FlowLanding && f.State == StartBlock {
		f.Pads = append(f.Pads, Pad{pos, 4})
		f.End = next
		p.Placed()
		return
	}
	again := p.counts && kind == FlowCall && returnsTwice[p.Unit.Machine.Callee(target)]
	if again && f.State == inBlock {
		f.State = StartBlock // how often it is called must be known apart from how often it returns
	}
	f.Code(at, next)
	f.Note(pos, next, false)
	f.Insns++
	if p.reader != nil && p.reader.Instruction(p, &kind, s, pos, next) {
		p.Placed()
		return
	}
	name := p.Unit.Machine.Callee(target)
	known := name != "" // otherwise the target is computed, or not understood
	if kind == FlowCall && (!known || IsLocal(target)) {
		f.leave() // a retpoline calls a local label
	}
	if kind == FlowNext || kind == FlowCall || !known {
		p.Mention(s.Rest)
	}
	trap := p.Unit.Machine.IsTrap(s.Word)
	if !trap && kind != FlowNop {
		f.Compiled = true
	}
	f.Transfer(kind, target, name, trap)
	if kind == FlowCall && p.endsBlock(f, s, target) {
		f.State = StartBlock
	}
	if again && f.State != Unreached {
		f.Blocks[len(f.Blocks)-1].twice = true
		f.State, f.again = StartBlock, true
	}
	p.Placed()
}

// endsBlock reports whether a call ends its block. In Mach-O, what follows a call may be a marker for the runtime
// of Objective-C, which must stay behind it; on Arm, calls may be conditional.
func (p *Parser) endsBlock(f *Fragment, s Statement, target []byte) bool {
	return p.Unit.Plain && f.State == inBlock && p.Unit.Object != MachO && !IsLocal(target) && (p.reader == nil || p.reader.Unconditional(s.Word))
}

func (p *Parser) directive(s Statement, pos, next int) error {
	p.debugLine(s, next)
	if why := p.Unit.Machine.Refuse(string(s.Word), s.Rest); why != "" {
		return &SyntaxError{p.line, why}
	}
	if p.objectDirective(s, pos, next) || p.SectionDirective(s) ||
		p.reader != nil && p.reader.Directive(p, s, pos, next) {
		return nil
	}
	switch word := string(s.Word); word {
	case ".type":
		p.typeDirective(s.Rest)
		p.Announce(pos)
	case ".globl", ".global", ".weak":
		p.global[string(Unquote(Operand(s.Rest)))] = true
		p.Announce(pos)
	case ".hidden", ".protected", ".internal", ".local":
		p.Announce(pos)
	case ".p2align", ".align", ".balign":
		if p.Sec.alignment < 0 {
			p.Sec.alignment = pos
		}
		if f := p.Sec.Cur; f != nil {
			f.Pads = append(f.Pads, Pad{pos, AlignmentSize(word, s.Rest)})
		}
	case ".size":
		p.size(Unquote(Operand(s.Rest)), next)
	case ".cfi_startproc":
		p.sized = nil
		if f := p.Sec.Cur; f != nil && !f.entered {
			f.Unwind = true
		}
	case ".cfi_window_save", ".cfi_negate_ra_state":
		if f := p.Sec.Cur; f != nil && !f.entered {
			f.Probe, f.End = next, next // the unwind directive after the signing instruction
		}
	case ".arch", ".arch_extension":
		p.arch += "+" + string(Operand(s.Rest))
		if word == ".arch" {
			p.arch = string(Operand(s.Rest))
		}
	case ".cfi_endproc":
		// clang writes it after .size.
		if p.sized != nil && p.sized.Sec == p.Sec {
			p.sized.Behind = next
		}
		p.sized = nil
	case ".file":
		if p.Unit.Source == "" {
			p.Unit.Source = quotedString(s.Rest)
		}
	default:
		if EmitsBytes(s.Word) {
			p.data(s, pos, next)
		}
	}
	return nil
}

// objectDirective handles directives that only an object format other than ELF has, and reports whether s was one.
func (p *Parser) objectDirective(s Statement, pos, next int) bool {
	switch p.Unit.Object {
	case MachO:
		return p.machODirective(s, next)
	case COFF:
		return p.coffDirective(s, pos, next)
	}
	return false
}

// Announce records a directive about a symbol that follows.
func (p *Parser) Announce(pos int) {
	if p.Sec.preamble < 0 {
		p.Sec.preamble = pos
	}
}

// data handles bytes in a code section. They are code, such as the prefixes
// of a TLS sequence, unless they are a table of labels.
func (p *Parser) data(s Statement, pos, next int) {
	f := p.Sec.Cur
	if !p.Sec.Code {
		p.tableLine(s, pos, next)
	}
	at := p.begins(pos)
	if f == nil || !p.Sec.Code || p.table {
		p.Placed()
		return
	}
	f.Pads = append(f.Pads, Pad{pos, DataSize(s)})
	if IsLocal(Operand(s.Rest)) {
		f.State, f.End = Unreached, next
	} else {
		f.Code(at, next)
	}
	p.Placed()
}

func (p *Parser) typeDirective(rest []byte) {
	ops := SplitOperands(rest)
	if len(ops) < 2 {
		return
	}
	switch string(ops[1]) {
	case "@function", "%function", "STT_FUNC":
		p.isFunc[string(Unquote(ops[0]))] = true
	}
}

// size closes the fragment that a .size directive names.
func (p *Parser) size(name []byte, next int) {
	fn := p.byName[string(name)]
	if fn == nil {
		return
	}
	f := fn.Main()
	if p.Sec == f.Sec {
		f.SizeLine, f.Behind = next, next
		p.sized = f
	}
	if f.Sec.Cur == f {
		f.Sec.Cur = nil
	}
}

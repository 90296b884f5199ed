package split

import (
	"slices"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/probe"
)

// FuncInfo identifies a function to the profile that Split asks.
type FuncInfo struct {
	Name      string
	Source    string // as prof.Func.File
	Signature uint32 // as prof.Func.Signature
	Blocks    int    // as prof.Func.NumBlocks in a mode with blocks
}

// ColdBlocks returns which blocks of a function never ran, in the map's numbering, 0 being the entry. It
// returns false if it does not know.
type ColdBlocks func(FuncInfo) (cold []bool, ok bool)

// Options control Split.
type Options struct {
	Sources  []string                     // as Options.Sources
	SourceOf func(function string) string // as Options.SourceOf
	Counted  bool                         // the profile is of mode edge, whose blocks are others
	// Flow returns how often the blocks and edges of a function ran, nil if that is not known. The hot parts of
	// functions whose flow is known get another order. It may be nil.
	Flow func(FuncInfo) *Flow
	// Executed is what all of the program executed, as the sum of the counters of its blocks and edges. Blocks are copied to
	// where control jumps to them if this saves more than a share of it. With 0, as many are copied as can be, no loop is fitted into
	// lines, and functions whose branches go either way are ordered too.
	Executed uint64
	// Unaligned says that the compiler was told to align no loops: none is padded.
	Unaligned bool
	// Inside reports whether a function is in the program itself. Calls of others that ran often take the address that the dynamic
	// linker found. With nil, all calls stay as they are.
	Inside func(function string) bool
	// MinInsns leaves runs of neighbouring cold blocks with fewer instructions in place. The jump to them would
	// be as long as the code moved.
	MinInsns int
	// Whole moves functions that never ran, too, where the compiler gave
	// them sections of their own (-ffunction-sections).
	Whole bool
}

// DefaultMinInsns is the Options.MinInsns for builds: two instructions are
// about as long as the jumps that moving them can add.
const DefaultMinInsns = 3

// Result reports what Split did.
type Result struct {
	Source  string
	Split   []Func
	Moved   []string        // functions that never ran, moved whole
	Ordered []string        // functions whose blocks have another order
	Refused []probe.Skipped // functions with cold blocks that were left as they are
	Unknown int             // functions that the profile does not know
	Hot     int             // functions whose blocks are best where they are
	Copied  int             // blocks that were copied to where control jumped to them
	Direct  int             // calls of other modules without a stub
}

// Func is a function that was split.
type Func struct {
	Name   string
	Cold   string // symbol of the cold part
	Blocks int    // in the piece of code that was split
	Moved  int    // of these, moved to the cold part
}

// ColdSection is the prefix of the names of the sections that code is moved to. Linkers treat them as unlikely code;
// compilers do not use these names, so an order of functions does not select them by mistake.
const ColdSection = ".text.unlikely.cairn."

// minOrdered is the number of blocks that have more than one order: the first stays the first.
const minOrdered = 3

// splitter is the state of one Split.
type splitter struct {
	unit    *asm.Unit
	opts    Options
	text    *splitText
	plans   []*splitPlan // ascending by line
	result  Result
	labels  int               // last label handed out
	symbols map[string]bool   // names defined in the unit
	renamed map[string]string // sections of functions that are moved whole

	prepared map[*splitPlan]*prepared
	replaced map[int][]byte    // lines with new text
	twins    map[string]string // labels that debug information uses in the place of others
	tail     []byte            // sections to append
}

// Split moves blocks that never ran out of functions that did, into sections ColdSection and the function's
// name, and returns the new text. It leaves a function as it is if the function, or a reference to it, contains
// anything that is not known to be safe.
func Split(u *asm.Unit, cold ColdBlocks, opts Options) ([]byte, Result) {
	s := &splitter{unit: u, opts: opts, symbols: map[string]bool{}, renamed: map[string]string{}, replaced: map[int][]byte{}}
	named := probe.Options{Origin: probe.Origin{Sources: opts.Sources, SourceOf: opts.SourceOf}}
	s.result.Source = named.UnitSource(u)
	wanted, ran := map[*asm.Function]*behaviour{}, map[*asm.Function]*Flow{} // ran: of functions whose calls may skip stubs
	direct := opts.Inside != nil && u.Kind == machine.X86_64
	for _, fn := range u.Funcs {
		if named.Reason(fn, named.SourceFor(fn.Name, s.result.Source)) != "" {
			continue
		}
		b := s.behaviour(fn, cold, named.SourceFor(fn.Name, s.result.Source))
		if direct && b != nil && b.ran != nil {
			ran[fn] = b.ran
		}
		switch {
		case b == nil:
			s.result.Unknown++
		case !b.cold[0] && b.flow == nil && !slices.Contains(b.cold[:len(fn.Main().Blocks)], true), b.cold[0] && !opts.Whole:
			s.result.Hot++
		default:
			wanted[fn] = b
		}
	}
	if len(wanted) == 0 && len(ran) == 0 {
		return u.Src, s.result
	}
	s.text = scanText(u.Src, dialects[u.Kind])
	for _, name := range s.text.symbols {
		s.symbols[name] = true
	}
	for _, fn := range u.Funcs {
		if b := wanted[fn]; b != nil {
			s.consider(fn, b)
		}
		if flow := ran[fn]; flow != nil {
			s.callDirectly(fn, flow)
		}
	}
	s.checkMentions()
	s.plans = slices.DeleteFunc(s.plans, func(p *splitPlan) bool {
		if p.refused != "" {
			s.result.Refused = append(s.result.Refused, probe.Skipped{Name: p.fn.Name, Reason: p.refused})
		}
		return p.refused != ""
	})
	if len(s.plans) == 0 && len(s.replaced) == 0 && len(s.renamed) == 0 {
		return u.Src, s.result
	}
	return s.render(), s.result
}

// behaviour is what the profile says of the blocks of a function.
type behaviour struct {
	cold []bool
	ran  *Flow // nil: not known
	flow *Flow // that, if the blocks have more than one order
}

// behaviour asks the profile about a function, and returns nil if it does not know it.
func (s *splitter) behaviour(fn *asm.Function, cold ColdBlocks, source string) *behaviour {
	probed := probe.WithEdges // as it was when it had probes
	if s.opts.Counted {
		probed = probe.WithCounters
	}
	was := probed(fn, s.unit)
	info := FuncInfo{Name: fn.Name, Source: source, Signature: was.Signature()}
	for _, f := range was.Frags {
		info.Blocks += len(f.Blocks)
	}
	blocks, ok := cold(info)
	if !ok || len(blocks) != info.Blocks {
		return nil
	}
	b := &behaviour{cold: probe.WithoutEdges(was, blocks)}
	if s.opts.Flow == nil || blocks[0] {
		return b
	}
	if flow := s.opts.Flow(info); flow != nil && flow.fits(info.Blocks) {
		b.ran = flow.withoutWays(was)
		if len(fn.Main().Blocks) >= minOrdered {
			b.flow = b.ran
		}
	}
	return b
}

// consider plans the split of fn, or records why it is left alone.
func (s *splitter) consider(fn *asm.Function, b *behaviour) {
	if b.cold[0] {
		s.moveWhole(fn)
		return
	}
	p := &splitPlan{fn: fn, unit: s.unit, frag: fn.Main(), text: s.text}
	p.analyse()
	if p.refused == "" {
		p.choose(b.cold, s.opts.MinInsns)
		p.useFlow(b.flow)
		p.packed = s.opts.Unaligned || !p.isAligned()
		p.arrange(s.opts.Executed)
		if dialects[s.unit.Kind].near && (p.moved > 0 || p.ordered) {
			p.checkReach()
		}
	}
	switch {
	case p.refused != "":
		s.result.Refused = append(s.result.Refused, probe.Skipped{Name: fn.Name, Reason: p.refused})
	case p.moved == 0 && !p.ordered:
		s.result.Hot++
		for i, text := range p.realigned {
			s.replaced[i] = []byte(text)
		}
	default:
		s.plans = append(s.plans, p)
	}
}

// coldName returns the symbol for the cold part of name: gcc's, unless gcc has used it.
func (s *splitter) coldName(name string) string {
	cold := name + ".cold"
	if s.symbols[cold] {
		cold += ".cairn"
	}
	return cold
}

// moveWhole renames the section of a function that never ran, if no other
// shares it.
func (s *splitter) moveWhole(fn *asm.Function) {
	sec := s.text.sectionOf(fn.Main())
	if sec == nil || sec.name != ".text."+fn.Name || sec.flags != "ax" && sec.flags != "axG" || !plainName(fn.Name) {
		s.result.Hot++
		return
	}
	for _, other := range s.unit.Funcs {
		if other != fn && other.Main().Sec.Name == sec.name {
			s.result.Hot++
			return
		}
	}
	s.renamed[sec.name] = ColdSection + fn.Name
	s.unalign(fn)
	s.result.Moved = append(s.result.Moved, fn.Name)
}

// unalign drops the alignment of loops of a function that never ran: padding makes only code faster that runs. The function
// itself stays aligned, as programs mark addresses in bits that are then 0; so do data in the code and space for patches.
func (s *splitter) unalign(fn *asm.Function) {
	f, t := fn.Main(), s.text
	first, last := t.lineAt(f.Label), len(t.lines)-1
	if f.SizeLine < len(t.src) {
		last = t.lineAt(f.SizeLine)
	}
	var lines []int
	for i := max(first, 1); i <= last; i++ {
		l := &t.lines[i]
		if l.sec != t.lines[first-1].sec || l.app > 0 || l.kind != asm.LineDirective {
			continue
		}
		const patched = 4 // bytes
		switch s := t.statement(i); {
		case isAlign(string(s.Word)):
			if asm.AlignmentSize(string(s.Word), s.Rest) > patched {
				lines = append(lines, i)
			}
		case asm.EmitsBytes(s.Word):
			return
		}
	}
	for _, i := range lines {
		s.replaced[i] = []byte{}
	}
}

// plainName reports whether a name needs no quotes.
func plainName(name string) bool {
	for i := range len(name) {
		if !asm.SymbolByte[name[i]] {
			return false
		}
	}
	return name != ""
}

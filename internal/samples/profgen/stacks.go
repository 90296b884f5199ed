package profgen

import (
	"slices"
	"strings"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
	"github.com/cairnprof/cairn/internal/samples/tailcall"
	"github.com/cairnprof/cairn/internal/samples/unwind"
)

// InferredSuffix is the suffix of functions whose frames were erased by tail calls and
// restored.
const InferredSuffix = " [inferred]"

// InlinedSuffix is the suffix of inlined functions with separate frames.
const InlinedSuffix = " [inlined]"

// KernelSuffix is the suffix of functions of the operating system.
const KernelSuffix = " [kernel]"

// outsideName is the function of code outside of the binaries.
const outsideName = "[outside]"

// missingName is in place of frames that are missing.
const missingName = "[frames missing]"

// StackDetail selects the frames of stacks.
type StackDetail uint8

// The levels of detail.
const (
	Functions StackDetail = iota // inlined functions are part of the function that contains them
	Inlined                      // inlined functions have frames
	Addresses                    // frames are instructions, described by Stacks.Places
)

// StackOptions specify how stacks are named.
type StackOptions struct {
	Inferrer tailcall.Inferrer // nil if stacks are used as they are
	Detail   StackDetail
	Source   *Source // may be nil: then no inlined functions are known
}

// Place is the location of an instruction.
type Place struct {
	Binary *machinecode.Binary // nil outside of all binaries
	Addr   uint64              // link-time address
	// Frames are the function and inlined functions, outermost first. The first has the name
	// of its symbol, with InferredSuffix if the frame was restored.
	Frames []SourceFrame
}

// Stacks are stacks of functions that were sampled.
type Stacks struct {
	Funcs  calllog.Funcs
	Places map[calllog.FuncID]Place // for Addresses only
	// ByRules has the stacks by the rules that restored frames: ascending, separated by
	// commas, "" without restored frames. Total and Self are samples, and there are no calls.
	ByRules  map[string]*calltrie.Trie
	Samples  uint64
	Inferred uint64 // those of Samples whose stacks have restored frames
	// Notes are sentences that belong to each output: what its numbers lack.
	Notes []string
}

// SampledStacks names the moments of a result, and restores missing frames.
func SampledStacks(r *unwind.Result, code *machinecode.Set, opt StackOptions) *Stacks {
	b := newStackBuilder(code, opt)
	for i := range r.Moments {
		b.add(&r.Moments[i])
	}
	return b.out
}

// Merged returns all stacks.
func (s *Stacks) Merged() *calltrie.Trie {
	t := calltrie.New()
	for _, rules := range s.Rules() {
		t.Merge(calltrie.Root, s.ByRules[rules], nil)
	}
	return t
}

// Rules returns the keys of ByRules, ascending.
func (s *Stacks) Rules() []string {
	var out []string
	for rules := range s.ByRules {
		out = append(out, rules)
	}
	slices.Sort(out)
	return out
}

type stackBuilder struct {
	code     *machinecode.Set
	opt      StackOptions
	restorer *tailcall.Restorer // nil if stacks are used as they are
	ids      map[sampledFunction]calllog.FuncID
	chains   map[chainKey][]calllog.FuncID
	entries  map[*machinecode.Binary][]uint64 // of its functions
	out      *Stacks

	frames []tailcall.Frame // of the current moment, with the code that ran
	rules  []string
}

func newStackBuilder(code *machinecode.Set, opt StackOptions) *stackBuilder {
	b := &stackBuilder{
		code: code, opt: opt, ids: map[sampledFunction]calllog.FuncID{}, chains: map[chainKey][]calllog.FuncID{},
		entries: map[*machinecode.Binary][]uint64{},
		out:     &Stacks{Funcs: calllog.Funcs{}, Places: map[calllog.FuncID]Place{}, ByRules: map[string]*calltrie.Trie{}},
	}
	if opt.Inferrer != nil {
		b.restorer = tailcall.NewRestorer(code, opt.Inferrer)
	}
	return b
}

// sampledFunction is a function on stacks. function is -1 for code outside of functions, and
// binary is nil for code outside of the binaries.
type sampledFunction struct {
	binary   *machinecode.Binary
	function int
	inferred bool
	missing  bool
	inlined  string // the inlined function, not the one that contains it
	kernel   string // the function of the kernel, outside of the binaries
	at       ref    // of Addresses
}

// chainKey is an instruction on a stack.
type chainKey struct {
	at       ref
	inferred bool
}

// read sets frames to those of a moment.
func (b *stackBuilder) read(m *unwind.Moment) {
	b.frames = b.frames[:0]
	// Other binaries split a stack: their callees are unknown. So do missing frames.
	start := 0
	for i, r := range m.Frames {
		if r == machinecode.External || r == machinecode.Missing {
			b.part(m, start, i, r)
			start = i + 1
		}
	}
	b.part(m, start, len(m.Frames), m.Leaf)
	if n := len(b.frames); m.Kernel != nil && !m.Kernel.Outside && n > 0 && b.frames[n-1].At == machinecode.External {
		b.frames = b.frames[:n-1] // the kernel is what is outside
	}
}

// kernelNames returns the functions of the kernel of a moment, outermost first.
func kernelNames(m *unwind.Moment) []string {
	if m.Kernel == nil {
		return nil
	}
	return m.Kernel.Names
}

func (b *stackBuilder) add(m *unwind.Moment) {
	b.read(m)
	b.rules = b.rules[:0]
	for _, f := range b.frames {
		if f.Rule != "" && !slices.Contains(b.rules, f.Rule) {
			b.rules = append(b.rules, f.Rule)
		}
	}
	slices.Sort(b.rules)
	key := strings.Join(b.rules, ",")
	trie := b.out.ByRules[key]
	if trie == nil {
		trie = calltrie.New()
		b.out.ByRules[key] = trie
	}
	node := calltrie.Root
	for _, f := range b.frames {
		for _, id := range b.chain(chainKey{f.At, f.Rule != ""}) {
			node = trie.Child(node, id)
			trie.Node(node).Total += m.Count
		}
	}
	for _, name := range kernelNames(m) {
		node = trie.Child(node, b.number(sampledFunction{function: -1, kernel: name}))
		trie.Node(node).Total += m.Count
	}
	trie.Node(node).Self += m.Count
	b.out.Samples += m.Count
	if key != "" {
		b.out.Inferred += m.Count
	}
}

// part adds the frames [start, end) of a moment, whose innermost function is at leaf.
func (b *stackBuilder) part(m *unwind.Moment, start, end int, leaf machinecode.Ref) {
	outside := leaf == machinecode.External || leaf == machinecode.Missing || b.inStub(leaf)
	last := tailcall.Frame{At: leaf}
	if outside && end > start {
		// For the binaries, the code that ran is the function that called the other binary.
		end--
		last.At = m.Frames[end]
		if class := b.code.Class(last.At); class >= controlflow.Jump && class <= controlflow.Conditional {
			last.Rule = tailcall.RuleWindow
		}
	}
	if !outside || last.At != leaf {
		c := unwind.Context{Frames: m.Frames[start:end]}
		if m.Known != nil {
			c.Known = m.Known[start:end]
		}
		b.frames = append(b.frames, b.restore(&c, last.At)...)
		b.frames = append(b.frames, last)
	}
	if outside {
		b.frames = append(b.frames, tailcall.Frame{At: leaf})
	}
}

// inStub reports whether an instruction is in a stub through which another module is called.
func (b *stackBuilder) inStub(r ref) bool {
	in := b.code.Binary(r)
	return in != nil && in.InStub(b.code.Address(r))
}

func (b *stackBuilder) restore(c *unwind.Context, leaf machinecode.Ref) []tailcall.Frame {
	if b.restorer != nil {
		return b.restorer.Restore(c, leaf)
	}
	out := make([]tailcall.Frame, len(c.Frames))
	for i, r := range c.Frames {
		out[i].At = r
	}
	return out
}

// chain returns the numbers of the functions on a stack for an instruction, outermost first.
func (b *stackBuilder) chain(at chainKey) []calllog.FuncID {
	ids, ok := b.chains[at]
	if ok {
		return ids
	}
	key := b.key(at.at)
	key.inferred = at.inferred
	switch b.opt.Detail {
	case Addresses:
		if key.binary != nil {
			key.at = at.at
		}
		ids = append(ids, b.number(key))
	case Inlined:
		ids = append(ids, b.number(key))
		for _, f := range b.inlined(at.at) {
			key.inlined = f.Func
			ids = append(ids, b.number(key))
		}
	default:
		ids = append(ids, b.number(key))
	}
	b.chains[at] = ids
	return ids
}

// key returns the function at an instruction.
func (b *stackBuilder) key(at ref) sampledFunction {
	key := sampledFunction{binary: b.code.Binary(at), function: -1, missing: at == machinecode.Missing}
	if key.binary != nil {
		if r := key.binary.RangeAt(b.code.Address(at)); r != nil {
			key.function = r.Function
		}
	}
	return key
}

// function returns the number of the function at an instruction.
func (b *stackBuilder) function(at ref) calllog.FuncID { return b.number(b.key(at)) }

// inlined returns the functions inlined at an instruction, outermost first.
func (b *stackBuilder) inlined(r ref) []SourceFrame {
	if b.opt.Source == nil || !r.IsInstruction() {
		return nil
	}
	frames := b.opt.Source.Frames(r)
	return frames[min(1, len(frames)):]
}

// number returns the number of a function.
func (b *stackBuilder) number(key sampledFunction) calllog.FuncID {
	id, ok := b.ids[key]
	if !ok {
		object := uint8(slices.Index(b.code.Binaries(), key.binary)) // 255 is outside
		id = calllog.MakeFuncID(object, uint32(len(b.ids)+1))
		b.ids[key] = id
		b.out.Funcs[id] = b.describe(key)
		if b.opt.Detail == Addresses {
			b.out.Places[id] = b.place(key, b.out.Funcs[id].Name)
		}
	}
	return id
}

func (b *stackBuilder) describe(f sampledFunction) calllog.Func {
	if f.missing {
		return calllog.Func{Name: missingName}
	}
	if f.kernel == unwind.KernelName {
		return calllog.Func{Name: unwind.KernelName}
	}
	if f.kernel != "" {
		return calllog.Func{Name: f.kernel + KernelSuffix}
	}
	if f.binary == nil {
		return calllog.Func{Name: outsideName}
	}
	out := calllog.Func{Name: "[" + f.binary.Name + "]", Object: f.binary.Name}
	if f.function >= 0 {
		out.Name, out.Addr = f.binary.Functions()[f.function].Name, b.entry(f.binary, f.function)
	}
	if f.inlined != "" {
		out.Name, out.Addr = f.inlined+InlinedSuffix, 0
	}
	if f.inferred {
		out.Name += InferredSuffix
	}
	return out
}

// place returns the location of an instruction, whose function has a name.
func (b *stackBuilder) place(f sampledFunction, name string) Place {
	p := Place{Binary: f.binary, Frames: []SourceFrame{{Func: name}}}
	if f.binary == nil {
		return p
	}
	p.Addr = b.code.Address(f.at)
	if b.opt.Source == nil {
		return p
	}
	if frames := b.opt.Source.Frames(f.at); len(frames) > 0 {
		p.Frames = frames
		p.Frames[0].Func = name
	}
	return p
}

// entry returns the address of a function: its entry, or else its first address.
func (b *stackBuilder) entry(in *machinecode.Binary, function int) uint64 {
	at := b.entries[in]
	if at == nil {
		at = make([]uint64, len(in.Functions()))
		for _, entry := range []bool{true, false} {
			for _, r := range in.Ranges() {
				if at[r.Function] == 0 && (r.Entry || !entry) {
					at[r.Function] = r.Lo
				}
			}
		}
		b.entries[in] = at
	}
	return at[function]
}

package coverage

import (
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/profile/sourcefunc"
	"github.com/cairnprof/cairn/prof"
)

// State is the known coverage of a source line.
type State uint8

// The states, in ascending order of evidence.
const (
	// Missed lines did not run.
	Missed State = iota
	// Unknown lines have no evidence: the code that the optimiser kept of them did not run,
	// but they may have run in other code that knew their result, or share their last
	// instructions with another line.
	Unknown
	// Ran lines ran.
	Ran
)

// Code is the machine code of a module, with its debug information.
type Code interface {
	// Machine is the machine of the code.
	Machine() machine.Kind
	// Bytes returns the code of [lo, hi), nil if it is not known.
	Bytes(lo, hi uint64) []byte
	// Frames returns the function that contains the instruction at addr and the functions
	// inlined there, outermost first; nil if that is not known.
	Frames(addr uint64) []Frame
	// Plain reports whether the code at addr was certainly compiled without optimisation: each
	// line has its code, and all of it.
	Plain(addr uint64) bool
}

// Frame is a function, or a copy of one that was inlined into the frame before it.
type Frame struct {
	Func string
	// File and Line are those of its definition, "" and 0 if not known.
	File string
	Line int
	// Records reports that debug information records whether the compiler inlined the function, see Inlines, but for
	// calls of which nothing is left if it was compiled late, in the link. Lists reports that a list beside it may.
	Records, Late, Lists bool
	// CallFile and CallLine are where the frame before it calls it.
	CallFile string
	CallLine int
}

// owner is a function of the source, as debug information names it. Functions of several files
// may have one name, and be on the same line.
type owner struct {
	name, file string
	line       int
}

// deleting is the mark of deleting destructors.
const deleting = "D0E"

func (f *Frame) owner() owner { return owner{sourcefunc.OneBody(f.Func), f.File, f.Line} }

// lineOf is a line of a file.
type lineOf struct {
	file string
	line int
}

// remnant is code of a line that did not run.
type remnant struct {
	at     lineOf
	frames []Frame
	flow   *flow // nil if not known
	piece  int
	// The part of the line in the piece.
	addr        uint64
	insts       int
	first, last int  // instructions
	behind      bool // other code is before it
	jumps       bool // it has a jump
	works       bool // it has something other than jumps and padding
	plain       bool // not optimised: all that the line is
	stores      bool
	calls       []uint64 // called addresses, 0 for computed ones
	module      int
	runs        uint64
	after       bool // it is behind a call that did not return
	past        State
}

// add adds instruction number k of its piece.
func (r *remnant) add(in *inst, k int) {
	if r.insts == 0 {
		r.addr, r.first = in.addr, k
	}
	r.insts++
	r.last = k
	r.jumps = r.jumps || in.jump && in.kind != none
	r.works = r.works || !in.jump && in.kind != none
	switch in.kind {
	case stores:
		r.stores = true
	case calls:
		r.calls = append(r.calls, in.target)
	}
}

// observer collects the modules' results for lines.
type observer struct {
	runs map[lineOf]uint64 // runs in which code of a line ran

	copyTimes map[copyOf]uint64 // executions of the code of a line, in mode edge

	doubtful map[lineOf]bool // whose code may or may not have run
	remnants []remnant
	// lostCalls are calls that ran and belong to no line, by callee.
	lostCalls map[uint64]bool
	callers   map[owner]map[lineOf]bool // lines that call inlined functions
	branches  map[branchKey]*branch
	early     []early
	// unbranched are the functions of which it is not recorded where their branches went, by file.
	unbranched map[string]int
	returns    *returning
	settled    map[lineOf]State // of lines with code, see settle
	unrun      unrun
	functions
}

// functions are the modules' results for functions.
type functions struct {
	frames   bool                     // some module has functions in its debug information
	entered  map[owner]uint64         // runs, in all their code
	copies   map[owner]uint64         // runs where they were inlined
	sure     map[owner]uint64         // runs by code that proves it
	separate map[owner]bool           // that have code that is not inlined
	bodies   map[owner]map[place]bool // their code that is not inlined
	parents  map[owner]map[owner]bool // that have code into which a function was inlined
	listed   map[owner]bool           // of compilers that list what they inline
	idle     map[owner]bool           // see quiet, once it is known
	ends     map[owner]int            // their last line in their file
	owners   map[[2]string][]owner    // by name and file, made when all modules are known
}

func newObserver(modules []Module) *observer {
	return &observer{
		returns: newReturning(modules),

		runs: map[lineOf]uint64{}, copyTimes: map[copyOf]uint64{}, doubtful: map[lineOf]bool{},
		lostCalls: map[uint64]bool{}, callers: map[owner]map[lineOf]bool{}, branches: map[branchKey]*branch{}, unbranched: map[string]int{},
		functions: functions{
			entered: map[owner]uint64{}, copies: map[owner]uint64{}, sure: map[owner]uint64{}, separate: map[owner]bool{},
			bodies: map[owner]map[place]bool{}, parents: map[owner]map[owner]bool{}, listed: map[owner]bool{}, ends: map[owner]int{},
		},
	}
}

// module adds the lines of m.
func (o *observer) module(module int) {
	m := &o.returns.modules[module]
	if m.Lines == nil {
		return
	}
	isGo := m.Go()
	for i := range m.Funcs {
		f, c := &m.Funcs[i], &m.Counts[i]
		if m.Code != nil {
			if fl := newFlow(&m.Map, f, m.Code); fl != nil {
				o.flow(module, fl, f, c)
				continue
			}
		}
		o.blocks(module, f, c)
		if !isGo {
			o.unbranch(m, f)
		}
	}
}

// ran records that code of a line ran in this many runs; 0 records only that there is code.
func (o *observer) ran(at lineOf, runs uint64) { o.runs[at] = max(o.runs[at], runs) }

// blocks adds the lines of a function whose code is not known.
func (o *observer) blocks(module int, f *prof.Func, c *prof.Counts) {
	m := &o.returns.modules[module]
	plain := m.Code == nil || f.Plain || m.Code.Plain(f.Addr())
	own, times := m.frames(f), f.Executions(c)
	for b := range Blocks(f) {
		runs := blockRuns(c, b.Index)
		var frames []Frame
		if m.Code != nil {
			frames = m.Code.Frames(b.Lo)
			o.enter(frames, runs, true)
		}
		doubtful := m.doubtful(b, runs)
		for file, line := range m.Lines.Lines(b.Lo, b.Hi) {
			at := lineOf{file, line}
			if doubtful[at] {
				o.doubtful[at] = true
				o.ran(at, 0)
				continue
			}
			o.ran(at, runs)
			if times != nil {
				o.counted(at, place{module, f.Addr()}, frames, times[b.Index])
			}
			o.reach(own, at)
			if runs == 0 && !plain {
				o.remnants = append(o.remnants, remnant{at: at, frames: frames, insts: 1})
			}
		}
	}
}

// doubtful returns the lines of a block that ran which may not have run.
func (m *Module) doubtful(b Block, runs uint64) map[lineOf]bool {
	d, ok := m.Lines.(Doubtful)
	if !ok || runs == 0 {
		return nil
	}
	lines := map[lineOf]bool{}
	for file, line := range d.Doubtful(b.Lo, b.Hi) {
		lines[lineOf{file, line}] = true
	}
	return lines
}

// enter records code that ran in that many runs. sure is set if the lines that call the functions ran for sure.
func (o *observer) enter(frames []Frame, runs uint64, sure bool) {
	o.frames = o.frames || len(frames) > 0
	if sure {
		o.surely(frames, runs)
	}
	for i := range frames {
		f := &frames[i]
		w := f.owner()
		if f.Lists {
			o.listed[w] = true
		}
		if runs > 0 {
			o.entered[w] = max(o.entered[w], runs)
			if i > 0 {
				o.copies[w] = max(o.copies[w], runs)
			}
		}
		if i == 0 {
			o.separate[w] = true
		} else {
			if o.parents[w] == nil {
				o.parents[w] = map[owner]bool{}
			}
			o.parents[w][frames[i-1].owner()] = true
		}
		if f.CallLine == 0 {
			continue
		}
		at := lineOf{f.CallFile, f.CallLine}
		if o.callers[w] == nil {
			o.callers[w] = map[lineOf]bool{}
		}
		o.callers[w][at] = true
		// A line that calls an inlined function ran if that function ran.
		if runs > 0 && sure {
			o.ran(at, runs)
		}
	}
}

// surely records that functions ran in that many runs.
func (o *observer) surely(frames []Frame, runs uint64) {
	for i := range frames {
		if runs > 0 {
			w := frames[i].owner()
			o.sure[w] = max(o.sure[w], runs)
		}
	}
}

// unproved reports whether nothing so far proves of one of the functions that it ran.
func (o *observer) unproved(frames []Frame) bool {
	return slices.ContainsFunc(frames, func(f Frame) bool { return o.sure[f.owner()] == 0 })
}

// flow adds the lines of a function.
func (o *observer) flow(module int, fl *flow, f *prof.Func, c *prof.Counts) {
	m := &o.returns.modules[module]
	fl.record(f, c)
	o.body(m, place{module, f.Addr()})
	s := scan{module: module, observer: o, m: m, fl: fl, plain: f.Plain || m.Code.Plain(f.Addr()), own: m.frames(f), sources: m.sources(), sites: map[lineOf]early{}, times: f.Executions(c)}
	var sure map[int]bool
	if !f.Mode.HasBlocks() && c.Runs > 0 {
		// All that is known is that it was entered.
		sure = map[int]bool{}
		for i := 0; i != nowhere && !sure[i]; i = fl.after[i] {
			sure[i] = true
			if slices.ContainsFunc(fl.pieces[i].calls(), func(t uint64) bool { return o.returns.of(module, t) != returned }) {
				break // it may have been left there
			}
		}
	}
	for i := range fl.pieces {
		p := &fl.pieces[i]
		s.piece, s.runs, s.doubtful = i, blockRuns(c, p.block), sure != nil && !sure[i]
		s.stays = s.runs > 0 && !p.exit && len(p.succs) > 0
		for _, next := range p.succs {
			s.stays = s.stays && blockRuns(c, fl.pieces[next].block) == 0
		}
		s.after, s.working = false, false
		s.back = p.passed || p.exit && o.returns.leaves(module, f.Addr(), i)
		s.lines(p)
		s.called()
	}
	s.settle(c)
	o.branchesOf(&s, f, c)
}

// scan goes through the instructions of a function.
type scan struct {
	*observer
	module  int
	m       *Module
	fl      *flow
	plain   bool
	own     []Frame // the function
	sources Sources

	// Of the current piece.
	piece    int
	runs     uint64
	times    []uint64 // of all blocks, nil if they are not recorded
	doubtful bool     // it may or may not have run
	stays    bool     // nothing that it leads to ran: a call in it did not return
	back     bool     // all calls in it returned
	after    bool     // the rest is behind a call that did not return
	working  bool     // there was code other than padding

	sites map[lineOf]early // lines that call what was inlined in the piece

	rest  remnant // the current line, with its code so far
	jumps []jumpOf
}

func (s *scan) lines(p *piece) {
	borrowed := s.borrows(p)
	for k := range p.insts {
		in := &p.insts[k]
		frames := s.m.Code.Frames(in.addr)
		s.states(in, p, k, frames)
		if !s.doubtful {
			s.enter(frames, s.runs, false)
			if s.plain {
				s.surely(frames, s.runs)
			}
			s.callers(frames, k)
		}
		placed := false
		borrowed = borrowed && !s.begins(in.addr)
		for file, line := range s.m.Lines.Lines(in.addr, in.addr+1) {
			if borrowed {
				if s.runs > 0 && s.repeats(p) {
					s.repeat(lineOf{file, line})
				}
				break
			}
			placed = true
			s.line(lineOf{file, line}, frames)
			if s.times != nil && s.runs > 0 {
				s.counted(lineOf{file, line}, place{s.module, s.fl.entry}, frames, s.times[p.block])
			}
			if len(frames) > 1 {
				s.reach(frames, lineOf{file, line})
			} else {
				s.reach(s.own, lineOf{file, line})
			}
		}
		if !placed {
			s.line(lineOf{}, nil)
			s.lose(in)
		}
		s.rest.add(in, k)
		s.working = s.working || in.kind != none
		if len(frames) > 0 {
			p.owner = frames[len(frames)-1].owner()
			s.trace(p, in, frames)
		}
		if in.kind == calls {
			s.fl.ranCalls[in.target] = s.fl.ranCalls[in.target] || s.runs > 0
			s.call(p, in)
		}
	}
	p.borrows = borrowed
	s.line(lineOf{}, nil)
}

// call continues behind a call.
func (s *scan) call(p *piece, in *inst) {
	if s.runs == 0 || s.back {
		return
	}
	v := s.returns.of(s.module, in.target)
	if s.stays && v == mayReturn && len(slices.DeleteFunc(p.calls(), func(t uint64) bool { return s.returns.of(s.module, t) == returned })) == 1 {
		v = never // it is the only one that can be why
	}
	switch v {
	case never:
		s.runs, s.after = 0, true
	case mayReturn:
		s.doubtful = true
	}
}

// lose records a call without a line: if compilers merge instructions, the result may have
// none.
func (s *scan) lose(in *inst) {
	if s.runs > 0 && in.kind == calls {
		s.lostCalls[in.target] = true
	}
}

// line ends the line at hand and begins another one.
func (s *scan) line(at lineOf, frames []Frame) {
	if at == s.rest.at {
		return
	}
	if s.rest.at.line > 0 && s.runs == 0 {
		s.remnants = append(s.remnants, s.rest)
	}
	if s.rest.at.line > 0 && s.elided() {
		s.observer.doubtful[s.rest.at] = true
		s.ran(s.rest.at, 0)
	} else if s.plain && s.rest.at.line > 0 && s.rest.jumps && !s.rest.works {
		s.jump()
	} else if p := &s.fl.pieces[s.piece]; s.rest.at.line > 0 && s.rest.first == len(p.insts)-1 && s.operator(p) {
		s.ran(s.rest.at, 0)
	} else if s.rest.at.line > 0 {
		s.found(early{at: s.rest.at, runs: s.rest.runs, first: s.rest.first, last: s.rest.last, frames: s.rest.frames})
	}
	s.rest = remnant{at: at, frames: frames, flow: s.fl, piece: s.piece, module: s.module, plain: s.plain, after: s.after, behind: s.working}
	switch {
	case at.line == 0:
	case s.doubtful:
		s.observer.doubtful[at] = true
	default:
		s.rest.runs = s.runs
	}
}

// inlined returns the number of runs in which f ran where it was inlined, as far as known. maybe is set if such a copy
// may have run.
func (o *observer) inlined(m *Module, f *prof.Func) (runs uint64, maybe bool) {
	if m.Code == nil {
		return 0, false
	}
	frames := m.Code.Frames(f.Addr())
	if len(frames) == 0 {
		return 0, false
	}
	// Copies of a destructor do not tell that an object was deleted.
	if strings.Contains(frames[0].Func, deleting) {
		return 0, false
	}
	w := frames[0].owner()
	return min(o.copies[w], o.sure[w]), o.copies[w] > 0
}

// states returns the state of each line that has code.
func (o *observer) states() map[lineOf]State {
	o.bypass()
	o.idle = nil
	states := make(map[lineOf]State, len(o.runs))
	for at, runs := range o.runs {
		switch {
		case runs > 0:
			states[at] = Ran
		case o.doubtful[at]:
			states[at] = Unknown
		default:
			states[at] = Missed
		}
	}
	certain := map[lineOf]bool{} // from existing code, so far
	for i := range o.remnants {
		r := &o.remnants[i]
		if was, seen := certain[r.at]; states[r.at] == Missed && r.insts > 0 && (was || !seen) {
			certain[r.at] = o.certain(r)
		}
	}
	for i := range o.remnants {
		if at := o.remnants[i].at; states[at] == Missed && !certain[at] && !o.unrun[at.file] {
			states[at] = Unknown
		}
	}
	return states
}

// settle computes the states of lines before those of absent functions are added.
func (o *observer) settle() {
	if o.settled == nil {
		o.settled = o.states()
	}
}

// certain reports whether this code proves that r's line did not run.
func (o *observer) certain(r *remnant) bool {
	switch {
	case r.after:
		// Computations may have been moved behind the call.
		return r.plain || (r.stores || len(r.calls) > 0) && (len(r.frames) == 0 || !o.copied(&r.frames[len(r.frames)-1]))
	case r.plain:
		return r.past == Missed
	case len(r.frames) == 0 || r.flow == nil:
		return false
	}
	last := &r.frames[len(r.frames)-1]
	if !o.maybeEntered(r.frames[0].owner()) && !slices.ContainsFunc(r.frames[1:], func(f Frame) bool { return o.maybeEntered(f.owner()) || o.computed(f.owner()) }) {
		// No code of the function ran. The code of a deleting destructor, which has the
		// destructor's lines, is not evidence.
		return (o.called(r) || o.traced(r, last.owner())) && !strings.Contains(r.frames[0].Func, deleting) && (!o.copied(last) || r.stores || len(r.calls) > 0)
	}
	if o.copied(last) && o.maybeEntered(last.owner()) || !o.guarded(r) {
		return false
	}
	// A call is never removed, but it may have been merged with another. A store may have been
	// merged with an adjacent one.
	return slices.ContainsFunc(r.calls, func(target uint64) bool {
		return !o.lostCalls[target] && !r.flow.ranCalls[target] && (target == 0 || o.returns.acts(r.module, target))
	})
}

// guarded reports whether all branches that excluded r's code belong to the functions of r.
// The rest of a test may be in code that was inlined next to it, and the line may have run up
// to there.
func (o *observer) guarded(r *remnant) bool {
	for _, p := range r.flow.deciders(r.piece) {
		if !slices.ContainsFunc(r.frames, func(f Frame) bool { return f.owner() == p.owner }) {
			return false
		}
	}
	return true
}

// copied reports whether there is more than one body of f.
func (o *observer) copied(f *Frame) bool {
	w := f.owner()
	n := len(o.callers[w])
	if o.separate[w] {
		n++
	}
	return n > 1
}

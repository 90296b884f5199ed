package timing

import (
	"bytes"
	"maps"
	"slices"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/probe"
	"github.com/cairnprof/cairn/internal/msname"
	"github.com/cairnprof/cairn/prof"
)

// Problem: measure how long every call took, cheaply enough for every call of a program. Reading a clock costs
// more than most calls do.
//
// Choice: the stamp of a call is the value of a clock that another thread keeps, a word in memory. It is stored
// at an address computed from the stack pointer, in a window of 4 GiB that the process reserves: at the entry
// of a call and at its exit the stack pointer is the same, so the stamp is found without a stack of stamps that
// exceptions or longjmp could desynchronize.
//
//	entry:  movq  __cairn_base(%rip), %r10
//	        movl  %esp, %r11d
//	        movl  -64(%r10), %eax        the clock, in microseconds
//	        movl  %eax, (%r10,%r11)
//
//	exit:   movq  __cairn_base(%rip), %r10
//	        movl  %esp, %r11d
//	        movl  (%r10,%r11), %r11d
//	        subl  -64(%r10), %r11d       stamp - now
//	        addl  -60(%r10), %r11d       + the shortest call of interest
//	        js    S
//
//	S:      call  __cairn_slow           which preserves every register
//	        ret                          or the jump of the tail call
//
// S is at the end of the function, inside it, so that the return address identifies the function. Exits that
// leave in the same way share it. Nothing is pushed: the unwind table stays as it is, and S has its own row,
// that of a function's entry.
//
// If rax or r10 is live at the entry, or a tail call needs r10 or r11, other sequences with the same effect are
// used (x86code.go); they save registers in the red zone, which is free at entries and exits.

// Symbols of the runtime of the timed modes.
const (
	TimedBase  = "__cairn_base" // the window's address; pulls in the runtime
	timedSlow  = "__cairn_slow"
	timedLocal = "__cairn_local" // the distance of what a thread has from its thread pointer

	timedArrived = "__cairn_arrived"
	timedDeparts = "__cairn_departs"
	timedCancels = "__cairn_cancels"

	timedSuspends = "__cairn_suspends"
	timedResumes  = "__cairn_resumes"
	timedLeaves   = "__cairn_leaves"
	timedComes    = "__cairn_comes"
)

// RuntimeSymbol is defined by the runtimes of the timed modes, and objects refer to it under the name needSymbol, so
// that a link without a runtime names what is missing. It is not that of the records (probe.RuntimeSymbol): a runtime
// of one kind must not satisfy objects of the other.
const (
	RuntimeSymbol = probe.RuntimeSymbol + "_timed"
	needSymbol    = "__cairn_needs_clock"
)

// Reasons to leave a function alone in timed modes, besides those of exits.go.
const (
	SkipQuick       = "small and without a loop, see --small"
	SkipResolver    = "runs during loading, before the clock is set up"
	SkipConstructor = "a constructor that may run before the clock is set up"
)

// timer collects what the timed modes insert into one unit.
type timer struct {
	*probe.Rewriter
	on        timing
	unwinding bool // unwind directives are in force in the fragment that is being written
	place     place
	clang     bool
	rust      bool              // rustc wrote it
	aliases   map[string]string // names that .set gives to others
	global    map[string]bool
	names     map[string]bool // functions of the unit
	live      map[string]regSet
	needs     map[*asm.Section]bool      // sections that keep the reference to the runtime
	early     map[string]string          // functions that run before the clock is started -> why
	unwound   map[*asm.Fragment][]string // registers that unwind directives say are saved
	all       []*body
	pads      map[string]bool // labels of landing pads
	arrived   bool            // code calls timedArrived
	departs   bool            // code calls timedDeparts
	switches  bool            // code calls timedSuspends and timedResumes
	cfa       []cfaChange     // not in mode trace
	frames    []frame         // of COFF, ascending
}

// place is where code is being written.
type place struct {
	at    int
	leave string // at an exit: the instruction that leaves
	far   bool   // the stubs of the body are far away
	chain bool   // on Armv7: ip may have a value at the entry of the body
}

// Rewrite returns the text of u with the code of a timed mode.
func Rewrite(u *asm.Unit, opts probe.Options) ([]byte, probe.Result) {
	out, result := rewrite(u, opts)
	if !opts.Counts {
		out = appendOwnWaits(out, u, opts.Mode)
	}
	return out, result
}

func rewrite(u *asm.Unit, opts probe.Options) ([]byte, probe.Result) {
	if !opts.Counts {
		u = withCOFFWaits(withWaits(u, opts.Mode), opts.Mode)
	}
	u = withReplaced(u, opts.Mode)
	t := &timer{
		Rewriter: &probe.Rewriter{Opts: opts, Unit: u, Source: opts.UnitSource(u)},
		on:       timings[u.Kind],
		names:    map[string]bool{}, global: u.Global, needs: map[*asm.Section]bool{},
		clang: bytes.Contains(u.Src, []byte(" -- Begin function")) || bytes.Contains(u.Src, []byte("clang version")),
		rust:  bytes.Contains(u.Src[max(0, len(u.Src)-4096):], []byte("\t.ident\t\"rustc version ")),
	}
	t.Result.Source = t.Source
	t.scanEarly()
	t.scanPads()
	switch {
	case t.isCOFF():
		t.on = coffTiming{}
		t.scanFrames()
	case opts.Mode != prof.ModeTrace:
		t.scanCFA()
	}
	for _, fn := range u.Funcs {
		t.all = append(t.all, t.bodyOf(fn))
	}
	for _, b := range t.all {
		t.names[b.name] = true
	}
	t.analyse()
	for _, b := range t.all {
		if _, ok := msname.HandlerOf(b.name); ok && t.isCOFF() {
			continue
		}
		if t.isCOFF() {
			t.planEpilogues(b)
		}
		if reason := t.reason(b, opts.Reason(b.fn, opts.SourceFor(b.fn.Name, t.Source))); reason != "" {
			t.Result.Skipped = append(t.Result.Skipped, probe.Skipped{Name: b.name, Reason: reason})
			continue
		}
		t.body(b)
		b.timed = true
	}
	if t.isCOFF() {
		t.handlers()
	}
	if t.Result.Functions == 0 {
		return u.Src, t.Result
	}
	if t.isCOFF() {
		t.nameLocals()
		return appendCOFFNeed(t.Render()), t.Result
	}
	if t.isMachO() {
		return t.Render(), t.Result
	}
	t.hide()
	return t.AppendNeed(t.Render(), needSymbol, RuntimeSymbol), t.Result
}

func (t *timer) isCOFF() bool { return t.Unit.Object == asm.COFF }

// hide makes the names of the runtime hidden.
func (t *timer) hide() {
	if t.Opts.Mode == prof.ModeTrace {
		if t.Unit.Kind == machine.Arm {
			t.Tail = append(t.Tail, "\t.hidden\t"+armEvent+"\n\t.hidden\t"+armStack+"\n\t.hidden\t"+armLeft+"\n"...)
		} else {
			t.Tail = append(t.Tail, "\t.hidden\t"+TraceFull+"\n\t.hidden\t"+timedLocal+"\n\t.hidden\t"+tracer+"\n"...)
		}
		if t.Opts.Depth > 0 {
			t.Tail = append(t.Tail, "\t.hidden\t"+traceDeeper+"\n\t.hidden\t"+traceUpper+"\n\t.hidden\t"+traceLeaves+"\n\t.hidden\t"+traceReturns+"\n"...)
		}
		return
	}
	if t.Opts.Mode == prof.ModeStacks && t.Unit.Kind == machine.Arm {
		t.Tail = append(t.Tail, "\t.hidden\t"+treeEnter+"\n\t.hidden\t"+treeExited+"\n\t.hidden\t"+treeBack+"\n\t.hidden\t"+treeSwitched+"\n\t.hidden\t"+treeLeave+"\n"...)
		return
	}
	if t.Opts.Mode == prof.ModeStacks {
		t.Tail = append(t.Tail, "\t.hidden\t"+TimedBase+"\n\t.hidden\t"+treeEnter+"\n\t.hidden\t"+treeBack+
			"\n\t.hidden\t"+timedLocal+"\n\t.hidden\t"+treeBackAt+"\n\t.hidden\t"+treeSwitched+"\n\t.hidden\t"+treeLeave+"\n"...)
		return
	}
	if t.Unit.Kind == machine.Arm {
		t.Tail = append(t.Tail, "\t.hidden\t"+spikeEntered+"\n\t.hidden\t"+spikeExited+"\n\t.hidden\t"+timedArrived+"\n\t.hidden\t"+timedSuspends+"\n\t.hidden\t"+timedComes+"\n\t.hidden\t"+timedDeparts+"\n"...)
		return
	}
	t.Tail = append(t.Tail, "\t.hidden\t"+TimedBase+"\n\t.hidden\t"+timedSlow+"\n"...)
	if t.arrived {
		t.Tail = append(t.Tail, "\t.hidden\t"+timedArrived+"\n"...)
	}
	if t.departs {
		t.Tail = append(t.Tail, "\t.hidden\t"+timedDeparts+"\n\t.hidden\t"+timedCancels+"\n"...)
	}
	if t.switches {
		t.Tail = append(t.Tail, "\t.hidden\t"+timedSuspends+"\n\t.hidden\t"+timedResumes+"\n\t.hidden\t"+timedLeaves+"\n\t.hidden\t"+timedComes+"\n"...)
	}
	if t.Opts.Flight {
		t.Tail = append(t.Tail, "\t.hidden\t"+flightSlow+"\n\t.hidden\t"+flightLeft+"\n\t.hidden\t"+timedLocal+"\n"...)
	}
}

// reason returns why b is left alone, or "". why is the reason that applies to the whole function.
func (t *timer) reason(b *body, why string) string {
	switch {
	case why != "":
		return why
	case t.early[b.name] != "":
		return t.early[b.name]
	case b.refused != "":
		return b.refused
	case slices.ContainsFunc(b.frags, func(f *asm.Fragment) bool { return f.Sleds }):
		return RefuseSleds
	case slices.ContainsFunc(b.frags, t.savesScratch), b.readsR11():
		return RefuseRegisters
	case t.Unit.Kind == machine.Arm && (t.Opts.Mode != prof.ModeTrace || t.Opts.Depth > 0) && !armLeaves(b):
		return RefuseForm
	case t.Opts.Mode == prof.ModeSpike && b.size() < t.Opts.Small && !b.hasLoop() && !b.mayBlock():
		return SkipQuick
	case t.on.sharesFrame(t, b):
		return RefuseOutlined
	case !t.on.reach(t, b):
		return RefuseShort
	case t.Opts.Mode == prof.ModeTrace && !t.aligns(b.frags[0].Label):
		return RefuseUnaligned
	}
	return ""
}

// body plans the code of one body.
func (t *timer) body(b *body) {
	t.Result.Functions++
	t.Result.Exits += len(b.exits)
	if t.isCOFF() {
		t.coffBody(b)
		return
	}
	if sec := b.fn.Main().Sec; !t.needs[sec] && !t.isMachO() {
		t.needs[sec] = true
		t.InsertNeed(b.fn, needSymbol)
	}
	if t.Opts.Mode == prof.ModeTrace {
		t.traceBody(b)
		return
	}
	switch {
	case t.Opts.Mode == prof.ModeStacks:
		t.treeBody(b)
		return
	case t.isMachO():
		t.machOSpike(b)
		return
	case t.Unit.Kind == machine.Arm:
		t.armSpike(b)
		return
	}
	if t.Opts.Flight {
		t.flightEntry(b)
	} else {
		t.Insert(b.frags[0].Probe, t.measuring().entry(t, b.live))
	}
	if t.Opts.Entered {
		t.Insert(b.frags[0].Probe, "\tcall\t__cairn_entered\n")
	}
	for _, a := range t.arrivals(b) {
		t.Insert(a.at, t.measuring().arrive(t, a))
		t.spikeSwitch(a)
	}
	t.spikeLeaves(b)
	leaves := departures(b)
	for _, at := range slices.Sorted(maps.Keys(leaves)) {
		t.departs = true
		t.Insert(at, t.measuring().inFrame(t, leaves[at], at))
	}
	for i, f := range b.frags {
		t.fragment(b, i, f)
	}
}

// spikeSwitch plans the code of mode spike beside a call that continues on another stack.
func (t *timer) spikeSwitch(a arrival) {
	if a.away {
		t.switches = true
		t.Insert(a.call, t.measuring().inFrame(t, timedSuspends, a.call))
		t.Insert(a.at, t.measuring().inFrame(t, timedResumes, a.at))
	} else if a.changed {
		t.switches = true
		t.Insert(a.at, t.measuring().inFrame(t, timedComes, a.at))
	}
}

// spikeLeaves plans the code of mode spike in front of calls that continue on another stack and do not return.
func (t *timer) spikeLeaves(b *body) {
	for i := range b.insns {
		if in := &b.insns[i]; leavesStack(in) && in.flow == asm.FlowCall {
			t.switches = true
			t.Insert(in.at, t.measuring().inFrame(t, timedSuspends, in.at)+t.measuring().inFrame(t, timedLeaves, in.at))
		}
	}
}

// insertExit inserts the code of an exit at an offset. The code of a conditional exit is in a stub, which it returns.
func (t *timer) insertExit(at int, e *exit, code string) (stub string) {
	if e.cond == "" {
		t.Insert(at, code)
		return ""
	}
	if e.whole {
		leaves, stays := t.NewLabel(), t.NewLabel()
		t.Replace(at, t.lineEnd(at)-at, "\t"+e.cond+"\t"+leaves+"\n\tb\t"+stays+"\n"+leaves+":\n"+code+"\t"+e.leave+"\n"+stays+":\n")
		return ""
	}
	side := t.NewLabel()
	t.Insert(at, "\t"+e.cond+"\t"+side+"\n")
	return side + ":\n" + code + "\t" + e.leave + "\n"
}

// fragment plans the exits of fragment i of b, and the stubs after its end.
func (t *timer) fragment(b *body, i int, f *asm.Fragment) {
	var stubs []byte
	at, unwound := t.stubPlace(f.End)
	slow := map[string]string{} // the instruction that leaves -> label of its stub
	for k := range b.exits {
		e := &b.exits[k]
		in := &b.insns[e.insn]
		if in.frag != i {
			continue
		}
		stubOf := func(leave string) string {
			if slow[leave] == "" {
				slow[leave] = t.NewLabel()
				stubs = append(stubs, slow[leave]+":\n"+t.measuring().slow(leave, unwound)...)
			}
			return slow[leave]
		}
		t.unwinding = t.unwinds(f)
		if in.effect.tail && e.cond == "" && (suspends(in.effect.callee) || leavesStack(in)) {
			if code := t.measuring().tailCall(t, in); code != "" {
				t.switches = true
				t.Insert(in.at, code+t.measuring().exit(t, 0, stubOf("ret"))+"\tret\n")
			}
		}
		to := stubOf(e.leave)
		stubs = append(stubs, t.insertExit(in.at, e, t.measuring().exit(t, e.keep, to))...)
	}
	if len(stubs) == 0 {
		return
	}
	t.Insert(at, t.stubUnwind(f, at, unwound), string(stubs))
}

// stubUnwind returns the unwind directives for stubs at an offset after f: they run in the state of a
// function's entry.
func (t *timer) stubUnwind(f *asm.Fragment, at int, unwound bool) string {
	if !unwound {
		return ""
	}
	return t.stacking().row(t, f, at)
}

// fragmentAt returns the fragment that an offset is in, nil if it is in none.
func (t *timer) fragmentAt(at int) *asm.Fragment {
	for _, fn := range t.Unit.Funcs {
		for _, f := range fn.Frags {
			if at >= f.Label && at <= f.End {
				return f
			}
		}
	}
	return nil
}

func (t *timer) savesScratch(f *asm.Fragment) bool {
	return slices.ContainsFunc(t.unwound[f], t.on.scratch)
}

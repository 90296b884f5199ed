package spikes

import (
	"cmp"

	"github.com/cairnprof/cairn/format/tracelog"
)

// Object is one spike for other programs: a line of JSON output, and the input of pages. Durations and times
// are nanoseconds, intervals are the lower and the upper bound.
type Object struct {
	Version  int     `json:"version"` // of these objects: 1
	Log      string  `json:"log"`
	PID      uint32  `json:"pid"`
	TID      uint32  `json:"tid"`
	Thread   string  `json:"thread,omitempty"`
	Number   uint64  `json:"number"`             // in the log
	Snapshot bool    `json:"snapshot,omitempty"` // not a spike, but a stack that the program requested
	Stacked  int     `json:"stack_id"`           // the same for spikes with one stack
	At       uint64  `json:"at_ns"`              // when the peak ended, since the log began
	Wall     uint64  `json:"wall_ns"`            // the same, since 1970
	Frame    uint64  `json:"frame,omitempty"`
	Interval Range   `json:"interval_ns"`
	Limit    uint64  `json:"threshold_ns"`
	Period   uint64  `json:"period_ns,omitempty"` // of the clock
	Blind    uint64  `json:"blind_ns"`            // in which the clock was late
	Stalls   []Range `json:"stalls,omitempty"`    // before the end of the peak, in nanoseconds; the latest last
	// Preempted reports whether the thread was preempted, Switches how often.
	Preempted bool     `json:"preempted"`
	Switches  uint32   `json:"switches"`
	Remarks   []string `json:"remarks,omitempty"`
	Seen      uint64   `json:"seen"` // spikes with this stack
	Worst     uint64   `json:"worst_ns"`
	Desc      string   `json:"desc,omitempty"`
	Msgs      []string `json:"msgs,omitempty"`

	Window *WindowObject `json:"window,omitempty"` // nil if the calls around it are not known

	// Caller is set for a caller of spikes that took too long itself. Then the object describes it as the peak,
	// and Children are its callees, by function.
	Caller *CallerObject `json:"caller,omitempty"`
	Why    *WhyObject    `json:"why,omitempty"` // nil if it is not known
	// Reasons are of all spikes with this stack, the most time first.
	Reasons []PartObject `json:"group_reasons,omitempty"`
	Frozen  uint64       `json:"frozen_ns,omitempty"`  // of its time, in which the process stood still
	Awaited uint64       `json:"awaited_ns,omitempty"` // of its time, in which its thread waited for work
	// Suspended is the part of its time in which its stack did not run, as other coroutines had the thread.
	Suspended *Range `json:"suspended_ns,omitempty"`
	// Unranked: without that it would not have been too long.
	Unranked bool `json:"suspended,omitempty"`
	// Open is set for a call that had not ended: at_ns is then when it was last seen, interval_ns its time so far.
	Open *OpenObject `json:"open,omitempty"`
	// Left is set for a call that did not return, but was left by an exception, a longjmp or the end of its thread.
	Left bool `json:"left,omitempty"`

	Peak     Site          `json:"peak"`
	Stack    []StackObject `json:"stack"` // outermost first, the peak last
	Children []ChildObject `json:"children"`
	Parents  []EndObject   `json:"parents"`
}

// WindowObject gives the number of known calls before the end of a spike and within it, and when they begin.
type WindowObject struct {
	Calls uint64 `json:"calls"`
	Reach uint64 `json:"reach_ns"`
}

// Range is from and to.
type Range [2]uint64

// Site is a place in the code.
type Site struct {
	Function string `json:"function"`
	Symbol   string `json:"symbol,omitempty"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Module   string `json:"module,omitempty"`
	Offset   uint64 `json:"offset"` // link-time address in the module, or the address itself
}

// StackObject is a call on a stack.
type StackObject struct {
	Site
	Inlined []Site `json:"inlined,omitempty"` // into the function, outermost first
	SoFar   *Range `json:"so_far_ns,omitempty"`
	Desc    string `json:"desc,omitempty"`
	Section string `json:"section,omitempty"`
	// Gap is set if calls between this one and the next inner one are left out.
	Gap bool `json:"gap,omitempty"`
	// Abandoned is set if the call has no end although an outer one has.
	Abandoned bool `json:"abandoned,omitempty"`
}

// ChildObject is a call below the peak.
type ChildObject struct {
	Site
	Section  string  `json:"section,omitempty"`
	Interval Range   `json:"interval_ns"`
	Share    float64 `json:"share"`                // of the peak, 0 to 1
	Calls    uint64  `json:"calls,omitempty"`      // for callers: the number of calls in the interval's sum
	Longest  *Range  `json:"longest_ns,omitempty"` // of those
}

// WhyObject has the kernel's data about a thread during a call.
type WhyObject struct {
	Text  string `json:"text"`
	CPU   Range  `json:"cpu_ns"`
	Slept Range  `json:"slept_ns"`
	Call  string `json:"system_call,omitempty"` // in which it waited most
	// The following counts begin that long before the end; 0 means with the thread.
	Counted     uint64 `json:"counted_ns"`
	Minor       uint32 `json:"minor_faults"`
	Major       uint32 `json:"major_faults"`
	Voluntary   uint32 `json:"voluntary_switches"`
	Involuntary uint32 `json:"involuntary_switches"`
	Waits       bool   `json:"waits_for_work,omitempty"` // for that reason it is not ranked
	// Doubtful: it may have waited for work, and is ranked.
	Doubtful bool         `json:"may_have_been_idle,omitempty"`
	Threads  bool         `json:"waits_for_threads,omitempty"` // all of the group did: it is ranked last
	For      string       `json:"waited_for,omitempty"`        // the other end of its longest wait, or what kind of file
	Longest  uint64       `json:"longest_wait_ns,omitempty"`
	At       *Site        `json:"waited_at,omitempty"`    // the statement in the function
	Below    []Site       `json:"waited_below,omitempty"` // functions that it called there, the outermost first
	Parts    []PartObject `json:"reasons,omitempty"`      // of a goroutine's waits
	// Holder is the thread that ended the longest wait whose end is known, such as by unlocking a mutex.
	Holder *HolderObject `json:"holder,omitempty"`
}

// PartObject is the time of a call for one reason, or of the calls of a group.
type PartObject struct {
	Reason string `json:"reason"`
	Calls  uint64 `json:"calls,omitempty"` // of a group: those of which it is the main reason
	Time   uint64 `json:"time_ns"`
}

// OpenObject describes what the thread of a call does that has not ended.
type OpenObject struct {
	Text   string        `json:"text"`
	Call   string        `json:"system_call,omitempty"` // that it waits in
	Peer   string        `json:"peer,omitempty"`        // the other end of the connection that it waits for
	Holder *HolderObject `json:"holder,omitempty"`      // the thread that has the lock that it waits for
	Runs   bool          `json:"runs,omitempty"`
	Waited uint64        `json:"waited_ns"`         // at least
	CPU    uint64        `json:"thread_cpu_ns"`     // of the thread since its beginning
	Inner  []Site        `json:"inner"`             // calls that it made and that go on, the outermost first
	Found  uint64        `json:"found_ns"`          // when its stack was found, since the log began
	Lasts  bool          `json:"lasting,omitempty"` // it waits for work: not ranked
	// Doubtful: it may have waited for work, and is listed.
	Doubtful bool `json:"may_have_been_idle,omitempty"`
	Alike    int  `json:"more_threads,omitempty"` // with the same stack that wait for the same, on a page
}

// CallerObject describes a caller that took too long.
type CallerObject struct {
	Own         Range `json:"self_ns"`        // outside all calls that took too long
	Unexplained Range `json:"unexplained_ns"` // outside those that took an eighth of it, or more
}

// EndObject is a call of the stack that ended too late as well.
type EndObject struct {
	Site
	Index    int   `json:"index"` // in the stack, -1 if it is not there
	Interval Range `json:"interval_ns"`
	// After is the time from the end of the peak to its end.
	After uint64 `json:"after_ns"`
}

// Object returns a spike of a group for programs.
func (w *Writer) Object(g *Group, sp *Spike) *Object {
	l := &w.Set.Logs[sp.Log]
	o := &Object{
		Version: 1,
		Log:     l.Name, PID: l.Header.PID, TID: sp.TID, Thread: w.Set.Thread(sp), Number: sp.Number, Stacked: g.Number,
		Snapshot: sp.Snapshot(), At: w.Set.At(sp), Wall: w.Set.wall(sp), Frame: sp.Frame, Interval: bounds(sp.Peak), Limit: sp.Threshold,
		Blind: sp.Blind, Stalls: w.Set.stalls(sp), Preempted: sp.Flags&tracelog.Preempted != 0, Switches: sp.Switches,
		Remarks: g.remarks(sp), Frozen: sp.Frozen, Awaited: sp.Awaited, Seen: g.Seen, Worst: g.Limit,
		Stack: []StackObject{}, Children: []ChildObject{}, Parents: []EndObject{},
	}
	if l.Trailer != nil {
		o.Period = l.Trailer.Period
	}
	if sp.Suspended.Hi > 0 {
		r := bounds(sp.Suspended)
		o.Suspended, o.Unranked = &r, g.suspended
	}
	if win, ok := l.Windows[sp.Number]; ok && sp.Blame == nil {
		o.Window = &WindowObject{win.Calls, since(win.To, win.From)}
	}
	for _, t := range sp.Texts {
		if t.Kind == tracelog.Message {
			o.Msgs = append(o.Msgs, t.Text)
		}
	}
	outermost := 0
	for i := range sp.Parents {
		outermost = max(outermost, sp.entryOf(sp.Parents[i].SP))
	}
	for i := len(sp.Stack) - 1; i >= 0; i-- {
		o.Stack = append(o.Stack, w.stackObject(sp, i, outermost))
	}
	if n := len(o.Stack); n > 0 {
		o.Peak, o.Desc = o.Stack[n-1].Site, o.Stack[n-1].Desc
	}
	o.Why = w.whyObject(g, sp)
	for _, r := range g.reasonsOf() {
		o.Reasons = append(o.Reasons, PartObject{r.Text, r.Calls, r.Time})
	}
	o.Open = w.openObject(sp)
	o.Left = len(sp.Stack) > 0 && sp.Stack[0].Flags&tracelog.Left != 0
	w.addCallees(o, sp)
	w.addCallers(o, sp)
	return o
}

// whyObject returns how the time of a spike of a group was spent, nil if that is not known.
func (w *Writer) whyObject(g *Group, sp *Spike) *WhyObject {
	y := sp.Why()
	if y == nil {
		return nil
	}
	why := &WhyObject{
		Text: w.whyText(sp, y), CPU: bounds(y.CPU), Slept: bounds(y.Slept), Call: y.Call, Minor: y.Minor, Major: y.Major,
		Voluntary: y.Voluntary, Involuntary: y.Involuntary, Waits: g.Idle == Idle, Doubtful: g.Idle == Doubtful, Threads: g.Behind(), For: y.Wait.what(),
	}
	if y.Since != 0 {
		why.Counted = since(sp.Time, y.Since)
	}
	why.Holder = w.holderObject(sp)
	if y.Wait == nil {
		return why
	}
	why.Longest = y.Wait.Longest
	for _, r := range y.Wait.Reasons {
		why.Parts = append(why.Parts, PartObject{Reason: cmp.Or(reasonWords[r.Reason], "waited"), Calls: uint64(r.Count), Time: r.Time})
	}
	if p := w.waitPlace(sp); p != nil {
		loc := w.Name(p.Addr, true)
		at := site(p.At, &loc, p.Addr)
		why.At = &at
		for _, b := range p.Below {
			why.Below = append(why.Below, Site{Function: b.Function, Symbol: b.Symbol, File: b.File, Line: b.Line, Module: loc.Module})
		}
	}
	return why
}

// whyText describes why a spike took long, with who ended its wait.
func (w *Writer) whyText(sp *Spike, y *Why) string {
	text := y.Text(sp.alive())
	if by := w.endedBy(sp, text); by != "" {
		text += ", " + by
	}
	return text
}

// addCallees adds the callees of the spike.
func (w *Writer) addCallees(o *Object, sp *Spike) {
	for i := range sp.Children {
		c := &sp.Children[i]
		a := w.Set.address(sp.Log, c.PC, sp.Time)
		loc := w.Name(a, c.Flags&tracelog.Exact == 0)
		o.Children = append(o.Children, ChildObject{Site: beginning(&loc, a), Section: sp.said(c.SP, tracelog.Section), Interval: bounds(c.Time), Share: sp.Share(c)})
	}
	if b := sp.Blame; b != nil {
		o.Caller = &CallerObject{bounds(b.Own), bounds(b.Unexplained)}
		for i := range b.Below {
			x := &b.Below[i]
			loc, longest := w.Name(x.At, x.isCall), bounds(x.Longest)
			o.Children = append(o.Children, ChildObject{
				Site: beginning(&loc, x.At), Interval: bounds(x.Time), Share: sp.part(x.Time), Calls: x.Calls, Longest: &longest,
			})
		}
	}
}

// addCallers adds the callers that took too long with it.
func (w *Writer) addCallers(o *Object, sp *Spike) {
	for i := range sp.Parents {
		p := &sp.Parents[i]
		end := EndObject{Index: -1, Interval: bounds(p.Time), After: since(p.Ended, sp.Time)}
		if k := sp.entryOf(p.SP); k >= 0 {
			end.Index = len(sp.Stack) - 1 - k
			end.Site = o.Stack[end.Index].Site
		} else {
			a := w.Set.address(sp.Log, p.PC, sp.Time)
			loc := w.Name(a, true)
			end.Site = beginning(&loc, a)
		}
		o.Parents = append(o.Parents, end)
	}
}

// stackObject is entry i of a stack; parents up to outermost have ended.
func (w *Writer) stackObject(sp *Spike, i, outermost int) StackObject {
	e := &sp.Stack[i]
	loc := w.Name(sp.Addrs[i], sp.isCall(i))
	x := StackObject{
		Site: site(loc.Outer(), &loc, sp.Addrs[i]), Gap: i > 0 && sp.Stack[i-1].Flags&tracelog.GapBefore != 0,
		Desc: sp.said(e.SP, tracelog.Description), Section: sp.said(e.SP, tracelog.Section),
	}
	if i == 0 && !sp.Snapshot() {
		x.Site = beginning(&loc, sp.Addrs[i])
	} else {
		for _, p := range loc.Places[1:] {
			x.Inlined = append(x.Inlined, site(p, &loc, sp.Addrs[i]))
		}
		if i < outermost && sp.Abandoned(i) {
			x.Abandoned = true
			for k := range sp.Parents {
				if sp.entryOf(sp.Parents[k].SP) == i {
					x.Abandoned = false
				}
			}
		}
	}
	if e.Timed() {
		r := bounds(e.Time)
		x.SoFar = &r
	}
	return x
}

func bounds(i tracelog.Interval) Range { return Range{i.Lo, i.Hi} }

func site(p Place, loc *Location, a Address) Site {
	return Site{Function: p.Function, Symbol: p.Symbol, File: p.File, Line: p.Line, Module: loc.Module, Offset: a.Offset}
}

// beginning returns where the function of an address begins.
func beginning(loc *Location, a Address) Site {
	s := site(loc.Outer(), loc, a)
	s.Line = cmp.Or(loc.Outer().Opening, s.Line)
	return s
}

// stalls are those in the time of a spike's outermost call, before its end.
func (s *Set) stalls(sp *Spike) []Range {
	const most = 200
	longest := sp.Peak.Hi
	for i := range sp.Stack {
		if e := &sp.Stack[i]; e.Timed() {
			longest = max(longest, min(e.Time.Hi, 3*sp.Peak.Hi))
		}
	}
	var list []Range
	for _, st := range s.Logs[sp.Log].Stalls {
		if st.To > since(sp.Time, longest) && st.From < sp.Time && len(list) < most {
			list = append(list, Range{since(sp.Time, st.From), since(sp.Time, st.To)})
		}
	}
	return list
}

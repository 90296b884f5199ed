package tailcall

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// Problem: the target of an indirect call or a jump to a computed address, if no sampled
// branch has shown it.
//
// Choice: only functions whose address is in the program can be targets: in an
// instruction, in data, or exported. A virtual call reaches the functions in its slot of the
// virtual tables; where the object is this, of the tables of its class and derived classes.
// If branches showed a target outside of this set, nothing is inferred. The set is still
// too large where functions that are reached by pointers jump through pointers themselves.
// So paths are compared by the number of such jumps (hops): among the paths with the
// minimum number and those with one more, there must be only one. Those with one more
// are there for functions that forward a call to another one of their kind.
//
// All this is computed when it is first needed: for many programs it never is.

// maxHops is the maximum number of hops of a path.
const maxHops = 1

// world holds the possible targets of indirect calls and jumps.
type world struct {
	graph *Graph
	known *searches // over known tail calls
	place func(ref) uint64

	made       bool
	followed   bool // all is made
	dispatches map[*machinecode.Range]map[ref]machinecode.Dispatch
	sets       map[target][]function
	classes    map[string]*class
	free       []function // that any pointer may refer to, ascending
	pointed    *bool      // see anywhere, nil if it is not known yet
	virtual    map[function]bool
	all        hops               // of all code
	hops       map[function][]hop // see hopsOf
	ways       map[function]*ways // to functions, by all
	verdicts   map[gap]verdict
}

// gap is a call, and the next function of a stack.
type gap struct {
	call ref
	to   function
}

// hop is a jump to a computed address.
type hop struct {
	at ref
	to target
}

// target is a set of functions that a pointer may refer to.
type target struct {
	source machinecode.Source
	slot   int32
	class  string // and those derived from it; "" for any
}

// class is a class of C++, with its virtual tables in all binaries.
type class struct {
	name    string
	tables  []classTable
	derived []string
	// anything: the derived classes are not known.
	anything bool
}

type classTable struct {
	binary int
	table  machinecode.VirtualTable
}

// infer finds the jumps that are missing between a call and a function. If brief, the reason why there are none does not
// matter, and the same call always asks so.
func (w *world) infer(call ref, to function, brief bool) verdict {
	w.make()
	v, ok := w.verdicts[gap{call, to}]
	if !ok {
		if v = w.find(call, to, brief); w.graph.lacks() {
			return v
		}
		w.verdicts[gap{call, to}] = v
	}
	return v
}

func (w *world) find(call ref, to function, brief bool) verdict {
	g := w.graph
	var callees []function
	var t target
	rule := RuleVirtual
	if f := g.target(call); f != none {
		callees = []function{f}
	} else if g.code.Class(call) == controlflow.IndirectCall {
		t = w.targetOf(call)
		callees, rule = w.members(t), t.rule()
		for _, f := range g.called[call] {
			if _, found := slices.BinarySearch(callees, f); !found {
				return verdict{rule: Unknown}
			}
		}
	}
	if v := w.early(callees, t, gap{call, to}, brief); v.rule != "" {
		return v
	}
	return w.late(callees, rule, to)
}

// late returns the verdict of a call of one of some functions by all jumps.
func (w *world) late(callees []function, rule string, to function) verdict {
	var paths *ways
	if k := w.graph.known; k != nil && !w.followed {
		if !w.graph.lacks() && w.several(callees, to) {
			return verdict{rule: Ambiguous}
		}
		if w.graph.wantTo(to); !w.graph.lacks() {
			paths = w.forward(callees, to)
			k.all = paths == nil && !w.graph.lacks() && slices.Contains(k.modules, false)
		}
		if w.graph.lacks() {
			return verdict{rule: Unknown} // of an answer that is discarded
		}
	}
	if paths == nil {
		w.follow()
		paths = w.waysTo(to)
	}
	a := paths.from(callees)
	v := a.verdict(rule)
	switch {
	case v.rule != rule:
		return v
	case len(v.jumps) == 0:
		return verdict{rule: Direct}
	}
	for _, j := range v.jumps {
		if w.graph.code.Class(j) == controlflow.IndirectJump && w.targetOf(j).rule() == RuleAddress {
			v.rule = RuleAddress
		}
	}
	return v
}

// early returns the verdict of a call of one of some functions where it does not depend on the jumps to computed addresses of
// all binaries, which would take much of the time of a short recording. Its rule is "" if it does.
func (w *world) early(callees []function, t target, of gap, brief bool) verdict {
	to, direct := of.to, w.graph.target(of.call) != none
	if len(callees) == 0 {
		return verdict{rule: Unknown}
	}
	if _, found := slices.BinarySearch(callees, to); found && brief {
		return verdict{rule: Direct} // or else ambiguous
	}
	reach := w.known.reaching(to).reach
	pointed := func() bool {
		if !slices.ContainsFunc(w.members(target{}), reach.has) {
			w.graph.wantTo(to)
			return false
		}
		return w.anywhere()
	}
	// A jump to where any pointer may refer to makes a second path, as each of those functions may be entered by another.
	leads := slices.ContainsFunc(callees, reach.has)
	if !direct && (!leads || len(callees) == 1) {
		w.graph.wantTo(to)
		w.graph.wantFrom(callees[0])
	}
	switch {
	case len(callees) > 1:
		if leads && t.source == machinecode.FromPointer && pointed() {
			return verdict{rule: Ambiguous}
		}
	case leads:
		if w.known.between(callees[0], to).ways > 1 {
			return verdict{rule: Ambiguous}
		}
	default:
		switch some, wild := w.leaves(callees[0]); {
		case !some:
			return verdict{rule: Unknown}
		case wild && pointed():
			return verdict{rule: Ambiguous}
		}
	}
	return verdict{}
}

// anywhere reports whether a function that any pointer may refer to jumps to where any pointer may refer to.
func (w *world) anywhere() bool {
	if w.pointed == nil {
		w.readFree()
		found := slices.ContainsFunc(w.graph.code.IndirectJumps(), func(at ref) bool {
			_, free := slices.BinarySearch(w.free, w.graph.function(at))
			return free && !w.graph.code.OfSwitch(at) && w.targetOf(at).source == machinecode.FromPointer
		})
		w.pointed = &found
	}
	return *w.pointed
}

// leaves reports whether a function, or one that it reaches by tail calls, jumps to a computed address, and whether that may
// be any that a pointer refers to.
func (w *world) leaves(f function) (some, wild bool) {
	for _, r := range w.known.edges.reached(f) {
		s, any := w.jumpsOf(r)
		some, wild = some || s, wild || any
	}
	return some, wild
}

func (t target) rule() string {
	if t.source == machinecode.FromTable {
		return RuleVirtual
	}
	return RuleAddress
}

// make reads pointers and classes of all binaries.
func (w *world) make() {
	if w.made {
		return
	}
	w.made = true
	w.dispatches = map[*machinecode.Range]map[ref]machinecode.Dispatch{}
	w.sets = map[target][]function{}
	w.all, w.hops = newHops(), map[function][]hop{}
	w.ways, w.verdicts = map[function]*ways{}, map[gap]verdict{}
	w.readClasses()
	w.readPointers()
}

// follow reads the jumps to computed addresses of all binaries.
func (w *world) follow() {
	if w.followed {
		return
	}
	w.followed = true
	for _, at := range w.graph.code.IndirectJumps() {
		if w.graph.code.OfSwitch(at) {
			continue
		}
		h, f := hop{at, w.targetOf(at)}, w.graph.function(at)
		if h.to.source == machinecode.FromCases || f == none {
			continue
		}
		same := func(o hop) bool { return o.to == h.to && w.place(o.at) == w.place(at) }
		if w.place == nil || w.place(at) == 0 || !slices.ContainsFunc(w.all.of[f], same) {
			w.all.add(f, h)
		}
	}
}

// readClasses reads the virtual tables of all binaries.
func (w *world) readClasses() {
	w.classes = map[string]*class{}
	of := func(name string) *class {
		c := w.classes[name]
		if c == nil {
			c = &class{name: name}
			w.classes[name] = c
		}
		return c
	}
	for i, b := range w.graph.code.Binaries() {
		for _, v := range b.VirtualTables() {
			c := of(v.Class)
			for _, t := range v.Tables {
				c.tables = append(c.tables, classTable{i, t})
			}
			c.anything = c.anything || v.Open
			for _, base := range v.Bases {
				of(base).derived = append(of(base).derived, v.Class)
			}
			if !v.Known {
				// The object may be of any class.
				of("").tables = append(of("").tables, c.tables...)
			}
		}
	}
}

// readPointers finds the functions whose address is stored outside of virtual tables.
func (w *world) readPointers() {
	g := w.graph
	w.virtual = map[function]bool{}
	for i, b := range g.code.Binaries() {
		var tables []machinecode.VirtualTable
		for _, c := range w.classes {
			for _, t := range c.tables {
				if t.binary == i {
					tables = append(tables, t.table)
				}
			}
		}
		stablesort.Func(tables, func(a, b machinecode.VirtualTable) int { return cmp.Compare(a.Start, b.Start) })
		for _, p := range b.Pointers(0, ^uint64(0)) {
			for len(tables) > 0 && p.At >= tables[0].End {
				tables = tables[1:]
			}
			switch f := g.entered(i, p.To); {
			case f == none:
			case len(tables) > 0 && p.At >= tables[0].Start:
				w.virtual[f] = true
			default:
				w.free = append(w.free, f)
			}
		}
		for _, addr := range slices.Concat(b.Exports(), b.Taken()) {
			if f := g.entered(i, addr); f != none {
				w.free = append(w.free, f)
			}
		}
	}
	slices.Sort(w.free)
	w.free = slices.Compact(w.free)
}

// entered returns the function that starts at an address of a binary.
func (g *Graph) entered(binary int, addr uint64) function {
	if b := g.code.Binaries()[binary]; b.RangeFrom(addr) != nil && !b.InStub(addr) {
		return g.of(binary, b.RangeFrom(addr))
	}
	return none
}

// targetOf returns the possible targets of an indirect call or jump.
func (w *world) targetOf(at ref) target {
	b, r := w.graph.code.Binary(at), w.graph.rangeOf(at)
	if r == nil {
		return target{}
	}
	known, ok := w.dispatches[r]
	if !ok {
		known = w.graph.code.Dispatches(b, r)
		w.dispatches[r] = known
	}
	d := known[at]
	if d.Source == machinecode.FromCases && w.graph.code.Departs(at) {
		d = machinecode.Dispatch{} // not of a switch statement
	}
	t := target{source: d.Source, slot: d.Slot}
	if d.This {
		t.class = w.classOf(b, r, w.graph.function(at))
	}
	return t
}

// members returns the functions that a pointer may refer to, ascending.
func (w *world) members(t target) []function {
	set, ok := w.sets[t]
	if ok {
		return set
	}
	switch {
	case t.source == machinecode.FromPointer:
		set = slices.Clone(w.free)
		for f := range w.virtual {
			set = append(set, f)
		}
	case t.class != "":
		set = w.at(t.slot, w.descendants(t.class))
	default:
		set = slices.Clone(w.free)
		for _, c := range w.classes {
			set = append(set, w.at(t.slot, []*class{c})...)
		}
	}
	slices.Sort(set)
	set = slices.Compact(set)
	w.sets[t] = set
	return set
}

// at returns the functions in a slot of the virtual tables of classes.
func (w *world) at(slot int32, classes []*class) (out []function) {
	for _, c := range classes {
		for _, t := range c.tables {
			at := t.table.Start + uint64(slot)
			if at >= t.table.End {
				continue
			}
			for _, p := range w.graph.code.Binaries()[t.binary].Pointers(at, at+1) {
				if f := w.graph.entered(t.binary, p.To); f != none {
					out = append(out, f)
				}
			}
		}
	}
	return out
}

// descendants returns a class, the classes derived from it, and tables whose class is not
// known; nil if not all can be known.
func (w *world) descendants(name string) []*class {
	out := []*class{w.classes[name]}
	for i := 0; i < len(out); i++ {
		if out[i].anything {
			return nil
		}
		for _, d := range out[i].derived {
			if c := w.classes[d]; !slices.Contains(out, c) {
				out = append(out, c)
			}
		}
	}
	if c := w.classes[""]; c != nil {
		out = append(out, c)
	}
	return out
}

// classOf returns the class of which a function is a method, "" if that is not known.
func (w *world) classOf(b *machinecode.Binary, r *machinecode.Range, f function) string {
	names := b.Names(r.Lo)
	if len(names) == 0 {
		return ""
	}
	class := ""
	for _, name := range names {
		of, scalars := method(name, w.classes)
		// Names do not distinguish static methods. But where no parameter is a pointer,
		// the only one is this, and static methods are not virtual.
		if of == "" || class != "" && of != class || !scalars && !w.virtual[f] {
			return ""
		}
		class = of
	}
	if len(w.descendants(class)) == 0 {
		return ""
	}
	return class
}

// method returns the class of which a function is a method, by its mangled name, if
// it is one of some classes, and whether its parameters are all numbers.
func method[C any](name string, classes map[string]C) (class string, scalars bool) {
	if dot := strings.IndexByte(name, '.'); dot >= 0 {
		if clone := name[dot:]; !strings.HasPrefix(clone, ".__uniq.") && !strings.HasPrefix(clone, ".llvm.") {
			return "", false // it may be another overload
		}
		name = name[:dot]
	}
	rest, ok := strings.CutPrefix(name, "_ZN")
	if !ok {
		return "", false
	}
	rest = strings.TrimPrefix(rest, "K")
	for i := range rest {
		parameters, ok := cutMethod(rest[i:])
		if !ok || i == 0 {
			continue
		}
		for _, class := range []string{rest[:i], "N" + rest[:i] + "E"} {
			if _, ok := classes[class]; ok {
				return class, strings.Trim(parameters, "vwbcahstijlmxynofdez") == ""
			}
		}
	}
	return "", false
}

// cutMethod cuts the last part of a nested name off: an identifier with its length,
// or a destructor.
func cutMethod(s string) (rest string, ok bool) {
	length, digits := 0, 0
	for digits < len(s) && s[digits] >= '0' && s[digits] <= '9' && digits < 6 {
		length = length*10 + int(s[digits]-'0')
		digits++
	}
	if digits == 0 {
		if len(s) < 2 || s[0] != 'D' {
			return "", false
		}
		length = 2
	}
	if digits+length >= len(s) || s[digits+length] != 'E' {
		return "", false
	}
	return s[digits+length+1:], true
}

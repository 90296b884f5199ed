package prove

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/controlflow"
	kinds "github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/binary/objfile"
)

// Problem: in an object that is laid out by a profile the instructions of a function are in another order, some in
// another section, with other jumps between them. They cannot be paired one after the other.
//
// Choice: two places correspond if they have the same instruction, behind any jumps and padding, and if the places
// where control goes from there correspond: a bisimulation. A conditional branch may be the opposite one, with its
// ways exchanged. The pairs to begin with are the symbols and what data refer to; branches, landing pads and addresses
// in code lead to more, until there are none. Each pair has the same row of the unwind table and the same handlers.
//
// Cost: each pair is looked at once. Code that nothing leads to is not compared.

// Layouts compares an object that is laid out by a profile with the plain one of the same source. Sections of moved
// code have names that begin with moved; returns reports whether a function of a name can return. Functions are those
// symbols of the plain object that are in code, and instructions those that were compared.
func Layouts(plain, laid *objfile.Relocatable, moved string, returns func(name string) bool) Certificate {
	p := &prover{a: newObject(plain), b: newObject(laid), found: map[*segment]Finding{}}
	l := &laidOut{prover: p, moved: moved, returns: returns, seen: map[[2]place]bool{}, endless: map[place]bool{}}
	if l.pairSections(func(string) bool { return false }, moved) {
		l.cutSegments()
		l.run()
	}
	return p.certificate(func(yield func(*segment) bool) {
		for i := range l.segments {
			if !yield(&l.segments[i].segment) {
				return
			}
		}
	})
}

// laidOut is the state of a comparison.
type laidOut struct {
	*prover
	moved    string
	returns  func(string) bool
	segments []laidSegment // of a, ascending by section and offset
	ends     [2]map[place]bool
	finished map[place]bool // where functions of a end; at other symbols control may run on
	seen     map[[2]place]bool
	work     []pairOf
	frames   [2][]laidFrame // ascending
	endless  map[place]bool // functions of a itself that do not return
	tables   *distanceTables
}

// laidSegment is the code of a from one symbol to the next.
type laidSegment struct {
	segment
	section int
}

// laidFrame is an entry of the unwind table with its handlers.
type laidFrame struct {
	frame
	table *lsda // nil: none
	err   error // of the table
}

// pairOf is a pair of places that must correspond.
type pairOf struct {
	a, b place
	from *segment // nil: data, or the table of symbols
	what string
	far  bool // by indirect branches: if a is a target of them, b must be one
}

// inCode reports whether a symbol is in loaded code.
func (o *object) inCode(s *objfile.ObjectSymbol) bool {
	return s.Section > 0 && s.Section < len(o.Sections) && o.Sections[s.Section].Alloc && o.Sections[s.Section].Code
}

// cutSegments cuts the code of a at symbols, and finds where functions of both objects begin.
func (l *laidOut) cutSegments() {
	l.finished = map[place]bool{}
	for n, o := range []*object{l.a, l.b} {
		l.ends[n] = map[place]bool{}
		for i := range o.Sections {
			if s := &o.Sections[i]; s.Alloc && s.Code {
				l.ends[n][place{i, int64(len(s.Data))}] = true
			}
		}
		for _, s := range named(o) {
			if n == 0 && s.Func && s.Size > 0 {
				l.finished[place{s.Section, int64(s.Value + s.Size)}] = true
			}
			if o.inCode(s) {
				l.ends[n][place{s.Section, int64(s.Value)}] = true
			}
		}
	}
	for _, s := range named(l.a) {
		if l.a.inCode(s) {
			l.segments = append(l.segments, laidSegment{segment{name: s.Name, a: span{lo: int64(s.Value)}}, s.Section})
		}
	}
	sort.SliceStable(l.segments, func(i, k int) bool { // not of package slices, whose code for each type is large
		x, y := &l.segments[i], &l.segments[k]
		return x.section < y.section || x.section == y.section && x.a.lo < y.a.lo
	})
}

// at returns the segment of a place in a.
func (l *laidOut) at(p place) *segment {
	i := sort.Search(len(l.segments), func(i int) bool {
		s := &l.segments[i]
		return s.section > p.section || s.section == p.section && s.a.lo > p.off
	})
	if i == 0 || l.segments[i-1].section != p.section {
		return nil
	}
	return &l.segments[i-1].segment
}

func (l *laidOut) run() {
	for n, o := range []*object{l.a, l.b} {
		if !l.readFrames(n, o) {
			return
		}
	}
	l.bases = l.findTables()
	if l.a.Machine == kinds.AArch64 {
		l.findDistances()
	}
	l.startSymbols()
	l.compareData()
	for _, r := range l.later {
		l.work = append(l.work, pairOf{r.a, r.b, r.from, r.what, true})
	}
	for len(l.work) > 0 {
		next := l.work[len(l.work)-1]
		l.work = l.work[:len(l.work)-1]
		l.correspond(next)
	}
	if l.tables != nil {
		l.tables.judge()
	}
}

// readFrames reads the unwind table of an object.
func (l *laidOut) readFrames(n int, o *object) bool {
	for i := range o.Sections {
		if s := &o.Sections[i]; !s.Alloc || s.Name != ".eh_frame" {
			continue
		}
		list, err := o.frames(i)
		if err != nil {
			l.unknown(nil, "the unwind table: %v", err)
			return false
		}
		for k := range list {
			f := laidFrame{frame: list[k]}
			if f.hasLSDA {
				f.table, f.err = o.lsda(&f.frame)
			}
			l.frames[n] = append(l.frames[n], f)
		}
	}
	sort.Slice(l.frames[n], func(i, k int) bool {
		x, y := &l.frames[n][i].start, &l.frames[n][k].start
		return x.section < y.section || x.section == y.section && x.off < y.off
	})
	return true
}

// frameAt returns the entry of the unwind table for a place, nil if there is none.
func (l *laidOut) frameAt(n int, p place) *laidFrame {
	list := l.frames[n]
	i := sort.Search(len(list), func(i int) bool {
		s := &list[i].start
		return s.section > p.section || s.section == p.section && s.off > p.off
	})
	if i == 0 || list[i-1].start.section != p.section || p.off >= list[i-1].start.off+list[i-1].size {
		return nil
	}
	return &list[i-1]
}

// findTables returns the places in data whose address code takes, see findBases.
func (l *laidOut) findTables() map[int][]int64 {
	for i := range l.a.Sections {
		if s := &l.a.Sections[i]; s.Alloc && s.Code && s.Data != nil {
			l.order = append(l.order, &code{a: i, dataA: s.Data})
		}
	}
	defer func() { l.order = nil }()
	return l.findBases()
}

// startSymbols pairs the symbols of both objects. New ones are those of parts that were moved, labels for the
// assembler, which LLVM's keeps where a .reloc names them, and the one that GNU's adds where addresses of functions are loaded.
func (l *laidOut) startSymbols() {
	byName := map[string][]*objfile.ObjectSymbol{}
	for _, s := range named(l.b) {
		byName[s.Name] = append(byName[s.Name], s)
	}
	for _, x := range named(l.a) {
		of := byName[x.Name]
		if len(of) == 0 {
			l.differ(nil, "symbol %s is missing", x.Name)
			return
		}
		y := of[0]
		byName[x.Name] = of[1:]
		switch {
		case x.Func != y.Func || x.Local != y.Local || (x.Section == 0) != (y.Section == 0) || l.a.inCode(x) != l.b.inCode(y):
			l.differ(nil, "symbol %s is another one", x.Name)
		case l.a.inCode(x):
			// A program may have a function of its own called abort, but no name that begins like this one.
			if strings.HasPrefix(x.Name, "_") && !l.returns(x.Name) {
				l.endless[place{x.Section, int64(x.Value)}] = true
			}
			l.later = append(l.later, reference{nil, "symbol " + x.Name, place{x.Section, int64(x.Value)}, place{y.Section, int64(y.Value)}})
		case x.Section == 0 || x.Section >= len(l.a.Sections) || !l.a.Sections[x.Section].Alloc || describes(l.a.Sections[x.Section].Name):
		case l.a.pair[x.Section] != y.Section || x.Value != y.Value || x.Size != y.Size:
			l.differ(nil, "symbol %s stands for something else", x.Name)
		}
	}
	for _, s := range named(l.b) {
		known := s.Section == 0 && s.Name == "_GLOBAL_OFFSET_TABLE_" || s.Local && l.b.inCode(s) && (strings.HasPrefix(l.b.Sections[s.Section].Name, l.moved) || strings.HasPrefix(s.Name, ".L"))
		if !known && slices.Contains(byName[s.Name], s) {
			l.differ(nil, "symbol %s is new", s.Name)
		}
	}
}

// A stop is where control goes from a place, behind jumps and padding.
type stop struct {
	place
	in    insn
	out   bool // nothing follows, or the next function does
	loop  bool // jumps that lead in a circle
	known bool // the instruction is
}

// follow follows the jumps from a place.
func (l *laidOut) follow(n int, p place) stop {
	o := []*object{l.a, l.b}[n]
	seen := map[place]bool{}
	first := true
	for {
		if seen[p] {
			return stop{place: p, loop: true}
		}
		seen[p] = true
		if p.section <= 0 || p.section >= len(o.Sections) || p.off < 0 || p.off > int64(len(o.Sections[p.section].Data)) {
			return stop{place: p}
		}
		data := o.Sections[p.section].Data
		if p.off == int64(len(data)) || !first && l.ends[n][p] {
			return stop{place: p, out: true}
		}
		in, err := o.decode(data[p.off:])
		switch {
		case err != nil:
			return stop{place: p}
		case in.idle():
			p.off += int64(in.Len)
			first = false
			continue
		case in.Class == controlflow.Jump:
			if to, ok := o.branch(p, in); ok && to.name == "" {
				p, first = to.place, true
				continue
			}
		}
		return stop{place: p, in: in, known: true}
	}
}

// branch returns where a direct branch leads.
func (o *object) branch(p place, in insn) (target, bool) {
	rel := o.within(p.section, p.off, in.Len)
	switch len(rel) {
	case 0:
		return target{place: place{p.section, in.leads(p.off)}}, true
	case 1:
		t, ok := o.target(rel[0], p.off+int64(in.Len)-int64(rel[0].Off))
		return t, ok && relative(rel[0].Type)
	}
	return target{}, false
}

// landing returns the instruction that makes a place a target of indirect branches. ok is false if there is none.
func (o *object) landing(p place) (in insn, ok bool) {
	if p.section <= 0 || p.section >= len(o.Sections) || p.off < 0 || p.off >= int64(len(o.Sections[p.section].Data)) {
		return in, false
	}
	in, err := o.decode(o.Sections[p.section].Data[p.off:])
	return in, err == nil && in.Class == controlflow.Landing
}

// losesLanding reports whether a is a target of indirect branches, and b is none, or one of others.
func (l *laidOut) losesLanding(a, b place) bool {
	x, ok := l.a.landing(a)
	y, also := l.b.landing(b)
	return ok && !(also && x.word == y.word)
}

// correspond compares a pair of places.
func (l *laidOut) correspond(w pairOf) {
	x, y := l.follow(0, w.a), l.follow(1, w.b)
	if to, ok := l.b.ownFunction(y); ok {
		if _, also := l.a.ownFunction(x); !also {
			y = l.follow(1, to)
		}
	}
	if w.far && l.losesLanding(w.a, w.b) {
		l.differ(cmp.Or(w.from, l.at(w.a)), "%s leads to %#x, which is no target of indirect branches in the other layout", w.what, w.a.off)
	}
	if l.seen[[2]place{x.place, y.place}] {
		return
	}
	l.seen[[2]place{x.place, y.place}] = true
	s := l.at(x.place)
	if s == nil {
		s = w.from
	}
	switch {
	case x.loop && y.loop, x.out && y.out:
	case x.loop != y.loop || x.out != y.out:
		l.differ(cmp.Or(w.from, s), "%s leads elsewhere: to %#x, which is %#x in the other layout", w.what, w.a.off, w.b.off)
	case !x.known:
		l.unknown(s, "unknown instruction at %#x", x.off)
	case !y.known:
		l.differ(s, "the instruction at %#x is missing", x.off)
	default:
		l.insns++
		if l.sameFrame(s, x, y) && l.sameJumps(s, w, y) {
			l.compare(s, x, y)
		}
	}
}

// push adds a pair.
func (l *laidOut) push(s *segment, what string, at int64, a, b place) {
	l.work = append(l.work, pairOf{a, b, s, sprint("%s at %#x", what, at), false})
}

// pushFar adds a pair that indirect branches may lead to.
func (l *laidOut) pushFar(s *segment, what string, at int64, a, b place) {
	l.push(s, what, at, a, b)
	l.work[len(l.work)-1].far = true
}

// sameFrame compares how the stack is unwound from a pair of instructions.
func (l *laidOut) sameFrame(s *segment, x, y stop) bool {
	f, g := l.frameAt(0, x.place), l.frameAt(1, y.place)
	switch {
	case f == nil && g == nil:
		return true
	case f == nil || g == nil:
		l.differ(s, "only one of %#x and %#x is in the unwind table", x.off, y.off)
		return false
	case f.personality != g.personality || f.hasLSDA != g.hasLSDA:
		l.differ(s, "the entry of the unwind table of %#x has other handlers", x.off)
		return false
	}
	if want, got := f.rowAt(x.off), g.rowAt(y.off); want != got {
		l.differ(s, "the unwind table has %q for %#x, and %q in the other layout at %#x", want, x.off, got, y.off)
		return false
	}
	switch {
	case !f.hasLSDA:
		return true
	case f.err != nil:
		l.unknown(s, "its exception table: %v", f.err)
		return false
	case g.err != nil:
		l.differ(s, "its exception table in the other layout: %v", g.err)
		return false
	}
	i, k := f.table.site(x.off-f.start.off), g.table.site(y.off-g.start.off)
	switch {
	case i == nil && k == nil:
	case i == nil || k == nil || (i.pad == 0) != (k.pad == 0) || i.actions != k.actions:
		l.differ(s, "an exception at %#x has another handler", x.off)
		return false
	case i.pad != 0:
		l.pushFar(s, "the landing pad of the call", x.off, f.landing(i), g.landing(k))
	}
	return true
}

// landing returns the place of a landing pad.
func (f *laidFrame) landing(site *callSite) place {
	base := f.start.place
	if f.table.pads != nil {
		base = *f.table.pads
	}
	return place{base.section, base.off + site.pad}
}

// sameJumps checks that the stack is unwound from the jumps to an instruction as from itself.
func (l *laidOut) sameJumps(s *segment, w pairOf, y stop) bool {
	want := ""
	if g := l.frameAt(1, y.place); g != nil {
		want = g.rowAt(y.off)
	}
	was := ""
	if f := l.frameAt(0, w.a); f != nil {
		was = f.rowAt(w.a.off)
	}
	for p := w.b; p != y.place; {
		in, err := l.b.decode(l.b.Sections[p.section].Data[p.off:])
		if err != nil {
			return false
		}
		if in.Class != controlflow.Jump {
			p.off += int64(in.Len)
			continue
		}
		got := ""
		if g := l.frameAt(1, p); g != nil {
			got = g.rowAt(p.off)
		}
		if got != want && got != was {
			l.differ(s, "the unwind table has %q for the jump at %#x in the other layout, and %q for where it leads", got, p.off, want)
			return false
		}
		if own, ok := l.b.ownFunction(stop{place: p, in: in, known: true}); ok {
			p = own
			continue
		}
		to, _ := l.b.branch(p, in)
		p = to.place
	}
	return true
}

package coverage

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/saturate"
	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/prof"
)

// Branch is a conditional jump in the code of a line: where control may go on in one of two ways.
type Branch struct {
	Line int
	// Ran reports that it was evaluated. If not, no way was taken.
	Ran  bool
	Ways [2]Way

	key branchKey // which branch of the line it is, for copies of it
}

// Way is one of the ways of a branch. Its state is Unknown if the blocks that ran do not tell: if
// the block that it leads to ran, and another way to the block was open as well.
type Way struct {
	State State
	Runs  uint64 // in which it was taken, a lower bound
	Times uint64 // that it was taken, in all runs; 0 if that is not recorded (mode edge)
}

// Count returns how often a way was taken: in executions, or else in runs.
func (w *Way) Count() uint64 { return max(w.Times, w.Runs) }

// BranchTally counts ways of branches by their state.
type BranchTally struct {
	Taken, Missed, Unknown int
}

// Add counts the ways of a branch.
func (t *BranchTally) Add(b *Branch) {
	for _, w := range b.Ways {
		switch w.State {
		case Ran:
			t.Taken++
		case Missed:
			t.Missed++
		case Unknown:
			t.Unknown++
		}
	}
}

// Plus returns the sum of two tallies.
func (t BranchTally) Plus(u BranchTally) BranchTally {
	return BranchTally{t.Taken + u.Taken, t.Missed + u.Missed, t.Unknown + u.Unknown}
}

// Tally returns the ways of which it is known whether they were taken.
func (t BranchTally) Tally() Tally { return Tally{t.Taken, t.Taken + t.Missed} }

// BranchTally counts the ways of the branches of a file.
func (f *SourceFile) BranchTally() (t BranchTally) {
	for i := range f.Branches {
		t.Add(&f.Branches[i])
	}
	return t
}

// branchKey identifies a branch in all copies of its function: of templates' headers in several
// programs, and, in optimised code, of loops that were unrolled and functions that were inlined.
type branchKey struct {
	at    lineOf
	owner owner
	index int // of the branches of the line in code that is not optimised; else -1
	// to are the lines that the ways lead to. In optimised code they distinguish the ways, and are
	// ascending.
	to [2]lineOf
}

func (k *branchKey) compare(l *branchKey) int {
	return cmp.Or(cmp.Compare(k.at.line, l.at.line), cmp.Compare(k.owner.name, l.owner.name), cmp.Compare(k.owner.line, l.owner.line),
		cmp.Compare(k.index, l.index), cmp.Compare(k.to[0].line, l.to[0].line), cmp.Compare(k.to[1].line, l.to[1].line),
		cmp.Compare(k.to[0].file, l.to[0].file), cmp.Compare(k.to[1].file, l.to[1].file))
}

// branch is what the copies of a branch together tell.
type branch struct {
	ran    bool
	ways   [2]wayFacts
	search bool // it may be one of those of a switch, in optimised code
}

type wayFacts struct {
	runs   uint64 // in which it was certainly taken
	times  uint64 // that it was taken, if that is recorded
	maybe  bool   // some copy may have taken it
	missed bool   // some copy was evaluated, and certainly did not take it
}

// unbranch counts a function of which it is not recorded where its branches went.
func (o *observer) unbranch(m *Module, f *prof.Func) {
	file, _ := m.Definition(f)
	o.unbranched[file]++
}

// branchesOf adds the branches of a function.
func (o *observer) branchesOf(s *scan, f *prof.Func, c *prof.Counts) {
	if !f.Mode.HasBlocks() {
		o.unbranch(s.m, f)
		return
	}
	b := brancher{
		scan: s, edges: s.fl.edgeTimes(f, s.times),
		runs: func(piece int) uint64 { return blockRuns(c, s.fl.pieces[piece].block) },
	}
	count := map[branchKey]int{}
	for i := range s.fl.pieces {
		p := &s.fl.pieces[i]
		if !p.decides || b.unordered(i) || b.protector(p) {
			continue
		}
		key, ok := b.key(p)
		if !ok {
			continue
		}
		ways := [2]wayFacts{b.counted(i, 0), b.counted(i, 1)}
		if s.plain {
			key.index = count[key]
			count[branchKey{at: key.at, owner: key.owner, to: key.to}]++
		} else {
			key.index = -1
			if key.to[1].compare(key.to[0]) < 0 {
				key.to[0], key.to[1] = key.to[1], key.to[0]
				ways[0], ways[1] = ways[1], ways[0]
			}
			if key.to[0] == key.to[1] {
				// Nothing tells the ways of two copies apart.
				for k := range ways {
					ways[k] = wayFacts{maybe: b.runs(i) > 0}
				}
			}
		}
		if !s.plain && slices.ContainsFunc(p.ways[:], func(to int) bool { return slices.Contains(s.fl.jumps, to) }) {
			// It is the range check of a switch with a table, which may have the condition of a loop as one of its cases.
			for k := range ways {
				ways[k].maybe = ways[k].maybe || ways[k].missed
			}
		}
		o.addBranch(key, b.evaluated(i), ways)
		o.branches[key].search = o.branches[key].search || !s.plain && b.searches(i)
	}
}

func (l lineOf) compare(k lineOf) int {
	return cmp.Or(cmp.Compare(l.file, k.file), cmp.Compare(l.line, k.line))
}

func (o *observer) addBranch(key branchKey, ran bool, ways [2]wayFacts) {
	b := o.branches[key]
	if b == nil {
		b = &branch{}
		o.branches[key] = b
	}
	b.ran = b.ran || ran
	if !ran {
		return
	}
	for k, w := range ways {
		b.ways[k].runs = max(b.ways[k].runs, w.runs)
		b.ways[k].times = saturate.Add(b.ways[k].times, w.times)
		b.ways[k].maybe = b.ways[k].maybe || w.maybe
		b.ways[k].missed = b.ways[k].missed || w.missed
	}
}

// brancher finds out where the branches of a function went.
type brancher struct {
	*scan
	runs  func(piece int) uint64
	edges func(from, to int) uint64 // executions, nil if they are not recorded
}

// counted is way, with executions.
func (b *brancher) counted(i, k int) wayFacts {
	to := b.fl.pieces[i].ways[k]
	w := b.way(i, k)
	if b.edges == nil || to == nowhere {
		return w
	}
	n := b.edges(i, to)
	switch {
	case b.selects(&b.fl.pieces[i]):
		if w.runs > 0 {
			w.times = n
		}
		return w
	case n == 0:
		return wayFacts{missed: b.runs(i) > 0 || w.missed, maybe: w.maybe && b.runs(i) == 0}
	}
	return wayFacts{runs: max(w.runs, 1), times: n}
}

// key returns the identity of the branch at the end of p, and whether it has a line.
func (b *brancher) key(p *piece) (key branchKey, ok bool) {
	last := &p.insts[len(p.insts)-1]
	if b.plain {
		last = p.compared(len(p.insts) - 1) // clang gives the jump the line of an operator around the comparison
	}
	if key.at, ok = b.lineAt(last.addr); !ok {
		return key, false
	}
	frames := b.m.Code.Frames(last.addr)
	if len(frames) <= 1 {
		frames = b.own
	}
	key.owner = frames[len(frames)-1].owner()
	for k, to := range p.ways {
		if to != nowhere {
			key.to[k] = b.target(to)
		}
	}
	return key, true
}

// lineAt returns the line of an instruction.
func (s *scan) lineAt(addr uint64) (at lineOf, ok bool) {
	for file, line := range s.m.Lines.Lines(addr, addr+1) {
		return lineOf{file, line}, line > 0
	}
	return at, false
}

// target returns the first line of a piece, not counting probes.
func (b *brancher) target(piece int) lineOf {
	for _, in := range b.fl.pieces[piece].insts {
		if in.kind != none {
			at, _ := b.lineAt(in.addr)
			return at
		}
	}
	return lineOf{}
}

// evaluated reports whether the branch at the end of piece i was: the piece ran, and so did what it
// leads to, or else a call in it did not return.
func (b *brancher) evaluated(i int) bool {
	for _, to := range b.fl.pieces[i].ways {
		if b.nan(i, to) > 0 {
			return true
		}
	}
	if b.runs(i) == 0 {
		return false
	}
	for _, to := range b.fl.pieces[i].ways {
		if to == nowhere || b.runs(to) > 0 {
			return true
		}
	}
	return false
}

// way returns what the blocks that ran tell about way k of the branch at the end of piece i.
func (b *brancher) way(i, k int) (w wayFacts) {
	p := &b.fl.pieces[i]
	to, other := p.ways[k], p.ways[1-k]
	if b.runs(i) == 0 {
		w.runs = b.nan(i, to)
		w.missed = w.runs == 0 && b.nan(i, other) > 0
		return w
	}
	if to != nowhere && b.runs(to) == 0 {
		w.missed = !b.plain || !b.selects(p) || b.target(to) != b.target(i) // or it is inside the search
		w.maybe = !w.missed
		return w
	}
	if runs, ok := b.fl.edgeRuns(i, to); ok {
		runs = max(runs, b.nan(i, to))
		if runs == 0 && b.selects(p) {
			return wayFacts{maybe: true}
		}
		return wayFacts{runs: runs, maybe: runs > 0, missed: runs == 0}
	}
	if _, ok := b.fl.edgeRuns(i, other); ok && to != nowhere {
		// This edge has no block, as nothing else leads where it leads.
		return wayFacts{runs: b.runs(to), maybe: true}
	}
	w.maybe = true
	if to != nowhere && to != other {
		// More runs reached the target than can have come in other ways.
		if all, others := b.runs(to), b.others(i, to); all > others {
			w.runs = all - others
		}
	}
	if other != nowhere && to != other && b.completes(p) {
		// In some runs it did not go the other way.
		if all, others := b.runs(i), b.runs(other); all > others {
			w.runs = max(w.runs, all-others)
		}
	}
	return w
}

// selects reports whether the jump at the end of p may be one of those of a switch. gcc searches the cases: several of its
// jumps lead to one case, and the source has only one way there.
func (b *brancher) selects(p *piece) bool {
	_, after, known := b.sources.Line(p.insts[len(p.insts)-1].addr)
	return !known || firstWord(after) == "switch"
}

// searches reports whether the jump at the end of piece i of optimised code may be one of those of a switch: clang joins the
// condition of a loop with the switch that begins its body, and gives all jumps the place of the loop.
func (b *brancher) searches(i int) bool {
	p := &b.fl.pieces[i]
	_, after, known := b.sources.Line(p.insts[len(p.insts)-1].addr)
	switch firstWord(after) {
	case "for", "while", "do", "switch":
		return true
	}
	return !known
}

// nan returns the number of runs in which a comparison of floating-point numbers, of which piece i has the jump for the
// result, went to a piece as one of the numbers was NaN, if their edge has a block.
func (b *brancher) nan(i, to int) (runs uint64) {
	for _, first := range b.fl.preds[i] {
		if b.pair(first, i) {
			n, _ := b.fl.edgeRuns(first, to)
			runs = max(runs, n)
		}
	}
	return runs
}

// others returns the number of runs, at most, that reached piece to other than from piece i.
func (b *brancher) others(i, to int) (runs uint64) {
	fl := b.fl
	if to == 0 {
		runs += b.runs(0) // calls of the function
	}
	for _, pred := range fl.preds[to] {
		if pred != i && !b.pair(pred, i) {
			runs += b.runs(pred)
		}
	}
	// The entries of a jump table are not known.
	for _, jump := range fl.jumps {
		if !slices.Contains(fl.preds[to], jump) {
			runs += b.runs(jump)
		}
	}
	if len(fl.preds[to]) == 0 {
		runs += b.runs(to)
	}
	return runs
}

// completes reports whether a piece runs to its end whenever it begins: calls may not return.
func (b *brancher) completes(p *piece) bool {
	return !slices.ContainsFunc(p.insts, func(in inst) bool { return in.kind == calls })
}

// pair reports whether first and second are the two jumps of a comparison of floating-point numbers for
// equality, which first tests whether they are ordered.
func (b *brancher) pair(first, second int) bool {
	return b.unordered(first) && b.fl.pieces[first].ways[1] == second
}

// unordered reports whether the branch at the end of piece i is the test of a comparison of floating-point numbers
// for NaN, followed by the jump for the result.
func (b *brancher) unordered(i int) bool {
	p := &b.fl.pieces[i]
	if !p.decides || b.m.Code.Machine() != machine.X86_64 || p.ways[0] == nowhere || p.ways[1] == nowhere {
		return false
	}
	const jp, jpNear = 0x7a, 0x8a // and the next opcodes, jnp
	last := p.insts[len(p.insts)-1].addr
	code := b.m.Code.Bytes(last, last+2)
	if len(code) < 2 || code[0]&^1 != jp && (code[0] != 0x0f || code[1]&^1 != jpNear) {
		return false
	}
	// Without optimisation, both jumps have a comparison of their own.
	next := &b.fl.pieces[p.ways[1]]
	return next.decides && slices.Contains(next.ways[:], p.ways[0]) &&
		!slices.ContainsFunc(next.insts, func(in inst) bool { return in.kind == stores || in.kind == calls })
}

// protector reports whether p ends with the check of the stack protector, which no source has.
func (b *brancher) protector(p *piece) bool {
	fails := false
	for k, to := range p.ways {
		if to == nowhere {
			continue
		}
		// That the call does not return may not be visible.
		q, other := &b.fl.pieces[to], p.ways[1-k]
		leads := slices.ContainsFunc(q.succs, func(next int) bool { return next != other })
		fails = fails || !leads && !q.exit && b.onlyCalls(q)
	}
	if !fails {
		return false
	}
	if b.m.Code.Machine() == machine.X86_64 {
		guard := []byte{0x25, 0x28, 0, 0, 0} // %fs:0x28
		first, end := p.insts[0].addr, p.insts[len(p.insts)-1].addr
		return bytes.Contains(b.m.Code.Bytes(first, end), guard)
	}
	// Elsewhere it is known by its place: the end of the function.
	at, _ := b.lineAt(p.insts[len(p.insts)-1].addr)
	w := b.own[0].owner()
	return at.line == b.ends[w]
}

// onlyCalls reports whether a piece is one call.
func (b *brancher) onlyCalls(p *piece) bool {
	n := 0
	for _, in := range p.insts {
		if in.kind != none {
			n++
		}
	}
	return n == 1 && slices.ContainsFunc(p.insts, func(in inst) bool { return in.kind == calls })
}

// fileBranches returns the branches of each file, ascending by line. In optimised code a way was certainly not
// taken only if no code of the line that it leads to ran, as other copies of the branch may be gone, and if the branch
// is of the line for sure: a loop may have those of a switch besides its own.
func (o *observer) fileBranches(states map[lineOf]State) map[string][]Branch {
	byFile := map[string][]Branch{}
	type source struct {
		at    lineOf
		owner owner
	}
	count := map[source]int{}
	for key := range o.branches {
		count[source{key.at, key.owner}]++
	}
	for key, b := range o.branches {
		out := Branch{Line: key.at.line, Ran: b.ran, key: key}
		joined := b.search && count[source{key.at, key.owner}] > 1
		for k, w := range b.ways {
			switch {
			case !b.ran:
				out.Ways[k].State = Missed
			case w.runs > 0:
				out.Ways[k] = Way{Ran, w.runs, w.times}
			case w.maybe, joined, key.index < 0 && (key.to[k].line == 0 || states[key.to[k]] != Missed):
				out.Ways[k].State = Unknown
			}
		}
		if state := states[key.at]; state == Unknown || !b.ran && state == Ran && key.index < 0 {
			// The line may have run; or other code of it did, which may have been a copy without the branch.
			out.Ways = [2]Way{{State: Unknown}, {State: Unknown}}
		}
		byFile[key.at.file] = append(byFile[key.at.file], out)
	}
	for _, list := range byFile {
		stablesort.Func(list, func(x, y Branch) int { return x.key.compare(&y.key) })
	}
	return byFile
}

// joinBranches joins the branches of two files that are the same.
func joinBranches(a, b []Branch) []Branch {
	byKey := map[branchKey]int{}
	var all []Branch
	for _, x := range slices.Concat(a, b) {
		key := x.key
		key.at.file, key.owner.file, key.to[0].file, key.to[1].file = "", "", "", ""
		i, known := byKey[key]
		if !known {
			byKey[key] = len(all)
			all = append(all, x)
			continue
		}
		old := &all[i]
		if !old.Ran {
			x, *old = *old, x
		}
		for k := range old.Ways {
			if x.Ran {
				old.Ways[k].State = max(old.Ways[k].State, x.Ways[k].State)
				old.Ways[k].Runs = max(old.Ways[k].Runs, x.Ways[k].Runs)
				old.Ways[k].Times = saturate.Add(old.Ways[k].Times, x.Ways[k].Times)
			}
		}
	}
	stablesort.Func(all, func(x, y Branch) int { return x.key.compare(&y.key) })
	return all
}

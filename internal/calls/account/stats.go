package account

import "github.com/cairnprof/cairn/calllog"

// Stats are counts of a thread, or of all.
type Stats struct {
	EventCounts
	Irregular
	TailCounts
	Folds

	MaxDepth int // frames of the deepest stack, without those too deep

	// Shortest is the duration of the shortest of the Leaves. These are calls that a filter of short ones would
	// have dropped: they returned and called nothing, have no arguments, and no block of the log began within
	// them. If none took less than 5 microseconds, the log was probably filtered when it was written.
	Shortest, Leaves uint64

	// OrphansByFunc are the orphans of each function; of the first 1024.
	OrphansByFunc map[calllog.FuncID]uint64
}

// EventCounts are counts of events by their kind.
type EventCounts struct {
	Events       uint64 // all of the following, and those of unknown kind
	Enters       uint64 // with and without arguments
	Exits        uint64
	TailExits    uint64
	CustomEvents uint64
	TypedEvents  uint64
}

// Irregular counts what does not fit: events without calls, and calls without events.
type Irregular struct {
	Orphans   uint64 // exits of functions that were not open
	Deduced   uint64 // calls without an exit, ended by a caller's exit or a gap
	Open      uint64 // calls that had not ended, dropped or not
	Gaps      uint64 // places where a stack was discarded as events were missing
	Clamped   uint64 // calls whose total or self time would be negative
	Backwards uint64 // events earlier than the previous one
	TooDeep   uint64 // enters that were not counted, see the package
	EnterOnly uint64 // threads whose enters were counted as calls of no duration
}

// TailCounts are counts of tail calls.
type TailCounts struct {
	TailCalls uint64 // calls that were put below the function that jumped to them
	TailsLeft uint64 // possible tail calls that were left with the caller
}

// Folds are the calls that lost their stacks to save memory, and their time, which counts as their callers' own.
// No stack lacks more than MostFolded of its time and MostFoldedCalls of its calls.
type Folds struct {
	Folded, FoldedSelf          uint64
	MostFolded, MostFoldedCalls uint64
}

// add adds the counts of other.
func (s *Stats) add(other *Stats) {
	s.EventCounts.add(&other.EventCounts)
	s.Irregular.add(&other.Irregular)
	s.TailCalls += other.TailCalls
	s.TailsLeft += other.TailsLeft
	s.Folded += other.Folded
	s.FoldedSelf += other.FoldedSelf
	s.MostFolded += other.MostFolded
	s.MostFoldedCalls += other.MostFoldedCalls
	s.MaxDepth = max(s.MaxDepth, other.MaxDepth)
	if other.Leaves > 0 && (s.Leaves == 0 || other.Shortest < s.Shortest) {
		s.Shortest = other.Shortest
	}
	s.Leaves += other.Leaves
	for _, fn := range sortedOrphans(other.OrphansByFunc) {
		s.orphansOf(fn, other.OrphansByFunc[fn])
	}
}

func (s *EventCounts) add(other *EventCounts) {
	s.Events += other.Events
	s.Enters += other.Enters
	s.Exits += other.Exits
	s.TailExits += other.TailExits
	s.CustomEvents += other.CustomEvents
	s.TypedEvents += other.TypedEvents
}

func (s *Irregular) add(other *Irregular) {
	s.Orphans += other.Orphans
	s.Deduced += other.Deduced
	s.Open += other.Open
	s.Gaps += other.Gaps
	s.Clamped += other.Clamped
	s.Backwards += other.Backwards
	s.TooDeep += other.TooDeep
	s.EnterOnly += other.EnterOnly
}

// orphansOf counts n orphans of a function, if there is room for it.
func (s *Stats) orphansOf(fn calllog.FuncID, n uint64) {
	if _, ok := s.OrphansByFunc[fn]; !ok && len(s.OrphansByFunc) >= maxOrphanFuncs {
		return
	}
	if s.OrphansByFunc == nil {
		s.OrphansByFunc = make(map[calllog.FuncID]uint64)
	}
	s.OrphansByFunc[fn] += n
}

// leaf counts a call without callees.
func (s *Stats) leaf(total uint64) {
	if s.Leaves == 0 || total < s.Shortest {
		s.Shortest = total
	}
	s.Leaves++
}

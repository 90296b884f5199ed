package mark

import "time"

// A Spike is a call that took too long, or a caller of one that has ended since.
type Spike struct {
	// Number counts spikes from 1. A caller has the number of the spike in it.
	Number uint64
	// Parent reports that this is a caller. It has no Stack and no Children.
	Parent bool
	// Name is the name of the function or section.
	Name string
	Time time.Time // when it ended
	// Min and Max bound its duration, without pauses. The clock that spans read moves in steps; Min is certain.
	Min, Max  time.Duration
	Threshold time.Duration
	Label     string // of the goroutine
	Frame     uint64 // how often Frame was called
	// Desc is the text of Span.Desc, and Messages are those of Span.OverTime.
	Desc     string
	Messages []string
	// Stack has the call itself first, then its callers.
	Stack []Call
	// Children are the longest marked call in it, the longest in that one and so on, while each is at least
	// half of the one before.
	Children []Call
}

// A Call is an entry of a stack.
type Call struct {
	Name string // of the function, or of the section
	File string
	Line int
	PC   uintptr
	// Min and Max bound the duration of the call, so far if it is open. They are 0 for functions without a
	// mark.
	Min, Max time.Duration
	Section  bool
}

// Package pprof reads and writes profiles of pprof: the messages of profile.proto of github.com/google/pprof, compressed with
// gzip or not.
//
// The library there also reads the formats before that one, for which each start of cairn would compile expressions, and is
// what tests compare with.
package pprof

// Profile is a profile. What refers to a Mapping, a Location or a Function refers to one of its lists.
type Profile struct {
	SampleType        []*ValueType // of the values of each sample
	DefaultSampleType string       // the Type of one of them, "" for the last
	Sample            []*Sample
	Mapping           []*Mapping // the first is that of the program
	Location          []*Location
	Function          []*Function
	Comments          []string
	TimeNanos         int64 // since 1970
	DurationNanos     int64
	PeriodType        *ValueType // nil if there is no period
	Period            int64
}

// ValueType is what values are, and their unit.
type ValueType struct{ Type, Unit string }

// Sample is a stack, innermost location first, with the sums of what was measured there. Labels are written, and not read.
type Sample struct {
	Location []*Location
	Value    []int64
	Label    map[string][]string
	NumLabel map[string][]int64
	NumUnit  map[string][]string // of numbers of NumLabel: none, or one for each
}

// Mapping is a file in memory.
type Mapping struct {
	ID                   uint64 // from 1 on, as those below
	Start, Limit, Offset uint64
	File, BuildID        string
	// What locations have already, so that viewers need not look it up.
	HasFunctions, HasFilenames, HasLineNumbers, HasInlineFrames bool
}

// Location is an address with its lines: that of the innermost inlined function first.
type Location struct {
	ID      uint64
	Mapping *Mapping // nil if it is not known
	Address uint64
	Line    []Line
}

// Line is a place in the source.
type Line struct {
	Function     *Function
	Line, Column int64 // 0 if not known
}

// Function is a function. SystemName is its name in the file, before it was demangled.
type Function struct {
	ID                         uint64
	Name, SystemName, Filename string
	StartLine                  int64
}

// Package flamegraph draws tries of calls: each function is a bar below the bar of its caller, as wide as its
// share. It writes what the page of the report draws (JSON), and a picture (SVG), which is one file that needs nothing
// else. It is pure: the same data give the same bytes.
//
// There are two documents. A Profile shows one trace, in which each thread may have its own part. A Diff shows
// two sides of one tree: bars are coloured by their change.
//
//	summary, err := flamegraph.WriteData(w, &flamegraph.Profile{...}, flamegraph.Options{})
//	summary, err := flamegraph.WriteSVG(w, &flamegraph.Diff{...}, flamegraph.Options{Width: 1600})
//
// A tree may have more nodes than a browser or a reader can handle. Nodes below a share of the whole are
// merged, for each parent, into one bar "n more": the sums do not change. The table of functions is computed
// before merging.
package flamegraph

import (
	"strconv"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
)

// Document is a Profile or a Diff.
type Document interface {
	// tree returns the whole tree, before pruning.
	tree() (*tree, error)
}

// Profile is the contents of one or several logs.
type Profile struct {
	Title string
	Notes []string // sentences below the title
	Unit  string   // of all times: "ns", "ticks" where the clock's rate is not known, or what Sampled counts
	// Sampled says that Total and Self are sums of samples, whatever their unit: there are no calls.
	Sampled bool
	// Step is the step of the clock in nanoseconds, see calllog.Clock: times of single calls are known to it.
	Step uint64
	// Groups is one trie, or one for each thread.
	Groups []Group
	// Name returns the displayed name of a function.
	Name func(calllog.FuncID) string
	// Kind returns what code a function is. It may be nil: all are Plain.
	Kind func(calllog.FuncID) Kind
}

// Samples is the unit of profiles whose times are numbers of samples.
const Samples = "samples"

// Kind is a kind of code that has its own colour.
type Kind uint8

// The kinds.
const (
	Plain    Kind = iota // has the colour of its name
	Kernel               // of the operating system
	Restored             // a frame that was missing on the sampled stack
	Inlined              // a function that was inlined into the one above
	kinds
)

var kindNames = [kinds]string{"", "kernel", "restored", "inlined"}

func (k Kind) String() string {
	if k < kinds {
		return kindNames[k]
	}
	return "kind " + strconv.Itoa(int(k))
}

// Group is a trie and the label of its bar. Without a label its outermost functions are at the top; groups with
// labels, such as "thread 12", have their own bar there.
type Group struct {
	Label string
	Trie  *calltrie.Trie
}

// Diff is a tree with two values for each node.
type Diff struct {
	Title string
	Notes []string
	Unit  string // of the times of both sides
	// Before and After are the names of the sides, such as "before.log".
	Before, After string
	Names         []string // of functions, as they are shown
	Nodes         []DiffNode
}

// DiffNode is a function under its callers, and its calls on each side. A side on which it was not called has
// the zero Stats.
type DiffNode struct {
	Func   int // index into Names
	Parent int // index into Nodes, less than the node's own; -1 for the outermost
	A, B   calltrie.Stats
}

// Measure is the quantity that the width of a bar represents.
type Measure string

// The measures. A bar is at least as wide as the bars below it in all of them.
const (
	ByTotal Measure = "total" // time from enter to exit
	BySelf  Measure = "self"  // time of the function and of those below, without their callees'
	ByCalls Measure = "calls" // calls of the function and of those below
)

// Measures returns all of them.
func Measures() []Measure { return []Measure{ByTotal, BySelf, ByCalls} }

// Options control the drawing. The zero value is usable.
type Options struct {
	By Measure // "" is ByTotal; a page can be switched
	// MinShare is the share of the whole, from 0 to 1, below which nodes are
	// merged: one that has it in time or in calls is kept.
	MinShare float64
	// MaxNodes is the maximum number of nodes kept, the largest first; 0 for DefaultNodes.
	MaxNodes int
	Width    int // of a picture, in its units (pixels); 0 for DefaultWidth
}

// Defaults of Options that are zero.
const (
	DefaultNodes = 20_000
	DefaultWidth = 1200
)

// Summary describes the drawing.
type Summary struct {
	Title  string
	Stacks int // nodes of the tree
	Merged int // of them, those that are part of a bar "n more"
	// MergedShare is the share of the time (of the calls, by that measure) that was spent in merged stacks
	// themselves.
	MergedShare float64
}

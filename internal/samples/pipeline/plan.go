// Package pipeline converts samples to the outputs of cairn profgen and cairn flame. A
// Plan says what is made of what, and Run takes the steps: internal/binary reads the
// programs, internal/samples/unwind counts, internal/samples/tailcall finds missing
// frames, and internal/samples/profgen gives counts to functions and lines.
package pipeline

import "github.com/cairnprof/cairn/internal/samples/profgen"

// Product is what is made.
type Product uint8

// The products.
const (
	Profile     Product = iota // for compilers
	Addresses                  // counts of addresses, of which a profile can be made later
	Explanation                // calls after which frames are missing, in place of a profile
	Stacks                     // those of the samples
	Calls                      // who called whom
	Branches                   // of one binary
)

// forCompilers reports whether functions are those that compilers know, by probes or lines,
// and not symbols.
func (p Product) forCompilers() bool {
	return p == Profile || p == Addresses || p == Explanation
}

// Inference is how frames that tail calls erased are restored.
type Inference string

// The ways.
const (
	InferNone Inference = "none"
	InferLLVM Inference = "llvm"
	InferFull Inference = "full"
)

// Inferences are all ways.
var Inferences = []Inference{InferFull, InferLLVM, InferNone}

// Base is what the addresses in counts are relative to.
type Base uint8

// The bases.
const (
	ExecutableBase Base = iota // where the first executable segment is loaded
	FirstBase                  // where the first segment of any kind is
	NoBase
)

// Plan says what is made of what. Nothing changes it.
type Plan struct {
	Product Product

	Samples  []string // files, directories of them, or patterns of names
	Counted  string   // in their place, counts of addresses that were made before
	Binaries []string // the program that ran, and libraries of it
	// DebugFile has the symbols and the debug information of the binary, "" where they are
	// found without.
	DebugFile string
	// SplitFile is the package with its split debug information, "" where that is found
	// without.
	SplitFile string
	// Sum, if it is not nil, are profiles in place of samples.
	Sum *Sum

	PID           int32 // the only process whose samples count, 0 for all
	IgnoreStacks  bool
	KeepTailJumps bool // the stacks of samples at tail jumps are used
	CheckStacks   bool // samples with branches need a stack that can be believed
	CountedDepth  int  // of contexts of addresses, as unwind.Innermost has it
	Depth         int  // of contexts of functions, likewise
	Recursion     int  // as unwind.CompressRecursion has it
	Infer         Inference
	SearchDepth   int // of InferLLVM: so many frames in one place, 0 for all

	ByLines  bool // of debug information, although there are pseudo probes
	Recount  bool // by lines: totals are the sums of counts
	FillZero bool // by lines: functions that did not run are in a flat profile
	Base     Base
	Detail   profgen.StackDetail

	// What is done with a profile for compilers, once it is made.
	Preinline *profgen.Preinline // nil: calls are not decided about
	BySize    bool               // what inlining costs is the size of machine code
	Cold      profgen.Cold
	Nest      bool // contexts are nested in their callers
	Quiet     bool // about steps that have nothing to do
	HashNames bool
	ListNames bool // the functions of the binaries are listed
}

// Sum is profiles to be summed.
type Sum struct {
	Weighted []Weighted
	Files    []string // and directories of them, and patterns of names
	// DropAmbiguous: without contexts, functions that no compiler could tell apart are left
	// out.
	DropAmbiguous bool
}

// Weighted is a profile all of whose counts are multiplied.
type Weighted struct {
	Path   string
	Weight uint64
}

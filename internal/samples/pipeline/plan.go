// Package pipeline converts samples to the outputs of cairn profgen and cairn flame. A Plan
// specifies inputs and output, and Run executes the steps: internal/binary reads the programs,
// internal/samples/unwind counts, internal/samples/tailcall finds missing frames, and
// internal/samples/profgen attributes counts to functions and lines.
package pipeline

import (
	"github.com/cairnprof/cairn/internal/samples/profgen"
	"github.com/cairnprof/cairn/internal/samples/samplefile"
)

// Product is the kind of output.
type Product uint8

// The products.
const (
	Profile     Product = iota // for compilers
	Addresses                  // counts of addresses, to be converted to a profile later
	Explanation                // calls after which frames are missing, instead of a profile
	Stacks                     // those of the samples
	Calls                      // the call graph
	Branches                   // of one binary
	Executions                 // of the code of one binary
)

// forCompilers reports whether functions are identified as by compilers, by probes or lines,
// and not by symbols.
func (p Product) forCompilers() bool {
	return p == Profile || p == Addresses || p == Explanation
}

// Inference is the method of restoring frames that tail calls erased.
type Inference string

// The methods.
const (
	InferNone Inference = "none"
	InferLLVM Inference = "llvm"
	InferFull Inference = "full"
)

// Inferences are all methods.
var Inferences = []Inference{InferFull, InferLLVM, InferNone}

// KernelFrames says which functions of the kernel are on stacks.
type KernelFrames string

// The values.
const (
	KernelAll  KernelFrames = "all"  // each function
	KernelOne  KernelFrames = "one"  // one frame
	KernelNone KernelFrames = "none" // the callers spent the time
)

// Base is what the addresses in counts are relative to.
type Base uint8

// The bases.
const (
	ExecutableBase Base = iota // load address of the first executable segment
	FirstBase                  // that of the first segment of any kind
	NoBase
)

// Plan specifies inputs and output. It is immutable.
type Plan struct {
	Product Product
	Inputs
	Unwinding
	Content
	Processing
}

// Inputs are the files of a plan.
type Inputs struct {
	Samples  []string         // files, directories of them, or patterns of names
	Kept     *samplefile.Kept // what was read of Samples already, nil if they must be read
	Counted  string           // instead, counts of addresses that were written before
	Binaries []string         // the program that ran, and libraries of it
	// Tables unwind copies of stacks. If it is nil, they are those of the binaries and of the files
	// at the paths of mappings.
	Tables *Tables
	// DebugFile has the symbols and debug information of the binary, "" if they are found
	// automatically.
	DebugFile string
	// SplitFile is the package with its split debug information, "" if it is found
	// automatically.
	SplitFile string
	// Sum, if not nil, has profiles to be used instead of samples.
	Sum *Sum
}

// Unwinding says which samples count, and how stacks are made of them.
type Unwinding struct {
	Everywhere    bool  // stacks without a frame in the binaries count, too
	PID           int32 // the only process whose samples count, 0 for all
	IgnoreStacks  bool
	KeepTailJumps bool // use the stacks of samples at tail jumps
	CheckStacks   bool // samples with branches need a valid stack
	CountedDepth  int  // of contexts of addresses, see unwind.Innermost
	Depth         int  // of contexts of functions, likewise
	Recursion     int  // see unwind.CompressRecursion
	Infer         Inference
	SearchDepth   int // of InferLLVM: maximum number of frames in one place, 0 for all

	// Kernel says how stacks show the kernel, "" as other code outside of the binaries.
	Kernel KernelFrames
}

// Content says what an output has.
type Content struct {
	ByLines   bool // of debug information, even if there are pseudo probes
	Recount   bool // by lines: totals are the sums of counts
	FillZero  bool // by lines: functions that did not run are in a flat profile
	Base      Base
	Detail    profgen.StackDetail
	HashNames bool
	ListNames bool // the functions of the binaries are listed
}

// Processing changes a profile for compilers.
type Processing struct {
	Preinline *profgen.Preinline // nil: no decisions about calls
	BySize    bool               // the cost of inlining is the size of machine code
	Cold      profgen.Cold
	Nest      bool // contexts are nested in their callers
	Quiet     bool // do not report steps that have nothing to do
}

// Sum has profiles to be summed.
type Sum struct {
	Weighted []Weighted
	Files    []string // files, directories of them, and patterns
	// DropAmbiguous omits, in profiles without contexts, functions that compilers could not
	// distinguish.
	DropAmbiguous bool
}

// Weighted is a profile all of whose counts are multiplied.
type Weighted struct {
	Path   string
	Weight uint64
}

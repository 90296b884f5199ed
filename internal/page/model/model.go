// Package model is the model of the report: all data of the page, as plain data that encodes
// to JSON. docs/report-model.md describes it. Build builds it from profiles, programs, spikes,
// samples and logs of calls; it is pure.
package model

import "github.com/cairnprof/cairn/internal/spikes"

// Version is the version of the model. Within a version keys may be added; none is renamed or
// changes its meaning.
const Version = 1

// Model is the data of the page. Data that was not recorded is absent.
type Model struct {
	Version   int        `json:"version"`
	Title     string     `json:"title"`
	View      string     `json:"view,omitempty"`      // of a page with one view: which
	Generator string     `json:"generator,omitempty"` // of cairn
	Inputs    []Input    `json:"inputs"`
	Modules   []Module   `json:"modules"`
	Runs      uint64     `json:"runs,omitempty"`          // processes that wrote raw files
	AtLeast   bool       `json:"runs_at_least,omitempty"` // there may have been more
	Scenarios []Scenario `json:"scenarios,omitempty"`
	Figures   []Figure   `json:"figures"`
	Findings  []Finding  `json:"findings,omitempty"` // what to do, most important first
	Uncertain []string   `json:"uncertain"`          // messages: what the data do not show
	Limits    []string   `json:"limits"`             // messages: what was omitted from the report
	Functions []Function `json:"functions"`
	Edges     []Edge     `json:"edges"`
	Files     []File     `json:"files"`
	Pages     *Pages     `json:"pages,omitempty"`
	Spikes    *Spikes    `json:"spikes,omitempty"`
	Samples   *Samples   `json:"samples,omitempty"`
	Calls     *Calls     `json:"calls,omitempty"`
	Changes   *Changes   `json:"changes,omitempty"`

	// Timeline and Flame are the indexes of the views of logs over time, from package
	// timeline.
	Timeline any `json:"timeline,omitempty"`
	Flame    any `json:"flame,omitempty"`
}

// Input is a file that was read.
type Input struct {
	Path  string `json:"path"`
	Kind  string `json:"kind"` // profile, raw files, binary, log of calls, log of spikes, samples
	Files int    `json:"files,omitempty"`
	Bytes int64  `json:"bytes,omitempty"`
}

// Module is a program or library that was recorded.
type Module struct {
	Name      string   `json:"name"`
	BuildID   string   `json:"build_id,omitempty"`
	Machine   string   `json:"machine,omitempty"`
	Modes     []string `json:"modes"`
	Runs      uint64   `json:"runs"`
	Functions Tally    `json:"functions"`
	Blocks    Tally    `json:"blocks"`
	Lines     bool     `json:"lines"` // source lines are known
}

// Tally is the number of covered elements, and of all elements.
type Tally [2]int

// Scenario is runs that did the same (CAIRN_SCENARIO).
type Scenario struct {
	Name      string  `json:"name"`
	Runs      int     `json:"runs"`      // with an order of first executions
	Functions float64 `json:"functions"` // that ran, the mean of the runs
}

// Figure is a number of the overview.
type Figure struct {
	ID    string  `json:"id"`    // functions, lines, calls, pages, spikes, samples, time
	Value float64 `json:"value"` //
	Of    float64 `json:"of,omitempty"`
	// Unknown is how many of Of may or may not belong to Value.
	Unknown float64 `json:"unknown,omitempty"`
	AtLeast bool    `json:"at_least,omitempty"` // Value is a lower bound
	Then    float64 `json:"then,omitempty"`     // pages: with the functions in another order
	Before  float64 `json:"before,omitempty"`   // of the input that is compared with
	Has     bool    `json:"has_before,omitempty"`
}

// Function is a function of the source with all code that the compiler generated for it, or a
// function that only samples, spikes, logs or calls name.
type Function struct {
	Key     string `json:"key"`            // unique, for links: the symbol, with a number if it is not unique
	Symbol  string `json:"symbol"`         // mangled
	Name    string `json:"name,omitempty"` // demangled, if that differs
	Module  int    `json:"module"`         // index into Modules, -1 if unknown
	File    int    `json:"file"`           // index into Files, -1 if unknown
	Line    int    `json:"line,omitempty"` // that it begins on
	End     int    `json:"end,omitempty"`  // last line of its own code
	Address uint64 `json:"address,omitempty"`
	Size    uint64 `json:"size,omitempty"` // bytes of all its code
	Mode    string `json:"mode,omitempty"` // absent if it has no probes

	// Of a function that was compiled and that no module has: why, with a note, and whether it may have run.
	Absent  string `json:"absent,omitempty"`
	Note    string `json:"note,omitempty"`
	Unknown bool   `json:"unknown,omitempty"`

	// Of the profile, if Mode is set.
	Runs    uint64  `json:"runs,omitempty"`     // in which it ran
	Of      uint64  `json:"of_runs,omitempty"`  // runs that recorded the function
	Calls   *uint64 `json:"calls,omitempty"`    // absent if the mode does not count
	AtLeast bool    `json:"at_least,omitempty"` // Calls is a lower bound
	Order   float64 `json:"order,omitempty"`    // mean index of its first execution
	Blocks  *Tally  `json:"blocks,omitempty"`
	Lines   *[3]int `json:"lines,omitempty"` // ran, did not run, unknown
	// Bits has a character for each block of each part: 1 ran, 0 did not; a space between parts.
	Bits  string `json:"bits,omitempty"`
	Parts []Part `json:"parts,omitempty"` // if the compiler generated several parts of code for it

	Inlined *Inlined `json:"inlined,omitempty"`
	Spikes  *Spiked  `json:"spikes,omitempty"`
	Samples *Sampled `json:"samples,omitempty"`
	Time    *Time    `json:"time,omitempty"`
	Change  *Change  `json:"change,omitempty"`
}

// Part is a part of the code of a function: itself, a clone, or a split part.
type Part struct {
	Symbol  string  `json:"symbol"`
	Address uint64  `json:"address"`
	Size    uint64  `json:"size"`
	Runs    uint64  `json:"runs"`
	Calls   *uint64 `json:"calls,omitempty"`
	Blocks  *Tally  `json:"blocks,omitempty"`
}

// Inlined has the inlined copies of a function.
type Inlined struct {
	Copies int `json:"copies"`
	Ran    int `json:"ran"` // copies of which code ran
	// Into are indexes of functions, ascending.
	Into []int `json:"into"`
}

// Spiked is the spikes whose peak a function is, and its calls that took too long and have not ended.
type Spiked struct {
	Count uint64 `json:"count"`
	Open  uint64 `json:"open,omitempty"`
	Worst uint64 `json:"worst_ns"` // the longest of both
	// Groups are indexes into Spikes.Groups.
	Groups []int `json:"groups"`
}

// Sampled is the samples of a function.
type Sampled struct {
	Self     uint64 `json:"self"`
	Total    uint64 `json:"total"`
	Restored uint64 `json:"restored,omitempty"` // of Total: in which its frame was restored
}

// Time is the time of a function's calls in logs, in the unit of Calls.
type Time struct {
	Calls uint64 `json:"calls"`
	Total uint64 `json:"total"`
	Self  uint64 `json:"self"`
	*Spread
	NoExit uint64 `json:"no_exit,omitempty"` // calls whose end is not in the log: times are lower bounds
	Waits  uint64 `json:"waits,omitempty"`   // part of the total in which threads waited
}

// Spread is the times of single calls of a function. Logs of sums do not have it.
type Spread struct {
	Min    uint64 `json:"min"`
	Median uint64 `json:"median"`
	P90    uint64 `json:"p90"`
	P99    uint64 `json:"p99"`
	Max    uint64 `json:"max"`
	// Histogram is absent of a function with one call.
	Histogram *Histogram `json:"histogram,omitempty"`
}

// Histogram counts calls by their time. The buckets of a power of two are four, as wide as each other: bucket i below
// 4 has the time i, and above it the times from (4 + i%4) << (i/4 - 1) to the next bucket.
type Histogram struct {
	First  int      `json:"first"`  // bucket of Counts[0]
	Counts []uint64 `json:"counts"` // neither the first nor the last is 0
}

// Change is a difference from the input that is compared.
type Change struct {
	Kind   string  `json:"kind"`             // new, gone, only_now, only_then, blocks, calls
	Before float64 `json:"before,omitempty"` // calls in a run
	Now    float64 `json:"now,omitempty"`
	Lost   int     `json:"lost,omitempty"`   // blocks that ran only before
	Gained int     `json:"gained,omitempty"` // blocks that run only now
}

// Edge is a call of one function by another.
type Edge struct {
	From int `json:"from"` // indexes into Functions
	To   int `json:"to"`
	// Kind is the evidence in the profile: observed (a return address), implied (code that
	// ran), possible (a pointer), or absent.
	Kind     string `json:"kind,omitempty"`
	Runs     uint64 `json:"runs,omitempty"`  // that observed it
	Calls    uint64 `json:"calls,omitempty"` // in logs
	Total    uint64 `json:"total,omitempty"` // time of these calls
	Samples  uint64 `json:"samples,omitempty"`
	Restored uint64 `json:"restored,omitempty"` // of Samples: with a restored frame at one end
}

// File is a source file.
type File struct {
	Path      string `json:"path"`
	Functions Tally  `json:"functions"`
	Blocks    Tally  `json:"blocks"`
	Lines     [3]int `json:"lines"` // ran, did not run, unknown
	// Branches are the ways of branches that were taken, that were not, and of which it is not known; absent if
	// none are recorded.
	Branches *[3]int `json:"branches,omitempty"`
	// Data is the path of its Source, absent if there are no lines to show.
	Data string `json:"data,omitempty"`
	// Missing is the reason why Data has no text of the file.
	Missing string `json:"missing,omitempty"`
}

// Source is the data of a file's view: its text and the state of its lines.
type Source struct {
	Version int    `json:"version"`
	Path    string `json:"path"`
	Text    string `json:"text,omitempty"`
	// Lines are [number, state, runs, blocks that ran, blocks] of the lines with code; state
	// is 0 did not run, 1 unknown, 2 ran.
	Lines [][5]int `json:"lines"`
	// Times are [number, executions] of the lines of which those are recorded (mode edge), ascending.
	Times [][2]int `json:"times,omitempty"`
	// Inlined are the calls in the file that the compiler inlined.
	Inlined []InlinedCall `json:"inlined"`
}

// InlinedCall is a call that was inlined.
type InlinedCall struct {
	Line   int `json:"line"`   // of the call
	Callee int `json:"callee"` // index into Functions
	Into   int `json:"into"`   // the function whose code has it
	Ran    int `json:"ran"`    // 1 if code of it ran
}

// Pages is which pages of a program's code runs touch.
type Pages struct {
	Binary    string         `json:"binary"`
	PageSize  uint64         `json:"page_size"`
	Layouts   []PageLayout   `json:"layouts"` // as linked, then in the order that cairn order computes
	Scenarios []PageScenario `json:"scenarios"`
}

// PageLayout is the functions on the pages of a program.
type PageLayout struct {
	Label   string  `json:"label"`
	Address uint64  `json:"address"` // of the first page
	Pages   [][]int `json:"pages"`   // the functions on each: indexes into Functions
}

// PageScenario has the pages that runs of a scenario touch.
type PageScenario struct {
	Name      string    `json:"name"`
	Runs      int       `json:"runs"`
	Functions float64   `json:"functions"` // means over the runs
	Bytes     float64   `json:"bytes"`
	Least     float64   `json:"least"`  // pages in which the bytes fit
	Touch     []Touched `json:"touch"`  // parallel to Layouts
	Bounds    [][2]int  `json:"bounds"` // least pages after each first execution, thinned
}

// Touched is the pages that a scenario touches in a layout.
type Touched struct {
	Pages   float64 `json:"pages"` // mean over the runs
	Blocks  float64 `json:"by_block,omitempty"`
	Windows float64 `json:"windows_64k"`
	// Of the run that executed the most functions:
	Steps []int    `json:"steps"` // the first execution that touched each page, from 1; 0 if none
	Curve [][2]int `json:"curve"` // [first executions, pages touched], thinned
}

// Spikes is the calls that took too long.
type Spikes struct {
	Groups []*spikes.Object `json:"groups"` // one for each stack, the worst first
	// Open are calls that had not ended when the logs were last written, the longest first: those that may have been idle are last.
	Open     []*spikes.Object `json:"open,omitempty"`
	OpenLeft int              `json:"open_left,omitempty"` // such calls that are not in Open
	// Timelines are the calls before and during each spike, where a flight recorder has them.
	Timelines []*spikes.Timeline `json:"timelines,omitempty"`
	// Late is how much of the time in which calls took too long the groups explain; absent if there is none.
	Late        *spikes.Late `json:"late,omitempty"`
	Left        int          `json:"left"`            // stacks that are not in Groups
	Reach       []string     `json:"reach"`           // messages: what the logs can show
	Notes       []string     `json:"notes,omitempty"` // what is not ranked: freezes, and waits for work
	Suggestions []Suggestion `json:"suggestions"`
}

// Suggestion is a line for the source that permits a call to take long.
type Suggestion struct {
	Function string `json:"function"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Markup   string `json:"markup"`
	Why      string `json:"why"`
}

// Samples is sampled stacks.
type Samples struct {
	Count    uint64  `json:"count"`
	Restored uint64  `json:"restored"` // with frames that tail calls had removed
	Stacks   []Stack `json:"stacks"`   // the heaviest first
	Left     int     `json:"left"`     // stacks that are not in Stacks
}

// Stack is a sampled stack.
type Stack struct {
	Count  uint64  `json:"count"`
	Frames []Frame `json:"frames"` // outermost first
}

// Frame is a function on a stack.
type Frame struct {
	Function int  `json:"function"`
	Restored bool `json:"restored,omitempty"`
	Inlined  bool `json:"inlined,omitempty"`
}

// Calls has the totals of logs of calls.
type Calls struct {
	Unit    string `json:"unit"`           // of times: ns or ticks
	Step    uint64 `json:"step,omitempty"` // of the clock in ns: times of single calls are less than they are plus this
	Calls   uint64 `json:"calls"`
	Threads int    `json:"threads"`
	Time    uint64 `json:"time"` // of all threads together
	// Processor is the part of the time outside of Waits, if there are some.
	Processor uint64 `json:"processor,omitempty"`
	Waits     []Wait `json:"waits,omitempty"` // most time first
}

// Wait is the waits of threads for one thing.
type Wait struct {
	For   string `json:"for"`
	Count uint64 `json:"count"`
	Time  uint64 `json:"time"`
	Idle  uint64 `json:"idle,omitempty"` // part of the time in which there was nothing to do
	Most  *int   `json:"most,omitempty"` // the function that waited longest
}

// Changes compares with a second profile.
type Changes struct {
	Against   string     `json:"against"`
	Both      int        `json:"both"` // functions that ran in both
	Same      int        `json:"same"` // of these: without a difference
	Functions [2]Tally   `json:"functions"`
	Blocks    [2]Tally   `json:"blocks"`
	Lists     []Changed  `json:"lists"`
	Runs      [2]uint64  `json:"runs"`
	Calls     [2]float64 `json:"calls"` // in all runs
}

// Changed is a list of functions that differ in one way.
type Changed struct {
	Kind      string `json:"kind"` // as Change.Kind
	Count     int    `json:"count"`
	Functions []int  `json:"functions"` // the first ones: indexes into Functions
}

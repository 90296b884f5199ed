// Package samplestats counts the contents of an input of samples: their processes and
// binaries, how many can be used for a profile, and why the others cannot.
//
// It uses addresses and mappings, not code. Stacks that end too early and invalid branches are
// detected only if addresses show it; the unwinder, which has the binaries, detects more.
package samplestats

import (
	"cmp"
	"context"
	"strings"

	"github.com/cairnprof/cairn/internal/logfile"
	"github.com/cairnprof/cairn/internal/samples/mapped"
	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/sample"
)

// Reason is the reason why a sample cannot be used, or Usable.
type Reason uint8

// The reasons, in the order in which they are checked: a sample is counted under the first
// that applies.
const (
	Usable       Reason = iota
	Kernel              // every address is in the kernel
	NoMapping           // no address is in a mapping
	External            // addresses are in mappings, but not of the requested binaries
	NoBranches          // others have branches, this one does not
	LostBranches        // two consecutive branches are inconsistent
	Reasons
)

var reasonNames = [Reasons]string{
	"usable",
	"only in the kernel",
	"no address is in a mapping",
	"only in other binaries",
	"without branches",
	"branches that do not follow from each other",
}

var reasonKeys = [Reasons]string{"usable", "kernel", "no_mapping", "external", "no_branches", "broken_branches"}

func (r Reason) String() string { return reasonNames[r] }

// Key is the name of a reason in JSON.
func (r Reason) Key() string { return reasonKeys[r] }

// deepest is the default of the maximum number of frames that the kernel records.
const deepest = 127

// deepestSimpleperf is the maximum of simpleperf, which unwinds copies of stacks.
const deepestSimpleperf = 512

// Result describes an input.
type Result struct {
	ByReason [Reasons]uint64
	// InKernel are samples taken in the kernel, Elsewhere those taken outside of the kernel
	// and of files.
	InKernel, Elsewhere uint64
	// CutStacks are samples whose stack has the kernel's maximum depth: callers may be
	// missing.
	CutStacks uint64
	// Unmapped are samples whose stack begins outside of all mappings, while their newest
	// branch is in one.
	Unmapped  uint64
	Processes []*Process // those with the most samples first
	Binaries  []*Binary  // those with the most samples first
	Mappings  int
	// Conflicts is how often different files were mapped at one address; it matters if samples
	// do not contain their process.
	Conflicts int
}

// Process is a process that has samples.
type Process struct {
	PID     int32
	Name    string // the last name, "" if not known
	Samples uint64
}

// Binary is a file with an executable mapping and samples.
type Binary struct {
	Path, BuildID string
	Samples       uint64 // that were taken in it
	Frames        uint64 // of stacks
	Branches      uint64 // that begin in it
	Processes     int    // that mapped it
	Loads         int    // different load addresses

	loads, pids map[uint64]bool
}

// Options select the samples that count.
type Options struct {
	// Modules are the binaries of interest, nil for all files.
	Modules *mapped.Modules
}

// Run reads a source to its end. progress is called for each batch with the bytes read.
func Run(ctx context.Context, src sample.Source, opt Options, progress func(bytes int64)) (_ *Result, err error) {
	defer logfile.Guard(src.Info().File, &err)()
	c := counter{
		opt:      opt,
		info:     src.Info(),
		names:    map[int32]string{},
		byPID:    map[int32]*Process{},
		binaries: map[string]*Binary{},
		mapped:   map[*sample.Mapping]place{},
	}
	if opt.Modules != nil {
		c.files = mapped.NewProcesses(opt.Modules)
	} else {
		c.files = mapped.NewProcesses(mapped.New(nil, nil))
	}
	for b, err := range src.Batches(ctx) {
		if err != nil {
			return nil, err
		}
		c.events(b.Events)
		for i := range b.Samples {
			c.sample(&b.Samples[i])
		}
		b.Release()
		progress(src.Stats().Bytes)
	}
	return c.result(), nil
}

type counter struct {
	Result

	opt      Options
	info     *sample.Info
	files    *mapped.Processes
	names    map[int32]string
	byPID    map[int32]*Process
	binaries map[string]*Binary
	mapped   map[*sample.Mapping]place
	// The mapping that was found last: most addresses are in it.
	last    *sample.Mapping
	lastPID int32
}

// place is what a mapping has.
type place struct {
	file   *Binary // nil without a file
	wanted bool    // code of the requested binaries
}

func (c *counter) events(events []sample.Event) {
	if len(events) == 0 {
		return
	}
	c.files.Apply(events)
	c.last = nil
	const most = 1 << 16
	if len(c.mapped) > most { // it includes mappings that ended
		clear(c.mapped)
	}
	for i := range events {
		switch e := &events[i]; e.Kind {
		case sample.Map:
			c.mapping(e)
		case sample.Comm, sample.Exec:
			if e.PID == e.TID { // a thread can have its own name
				c.names[e.PID] = e.Name
			}
		case sample.Fork:
			if e.PID != e.Parent && c.names[e.PID] == "" {
				c.names[e.PID] = c.names[e.Parent]
			}
		case sample.Exit:
		}
	}
}

func (c *counter) mapping(e *sample.Event) {
	m := &e.Mapping
	if !m.Exec || !isFile(m) || mapped.Anonymous(m) {
		return
	}
	c.Mappings++
	b := c.binary(m)
	b.pids[uint64(uint32(e.PID))] = true
	b.loads[m.Start-m.Offset] = true
}

// isFile reports whether a mapping is of a file, and not of the kernel, anonymous, or one that
// the kernel provides to all processes.
func isFile(m *sample.Mapping) bool {
	return !strings.HasPrefix(m.Path, "[") && !strings.HasPrefix(m.Path, "//") && m.Path != ""
}

func (c *counter) binary(m *sample.Mapping) *Binary {
	b := c.binaries[m.Path]
	if b == nil {
		b = &Binary{Path: m.Path, BuildID: c.info.BuildIDs[m.Path], loads: map[uint64]bool{}, pids: map[uint64]bool{}}
		c.binaries[m.Path] = b
	}
	if m.BuildID != "" {
		b.BuildID = m.BuildID
	}
	return b
}

// at returns the mapping at an address, and what it has.
func (c *counter) at(pid int32, addr uint64) (*sample.Mapping, place) {
	m := c.last
	if m == nil || c.lastPID != pid || !m.Contains(addr) {
		if m = c.files.Spaces.Lookup(pid, addr); m == nil {
			return nil, place{}
		}
		c.last, c.lastPID = m, pid
	}
	at, ok := c.mapped[m]
	if !ok {
		if isFile(m) && !mapped.Anonymous(m) {
			at.file = c.binary(m)
		}
		if c.opt.Modules == nil {
			at.wanted = at.file != nil
		} else {
			at.wanted = c.files.Module(pid, m) >= 0
		}
		c.mapped[m] = at
	}
	return m, at
}

const kernelSpace = 1 << 63

// sample counts one sample.
func (c *counter) sample(s *sample.Sample) {
	c.process(s)
	if n := len(s.Stack); n >= deepestSimpleperf || n >= deepest && !c.info.Simpleperf {
		c.CutStacks += s.Count
	}
	if len(s.Stack) > 0 && len(s.Branches) > 0 && s.Stack[0] < kernelSpace {
		leaf, _ := c.at(s.PID, s.Stack[0])
		newest, _ := c.at(s.PID, s.Branches[0].To)
		if leaf == nil && newest != nil {
			c.Unmapped += s.Count
		}
	}
	v := view{counter: c, s: s}
	v.look()
	c.ByReason[v.reason()] += s.Count
}

func (c *counter) process(s *sample.Sample) {
	p := c.byPID[s.PID]
	if p == nil {
		p = &Process{PID: s.PID}
		c.byPID[s.PID] = p
	}
	p.Samples += s.Count
}

// view has the locations of the addresses of one sample.
type view struct {
	*counter

	s      *sample.Sample
	user   bool // some are not in the kernel
	mapped bool // some are in a mapping of the process
	wanted bool // some are in a requested binary
}

func (v *view) look() {
	s := v.s
	top := uint64(0)
	switch {
	case len(s.Stack) > 0:
		top = s.Stack[0]
	case len(s.Branches) > 0:
		top = s.Branches[0].To
	default:
		return
	}
	switch b := v.address(top); {
	case b != nil:
		b.Samples += s.Count
	case top >= kernelSpace:
		v.InKernel += s.Count
	default:
		v.Elsewhere += s.Count
	}
	for _, addr := range s.Stack {
		if b := v.address(addr); b != nil {
			b.Frames += s.Count
		}
	}
	for i := range s.Branches {
		if b := v.address(s.Branches[i].From); b != nil {
			b.Branches += s.Count
		}
		v.address(s.Branches[i].To)
	}
}

// address records the location of an address, and returns its binary.
func (v *view) address(addr uint64) *Binary {
	if addr < kernelSpace {
		v.user = true
	}
	m, at := v.at(v.s.PID, addr)
	if m == nil || addr >= kernelSpace {
		return at.file
	}
	v.mapped = true
	v.wanted = v.wanted || at.wanted
	return at.file
}

func (v *view) reason() Reason {
	hasBranches := v.info.Kind.HasBranches()
	switch {
	case !v.user:
		return Kernel
	case !v.mapped:
		return NoMapping
	case !v.wanted:
		return External
	case hasBranches && len(v.s.Branches) == 0:
		return NoBranches
	case v.broken():
		return LostBranches
	}
	return Usable
}

// broken reports whether code would have run backwards: a branch to an address is followed by
// one from a lower address of the same binary. A newest branch that is recorded twice is used once.
func (v *view) broken() bool {
	first := 1
	if v.s.Repeated() {
		first = 2
	}
	for i := first; i < len(v.s.Branches); i++ {
		begin, end := v.s.Branches[i].To, v.s.Branches[i-1].From
		if begin <= end {
			continue
		}
		m, at := v.at(v.s.PID, begin)
		if at.file != nil && m.Contains(end) {
			return true
		}
	}
	return false
}

func (c *counter) result() *Result {
	r := c.Result
	r.Conflicts = c.files.Spaces.Conflicts()
	for pid, p := range c.byPID {
		p.Name = c.names[pid]
		r.Processes = append(r.Processes, p)
	}
	stablesort.Func(r.Processes, func(a, b *Process) int {
		return cmp.Or(cmp.Compare(b.Samples, a.Samples), cmp.Compare(a.PID, b.PID))
	})
	for _, b := range c.binaries {
		if b.Samples|b.Frames|b.Branches == 0 {
			continue
		}
		b.Processes, b.Loads = len(b.pids), len(b.loads)
		r.Binaries = append(r.Binaries, b)
	}
	stablesort.Func(r.Binaries, func(a, b *Binary) int {
		return cmp.Or(cmp.Compare(b.Samples, a.Samples), cmp.Compare(b.Branches+b.Frames, a.Branches+a.Frames), cmp.Compare(a.Path, b.Path))
	})
	return &r
}

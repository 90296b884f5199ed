package perfdata

import (
	"math/bits"

	"github.com/cairnprof/cairn/sample"
)

// attr describes what an event counts and what its samples contain: a perf_event_attr.
type attr struct {
	kind, config uint64
	sampleType   uint64
	readFormat   uint64
	flags        uint64
	branchType   uint64
	regsUser     uint64 // the registers in samples
	name         string
}

const (
	attrSmallest = 64 // bytes: the first version
	maxAttrs     = 1 << 12
	maxIDs       = 1 << 20
)

// parseAttr reads a perf_event_attr of any version: newer ones are longer.
func parseAttr(data []byte, big bool) attr {
	f := fields{data: data, big: big}
	var a attr
	a.kind = uint64(f.u32())
	f.u32() // the size, which the caller knows
	a.config = f.u64()
	f.u64() // the period, or the frequency
	a.sampleType = f.u64()
	a.readFormat = f.u64()
	a.flags = f.u64()
	if big { // bit fields begin at the other end of each byte
		a.flags = bits.Reverse64(a.flags)
	}
	f.next(24) // wakeup, breakpoint
	a.branchType = f.u64()
	a.regsUser = f.u64() // 0 in older versions
	return a
}

// hardware are the names of the events of PERF_TYPE_HARDWARE, and software those
// of PERF_TYPE_SOFTWARE.
var (
	hardware = []string{
		"cycles", "instructions", "cache-references", "cache-misses", "branches", "branch-misses",
		"bus-cycles", "stalled-cycles-frontend", "stalled-cycles-backend", "ref-cycles",
	}
	software = []string{
		"cpu-clock", "task-clock", "page-faults", "context-switches", "cpu-migrations", "minor-faults",
		"major-faults", "alignment-faults", "emulation-faults",
	}
)

// label returns the name of the event, "" if it is not known.
func (a *attr) label() string {
	names := [][]string{hardware, software}
	switch {
	case a.name != "":
		return a.name
	case a.kind < uint64(len(names)) && a.config < uint64(len(names[a.kind])):
		return names[a.kind][a.config]
	}
	return ""
}

// hasBranches reports whether samples have the last taken branches. With --call-graph lbr they have the open
// calls instead.
func (a *attr) hasBranches() bool {
	return a.sampleType&sampleBranchStack != 0 && a.branchType&branchCallStack == 0
}

// sampleKind returns what the samples of an event contain.
func (a *attr) sampleKind() sample.Kind {
	switch {
	case a.hasBranches() && a.sampleType&sampleCallchain != 0:
		return sample.Hybrid
	case a.hasBranches():
		return sample.Branches
	case a.sampleType&(sampleIP|sampleCallchain) != 0:
		return sample.Stacks
	}
	return sample.Nothing
}

// idAt returns the offset of the event's id in its samples, after the header. ok is false if there is none.
func (a *attr) idAt() (offset int, ok bool) {
	if a.sampleType&sampleIdentifier != 0 {
		return 0, true
	}
	if a.sampleType&sampleID == 0 {
		return 0, false
	}
	return 8 * bits.OnesCount64(a.sampleType&(sampleIP|sampleTID|sampleTime|sampleAddr)), true
}

// timeAt returns the offset of the time in samples, as idAt does.
func (a *attr) timeAt() (offset int, ok bool) {
	if a.sampleType&sampleTime == 0 {
		return 0, false
	}
	return 8 * bits.OnesCount64(a.sampleType&(sampleIdentifier|sampleIP|sampleTID)), true
}

// timeBeforeEnd returns the offset of the time from the end of records other than samples.
func (a *attr) timeBeforeEnd() (n int, ok bool) {
	if a.flags&attrIDAll == 0 || a.sampleType&sampleTime == 0 {
		return 0, false
	}
	return 8 * bits.OnesCount64(a.sampleType&(sampleTime|sampleID|sampleStreamID|sampleCPU|sampleIdentifier)), true
}

// trailer returns the size of the id at the end of records other than samples.
func (a *attr) trailer() int {
	if a.flags&attrIDAll == 0 {
		return 0
	}
	return 8 * bits.OnesCount64(a.sampleType&(sampleTID|sampleTime|sampleID|sampleStreamID|sampleCPU|sampleIdentifier))
}

package perfdata

import (
	"encoding/hex"
	"math/bits"

	"github.com/cairnprof/cairn/sample"
)

// record is one record, with its header.
type record struct {
	data   []byte
	offset int64  // in the file, for messages
	block  *block // that the data is in, nil if it is elsewhere
}

const recordHeader = 8

func (r record) body() []byte { return r.data[recordHeader:] }

// header reads the header of a record.
func header(b []byte, big bool) (kind uint32, misc, size uint16) {
	return number32(b, big), number16(b[4:], big), number16(b[6:], big)
}

// event decodes a record about an address space or a thread. ok is false if it is truncated. body ends before
// the id.
func event(kind uint32, misc uint16, body []byte, big bool) (e sample.Event, ok bool) {
	f := fields{data: body, big: big}
	switch kind {
	case recordMmap, recordMmap2:
		e.Kind = sample.Map
		e.PID, e.TID = int32(f.u32()), int32(f.u32())
		m := &e.Mapping
		m.Start, m.Size, m.Offset = f.u64(), f.u64(), f.u64()
		m.Exec = misc&miscMmapData == 0
		if kind == recordMmap2 {
			m.BuildID = mappedBuildID(f.next(24), misc)
			if !pathFollows(f.data) {
				m.Exec = f.u32()&protExec != 0
				f.u32() // shared or private
			}
		}
		m.Path = f.text()
	case recordComm:
		e.Kind = sample.Comm
		if misc&miscCommExec != 0 {
			e.Kind = sample.Exec
		}
		e.PID, e.TID = int32(f.u32()), int32(f.u32())
		e.Name = f.text()
	case recordFork, recordExit:
		e.Kind = sample.Fork
		if kind == recordExit {
			e.Kind = sample.Exit
		}
		e.PID, e.Parent, e.TID = int32(f.u32()), int32(f.u32()), int32(f.u32())
	}
	return e, !f.short
}

// pathFollows reports whether a path is where the protection of a mapping should be: the first kernels
// with this record, such as 3.10 of Red Hat Enterprise Linux 7, did not write it.
func pathFollows(b []byte) bool {
	const flags = 0x0f // the highest first byte of a protection, in either byte order
	return len(b) > 0 && b[0] > flags
}

// mappedBuildID returns the build id that is in place of the device and inode.
func mappedBuildID(b []byte, misc uint16) string {
	if misc&miscBuildID == 0 || len(b) == 0 {
		return ""
	}
	const first, most = 4, 20
	return hex.EncodeToString(b[first : first+min(int(b[0]), most)])
}

// buildID decodes a BUILD_ID record, or an element of that feature.
func buildID(misc uint16, body []byte, big bool) (path, id string) {
	const fixed, sizeAt = 24, 20
	f := fields{data: body, big: big}
	f.u32() // process
	b := f.next(fixed)
	if b == nil {
		return "", ""
	}
	size := sizeAt
	if misc&miscBuildIDSize != 0 {
		size = min(int(b[sizeAt]), sizeAt)
	}
	return f.text(), hex.EncodeToString(b[:size])
}

// decoded is what a record of a sample has.
type decoded struct {
	*sample.Sample        // nil if the record is truncated
	deferred       uint64 // the record with the rest of the stack has this number, 0 if the stack is complete
	wrongPath      uint64 // branches that were not executed, and left out
}

// sampleOf adds a sample to a batch.
func sampleOf(a *attr, event uint16, r record, big bool, batch *sample.Batch) (d decoded) {
	f := fields{data: r.body(), big: big}
	s := sample.Sample{PID: sample.UnknownPID, TID: sample.UnknownPID, Count: 1, Event: event}
	t := a.sampleType
	skip := func(bits uint64) {
		if t&bits != 0 {
			f.u64()
		}
	}
	skip(sampleIdentifier)
	ip := uint64(0)
	if t&sampleIP != 0 {
		ip = f.u64()
	}
	if t&sampleTID != 0 {
		s.PID, s.TID = int32(f.u32()), int32(f.u32())
	}
	skip(sampleTime)
	skip(sampleAddr)
	skip(sampleID)
	skip(sampleStreamID)
	skip(sampleCPU)
	if t&samplePeriod != 0 {
		s.Period = f.u64()
	}
	if t&sampleRead != 0 {
		skipRead(&f, a.readFormat)
	}
	frames, user := uint64(0), 0
	if t&sampleCallchain != 0 {
		frames, user, d.deferred = callchain(&f, batch)
	}
	if frames == 0 && t&sampleIP != 0 && a.sampleKind() != sample.Branches {
		batch.Frame(ip)
	}
	if t&sampleRaw != 0 {
		f.next(uint64(f.u32()))
	}
	switch {
	case a.hasBranches():
		d.wrongPath = branchStack(&f, a.branchType, batch)
		if f, b := batch.Depth(); f+b == 0 && t&sampleIP != 0 { // where it was is all that is known
			batch.Frame(ip)
		}
	case a.sampleType&sampleBranchStack != 0:
		s.AtCalls = openCalls(&f, a, user, batch)
	}
	userState(&f, a, r.block, batch)
	if f.short {
		batch.Drop()
		return decoded{}
	}
	d.Sample = batch.End(s)
	return d
}

// skipRead skips the values of counters.
func skipRead(f *fields, format uint64) {
	perValue := 1 + bits.OnesCount64(format&(readID|readLost))
	times := bits.OnesCount64(format & (readEnabled | readRunning))
	n := uint64(1)
	if format&readGroup != 0 {
		n = f.u64()
	}
	if n > uint64(len(f.data)) { // it would not fit, and its size might not either
		f.next(n)
		return
	}
	f.next(8 * (uint64(times) + n*uint64(perValue)))
}

// callchain adds the addresses of a stack, and returns their number, how many are not the kernel's, and the number of the
// record with the others, 0 if there is none. Markers in between separate kernel and user addresses.
func callchain(f *fields, batch *sample.Batch) (frames uint64, user int, deferred uint64) {
	n := f.u64()
	if n > uint64(len(f.data))/8 {
		f.short = true
		return 0, 0, 0
	}
	for data := f.next(8 * n); len(data) > 0; data = data[8:] {
		switch addr := number64(data, f.big); {
		case addr == contextUserDeferred && len(data) > 8:
			data = data[8:]
			deferred = number64(data, f.big)
		case addr < contextMarkers:
			batch.Frame(addr)
			frames++
			if addr < kernelSpace {
				user++
			}
		}
	}
	return frames, user, deferred
}

// kernelSpace is the first address of the kernel.
const kernelSpace = 1 << 63

// openCalls adds the callers of a sample of --call-graph lbr: the calls that the processor has recorded as branches and
// that have not returned, innermost first. It reports whether it did. As perf does, it removes the callers that the kernel
// found by frame pointers, of which user counts the addresses, but not if these are more than a processor records. A copy of
// the stack shows all.
func openCalls(f *fields, a *attr, user int, batch *sample.Batch) bool {
	n := f.u64()
	if a.branchType&branchHWIndex != 0 {
		f.u64()
	}
	const size = 24
	if n > uint64(len(f.data))/size {
		f.short = true
		return false
	}
	entries := f.next(size * n)
	if a.branchType&branchCounters != 0 {
		f.next(8 * n)
	}
	const most = 32 // that processors have
	if n == 0 || user > most || a.sampleType&sampleStackUser != 0 {
		return false
	}
	batch.Unframe(max(user, 1) - 1)
	for ; len(entries) > 0; entries = entries[size:] {
		if from := number64(entries, f.big); from != 0 && from < kernelSpace {
			batch.Frame(from)
		}
	}
	return true
}

// userState reads the registers and the copy of the stack of a sample. Kernel threads and
// programs of 32 bits have none that can be used.
func userState(f *fields, a *attr, in *block, batch *sample.Batch) {
	const abi64 = 2
	var all [64]uint64
	regs := all[:bits.OnesCount64(a.regsUser)]
	usable := false
	if a.sampleType&sampleRegsUser != 0 {
		if abi := f.u64(); abi != 0 {
			usable = abi == abi64 && !f.big // no such machine is supported
			for i := range regs {
				regs[i] = f.u64()
			}
		}
	}
	if a.sampleType&sampleStackUser == 0 {
		return
	}
	size := f.u64()
	if size == 0 {
		return
	}
	data := f.next(size)
	switch copied := f.u64(); {
	case !usable || f.short:
	case in != nil:
		batch.Hold(in)
		batch.Refer(a.regsUser, regs, data[:min(copied, size)])
	default:
		batch.Copy(a.regsUser, regs, data[:min(copied, size)])
	}
}

// branchStack adds the branches of a sample, and returns how many it left out as they were not executed. Counters of
// events between branches may follow, which are not read.
func branchStack(f *fields, branchType uint64, batch *sample.Batch) (wrongPath uint64) {
	n := f.u64()
	if branchType&branchHWIndex != 0 {
		f.u64()
	}
	const size = 24
	if n > uint64(len(f.data))/size {
		f.short = true
		return 0
	}
	for data := f.next(size * n); len(data) > 0; data = data[size:] {
		flags := number64(data[16:], f.big)
		mispredicted, speculation := flags&branchMispred != 0, flags>>branchSpecAt&branchSpec
		if f.big { // bit fields begin at the highest bit
			mispredicted, speculation = flags>>63 != 0, flags>>(64-branchSpecAt-branchSpecBits)&branchSpec
		}
		if speculation == specWrongPath {
			wrongPath++
			continue
		}
		batch.Branch(number64(data, f.big), number64(data[8:], f.big), mispredicted)
	}
	if branchType&branchCounters != 0 {
		f.next(8 * n)
	}
	return wrongPath
}

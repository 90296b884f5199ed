package runtime

import "unsafe"

// Frames, in a record that is kept up to date.
var (
	cairnFrameCount uint64 // ended, with the first
	cairnFrameAt    int64  // when the last one did
	cairnFrameChunk uintptr
	// cairnFrameBudget is the maximum duration of a frame.
	cairnFrameBudget = uint64(16_666_667)
)

// cairn_mark_frame ends a frame.
//
//go:linkname cairn_mark_frame
func cairn_mark_frame() {
	if cairnMode == cairnLogModeSpike {
		systemstack(cairnEndFrame)
	}
}

func cairnEndFrame() {
	cairnLogLock.lock()
	now := cairnNow()
	took := uint64(now - cairnFrameAt)
	cairnFrameAt = now
	cairnFrameCount++
	if cairnFrameCount > 1 {
		cairnAddFrame(cairnFrameCount-1, now, took)
	}
	cairnLogLock.unlock()
}

func cairnAddFrame(number uint64, now int64, took uint64) {
	if cairnFrameChunk == 0 {
		if cairnFrameChunk = cairnNewChunk(cairnLogKindFrames, now); cairnFrameChunk == 0 {
			return
		}
		cairnFrameChunk += cairnLogChunkHeaderSize
	}
	r := cairnFrameChunk
	field := func(i uintptr) *uint64 { return (*uint64)(unsafe.Pointer(r + 8*i)) }
	half := func(at uintptr) *uint32 { return (*uint32)(unsafe.Pointer(r + at)) }
	cairnPut32(r+4, *half(4)|1) // it changes
	at := number - 1
	for at>>*half(56) >= cairnLogFrameBuckets {
		for i := uintptr(0); i < cairnLogFrameBuckets; i += 2 {
			*half(64 + 4*i) = max(*half(64 + 8*i), *half(72 + 8*i))
			*half(68 + 4*i) = *half(68 + 8*i) + *half(76 + 8*i)
		}
		memclrNoHeapPointers(unsafe.Pointer(r+64+4*cairnLogFrameBuckets), 4*cairnLogFrameBuckets)
		*half(60) = cairnLogFrameBuckets / 2
		*half(56)++
	}
	bucket := 64 + 8*uintptr(at>>*half(56))
	*half(60) = max(*half(60), uint32(at>>*half(56))+1)
	*half(bucket) = max(*half(bucket), uint32(min(took/1000, 1<<32-1)))
	*field(1)++
	*field(2) = uint64(now)
	*field(3) += took
	*field(4) = max(*field(4), took)
	*field(5) = cairnFrameBudget
	if took > cairnFrameBudget {
		*field(6)++
		*half(bucket + 4)++
	}
	const longest = 8 + cairnLogFrameBuckets // as a field
	least := uintptr(longest)
	for i := uintptr(0); i < cairnLogFramesLongest; i++ {
		if *field(longest + 3*i + 2) < *field(least + 2) {
			least = longest + 3*i
		}
	}
	if took > *field(least + 2) {
		*field(least), *field(least + 1), *field(least + 2) = number, uint64(now), took
	}
	if *half(0) == 0 {
		cairnCommit(cairnLogTypeFrames, cairnLogFramesSize, r)
	}
	cairnPut32(r+4, (*half(4)|1)+1)
}

package runtime

import (
	"internal/runtime/atomic"
	"unsafe"
)

// The log is a file of chunks, as format/tracelog/wire describes it. It is mapped into
// memory in windows of 16 chunks, so that what a killed process had written is there. The
// file grows by 4 chunks at first, and is cut at the end of the process.
const (
	cairnWindow     = 16 * cairnLogChunkSize
	cairnNumWindows = 512
	cairnFirstRoom  = 4
)

var (
	cairnWindows  [cairnNumWindows]uintptr
	cairnChunks   uintptr // begun, with that of the header
	cairnRoom     uintptr // chunks that the file has room for
	cairnHeader   [cairnLogChunkHeaderSize]byte
	cairnFailed   bool // no more can be written
	cairnFinished bool // the process ends, and nothing is to be written
	cairnLogLock  cairnSpin
	cairnBegan    int64 // CLOCK_MONOTONIC when the log began
	cairnPID      uint32
	cairnLogFile  cairnFileID

	cairnAt       uintptr // where the next record goes; of records
	cairnEnd      uintptr // end of that chunk
	cairnSequence uint32
	cairnDropped  uint64
	cairnTrailer  uintptr
)

func cairnPut16(at uintptr, v uint16) { *(*uint16)(unsafe.Pointer(at)) = v }
func cairnPut32(at uintptr, v uint32) { *(*uint32)(unsafe.Pointer(at)) = v }
func cairnPut64(at uintptr, v uint64) { *(*uint64)(unsafe.Pointer(at)) = v }

func cairnCopy(at uintptr, b []byte) {
	for i := range b {
		*(*byte)(unsafe.Pointer(at + uintptr(i))) = b[i]
	}
}

// cairnOpenLog creates the log of a mode. It says why it cannot.
func cairnOpenLog(mode uint32) bool {
	dir := gogetenv("CAIRN_DIR")
	if dir == "" {
		dir = "."
	}
	if len(dir) > cairnMaxDir {
		print("cairn: CAIRN_DIR is longer than ", cairnMaxDir, " bytes: nothing is recorded\n")
		return false
	}
	pid := cairnPid()
	cairnPID = uint32(pid)
	n := 0
	if !cairnAbsolute(dir) {
		// The program may change its directory, and the file grows.
		if n = cairnDirectory(cairnOut[:2000]); n > 0 {
			cairnOut[n] = '/'
			n++
		}
	}
	n += copy(cairnOut[n:], dir)
	cairnOut[n] = 0
	cairnMkdir(&cairnOut[0])
	cairnOut[n] = '/'
	end := n + 1 + cairnProgram(cairnOut[n+1:])
	end = cairnProcess(end, min(uintptr(cairnInfo[8]), 6), pid)
	fd, err := cairnFile(n, end, ".cairnlog", cairnFirstRoom*cairnLogChunkSize, cairnHeaderOf(mode))
	if err == 0 {
		cairnRoom, cairnLogFile = cairnFirstRoom, cairnIdentity(fd)
		err = cairnMapWindow(fd, 0)
		cairnClose(fd)
		if err != 0 {
			cairnUnlink(&cairnOut[0])
		}
	}
	if err != 0 {
		print("cairn: cannot write a log in ", dir, ": errno ", err, "\n")
		return false
	}
	cairnBeginLog()
	return true
}

// cairnOpenAgain opens the log, which is not kept open, unless it was moved or removed: what has its path then is another's.
func cairnOpenAgain() (fd, err uintptr) {
	fd, err = cairnOpen(&cairnOut[0], false)
	if err == 0 && cairnIdentity(fd) != cairnLogFile {
		cairnClose(fd)
		return 0, _ESTALE_
	}
	return fd, err
}

// cairnGrow gives the log room for more chunks, none beyond a window of them, and maps what is
// new.
func cairnGrow(fd uintptr) uintptr {
	w := cairnRoom / 16
	room := min(2*cairnRoom, 16*(w+1))
	if err := cairnReserve(fd, cairnRoom*cairnLogChunkSize, room*cairnLogChunkSize); err != 0 {
		return err
	}
	if err := cairnMapWindow(fd, w); err != 0 {
		return err
	}
	cairnRoom = room
	return 0
}

// cairnMapWindow maps a window of the log, unless it is.
func cairnMapWindow(fd, w uintptr) uintptr {
	if cairnWindows[w] != 0 {
		return 0
	}
	at, err := cairnMap(0, cairnWindow, _MAP_SHARED_, fd, w*cairnWindow)
	if err == 0 {
		cairnWindows[w] = at
	}
	return err
}

// cairnChunkAt returns where chunk i of the file is in memory; 0 if it cannot be.
func cairnChunkAt(i uintptr) uintptr {
	w := i / 16
	if w >= cairnNumWindows || i >= cairnRoom && cairnFailed {
		return 0
	}
	if i >= cairnRoom {
		fd, err := cairnOpenAgain()
		if err == 0 {
			err = cairnGrow(fd)
			cairnClose(fd)
		}
		if err != 0 {
			cairnFailed = true
			return 0
		}
	}
	return cairnWindows[w] + i%16*cairnLogChunkSize
}

// cairnNewChunk begins a chunk and returns it.
func cairnNewChunk(kind uint16, now int64) uintptr {
	at := cairnChunkAt(cairnChunks)
	if at == 0 {
		return 0
	}
	cairnChunks++
	cairnPut16(at+4, kind)
	cairnPut32(at+8, cairnPID)
	cairnPut32(at+16, cairnSequence)
	cairnPut64(at+24, uint64(now))
	cairnPut64(at+32, uint64(now))
	cairnPut64(at+40, cairnDropped)
	cairnSequence++
	atomic.Store((*uint32)(unsafe.Pointer(at)), 0x6b686363)
	return at
}

func cairnSum(at, n uintptr) uint32 {
	h := uint32(2166136261)
	for i := range n {
		h = (h ^ uint32(*(*byte)(unsafe.Pointer(at + i)))) * 16777619
	}
	return h
}

// cairnHeaderOf returns the header of the log.
func cairnHeaderOf(mode uint32) []byte {
	h := uintptr(unsafe.Pointer(&cairnHeader))
	cairnBegan = cairnNow()
	copy(cairnHeader[:], cairnLogMagic)
	cairnPut16(h+8, cairnLogVersion)
	cairnPut16(h+10, cairnLogChunkHeaderSize)
	cairnPut32(h+12, cairnPID)
	cairnPut64(h+16, cairnRealTime())
	cairnPut64(h+24, uint64(cairnBegan))
	if mode == cairnLogModeTrace {
		cairnPut32(h+48, cairnLogMicroClock)
	}
	cairnPut32(h+52, mode)
	cairnPut32(h+56, cairnSum(h, 56))
	return cairnHeader[:]
}

// cairnBeginLog writes the trailer and the module.
func cairnBeginLog() {
	cairnChunks = 1
	cairnTrailer = cairnRecord(cairnLogTypeTrailer, 0, cairnLogTrailerSize)
	cairnTrail(cairnBegan, 0)
	cairnCommit(cairnLogTypeTrailer, cairnLogTrailerSize, cairnTrailer)
	path := cairnTmp[:]
	clear(path)
	n := uintptr(cairnExecutable(path))
	size := (cairnLogModuleSize + n + 7) &^ 7
	r := cairnRecord(cairnLogTypeModule, 0, size)
	text := firstmoduledata.text
	cairnPut64(r+8, uint64(cairnBegan))
	cairnPut64(r+16, uint64(text-*(*uintptr)(unsafe.Pointer(&cairnInfo[56]))))
	cairnPut64(r+24, uint64(text))
	cairnPut64(r+32, uint64(firstmoduledata.etext))
	cairnPut32(r+40, cairnLogModuleMain|cairnLogModuleInstrumented)
	cairnPut16(r+44, uint16(cairnInfo[8]))
	cairnPut16(r+46, uint16(n))
	cairnCopy(r+48, cairnInfo[16:36])
	cairnCopy(r+cairnLogModuleSize, path[:n])
	cairnCommit(cairnLogTypeModule, size, r)
}

// cairnRecord returns room for a record of a size, a multiple of 8; 0 if there is none.
// cairnCommit makes it valid.
func cairnRecord(kind uint16, a uint32, size uintptr) uintptr {
	if cairnAt == 0 || cairnAt+size > cairnEnd {
		at := cairnNewChunk(cairnLogKindRecords, cairnNow())
		if at == 0 {
			cairnDropped++
			return 0
		}
		cairnAt, cairnEnd = at+cairnLogChunkHeaderSize, at+cairnLogChunkSize
	}
	r := cairnAt
	cairnAt += size
	cairnPut32(r+4, a)
	return r
}

func cairnCommit(kind uint16, size, r uintptr) {
	atomic.Store((*uint32)(unsafe.Pointer(r)), uint32(kind)|uint32(size)<<16)
}

// cairnTrail updates the trailer.
func cairnTrail(now int64, flags uint32) {
	t := cairnTrailer
	cairnPut32(t+4, flags)
	cairnPut64(t+8, uint64(now))
	cairnPut64(t+16, cairnTicks)
	cairnPut64(t+24, uint64(cairnBlind))
	cairnPut64(t+32, cairnLate)
	cairnPut64(t+40, uint64(cairnWorst))
	cairnPut64(t+48, cairnBorderline)
	cairnPut64(t+56, cairnSlowExits)
	cairnPut64(t+64, cairnDropped)
	cairnPut64(t+72, cairnLimited)
	cairnPut64(t+80, uint64(cairnThreshold))
	cairnPut64(t+88, uint64(cairnPeriod))
	cairnPut64(t+96, uint64(min(cairnLow, 1<<40)))
	cairnPut32(t+104, 1)
	cairnPut32(t+108, cairnThreads)
	cairnPut64(t+128, cairnEpisodes-cairnSnapshots)
	cairnPut32(t+176, cairnNoRoom[0])
	cairnPut32(t+180, cairnNoRoom[1])
}

// cairnFinish completes the log when the process ends.
func cairnFinish() {
	if cairnMode == 0 || cairnFinished {
		return
	}
	now := cairnNow()
	switch cairnMode {
	case cairnLogModeStacks:
		cairnWriteTrees(now, true)
	case cairnLogModeTrace:
		cairnAboutTrace(now)
	case cairnLogModeSpike:
		if getg() != getg().m.gsignal {
			cairnPanics()
			cairnLook(now, true)
		}
	}
	if !cairnLogLock.try() {
		return
	}
	cairnTrail(now, cairnLogTrailerFinal)
	// No tree is written any more.
	if cairnMode != cairnLogModeStacks || cairnTreeBusy.try() {
		cairnFinished = true
		cairnCut()
	}
	cairnLogLock.unlock()
}

// cairnCut gives back the room behind the last record. Other threads may go on, but no chunk
// begins from now on, and no record is beyond the new end.
func cairnCut() {
	last := cairnChunks - 1
	at := cairnChunkAt(last)
	if at == 0 {
		return
	}
	cairnRoom, cairnFailed = cairnChunks, true
	const unit = 4096
	used := uintptr(cairnLogChunkSize)
	if cairnAt > at && cairnAt < at+cairnLogChunkSize {
		used = alignUp(cairnAt-at, unit)
		cairnEnd = at + used
	} else if k := (max(cairnWritten, 1) - 1) / cairnPerChunk; k < uint64(len(cairnTreeChunks)) && uintptr(cairnTreeChunks[k]) == last {
		used = alignUp(cairnLogChunkHeaderSize+uintptr(cairnWritten-k*cairnPerChunk)*cairnLogNodeSize, unit)
	}
	fd, err := cairnOpenAgain()
	if err == 0 {
		cairnTruncate(fd, last*cairnLogChunkSize+used)
		cairnClose(fd)
	}
}

// ---- trees of mode stacks ----

const cairnPerChunk = (cairnLogChunkSize - cairnLogChunkHeaderSize) / cairnLogNodeSize

var (
	cairnTreeBusy   cairnSpin
	cairnTreeNext   int64        // when trees are to be written
	cairnTreePause  int64        = 10_000_000
	cairnWritten    uint64       // nodes in the log
	cairnTreeChunks [8192]uint32 // chunk of the file of each chunk of nodes, 0: none yet
)

// cairnWriteTrees writes all nodes to the log, if it is time to or force is set.
func cairnWriteTrees(now int64, force bool) {
	if now < cairnTreeNext && !force || !cairnTreeBusy.try() {
		return
	}
	made := atomic.Load64(&cairnMade)
	cairnTotals(made)
	for i := uint64(0); i < made; i += cairnPerChunk {
		k := i / cairnPerChunk
		if k >= uint64(len(cairnTreeChunks)) {
			break
		}
		if cairnTreeChunks[k] == 0 {
			at := cairnNewChunk(cairnLogKindTree, now)
			if at == 0 {
				break
			}
			cairnPut64(at+48, i+1)
			cairnTreeChunks[k] = uint32(cairnChunks - 1)
		}
		at := cairnChunkAt(uintptr(cairnTreeChunks[k]))
		if at == 0 {
			break
		}
		for j := i; j < min(made, i+cairnPerChunk); j++ {
			n := cairnNodeAt(j)
			n.write(at+cairnLogChunkHeaderSize+uintptr(j-i)*cairnLogNodeSize, j == 0)
			cairnWritten = max(cairnWritten, j+1)
		}
	}
	cairnTellLost(made)
	cairnTrail(cairnNow(), 0)
	took := cairnNow() - now
	cairnTreePause = min(2*cairnTreePause, 1_000_000_000)
	cairnTreeNext = now + max(cairnTreePause, 50*took)
	cairnTreeBusy.unlock()
}

// cairnTellLost writes how many calls are in no node, or in nodes that there is no room for in
// the file.
func cairnTellLost(made uint64) {
	if cairnWritten == made || cairnWritten == 0 {
		return
	}
	lost := atomic.Load64(&cairnLost)
	for i := cairnWritten; i < made; i++ {
		if n := cairnNodeAt(i); n.kind == cairnKindCall {
			lost += atomic.Load64(&n.calls)
		}
	}
	cairnPut64(cairnChunkAt(uintptr(cairnTreeChunks[0]))+cairnLogChunkHeaderSize+16, lost)
}

func cairnNodeAt(i uint64) *cairnNode {
	return (*cairnNode)(unsafe.Pointer(cairnNodes.base + uintptr(i)*cairnNodeSize))
}

// cairnTotals computes the times of nodes with those below, which come behind them.
func cairnTotals(made uint64) {
	for i := range made {
		n := cairnNodeAt(i)
		n.total, n.open = n.self, 0
	}
	clock := atomic.Loadint64(&cairnWord)
	for i := range made {
		g := cairnNodeAt(i).owner
		if g == nil {
			continue
		}
		// The time of what goes on is not in a node yet.
		n, last := (*cairnNode)(unsafe.Pointer(g.node)), g.last
		if n != nil && last != 0 && last < clock {
			n.total += clock - last
		}
		for ; n != nil && n.kind != cairnKindRoot && n.kind != cairnKindOrigin; n = n.parent {
			n.open = 1
		}
	}
	for i := made; i > 0; i-- {
		if n := cairnNodeAt(i - 1); n.parent != nil {
			n.parent.total += n.total
		}
	}
}

// write writes a node.
func (n *cairnNode) write(r uintptr, first bool) {
	if n.kind == cairnKindRoot {
		cairnPut32(r+4, uint32(n.pc))
		cairnPut64(r+8, n.calls)
		if first {
			cairnPut64(r+16, atomic.Load64(&cairnLost))
		}
		cairnCommit(cairnLogTypeTree, cairnLogNodeSize, r)
		return
	}
	number := (uintptr(unsafe.Pointer(n.parent))-cairnNodes.base)/cairnNodeSize + 1
	cairnPut32(r+4, uint32(number))
	cairnPut64(r+8, uint64(n.start))
	cairnPut64(r+16, atomic.Load64(&n.calls))
	cairnPut64(r+24, uint64(max(n.total, 0)))
	cairnPut32(r+40, uint32(n.open))
	cairnCommit(cairnLogTypeNode, cairnLogNodeSize, r)
}

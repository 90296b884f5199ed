package runtime

import (
	"internal/runtime/atomic"
	"unsafe"
)

// cairnInfo is filled in by the link step: 8 bytes that mark it; the length of the build
// id; at 9 whether each processor can have its own counters; at 16 the build id; at 40 the
// size of the records; at 48 the slots for first executions; at 56 where among the records
// their number is.
var cairnInfo = [64]byte{'C', 'A', 'I', 'R', 'N', 'G', 'O', '1'}

// The records of all packages are between cairnFront and _cairn_cEnd: the linker sorts
// variables by size, and places coverage counters, as which the records are declared,
// behind all others. So the pages of the records hold nothing else.
// The memory of the two arrays is never touched. The standard library has a variable of
// 32 MB (crypto/internal/fips140/drbg.memory).
const cairnEndRoom = 4 << 20

var cairnFront [cairnFrontRoom]byte

var _cairn_cEnd [cairnEndRoom]byte

// _cairn_cNext is the number of first executions.
var _cairn_cNext [1]uint32

// cairnPlaces tells the link step where these are.
var cairnPlaces = [2]unsafe.Pointer{unsafe.Pointer(&_cairn_cNext), unsafe.Pointer(&_cairn_cEnd)}

// cairnOrder is the number of first calls. Probes in functions that call nothing increment it
// without a lock: a thread that was stopped meanwhile can make it smaller than it was, until
// the next call of cairn_called.
//
//go:linkname cairnOrder
var cairnOrder uint32

// cairnCopies is the number of copies of the records, one for each processor; 0 if all use the
// records themselves.
//
//go:linkname cairnCopies
var cairnCopies uint32

var _cairn_z = 0 // has the compiler make an init function, as it requires

var (
	cairnSlots    *uint32 // of first executions
	cairnNumSlots uint32
	cairnSeq      uint32 // of first calls, as far as they had the lock
	cairnBusy     uint32
	cairnHeader   [512]byte
)

const _MAP_SHARED_FIXED = 1 | 0x10

// cairnStart maps a file over the records. It runs before any code that has probes. If
// the file cannot be made, the program runs without one.
func cairnStart() {
	idLen := uintptr(cairnInfo[8])
	if idLen == 0 || idLen > 20 || isSecureMode() {
		return
	}
	dir := gogetenv("CAIRN_DIR")
	quiet := dir == ""
	if quiet {
		dir = "."
	}
	if len(dir) > cairnMaxDir {
		print("cairn: CAIRN_DIR is longer than ", cairnMaxDir, " bytes: nothing is recorded\n")
		return
	}
	page := physPageSize
	start := firstmoduledata.covctrs
	base := start
	if cairnMapsOver {
		base &^= page - 1
	}
	size := *(*uintptr)(unsafe.Pointer(&cairnInfo[40]))
	front := uintptr(unsafe.Pointer(&cairnFront))
	if cairnMapsOver && (base < front || start-front > cairnFrontRoom+64) || uintptr(cairnPlaces[1]) != start+size || page > cairnEndRoom/2 {
		print("cairn: the records share a page with other variables: nothing is recorded\n")
		return
	}
	image := alignUp(start+size-base, page)
	cairnNumSlots = *(*uint32)(unsafe.Pointer(&cairnInfo[48]))
	slotsAt := page + (start - base) + size
	copies := cairnWantCopies(image)
	total := alignUp(page+image*(1+copies), page)
	if end := slotsAt + 4*uintptr(cairnNumSlots); end > total {
		total = alignUp(end, page)
	}
	fd, err := cairnCreate(dir, total, start-base+page, size, copies)
	if err == 0 {
		_, err = cairnMap(base, image, _MAP_SHARED_FIXED, fd, page)
		if err == 0 && cairnNumSlots > 0 {
			var at uintptr
			from := slotsAt &^ (page - 1)
			at, err = cairnMap(0, total-from, _MAP_SHARED_, fd, from)
			if err == 0 {
				cairnSlots = (*uint32)(unsafe.Pointer(at + slotsAt - from))
			}
		}
		if err == 0 && copies > 0 {
			var at uintptr
			at, err = cairnMap(0, image*copies, _MAP_SHARED_, fd, page+image)
			if err == 0 {
				cairnOwn(at-base, image, uint32(copies))
			}
		}
		cairnClose(fd)
	}
	if err != 0 && !quiet {
		print("cairn: cannot write a raw file in ", dir, ": errno ", err, "\n")
	}
}

// cairnCreate makes the raw file, of total bytes, all of which have room on the disk.
func cairnCreate(dir string, total, dataAt, size, copies uintptr) (fd, err uintptr) {
	pid := cairnPid()
	n := copy(cairnOut[:], dir)
	cairnOut[n] = 0
	cairnMkdir(&cairnOut[0])
	cairnOut[n] = '/'
	end := n + 1 + cairnProgram(cairnOut[n+1:])
	end = cairnProcess(end, uintptr(cairnInfo[8]), pid)
	return cairnFile(n, end, ".mipraw", total, cairnHeaderOf(dataAt, size, copies, uint32(pid)))
}

// cairnHeaderOf returns the head of the file.
func cairnHeaderOf(dataAt, size, copies uintptr, pid uint32) []byte {
	run := cairnRandom()
	if run == 0 { // the system has none yet
		run = uint64(nanotime()) ^ uint64(pid)<<40
	}
	h := unsafe.Pointer(&cairnHeader)
	put := func(off int, v uint32) { *(*uint32)(add(h, uintptr(off))) = v }
	put64 := func(off int, v uint64) { *(*uint64)(add(h, uintptr(off))) = v }
	copy(cairnHeader[:], "CAIRNRAW")
	flags := uint32(cairnMipRawContinuous)
	if copies > 0 {
		flags |= cairnMipRawOwn
	}
	put(8, cairnMipRawVersion|flags<<16)
	put(12, uint32(dataAt))
	put64(16, uint64(size))
	put64(24, uint64(size))
	put(36, pid)
	put(40, uint32(cairnInfo[8])|uint32(copies)<<16)
	copy(cairnHeader[44:64], cairnInfo[16:36])
	put(64, cairnNumSlots)
	if cairnNumSlots > 0 {
		put64(72, *(*uint64)(unsafe.Pointer(&cairnInfo[56])))
	}
	put64(80, run)
	n := copy(cairnHeader[cairnMipRawHeaderSize:cairnMipRawHeaderSize+cairnMipMaxScenario], gogetenv("CAIRN_SCENARIO"))
	cairnHeader[41] = byte(n)
	return cairnHeader[:cairnMipRawHeaderSize+n]
}

//go:nosplit
func cairnLock() {
	for !atomic.Cas(&cairnBusy, 0, 1) {
		osyield()
	}
}

//go:nosplit
func cairnUnlock() { atomic.Store(&cairnBusy, 0) }

// cairnHas reports whether an address is in the program's records. Those of a plugin are elsewhere: they are in no
// file, and processors have no copies of them.
//
//go:nosplit
func cairnHas(record unsafe.Pointer) bool {
	return uintptr(record)-firstmoduledata.covctrs < *(*uintptr)(unsafe.Pointer(&cairnInfo[40]))
}

// cairn_first notes a first execution, unless another thread did.
//
//go:linkname cairn_first
//go:nosplit
func cairn_first(flag *uint8) {
	cairnLock()
	if *flag == 0 {
		*flag = 1
		if cairnSlots != nil && cairnHas(unsafe.Pointer(flag)) {
			n := _cairn_cNext[0]
			*(*uint32)(add(unsafe.Pointer(cairnSlots), uintptr(n%cairnNumSlots)*4)) = uint32(uintptr(unsafe.Pointer(flag))-firstmoduledata.covctrs) + 1
			_cairn_cNext[0] = n + 1
		}
	}
	cairnUnlock()
}

// cairn_called gives the function of an order word its index among first calls.
//
//go:linkname cairn_called
//go:nosplit
func cairn_called(order *uint32) {
	cairnLock()
	if *order == 0 {
		cairnSeq = max(cairnSeq, cairnOrder) + 1
		cairnOrder = cairnSeq
		*order = cairnSeq
	} else if cairnCopies == 0 {
		*order |= 1 << 31 // its count began again from zero, or two threads began it
	}
	cairnUnlock()
	cairnBegin(order)
}

// cairn_add counts a call in a record and returns its order word.
//
//go:linkname cairn_add
//go:nosplit
func cairn_add(calls *uint32) uint32 {
	atomic.Xadd(calls, -1)
	order := (*uint32)(add(unsafe.Pointer(calls), 4))
	if n := atomic.Load(order); n != 0 {
		return n
	}
	cairnLock()
	if *order == 0 {
		cairnSeq++
		atomic.Store(order, cairnSeq)
	}
	cairnUnlock()
	return atomic.Load(order)
}

// cairn_set sets a flag where the race detector does not watch.
//
//go:linkname cairn_set
//go:nosplit
func cairn_set(flag *uint8) { *flag = 1 }

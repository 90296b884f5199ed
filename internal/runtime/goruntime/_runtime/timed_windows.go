package runtime

import "unsafe"

//go:cgo_import_dynamic runtime._cairnGetCurrentDirectoryW GetCurrentDirectoryW%2 "kernel32.dll"
//go:cgo_import_dynamic runtime._cairnGetSystemTimeAsFileTime GetSystemTimeAsFileTime%1 "kernel32.dll"

// The loader puts the functions here.
var (
	_cairnGetCurrentDirectoryW,
	_cairnGetSystemTimeAsFileTime stdFunction
)

// cairnMap maps a part of the file of fd, which gets room for it.
func cairnMap(addr, n, flags, fd, off uintptr) (at, err uintptr) {
	const readWrite, write = 4, 2
	end := off + n
	mapping, err := cairnInvoke(_cairnCreateFileMappingW, fd, 0, readWrite, end>>32, uintptr(uint32(end)), 0)
	if mapping == 0 {
		return 0, err
	}
	at, err = cairnInvoke(_cairnMapViewOfFile, mapping, write, off>>32, uintptr(uint32(off)), n)
	cairnClose(mapping)
	if at == 0 {
		return 0, err
	}
	return at, 0
}

// cairnMemoryOf returns addresses of n bytes, of which those that are touched become memory. All count for the system's limit.
func cairnMemoryOf(n uintptr) (uintptr, uintptr) {
	const most, commit, reserve, readWrite = 128 << 20, 0x1000, 0x2000, 4
	if n > most {
		return 0, _ENOSPC_
	}
	at, err := cairnInvoke(_VirtualAlloc, 0, n, commit|reserve, readWrite)
	if at == 0 {
		return 0, err
	}
	return at, 0
}

// cairnTruncate leaves a file as it is: Windows does not cut one that is mapped.
func cairnTruncate(fd, size uintptr) {}

// cairnFrequency is how often in a second the counter of cairnNow moves.
var cairnFrequency int64

// cairnNow returns nanoseconds of a clock, that of QueryPerformanceCounter: nanotime moves each millisecond, or each 16.
//
//go:nosplit
func cairnNow() int64 {
	var counter int64
	systemstack(func() {
		if cairnFrequency == 0 {
			cairnStd(_QueryPerformanceFrequency, uintptr(unsafe.Pointer(&cairnFrequency)))
		}
		cairnStd(_QueryPerformanceCounter, uintptr(unsafe.Pointer(&counter)))
	})
	const second = 1_000_000_000
	return counter/cairnFrequency*second + counter%cairnFrequency*second/cairnFrequency
}

// cairnRealTime returns nanoseconds since 1970.
func cairnRealTime() uint64 {
	const unixEpoch = 116444736000000000 // from 1601, in units of 100 ns
	var time uint64
	cairnInvoke(_cairnGetSystemTimeAsFileTime, uintptr(unsafe.Pointer(&time)))
	return (time - unixEpoch) * 100
}

// cairnSleep sleeps for some microseconds, or a millisecond where the system has no finer timer.
func cairnSleep(us uint32) {
	if !haveHighResTimer {
		us = max(us, 1000)
	}
	usleep(us)
}

// cairnDirectory puts the path of the working directory and returns its length, 0 if there is none.
func cairnDirectory(out []byte) int {
	n, _ := cairnInvoke(_cairnGetCurrentDirectoryW, uintptr(len(cairnPath)), uintptr(unsafe.Pointer(&cairnPath)))
	if n >= uintptr(len(cairnPath)) {
		return 0
	}
	return cairnNarrow(out, int(n))
}

// cairnAbsolute reports whether a path does not depend on the working directory.
func cairnAbsolute(path string) bool {
	return path[0] == '/' || path[0] == '\\' || len(path) > 1 && path[1] == ':'
}

// cairnThreadFaults returns no page faults: the system counts those of processes alone.
func cairnThreadFaults() (minor, major uint32) { return 0, 0 }

// That the process stood still is not known here.
func cairnProcessTime() int64      { return 0 }
func cairnRunDelay() (int64, bool) { return 0, false }

// cairnControl completes the log before Windows ends the process for a Ctrl-C or as its console closes, which no goroutine
// waits for.
func cairnControl(s uint32) {
	if w := s / 32; !sig.inuse || w >= uint32(len(sig.wanted)) || sig.wanted[w]&(1<<(s&31)) == 0 {
		systemstack(cairnFinish)
	}
}

package runtime

import (
	"internal/runtime/atomic"
	"unsafe"
)

// Windows is called through kernel32, as package runtime does, which has the functions without "cairn" in their names.

//go:cgo_import_dynamic runtime._cairnCreateDirectoryW CreateDirectoryW%2 "kernel32.dll"
//go:cgo_import_dynamic runtime._cairnCreateFileMappingW CreateFileMappingW%6 "kernel32.dll"
//go:cgo_import_dynamic runtime._cairnCreateFileW CreateFileW%7 "kernel32.dll"
//go:cgo_import_dynamic runtime._cairnDeleteFileW DeleteFileW%1 "kernel32.dll"
//go:cgo_import_dynamic runtime._cairnGetCurrentProcessId GetCurrentProcessId%0 "kernel32.dll"
//go:cgo_import_dynamic runtime._cairnGetModuleFileNameW GetModuleFileNameW%3 "kernel32.dll"
//go:cgo_import_dynamic runtime._cairnMapViewOfFile MapViewOfFile%5 "kernel32.dll"
//go:cgo_import_dynamic runtime._cairnMoveFileExW MoveFileExW%3 "kernel32.dll"
//go:cgo_import_dynamic runtime._cairnSetEndOfFile SetEndOfFile%1 "kernel32.dll"
//go:cgo_import_dynamic runtime._cairnSetFilePointerEx SetFilePointerEx%4 "kernel32.dll"

// The loader puts the functions here.
var (
	_cairnCreateDirectoryW,
	_cairnCreateFileMappingW,
	_cairnCreateFileW,
	_cairnDeleteFileW,
	_cairnGetCurrentProcessId,
	_cairnGetModuleFileNameW,
	_cairnMapViewOfFile,
	_cairnMoveFileExW,
	_cairnSetEndOfFile,
	_cairnSetFilePointerEx stdFunction
)

// A file cannot be mapped over the records, which are memory of the program's file. They are copied to the mapped file
// each second, and when the process ends. What is around them does not matter then, and takes memory of the system's limit
// even if it is never touched, so that there is little of it before the records.
const (
	cairnMapsOver  = false
	cairnFrontRoom = 64
)

var (
	cairnView    uintptr // where the file is mapped
	cairnFrom    uintptr // the records
	cairnTo      uintptr // where they are in the file, 0 if nothing is recorded
	cairnLength  uintptr
	cairnCopying uint32 // whether a thread copies them
)

// cairnLastError returns the number of an error: those that path.go tells apart have that of Unix.
func cairnLastError() uintptr {
	const fileExists, alreadyExists, diskFull = 80, 183, 112
	switch err := getlasterror(); err {
	case fileExists, alreadyExists:
		return _EEXIST_
	case diskFull:
		return _ENOSPC_
	case 0:
		return 1
	default:
		return uintptr(err)
	}
}

// cairnCheck returns the error of a function that returns 0 if it fails.
func cairnCheck(ok uintptr) uintptr {
	if uint32(ok) != 0 {
		return 0
	}
	return cairnLastError()
}

// cairnMap maps the file of fd, all of it at the first call, and returns where the part at off is. With an address, it has
// what is there copied to the file.
func cairnMap(addr, n, flags, fd, off uintptr) (uintptr, uintptr) {
	if cairnView == 0 {
		const readWrite, write = 4, 2
		mapping := stdcall(_cairnCreateFileMappingW, fd, 0, readWrite, 0, 0, 0)
		if mapping == 0 {
			return 0, cairnLastError()
		}
		cairnView = stdcall(_cairnMapViewOfFile, mapping, write, 0, 0, 0)
		err := cairnLastError()
		stdcall(_CloseHandle, mapping)
		if cairnView == 0 {
			return 0, err
		}
	}
	if addr != 0 {
		// What is behind the records is not copied: first executions are there in the file.
		cairnFrom, cairnTo, cairnLength = addr, cairnView+off, uintptr(cairnPlaces[1])-addr
	}
	return cairnView + off, 0
}

// cairnCopy copies the pages that changed.
//
//go:nosplit
func cairnCopy() {
	const page = 4096
	for at := uintptr(0); at < cairnLength; at += page {
		from, to := unsafe.Pointer(cairnFrom+at), unsafe.Pointer(cairnTo+at)
		if n := min(page, cairnLength-at); !memequal(from, to, n) {
			memmove(to, from, n)
		}
	}
}

// cairnThread starts the thread that copies, once threads can be started.
func cairnThread() {
	if cairnTo != 0 {
		systemstack(func() { newm(cairnCopyEach, nil, -1) })
	}
}

// cairnCopyEach is that thread. It has no P.
func cairnCopyEach() {
	lock(&sched.lock)
	sched.nmsys++
	checkdead()
	unlock(&sched.lock)
	for {
		usleep(1_000_000)
		if atomic.Cas(&cairnCopying, 0, 1) {
			cairnCopy()
			atomic.Store(&cairnCopying, 0)
		}
	}
}

// cairnExit copies the records when the process ends. No other thread copies afterwards what is older. A copy does not end if
// the file has failed, as that of a drive that is gone: the thread that copies is then the one that ends the process.
//
//go:nosplit
func cairnExit() {
	const tries = 1_000_000 // about a second
	if cairnTo == 0 {
		return
	}
	for i := 0; !atomic.Cas(&cairnCopying, 0, 1); i++ {
		if i == tries {
			return
		}
		osyield()
	}
	cairnCopy()
}

// cairnWide makes a path of UTF-8 one of UTF-16.
func cairnWide(out *[2 * cairnMaxDir]uint16, path *byte) uintptr {
	n := 0
	for _, r := range gostringnocopy(path) {
		if n+2 >= len(out) {
			break
		}
		if r >= 0x10000 {
			out[n] = uint16(0xd800 + (r-0x10000)>>10)
			n++
			r = 0xdc00 + (r-0x10000)&0x3ff
		}
		out[n] = uint16(r)
		n++
	}
	out[n] = 0
	return uintptr(unsafe.Pointer(out))
}

var cairnPath, cairnPath2 [2 * cairnMaxDir]uint16

// cairnOpen opens a file to read and write, a new one or one that exists. Others may read and rename it meanwhile.
func cairnOpen(path *byte, create bool) (fd, err uintptr) {
	const readWrite, shareAll, createNew, openExisting, normal = 0xc0000000, 7, 1, 3, 0x80
	how := uintptr(openExisting)
	if create {
		how = createNew
	}
	fd = stdcall(_cairnCreateFileW, cairnWide(&cairnPath, path), readWrite, shareAll, 0, how, normal, 0)
	if fd == ^uintptr(0) {
		return 0, cairnLastError()
	}
	return fd, 0
}

func cairnClose(fd uintptr) { stdcall(_CloseHandle, fd) }

func cairnMkdir(path *byte) { stdcall(_cairnCreateDirectoryW, cairnWide(&cairnPath, path), 0) }

func cairnUnlink(path *byte) { stdcall(_cairnDeleteFileW, cairnWide(&cairnPath, path)) }

func cairnWrite(fd uintptr, from *byte, n, off uintptr) (uintptr, uintptr) {
	var written uint32
	at := [4]uintptr{2: off} // struct OVERLAPPED
	ok := stdcall(_WriteFile, fd, uintptr(unsafe.Pointer(from)), n, uintptr(unsafe.Pointer(&written)), uintptr(unsafe.Pointer(&at)))
	return uintptr(written), cairnCheck(ok)
}

// cairnBeyondLimit reports whether a file may not become as large.
func cairnBeyondLimit(size uintptr) bool { return false }

// cairnAllocate makes a file larger; file systems reserve what it has.
func cairnAllocate(fd, from, to uintptr) uintptr {
	if err := cairnCheck(stdcall(_cairnSetFilePointerEx, fd, to, 0, 0)); err != 0 {
		return err
	}
	return cairnCheck(stdcall(_cairnSetEndOfFile, fd))
}

// cairnMove and cairnLink give a file a name that none has.
func cairnMove(from, to *byte) uintptr {
	return cairnCheck(stdcall(_cairnMoveFileExW, cairnWide(&cairnPath, from), cairnWide(&cairnPath2, to), 0))
}

func cairnLink(from, to *byte) uintptr { return cairnMove(from, to) }

// cairnFile makes a file of size bytes that begins with head. Its path is cairnOut[:n], the first
// free number and the suffix; cairnOut[:dir] is its directory. It gets that name when it is
// complete, so that no reader finds it without its head, however the process ends.
func cairnFile(dir, n int, suffix string, size uintptr, head []byte) (fd, err uintptr) {
	return cairnTemporary(n, suffix, size, head)
}

func cairnPid() uintptr { return uintptr(uint32(stdcall(_cairnGetCurrentProcessId))) }

func cairnRandom() (v uint64) {
	readRandom((*[8]byte)(unsafe.Pointer(&v))[:])
	return v
}

// cairnExecutable puts the path of the program's file, with slashes, and returns its length.
func cairnExecutable(out []byte) int {
	n := int(uint32(stdcall(_cairnGetModuleFileNameW, 0, uintptr(unsafe.Pointer(&cairnPath)), uintptr(len(cairnPath)))))
	end := 0
	for i := 0; i < n && end+4 < len(out); i++ {
		r := rune(cairnPath[i])
		if r>>10 == 0x36 && i+1 < n { // the first of two words
			i++
			r = 0x10000 + r&0x3ff<<10 + rune(cairnPath[i])&0x3ff
		}
		if r == '\\' {
			r = '/'
		}
		end += encoderune(out[end:], r)
	}
	return end
}

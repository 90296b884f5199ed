package runtime

import "unsafe"

// Windows is called through kernel32, as package runtime does, which has the functions without "cairn" in their names.

//go:cgo_import_dynamic runtime._cairnCreateDirectoryW CreateDirectoryW%2 "kernel32.dll"
//go:cgo_import_dynamic runtime._cairnCreateFileMappingW CreateFileMappingW%6 "kernel32.dll"
//go:cgo_import_dynamic runtime._cairnCreateFileW CreateFileW%7 "kernel32.dll"
//go:cgo_import_dynamic runtime._cairnDeleteFileW DeleteFileW%1 "kernel32.dll"
//go:cgo_import_dynamic runtime._cairnGetCurrentProcessId GetCurrentProcessId%0 "kernel32.dll"
//go:cgo_import_dynamic runtime._cairnGetFileInformationByHandle GetFileInformationByHandle%2 "kernel32.dll"
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
	_cairnGetFileInformationByHandle,
	_cairnGetModuleFileNameW,
	_cairnMapViewOfFile,
	_cairnMoveFileExW,
	_cairnSetEndOfFile,
	_cairnSetFilePointerEx stdFunction
)

// cairnLastError returns the number of an error: those that path.go tells apart have that of Unix.
//
//go:nosplit
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

// cairnInvoke calls a function of Windows on the stack of the thread, and returns its result and the number of its error, which
// says nothing if the function did not fail.
//
//go:nosplit
func cairnInvoke(fn stdFunction, args ...uintptr) (result, err uintptr) {
	systemstack(func() {
		result = cairnStd(fn, args...)
		err = cairnLastError()
	})
	return result, err
}

// cairnCheck returns the error of a function that returns 0 if it fails.
func cairnCheck(ok, err uintptr) uintptr {
	if uint32(ok) != 0 {
		return 0
	}
	return err
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
	fd, err = cairnInvoke(_cairnCreateFileW, cairnWide(&cairnPath, path), readWrite, shareAll, 0, how, normal, 0)
	if fd == ^uintptr(0) {
		return 0, err
	}
	return fd, 0
}

func cairnClose(fd uintptr) { cairnInvoke(_CloseHandle, fd) }

func cairnMkdir(path *byte) { cairnInvoke(_cairnCreateDirectoryW, cairnWide(&cairnPath, path), 0) }

func cairnUnlink(path *byte) { cairnInvoke(_cairnDeleteFileW, cairnWide(&cairnPath, path)) }

// cairnIdentity returns the number of an open file. Of its volume Wine tells only handles that can read.
func cairnIdentity(fd uintptr) (id cairnFileID) {
	const high, low = 11, 12 // words of BY_HANDLE_FILE_INFORMATION
	var info [13]uint32
	cairnInvoke(_cairnGetFileInformationByHandle, fd, uintptr(unsafe.Pointer(&info)))
	return cairnFileID{uint64(info[high])<<32 | uint64(info[low])}
}

func cairnWrite(fd uintptr, from *byte, n, off uintptr) (uintptr, uintptr) {
	var written uint32
	at := [4]uintptr{2: off} // struct OVERLAPPED
	ok, err := cairnInvoke(_WriteFile, fd, uintptr(unsafe.Pointer(from)), n, uintptr(unsafe.Pointer(&written)), uintptr(unsafe.Pointer(&at)))
	return uintptr(written), cairnCheck(ok, err)
}

// cairnBeyondLimit reports whether a file may not become as large.
func cairnBeyondLimit(size uintptr) bool { return false }

// cairnAllocate makes a file larger; file systems reserve what it has.
func cairnAllocate(fd, from, to uintptr) uintptr {
	if err := cairnCheck(cairnInvoke(_cairnSetFilePointerEx, fd, to, 0, 0)); err != 0 {
		return err
	}
	return cairnCheck(cairnInvoke(_cairnSetEndOfFile, fd))
}

// cairnMove and cairnLink give a file a name that none has.
func cairnMove(from, to *byte) uintptr {
	return cairnCheck(cairnInvoke(_cairnMoveFileExW, cairnWide(&cairnPath, from), cairnWide(&cairnPath2, to), 0))
}

func cairnLink(from, to *byte) uintptr { return cairnMove(from, to) }

// cairnFile makes a file of size bytes that begins with head. Its path is cairnOut[:n], the first
// free number and the suffix; cairnOut[:dir] is its directory. It gets that name when it is
// complete, so that no reader finds it without its head, however the process ends.
func cairnFile(dir, n int, suffix string, size uintptr, head []byte) (fd, err uintptr) {
	return cairnTemporary(n, suffix, size, head)
}

func cairnPid() uintptr {
	pid, _ := cairnInvoke(_cairnGetCurrentProcessId)
	return uintptr(uint32(pid))
}

func cairnRandom() (v uint64) {
	readRandom((*[8]byte)(unsafe.Pointer(&v))[:])
	return v
}

// cairnExecutable puts the path of the program's file, with slashes, and returns its length.
func cairnExecutable(out []byte) int {
	n, _ := cairnInvoke(_cairnGetModuleFileNameW, 0, uintptr(unsafe.Pointer(&cairnPath)), uintptr(len(cairnPath)))
	return cairnNarrow(out, int(uint32(n)))
}

// cairnNarrow puts the path cairnPath[:n], with slashes, and returns its length.
func cairnNarrow(out []byte, n int) (end int) {
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

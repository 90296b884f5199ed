package runtime

import "unsafe"

// macOS is called through libSystem, as package runtime does.

//go:cgo_import_dynamic libc_open open "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_mkdir mkdir "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_unlink unlink "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_link link "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_renamex_np renamex_np "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_ftruncate ftruncate "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_fstat fstat "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_fstat64 fstat64 "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_pwrite pwrite "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_getrlimit getrlimit "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_getpid getpid "/usr/lib/libSystem.B.dylib"
//go:cgo_import_dynamic libc_getcwd getcwd "/usr/lib/libSystem.B.dylib"

//go:linkname libc_open libc_open
//go:linkname libc_mkdir libc_mkdir
//go:linkname libc_unlink libc_unlink
//go:linkname libc_link libc_link
//go:linkname libc_renamex_np libc_renamex_np
//go:linkname libc_ftruncate libc_ftruncate
//go:linkname libc_fstat libc_fstat
//go:linkname libc_fstat64 libc_fstat64
//go:linkname libc_pwrite libc_pwrite
//go:linkname libc_getrlimit libc_getrlimit
//go:linkname libc_getpid libc_getpid
//go:linkname libc_getcwd libc_getcwd

// The linker takes these for the functions of libSystem that the directives name. Code may take
// their addresses; data may not have them.
var libc_open, libc_mkdir, libc_unlink, libc_link, libc_renamex_np, libc_ftruncate, libc_fstat, libc_fstat64, libc_pwrite, libc_getrlimit, libc_getpid, libc_getcwd byte

// The file is mapped over the records. So the pages of the records hold nothing else: cairnFront is before them.
const (
	cairnMapsOver  = true
	cairnFrontRoom = 64 << 20
)

func cairnAddr(p *byte) uintptr { return uintptr(unsafe.Pointer(p)) }

// cairnLib calls a function of three arguments at most that returns an int. The third is where
// functions of a variable number of arguments expect it as well.
func cairnLib(f *byte, a, b, c uintptr) (uintptr, uintptr) {
	r, _, err := cairnCall3(cairnAddr(f), a, b, c)
	if int32(r) != -1 {
		err = 0
	}
	return r, err
}

func cairnMap(addr, n, flags, fd, off uintptr) (uintptr, uintptr) {
	r, err := mmap(unsafe.Pointer(addr), n, _PROT_RW, int32(flags), int32(fd), uint32(off))
	return uintptr(r), uintptr(err)
}

// cairnMemoryOf returns addresses of n bytes, of which those that are touched become memory.
func cairnMemoryOf(n uintptr) (uintptr, uintptr) {
	const private, anonymous, noreserve = 2, 0x1000, 0x40
	return cairnMap(0, n, private|anonymous|noreserve, ^uintptr(0), 0)
}

// cairnOpen opens a file to read and write, a new one or one that exists.
func cairnOpen(path *byte, create bool) (fd, err uintptr) {
	const readWrite, closeOnExec, new = 2, 1 << 24, 0x200 | 0x800 // O_CREAT|O_EXCL
	flags := uintptr(readWrite | closeOnExec)
	if create {
		flags |= new
	}
	return cairnLib(&libc_open, cairnAddr(path), flags, 0o644)
}

func cairnClose(fd uintptr) { closefd(int32(fd)) }

func cairnMkdir(path *byte) { cairnLib(&libc_mkdir, cairnAddr(path), 0o777, 0) }

func cairnUnlink(path *byte) { cairnLib(&libc_unlink, cairnAddr(path), 0, 0) }

func cairnTruncate(fd, size uintptr) { cairnLib(&libc_ftruncate, fd, size, 0) }

// cairnIdentity returns the device and the inode of an open file. On amd64 the function with the short name has an older
// structure; on arm64 there is no other.
func cairnIdentity(fd uintptr) (id cairnFileID) {
	var stat [64]uint32
	f := &libc_fstat
	if GOARCH == "amd64" {
		f = &libc_fstat64
	}
	cairnLib(f, fd, uintptr(unsafe.Pointer(&stat)), 0)
	return cairnFileID{uint64(stat[0]), uint64(stat[2]) | uint64(stat[3])<<32}
}

func cairnWrite(fd uintptr, from *byte, n, off uintptr) (uintptr, uintptr) {
	r, _, err := cairnCall4(cairnAddr(&libc_pwrite), fd, cairnAddr(from), n, off)
	if int32(r) != -1 {
		err = 0
	}
	return r, err
}

// cairnBeyondLimit reports whether a file may not become as large.
func cairnBeyondLimit(size uintptr) bool {
	var limit [2]uint64
	const fileSize = 1
	_, err := cairnLib(&libc_getrlimit, fileSize, uintptr(unsafe.Pointer(&limit)), 0)
	return err == 0 && limit[0] < uint64(size)
}

// cairnAllocate fails: zeros are written instead. F_PREALLOCATE reserves blocks, but not all file
// systems keep them for the file.
func cairnAllocate(fd, from, to uintptr) uintptr {
	const notSupported = 45
	return notSupported
}

// cairnMove and cairnLink give a file a name that none has.
func cairnMove(from, to *byte) uintptr {
	const exclusive = 4
	_, err := cairnLib(&libc_renamex_np, cairnAddr(from), cairnAddr(to), exclusive)
	return err
}

func cairnLink(from, to *byte) uintptr {
	_, err := cairnLib(&libc_link, cairnAddr(from), cairnAddr(to), 0)
	return err
}

// cairnFile makes a file of size bytes that begins with head. Its path is cairnOut[:n], the first
// free number and the suffix; cairnOut[:dir] is its directory. It gets that name when it is
// complete, so that no reader finds it without its head, however the process ends.
func cairnFile(dir, n int, suffix string, size uintptr, head []byte) (fd, err uintptr) {
	return cairnTemporary(n, suffix, size, head)
}

// cairnThreadFaults returns no page faults: the system counts those of processes alone.
func cairnThreadFaults() (minor, major uint32) { return 0, 0 }

func cairnPid() uintptr {
	pid, _ := cairnLib(&libc_getpid, 0, 0, 0)
	return pid
}

func cairnRandom() (v uint64) {
	arc4random_buf(unsafe.Pointer(&v), 8)
	return v
}

// cairnRealTime returns nanoseconds since 1970.
func cairnRealTime() uint64 {
	sec, nsec := walltime()
	return uint64(sec)*1_000_000_000 + uint64(nsec)
}

// cairnDirectory puts the path of the working directory and returns its length, 0 if there is none.
func cairnDirectory(out []byte) int {
	r, _, _ := cairnCall3(cairnAddr(&libc_getcwd), cairnAddr(&out[0]), uintptr(len(out)), 0)
	if r == 0 {
		return 0
	}
	return findnull(&out[0])
}

// cairnExecutable puts the path of the program's file and returns its length.
func cairnExecutable(out []byte) int { return copy(out, executablePath) }

// That the process stood still is not known here.
func cairnProcessTime() int64      { return 0 }
func cairnRunDelay() (int64, bool) { return 0, false }

// cairnNow returns nanoseconds of the clock of logs.
//
//go:nosplit
func cairnNow() int64 { return nanotime() }

func cairnSleep(us uint32) { usleep(us) }

// cairnAbsolute reports whether a path does not depend on the working directory.
func cairnAbsolute(path string) bool { return path[0] == '/' }

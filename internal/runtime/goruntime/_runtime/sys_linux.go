package runtime

import "unsafe"

// Linux is called directly.

const (
	_AT_FDCWD       = -100
	_O_RDWR_CLOEXEC = 1<<19 | 2
	_O_NEW          = 1<<6 | 1<<7 | 1<<19 | 2 // O_CREAT|O_EXCL|O_CLOEXEC|O_RDWR
)

// The file is mapped over the records. So the pages of the records hold nothing else: cairnFront is before them.
const (
	cairnMapsOver  = true
	cairnFrontRoom = 64 << 20
)

func cairnSys(n, a, b, c, d, e uintptr) (uintptr, uintptr) {
	r, _, err := cairnSyscall6(n, a, b, c, d, e, 0)
	return r, err
}

func cairnCwd() uintptr {
	at := _AT_FDCWD
	return uintptr(at)
}

func cairnAddr(p *byte) uintptr { return uintptr(unsafe.Pointer(p)) }

func cairnMap(addr, n, flags, fd, off uintptr) (uintptr, uintptr) {
	r, _, err := cairnSyscall6(cairnSysMmap, addr, n, _PROT_RW, flags, fd, off)
	return r, err
}

// cairnMemoryOf returns addresses of n bytes, of which those that are touched become memory.
func cairnMemoryOf(n uintptr) (uintptr, uintptr) {
	const private, anonymous, noreserve = 2, 0x20, 0x4000
	return cairnMap(0, n, private|anonymous|noreserve, ^uintptr(0), 0)
}

// cairnOpen opens a file to read and write, a new one or one that exists.
func cairnOpen(path *byte, create bool) (fd, err uintptr) {
	flags := uintptr(_O_RDWR_CLOEXEC)
	if create {
		flags = _O_NEW
	}
	return cairnSys(cairnSysOpenat, cairnCwd(), cairnAddr(path), flags, 0o644, 0)
}

func cairnClose(fd uintptr) { cairnSys(cairnSysClose, fd, 0, 0, 0, 0) }

func cairnMkdir(path *byte) { cairnSys(cairnSysMkdirat, cairnCwd(), cairnAddr(path), 0o777, 0, 0) }

func cairnUnlink(path *byte) { cairnSys(cairnSysUnlinkat, cairnCwd(), cairnAddr(path), 0, 0, 0) }

func cairnTruncate(fd, size uintptr) { cairnSys(cairnSysFtruncate, fd, size, 0, 0, 0) }

// cairnIdentity returns the device and the inode of an open file.
func cairnIdentity(fd uintptr) (id cairnFileID) {
	var stat [32]uint64
	cairnSys(cairnSysFstat, fd, uintptr(unsafe.Pointer(&stat)), 0, 0, 0)
	return cairnFileID{stat[0], stat[1]}
}

func cairnWrite(fd uintptr, from *byte, n, off uintptr) (uintptr, uintptr) {
	return cairnSys(cairnSysPwrite64, fd, cairnAddr(from), n, off, 0)
}

// cairnBeyondLimit reports whether a file may not become as large.
func cairnBeyondLimit(size uintptr) bool {
	var limit [2]uint64
	const fileSize = 1
	_, err := cairnSys(cairnSysPrlimit64, 0, fileSize, 0, uintptr(unsafe.Pointer(&limit)), 0)
	return err == 0 && limit[0] < uint64(size)
}

// cairnAllocate makes a file larger, and fails if the file system cannot without writing.
func cairnAllocate(fd, from, to uintptr) uintptr {
	_, err := cairnSys(cairnSysFallocate, fd, 0, from, to-from, 0)
	return err
}

// cairnMove and cairnLink give a file a name that none has.
func cairnMove(from, to *byte) uintptr {
	const noReplace = 1
	_, err := cairnSys(cairnSysRenameat2, cairnCwd(), cairnAddr(from), cairnCwd(), cairnAddr(to), noReplace)
	return err
}

func cairnLink(from, to *byte) uintptr {
	_, err := cairnSys(cairnSysLinkat, cairnCwd(), cairnAddr(from), cairnCwd(), cairnAddr(to), 0)
	return err
}

func cairnLinkOpen(from, to *byte) uintptr {
	const follow = 0x400
	_, err := cairnSys(cairnSysLinkat, cairnCwd(), cairnAddr(from), cairnCwd(), cairnAddr(to), follow)
	return err
}

// cairnFile makes a file of size bytes that begins with head. Its path is cairnOut[:n], the first
// free number and the suffix; cairnOut[:dir] is its directory. It gets that name when it is
// complete, so that no reader finds it without its head, however the process ends.
func cairnFile(dir, n int, suffix string, size uintptr, head []byte) (fd, err uintptr) {
	cairnOut[dir] = 0
	fd, err = cairnSys(cairnSysOpenat, cairnCwd(), cairnAddr(&cairnOut[0]), cairnNameless|_O_RDWR_CLOEXEC, 0o644, 0)
	cairnOut[dir] = '/'
	if err == 0 {
		if err = cairnFill(fd, size, head); err == 0 {
			at := copy(cairnTmp[:], "/proc/self/fd/")
			cairnTmp[at+cairnDigits(cairnTmp[at:], uint64(fd))] = 0
			if err = cairnName(n, suffix, cairnLinkOpen); err == 0 {
				return fd, 0
			}
		}
		cairnClose(fd)
		if err == _ENOSPC_ || err == _EFBIG_ {
			return 0, err
		}
	}
	// The file system has no files without a name, or /proc is missing, by which they get one.
	return cairnTemporary(n, suffix, size, head)
}

func cairnPid() uintptr {
	pid, _ := cairnSys(cairnSysGetpid, 0, 0, 0, 0, 0)
	return pid
}

func cairnRandom() (v uint64) {
	cairnSys(cairnSysGetrandom, uintptr(unsafe.Pointer(&v)), 8, 1, 0, 0)
	return v
}

// cairnRealTime returns nanoseconds since 1970.
func cairnRealTime() uint64 {
	var real [2]uint64
	cairnSys(cairnSysClockGettime, 0, uintptr(unsafe.Pointer(&real)), 0, 0, 0)
	return real[0]*1_000_000_000 + real[1]
}

// cairnDirectory puts the path of the working directory and returns its length, 0 if there is none.
func cairnDirectory(out []byte) int {
	n, err := cairnSys(cairnSysGetcwd, cairnAddr(&out[0]), uintptr(len(out)), 0, 0, 0)
	if err != 0 || n < 2 {
		return 0
	}
	return int(n) - 1
}

// cairnExecutable puts the path of the program's file and returns its length.
func cairnExecutable(out []byte) int {
	link := [...]byte{'/', 'p', 'r', 'o', 'c', '/', 's', 'e', 'l', 'f', '/', 'e', 'x', 'e', 0}
	n, err := cairnSys(cairnSysReadlinkat, cairnCwd(), cairnAddr(&link[0]), cairnAddr(&out[0]), uintptr(len(out)), 0)
	if err != 0 {
		return 0
	}
	return int(n)
}

// cairnProcessTime returns the processor time of the process in nanoseconds.
func cairnProcessTime() int64 {
	const process = 2 // CLOCK_PROCESS_CPUTIME_ID
	var ts [2]int64
	cairnSys(cairnSysClockGettime, process, uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
	return ts[0]*1_000_000_000 + ts[1]
}

// cairnThreadFaults returns the page faults of this thread.
func cairnThreadFaults() (minor, major uint32) {
	const thread, minors, majors = 1, 8, 9 // RUSAGE_THREAD; words of struct rusage
	var usage [18]uint64
	cairnSys(cairnSysGetrusage, thread, uintptr(unsafe.Pointer(&usage)), 0, 0, 0)
	return uint32(usage[minors]), uint32(usage[majors])
}

var cairnSchedstat = [...]byte{'/', 'p', 'r', 'o', 'c', '/', 't', 'h', 'r', 'e', 'a', 'd', '-', 's', 'e', 'l', 'f', '/', 's', 'c', 'h', 'e', 'd', 's', 't', 'a', 't', 0}

// cairnRunDelay returns for how many nanoseconds this thread has waited for a processor, and
// whether the kernel counts that.
func cairnRunDelay() (ns int64, known bool) {
	const readOnly = 1 << 19 // O_CLOEXEC
	fd := open(&cairnSchedstat[0], readOnly, 0)
	if fd < 0 {
		return 0, false
	}
	var b [64]byte
	n := read(fd, noescape(unsafe.Pointer(&b)), int32(len(b)))
	closefd(fd)
	field := 0
	for _, c := range b[:max(n, 0)] {
		switch {
		case c == ' ':
			field++
		case field == 1 && c >= '0' && c <= '9':
			ns = ns*10 + int64(c-'0')
		}
	}
	return ns, field >= 1
}

// cairnNow returns nanoseconds of the clock of logs.
//
//go:nosplit
func cairnNow() int64 { return nanotime() }

func cairnSleep(us uint32) { usleep(us) }

// cairnAbsolute reports whether a path does not depend on the working directory.
func cairnAbsolute(path string) bool { return path[0] == '/' }

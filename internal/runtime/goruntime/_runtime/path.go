package runtime

// Constants that all systems have. What differs, and how the system is called, is in a file of
// each.
const (
	cairnMaxDir  = 1024
	_PROT_RW     = 3
	_MAP_SHARED_ = 1
	_EEXIST_     = 17
	_ENOSPC_     = 28
	_ESTALE_     = 116
	_EFBIG_      = 27
)

var (
	cairnOut [4096]byte // path of the file
	cairnTmp [4096]byte // path of the file while it is written

	cairnZeros [4096]byte
)

// cairnFileID tells files apart that have had the same path.
type cairnFileID [2]uint64

// cairnReserve gives a file room between two offsets. Zeros are written where room cannot be
// reserved: a full disk must be known now, and not when a probe writes.
func cairnReserve(fd, from, to uintptr) uintptr {
	if cairnBeyondLimit(to) {
		return _EFBIG_ // more would end the program, by SIGXFSZ
	}
	if err := cairnAllocate(fd, from, to); err == 0 || err == _ENOSPC_ {
		return err
	}
	for from < to {
		n, err := cairnWrite(fd, &cairnZeros[0], min(to-from, uintptr(len(cairnZeros))), from)
		if err != 0 {
			return err
		}
		if n == 0 {
			return _ENOSPC_
		}
		from += n
	}
	return 0
}

// cairnTemporary makes a file of size bytes that begins with head. Its path is cairnOut[:n], the
// first free number and the suffix. It has another name until it is complete.
func cairnTemporary(n int, suffix string, size uintptr, head []byte) (fd, err uintptr) {
	copy(cairnTmp[:], cairnOut[:n])
	end := n + cairnDigits(cairnTmp[n:], uint64(uint32(cairnRandom())^uint32(nanotime())))
	copy(cairnTmp[end:], ".tmp\x00")
	fd, err = cairnOpen(&cairnTmp[0], true)
	if err != 0 {
		return 0, err
	}
	if err = cairnFill(fd, size, head); err == 0 {
		if err = cairnName(n, suffix, cairnMove); err == 0 {
			return fd, 0
		}
		err = cairnName(n, suffix, cairnLink) // the file system does not know the flag
	}
	cairnUnlink(&cairnTmp[0])
	if err != 0 {
		cairnClose(fd)
	}
	return fd, err
}

// cairnFill writes the head of a file, and makes the rest zeros.
func cairnFill(fd, size uintptr, head []byte) uintptr {
	if err := cairnReserve(fd, 0, size); err != 0 {
		return err
	}
	w, err := cairnWrite(fd, &head[0], uintptr(len(head)), 0)
	if err == 0 && w != uintptr(len(head)) {
		err = _ENOSPC_
	}
	return err
}

// cairnName gives the file at cairnTmp its name, by a call that does not replace a file.
func cairnName(n int, suffix string, call func(from, to *byte) uintptr) (err uintptr) {
	for i := uint64(0); i < 10000; i++ {
		end := n + cairnDigits(cairnOut[n:], i)
		cairnOut[end+copy(cairnOut[end:], suffix)] = 0
		err = call(&cairnTmp[0], &cairnOut[0])
		if err != _EEXIST_ {
			break
		}
	}
	return err
}

// cairnProgram puts the base name of the program's file and returns its length.
func cairnProgram(out []byte) int {
	path := cairnTmp[:cairnExecutable(cairnTmp[:])]
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '/' {
			path = path[i+1:]
			break
		}
	}
	const deleted = " (deleted)"
	if len(path) > len(deleted) && string(path[len(path)-len(deleted):]) == deleted {
		path = path[:len(path)-len(deleted)]
	}
	if len(path) > 200 {
		path = path[:200]
	}
	if len(path) == 0 {
		return copy(out, "go")
	}
	return copy(out, path)
}

// cairnDigits puts a number and returns its length.
func cairnDigits(out []byte, v uint64) int {
	var digits [20]byte
	i := len(digits)
	for {
		i--
		digits[i] = byte('0' + v%10)
		v /= 10
		if v == 0 {
			break
		}
	}
	return copy(out, digits[i:])
}

// cairnProcess puts the build id, as far as the first n bytes of it, and a process between dots
// behind the path cairnOut[:at], and returns where it ends.
func cairnProcess(at int, n uintptr, pid uintptr) int {
	cairnOut[at] = '.'
	at++
	for i := range n {
		b := cairnInfo[16+i]
		cairnOut[at], cairnOut[at+1] = "0123456789abcdef"[b>>4], "0123456789abcdef"[b&15]
		at += 2
	}
	cairnOut[at] = '.'
	at += 1 + cairnDigits(cairnOut[at+1:], uint64(pid))
	cairnOut[at] = '.'
	return at + 1
}

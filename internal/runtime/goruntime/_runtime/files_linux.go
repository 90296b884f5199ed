package runtime

import "unsafe"

// What a file is that a goroutine waits for. Who made a connection the kernel does not tell, but the ports that it
// gives to those who connect do.

// cairnAddress is the address of a socket, as the kernel has it.
type cairnAddress struct {
	family uint16
	rest   [126]byte
}

func (a *cairnAddress) port() int { return int(a.rest[0])<<8 | int(a.rest[1]) }

// ephemeral reports whether the kernel gives the port to who connects.
func (a *cairnAddress) ephemeral() bool {
	const first, last = 32768, 60999
	return a.port() >= first && a.port() <= last
}

const (
	cairnUnix  = 1
	cairnInet  = 2
	cairnInet6 = 10
)

// cairnSocket asks the kernel about a socket.
func cairnSocket(call, fd uintptr, a *cairnAddress) (size uint32, ok bool) {
	size = uint32(unsafe.Sizeof(*a))
	_, err := cairnSys(call, fd, uintptr(unsafe.Pointer(a)), uintptr(unsafe.Pointer(&size)), 0, 0)
	return size, err == 0
}

func cairnSocketOption(fd, option uintptr) (v int32) {
	const socket = 1
	size := uint32(4)
	cairnSys(cairnSysGetsockopt, fd, socket, option, uintptr(unsafe.Pointer(&v)), uintptr(unsafe.Pointer(&size)))
	return v
}

// cairnKindOfFile returns what a file is, and puts what the other end is called.
func cairnKindOfFile(fd uintptr, peer []byte) (kind uint32, n int) {
	const kindOf, accepts, stream = 3, 30, 1
	var here, there cairnAddress
	if _, ok := cairnSocket(cairnSysGetsockname, fd, &here); !ok {
		return cairnKindOfPath(fd), 0
	}
	if cairnSocketOption(fd, accepts) != 0 {
		return cairnLogWaitListener, 0
	}
	size, connected := cairnSocket(cairnSysGetpeername, fd, &there)
	if connected {
		n = there.put(peer, size)
	}
	switch here.family {
	case cairnUnix:
		switch {
		case here.rest != [126]byte{}:
			return cairnLogWaitIncoming, n // it has the name of what it was accepted from
		case n > 0:
			return cairnLogWaitOutgoing, n
		}
		return cairnLogWaitInternal, 0
	case cairnInet, cairnInet6:
		isStream := cairnSocketOption(fd, kindOf) == stream
		switch {
		case !connected && (isStream || here.ephemeral()), connected && !isStream:
			return cairnLogWaitOutgoing, n
		case !connected:
			return cairnLogWaitIncoming, 0
		case here.ephemeral() == there.ephemeral():
			return cairnLogWaitUnknown, n
		case here.ephemeral():
			return cairnLogWaitOutgoing, n
		}
		return cairnLogWaitIncoming, n
	}
	return cairnLogWaitInternal, 0
}

// cairnKindOfPath returns what a file is that is no socket.
func cairnKindOfPath(fd uintptr) uint32 {
	var path [40]byte
	var link [64]byte
	at := copy(path[:], "/proc/self/fd/")
	path[at+cairnDigits(path[at:], uint64(fd))] = 0
	n, err := cairnSys(cairnSysReadlinkat, cairnCwd(), cairnAddr(&path[0]), cairnAddr(&link[0]), uintptr(len(link)), 0)
	switch {
	case err != 0 || n == 0:
		return cairnLogWaitUnknown
	case link[0] == '/':
		return cairnLogWaitFile
	}
	return cairnLogWaitInternal
}

// put writes an address as people write it, and returns its length.
func (a *cairnAddress) put(out []byte, size uint32) (n int) {
	if a.family == cairnUnix {
		for n < len(out) && n+2 < int(size) && n < len(a.rest) && (n == 0 || a.rest[n] != 0) {
			if out[n] = a.rest[n]; out[n] == 0 {
				out[n] = '@' // of an abstract name
			}
			n++
		}
		return n
	}
	digit := func(c byte) {
		if n < len(out) {
			out[n] = c
			n++
		}
	}
	number := func(v uint64) {
		if n+20 <= len(out) {
			n += cairnDigits(out[n:], v)
		}
	}
	mapped := a.family == cairnInet6 // ::ffff:1.2.3.4
	for i := range 12 {
		mapped = mapped && (i < 10 && a.rest[6+i] == 0 || i >= 10 && a.rest[6+i] == 0xff)
	}
	switch {
	case a.family == cairnInet || mapped:
		at := 2
		if mapped {
			at = 18
		}
		for i := range 4 {
			if i > 0 {
				digit('.')
			}
			number(uint64(a.rest[at+i]))
		}
	case a.family == cairnInet6:
		digit('[')
		for i := range 8 {
			if i > 0 {
				digit(':')
			}
			v := int(a.rest[6+2*i])<<8 | int(a.rest[7+2*i])
			for shift := 12; shift >= 0; shift -= 4 {
				if v>>shift != 0 || shift == 0 {
					digit("0123456789abcdef"[v>>shift&15])
				}
			}
		}
		digit(']')
	default:
		return 0
	}
	digit(':')
	number(uint64(a.port()))
	return n
}

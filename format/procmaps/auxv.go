package procmaps

import "encoding/binary"

// Types of entries in the auxiliary vector, as include/uapi/linux/auxvec.h numbers them.
const (
	AuxEntry  = 9  // the program's entry point
	AuxSecure = 23 // not 0 if the program has more rights than its caller
	AuxHWCap2 = 26 // features of the processor that the kernel lets programs use
)

// Auxiliary returns the value of an entry in /proc/PID/auxv of a 64-bit process of this machine,
// and whether there is one.
func Auxiliary(auxv []byte, kind uint64) (value uint64, ok bool) {
	for ; len(auxv) >= 16; auxv = auxv[16:] {
		if binary.NativeEndian.Uint64(auxv) == kind {
			return binary.NativeEndian.Uint64(auxv[8:]), true
		}
	}
	return 0, false
}

package runtime

import (
	"internal/runtime/atomic"
	"unsafe"
)

// Each processor (P) has a copy of the records, whose distance from the records is the base of
// segment gs. Only the processor that a thread has acquired runs code with probes there.

var (
	cairnBeside uintptr // the distance of the first copy
	cairnStride uintptr // of the next ones
	cairnBase   uintptr // the code of cairnSetGS is replaced
	cairnCalls  bool    // the base of gs is set by system calls
)

const (
	cairnHasFSGSBASE   = 1 << 1
	cairnMaxCopies     = 1024
	cairnMaxCopiesSize = 16 << 20
)

// cairnWantCopies returns the number of copies for records of a size, at most one for each
// processor. There are none where the kernel does not let programs set the base of gs. System
// calls would do it everywhere, but a filter (seccomp) that the program installs can forbid them.
func cairnWantCopies(image uintptr) uintptr {
	if cairnInfo[9] == 0 {
		return 0
	}
	switch gogetenv("CAIRN_GO_COUNTERS") {
	case "shared":
		return 0
	case "wrgsbase":
	case "arch_prctl":
		cairnCalls = true
	default:
		if !cairnCanSetGS() {
			return 0
		}
	}
	n := min(cairnProcessors(), cairnMaxCopies, cairnMaxCopiesSize/image)
	if n < 2 {
		return 0
	}
	return n
}

// cairnProcessors returns the value of GOMAXPROCS, or the number of processors that the process
// may use, if that is larger.
func cairnProcessors() uintptr {
	var mask [1024]byte
	const schedGetaffinity = 204
	n, _ := cairnSys(schedGetaffinity, 0, uintptr(len(mask)), cairnAddr(&mask[0]), 0, 0)
	count := uintptr(0)
	for _, b := range mask[:min(n, uintptr(len(mask)))] {
		for ; b != 0; b &= b - 1 {
			count++
		}
	}
	set := uintptr(0)
	for _, c := range []byte(gogetenv("GOMAXPROCS")) {
		if c < '0' || c > '9' || set > cairnMaxCopies {
			return count
		}
		set = set*10 + uintptr(c-'0')
	}
	return max(count, set)
}

func cairnCanSetGS() bool {
	for i := 0; i+1 < len(auxv); i += 2 {
		if auxv[i] == _AT_HWCAP2 {
			return auxv[i+1]&cairnHasFSGSBASE != 0
		}
	}
	return false
}

// cairnOwn gives each processor its copy from now on.
func cairnOwn(beside, stride uintptr, n uint32) {
	cairnBeside, cairnStride = beside, stride
	atomic.Store(&cairnCopies, n)
	if pp := getg().m.p.ptr(); pp != nil {
		cairnAcquired(pp)
	}
}

// cairnAcquired runs when a thread acquires a processor.
//
//go:nosplit
func cairnAcquired(pp *p) {
	switch {
	case cairnCopies == 0:
	case cairnCalls:
		const archPrctl, setGS = 158, 0x1001
		cairnSyscall6(archPrctl, setGS, cairnDistance(pp), 0, 0, 0, 0)
	default:
		cairnSetGS(cairnDistance(pp))
	}
}

// cairnDistance returns the distance of a processor's copy from the records. Processors that the
// program added later have none: they share the records.
//
//go:nosplit
func cairnDistance(pp *p) uintptr {
	if uint32(pp.id) >= cairnCopies {
		return 0
	}
	return cairnBeside + uintptr(pp.id)*cairnStride
}

//go:noinline
//go:nosplit
func cairnSetGS(base uintptr) { cairnBase = base }

// cairnBegin counts in the processor's copy how often a count began from zero: the word that
// is the order word in the records.
//
//go:nosplit
func cairnBegin(order *uint32) {
	if cairnCopies == 0 || !cairnHas(unsafe.Pointer(order)) {
		return
	}
	pp := getg().m.p.ptr()
	if pp == nil {
		return
	}
	distance := cairnDistance(pp)
	if distance == 0 {
		return
	}
	word := (*uint32)(add(unsafe.Pointer(order), distance))
	if *(*uint32)(add(unsafe.Pointer(word), ^uintptr(3))) == 0 { // not another one meanwhile
		*word++
	}
}

//go:build go1.26

package runtime

import "internal/runtime/syscall/linux"

// cairnSyscall6 calls Linux. The package that does it has another name in each release.
//
//go:nosplit
func cairnSyscall6(n, a, b, c, d, e, f uintptr) (r1, r2, err uintptr) {
	return linux.Syscall6(n, a, b, c, d, e, f)
}

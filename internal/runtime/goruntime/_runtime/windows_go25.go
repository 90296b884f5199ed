//go:build !go1.26

package runtime

import "unsafe"

// cairnStd calls a function of Windows. It is called on the stack of the thread.
//
//go:nosplit
func cairnStd(fn stdFunction, args ...uintptr) uintptr {
	call := &getg().m.libcall
	call.n = uintptr(len(args))
	call.args = 0
	if len(args) > 0 {
		call.args = uintptr(noescape(unsafe.Pointer(&args[0])))
	}
	return stdcall(fn)
}

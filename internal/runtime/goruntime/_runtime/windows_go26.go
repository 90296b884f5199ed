//go:build go1.26

package runtime

// cairnStd calls a function of Windows. It is called on the stack of the thread.
//
//go:nosplit
func cairnStd(fn stdFunction, args ...uintptr) uintptr { return stdcall(fn, args...) }

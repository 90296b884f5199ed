//go:build cairn

package mark

import (
	"bytes"
	"runtime"
	"strconv"
)

// goid returns the goroutine's number in tracebacks. It takes microseconds, so it is used for reports, and on
// machines that here does not support.
func goid() uint64 {
	var b [64]byte
	text := b[:runtime.Stack(b[:], false)]
	text = bytes.TrimPrefix(text, []byte("goroutine "))
	if i := bytes.IndexByte(text, ' '); i > 0 {
		text = text[:i]
	}
	n, _ := strconv.ParseUint(string(text), 10, 64)
	return n
}

// hereSlowly is here without assembly, called by a function that calls here: the goroutine's number, no depth,
// and the same pc.
func hereSlowly() (id, depth, pc uintptr) {
	var pcs [1]uintptr
	runtime.Callers(3, pcs[:])
	return uintptr(goid()), 0, pcs[0]
}

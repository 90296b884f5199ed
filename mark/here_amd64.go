//go:build cairn && gc && amd64

package mark

import "runtime"

// here returns, for the caller of its caller: its goroutine, the depth of its frame in the stack in bytes, and
// its return address. It must be called directly by a function that is not inlined.
//
// id is the address of the goroutine's descriptor, which Go never frees, but reuses for other goroutines.
func here() (id, depth, pc uintptr)

// self returns the same id.
func self() (id uintptr)

// portable says that here does not work with this version of Go.
var portable = !probe()

// probe tests here and self on this goroutine and on another.
func probe() bool {
	id, _, _ := here()
	other := make(chan uintptr)
	go func() { other <- self() }()
	return nested(id) && <-other != id
}

//go:noinline
func nested(id uintptr) bool {
	a, d, pc := position()
	b, dd, ok := deeper()
	f := runtime.FuncForPC(pc - 1)
	return ok && a == id && b == id && self() == id && d > 0 && d < 1<<30 && dd > d &&
		f != nil && f.Name() == "github.com/cairnprof/cairn/mark.nested"
}

//go:noinline
func deeper() (id, depth uintptr, ok bool) {
	var room [256]byte
	id, depth, pc := position()
	f := runtime.FuncForPC(pc - 1)
	fill(room[:])
	return id, depth, f != nil && f.Name() == "github.com/cairnprof/cairn/mark.deeper"
}

//go:noinline
func fill(b []byte) { clear(b) }

//go:noinline
func position() (id, depth, pc uintptr) { return here() }

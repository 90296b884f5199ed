package logfile

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// ErrCut reports that a file that is mapped became shorter, or that its device cannot read it any more.
var ErrCut = errors.New("the file was cut off while it was read, or cannot be read any more")

// Guard turns faults of the goroutine in mapped files into errors with a name: defer Guard(name, &err)() does so until its
// function returns.
func Guard(name string, err *error) (end func()) {
	before := debug.SetPanicOnFault(true)
	return func() {
		debug.SetPanicOnFault(before)
		switch r := recover().(type) {
		case nil:
		case interface{ Addr() uintptr }: // of package runtime
			*err = fmt.Errorf("%s: %w", name, ErrCut)
		default:
			panic(r)
		}
	}
}

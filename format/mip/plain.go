package mip

import (
	"encoding/binary"

	"github.com/cairnprof/cairn/internal/bytecur"
	"github.com/cairnprof/cairn/prof"
)

// appendPlain writes which functions were compiled without optimisation, as ranges of their numbers: mostly all of
// them were, or none.
func appendPlain(b []byte, funcs []prof.Func) []byte {
	var ranges []uint64 // functions from the end of the range before, and in the range
	end := 0
	for i := 0; i < len(funcs); i++ {
		first := i
		for i < len(funcs) && funcs[i].Plain {
			i++
		}
		if i > first {
			ranges = append(ranges, uint64(first-end), uint64(i-first))
			end = i
		}
	}
	b = binary.AppendUvarint(b, uint64(len(ranges)/2))
	for _, n := range ranges {
		b = binary.AppendUvarint(b, n)
	}
	return b
}

// readPlain reads what appendPlain wrote.
func readPlain(c *bytecur.Cursor, funcs []prof.Func) {
	const minRange = 1 + 1 // bytes
	at := uint64(0)
	for range c.Count("ranges of functions without optimisation", MaxFuncs, minRange) {
		off := c.Off()
		skip, n := c.Uvarint(), c.Uvarint()
		rest := uint64(len(funcs)) - at
		if c.Err() == nil && (n == 0 || skip == 0 && at > 0 || skip > rest || n > rest-skip) {
			c.FailAt(off, "%d functions without optimisation after %d others, of %d", n, skip, rest)
		}
		if c.Err() != nil {
			return
		}
		at += skip
		for i := range funcs[at : at+n] {
			funcs[at:][i].Plain = true
		}
		at += n
	}
}

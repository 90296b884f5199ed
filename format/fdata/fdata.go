// Package fdata writes the profiles that llvm-bolt reads, as text, and knows the inputs of BOLT. There are
// two kinds (LLVM's bolt/Profile/DataReader.h). One has a line for each branch:
//
//	1 caller offset 1 callee offset mispredictions count
//
// The other starts with "no_lbr" and names of events, and has a line for each
// address that was sampled:
//
//	1 function offset count
//
// Offsets are hexadecimal, counts decimal. The leading 1 says that the name is
// a symbol's; 0 stands before a place outside the binary.
package fdata

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strings"
)

// Unknown is the origin of a branch that is not known.
var Unknown = Place{}

// Place is an address in a function.
type Place struct {
	// Symbol is the function's name as BOLT makes it: local symbols have a slash and a number appended. "" is
	// outside the binary.
	Symbol string
	Offset uint64 // bytes from the symbol
}

// Branch is a jump, call or return that was taken Count times.
type Branch struct {
	From, To Place
	Count    uint64
}

// Sample says how often the code at a place ran.
type Sample struct {
	At    Place
	Count uint64
}

// WriteBranches writes branches, in their order.
func WriteBranches(w io.Writer, branches []Branch) error {
	b := bufio.NewWriter(w)
	for _, br := range branches {
		fmt.Fprintf(b, "%s %s 0 %d\n", br.From, br.To, count(br.Count))
	}
	return b.Flush()
}

// WriteSamples writes samples, in their order. BOLT divides by the number of
// instructions if the event is called cycles or instructions, and by the number
// of calls if it is called branches.
func WriteSamples(w io.Writer, event string, samples []Sample) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "no_lbr %s:\n", event)
	for _, s := range samples {
		fmt.Fprintf(b, "%s %d\n", s.At, count(s.Count))
	}
	return b.Flush()
}

// count limits n to what BOLT can hold, as it multiplies by 1000.
func count(n uint64) uint64 { return min(n, math.MaxInt64/1000) }

// String returns the place in the text format.
func (p Place) String() string {
	if p.Symbol == "" {
		return fmt.Sprintf("0 [unknown] %x", p.Offset)
	}
	return fmt.Sprintf("1 %s %x", strings.NewReplacer(`\`, `\\`, " ", `\ `).Replace(p.Symbol), p.Offset)
}

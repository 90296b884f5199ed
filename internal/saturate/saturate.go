// Package saturate adds and multiplies counts and durations that must not wrap round.
package saturate

import (
	"math"
	"math/bits"
)

// Add returns a+b, or the largest number if that is larger.
func Add(a, b uint64) uint64 {
	sum, carry := bits.Add64(a, b, 0)
	if carry != 0 {
		return math.MaxUint64
	}
	return sum
}

// Mul returns a*b, or the largest number if that is larger.
func Mul(a, b uint64) uint64 {
	if hi, lo := bits.Mul64(a, b); hi == 0 {
		return lo
	}
	return math.MaxUint64
}

// Package splitmix mixes the bits of numbers: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators"
// (OOPSLA 2014).
package splitmix

// Gamma is what a generator adds to its state before each number.
const Gamma = 0x9e3779b97f4a7c15

// Mix returns z with each bit depending on all others. The high bits of FNV, for one, depend little on the last bytes.
func Mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

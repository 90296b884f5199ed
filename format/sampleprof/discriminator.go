package sampleprof

// ProbeOf returns the number of a pseudo probe in a discriminator, which has it where a call was inlined.
func ProbeOf(d uint32) uint32 {
	const encoded = 1 << 28 // a base discriminator has three of the number's bits
	if d&encoded != 0 {
		return d >> 3 & 0x1fff
	}
	return d >> 3 & 0xffff
}

package wire

// OddFlag returns the value of a flag that a probe of Armv7 set, given its address: the low byte of the last odd
// address that is not after the flag. All other flags that are set are 1.
func OddFlag(addr uint64) byte { return byte(addr-1) | 1 }

// RecordSize returns the size in bytes of a record in RawSection with the given contents. The number of probes
// is that of the blocks, the entry block included, less those without their own probe.
func RecordSize(calls, blocks, edges bool, numProbes int) uint64 {
	switch {
	case edges:
		return CountSize + EdgeSize*uint64(numProbes-1)
	case calls && blocks:
		return FullHeaderSize + uint64(numProbes-1)
	case calls:
		return CountSize
	case blocks:
		return uint64(numProbes)
	default:
		return CoverSize
	}
}

package wire

// RecordSize returns the size in bytes of a record in RawSection, by what it
// holds. The number of blocks includes the entry block.
func RecordSize(calls, blocks bool, numBlocks int) uint64 {
	switch {
	case calls && blocks:
		return FullHeaderSize + uint64(numBlocks-1)
	case calls:
		return CountSize
	case blocks:
		return uint64(numBlocks)
	default:
		return CoverSize
	}
}

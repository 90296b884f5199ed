package xray

// About describes the format of a log.
type About struct {
	FDR     bool // else basic
	Version int
	Big     bool   // big-endian
	Hz      uint64 // ticks per second as the header has it, 0 if not known
	Buffer  uint64 // FDR: the size of the runtime's buffers in bytes
}

// About returns the contents of the log's header. The clock in use is that of Info: a header's rate may be far
// off.
func (l *Log) About() About {
	return About{FDR: l.head.fdr, Version: l.head.version, Big: l.head.big, Hz: l.head.hz, Buffer: l.head.buffer}
}

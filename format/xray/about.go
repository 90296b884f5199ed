package xray

// About is which format a log is in.
type About struct {
	FDR     bool // else basic
	Version int
	Big     bool   // big-endian
	Hz      uint64 // ticks per second as the header has it, 0 if not known
	Buffer  uint64 // FDR: the size of the runtime's buffers in bytes
}

// About returns what the log's header says. The clock that is in use is that of
// Info: a header's rate may be far off.
func (l *Log) About() About {
	return About{FDR: l.head.fdr, Version: l.head.version, Big: l.head.big, Hz: l.head.hz, Buffer: l.head.buffer}
}

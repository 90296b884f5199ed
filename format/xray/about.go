package xray

// Header is what a log's header says.
type Header struct {
	FDR     bool // else basic
	Version int
	Big     bool   // big-endian
	Hz      uint64 // ticks per second as the header has it, 0 if not known
}

// Header returns what the log's header says. The clock that is in use is that of
// Info: a header's rate may be far off.
func (l *Log) Header() Header {
	return Header{FDR: l.head.fdr, Version: l.head.version, Big: l.head.big, Hz: l.head.hz}
}

//go:build !linux

package logfile

// Map returns nil: files are read.
func (f *File) Map(int64, int) []byte { return nil }

// Unmap does nothing.
func (f *File) Unmap([]byte) {}

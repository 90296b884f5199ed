package logfile

import "syscall"

// Map maps up to size bytes of a plain file at an offset, a multiple of the page size, into memory, which must not be changed.
// It returns nil if they cannot be mapped: they can be read then. If somebody cuts the file off, reading from the memory is a
// fault, see Guard.
func (f *File) Map(offset int64, size int) []byte {
	if f.file == nil {
		return nil
	}
	st, err := f.file.Stat()
	if err != nil || offset >= st.Size() {
		return nil
	}
	size = int(min(int64(size), st.Size()-offset))
	// All at once: a fault for each page would take longer than to copy it.
	piece, err := syscall.Mmap(int(f.file.Fd()), offset, size, syscall.PROT_READ, syscall.MAP_PRIVATE|syscall.MAP_POPULATE)
	if err != nil {
		return nil
	}
	return piece
}

// Unmap ends a Map.
func (f *File) Unmap(piece []byte) { _ = syscall.Munmap(piece) } // it fails for nothing that was mapped

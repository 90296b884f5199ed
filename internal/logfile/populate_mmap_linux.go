//go:build !amd64 && !arm64

package logfile

import "syscall"

// populate maps a piece of a file, all of it at once: a fault for each page would take longer than to copy it.
func populate(fd uintptr, offset int64, size int) []byte {
	piece, err := syscall.Mmap(int(fd), offset, size, syscall.PROT_READ, syscall.MAP_PRIVATE|syscall.MAP_POPULATE)
	if err != nil {
		return nil
	}
	return piece
}

// Unmap ends a Map.
func (f *File) Unmap(piece []byte) { _ = syscall.Munmap(piece) } // it fails for nothing that was mapped

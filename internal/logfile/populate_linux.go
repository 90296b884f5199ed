//go:build amd64 || arm64

package logfile

import (
	"syscall"
	"unsafe"
)

// populate maps a piece of a file, all of it at once: a fault for each page would take longer than to copy it. The scheduler is
// not told that it waits: it does not for what is in the kernel's cache, and otherwise as long as a fault would. A call that takes
// more than 20 microseconds would wake a thread that gives the processor to others, for each piece.
func populate(fd uintptr, offset int64, size int) []byte {
	addr, _, failed := syscall.RawSyscall6(syscall.SYS_MMAP, 0, uintptr(size), syscall.PROT_READ, syscall.MAP_PRIVATE|syscall.MAP_POPULATE, fd, uintptr(offset))
	if failed != 0 {
		return nil
	}
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&addr)), size) // memory that is not of the heap
}

// Unmap ends a Map.
func (f *File) Unmap(piece []byte) {
	if len(piece) > 0 {
		_, _, _ = syscall.RawSyscall(syscall.SYS_MUNMAP, uintptr(unsafe.Pointer(unsafe.SliceData(piece))), uintptr(len(piece)), 0) // it fails for nothing that was mapped
	}
}

package logfile

import (
	"math"
	"os"
	"syscall"
)

// mapFile maps a file for reading, nil if it cannot be mapped.
func mapFile(file *os.File, size int64) []byte {
	if size > math.MaxInt {
		return nil
	}
	m, err := syscall.Mmap(int(file.Fd()), 0, int(size), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil
	}
	return m
}

func unmap(m []byte) {
	if m != nil {
		_ = syscall.Munmap(m)
	}
}

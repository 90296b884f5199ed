package sampleset

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
)

// openKernel opens the list of the running kernel's symbols, and returns the kernel's build id.
func openKernel() (io.ReadCloser, string, error) {
	notes, err := os.ReadFile("/sys/kernel/notes")
	if err != nil {
		return nil, "", fmt.Errorf("reading the build id of the running kernel: %w", err)
	}
	id := kernelID(notes)
	if id == "" {
		return nil, "", errors.New("/sys/kernel/notes has no build id")
	}
	list, err := os.Open("/proc/kallsyms")
	if err != nil {
		return nil, "", fmt.Errorf("reading the symbols of the kernel: %w", err)
	}
	return list, id, nil
}

// kernelID returns the build id among notes of ELF, "" if there is none.
func kernelID(notes []byte) string {
	const header, buildID = 12, 3
	padded := func(n uint32) uint64 { return (uint64(n) + 3) &^ 3 }
	for len(notes) >= header {
		nameSize, size, kind := binary.NativeEndian.Uint32(notes), binary.NativeEndian.Uint32(notes[4:]), binary.NativeEndian.Uint32(notes[8:])
		begin := header + padded(nameSize)
		end := begin + padded(size)
		if end > uint64(len(notes)) {
			return ""
		}
		if kind == buildID && string(notes[header:header+uint64(nameSize)]) == "GNU\x00" {
			return hex.EncodeToString(notes[begin : begin+uint64(size)])
		}
		notes = notes[end:]
	}
	return ""
}

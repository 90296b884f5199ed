package sampleset

import (
	"encoding/binary"
	"testing"
)

func TestKernelID(t *testing.T) {
	t.Parallel()
	note := func(name string, kind uint32, desc ...byte) []byte {
		b := binary.NativeEndian.AppendUint32(nil, uint32(len(name)))
		b = binary.NativeEndian.AppendUint32(b, uint32(len(desc)))
		b = append(binary.NativeEndian.AppendUint32(b, kind), name...)
		for len(b)%4 > 0 {
			b = append(b, 0)
		}
		b = append(b, desc...)
		for len(b)%4 > 0 {
			b = append(b, 0)
		}
		return b
	}
	all := append(note("Xen\x00", 3, 1, 2, 3), note("GNU\x00", 3, 0xab, 0xcd, 0xef)...)
	if got := kernelID(append(all, note("Linux\x00", 257, 7)...)); got != "abcdef" {
		t.Errorf("%q", got)
	}
	for n := range len(all) {
		if got := kernelID(all[:n]); got != "" {
			t.Errorf("of %d bytes: %q", n, got)
		}
	}
}

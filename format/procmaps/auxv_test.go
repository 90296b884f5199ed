//go:build linux

package procmaps

import (
	"os"
	"testing"
)

// TestAuxiliary reads the vector of the test itself, whole and cut.
func TestAuxiliary(t *testing.T) {
	t.Parallel()
	auxv, err := os.ReadFile("/proc/self/auxv")
	if err != nil {
		t.Skip(err)
	}
	if entry, ok := Auxiliary(auxv, AuxEntry); !ok || entry == 0 {
		t.Errorf("entry point %#x, %t", entry, ok)
	}
	if secure, ok := Auxiliary(auxv, AuxSecure); !ok || secure != 0 {
		t.Errorf("secure %d, %t", secure, ok)
	}
	for _, cut := range [][]byte{nil, auxv[:15]} {
		if value, ok := Auxiliary(cut, AuxEntry); ok {
			t.Errorf("%d bytes: %#x", len(cut), value)
		}
	}
}

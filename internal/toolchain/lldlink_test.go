package toolchain

import (
	"os"
	"path/filepath"
	"testing"
)

// TestIsX64 looks at the beginnings of objects.
func TestIsX64(t *testing.T) {
	t.Parallel()
	for head, want := range map[string]bool{
		"": false, "\x64": false, "\x64\x86": true, "\x64\x86\x02\x00\x00\x00\x00\x00": true, "\x64\xaa\x02\x00\x00\x00\x00\x00": false,
		"\x00\x00\xff\xff\x02\x00\x64\x86": true,  // of many sections
		"\x00\x00\xff\xff\x02\x00\x64\xaa": false, // of AArch64
		"\x00\x00\xff\xff\x00\x00\x64\x86": false, // of an import library
		"\x00\x00\xff\xff\x02\x00\x64":     false,
	} {
		path := filepath.Join(t.TempDir(), "a.obj")
		if err := os.WriteFile(path, []byte(head), 0o600); err != nil {
			t.Fatal(err)
		}
		if object, file := isX64([]byte(head)), madeForX64(path); object != want || file != want {
			t.Errorf("% x: %v, and %v of the file, want %v", head, object, file, want)
		}
	}
}

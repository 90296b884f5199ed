package verb

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestCacheDirOwner(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs to give a directory away")
	}
	tmp := t.TempDir()
	for name, value := range map[string]string{"CAIRN_CACHE": "", "XDG_CACHE_HOME": "", "HOME": "/dev/null", "TMPDIR": tmp} {
		t.Setenv(name, value)
	}
	want := filepath.Join(tmp, fmt.Sprintf("cairn-%d", os.Getuid()))
	if dir, err := CacheDir(); err != nil || dir != want {
		t.Fatalf("%s, %v, want %s", dir, err, want)
	}
	if err := os.Chown(want, 65534, -1); err != nil {
		t.Fatal(err)
	}
	if dir, err := CacheDir(); err == nil {
		t.Errorf("%s belongs to another user and is taken", dir)
	}
}

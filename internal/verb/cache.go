package verb

import (
	"fmt"
	"os"
	"path/filepath"
)

// CacheDir returns the directory for files that cairn builds for itself.
func CacheDir() (string, error) {
	if dir := os.Getenv("CAIRN_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	// Build sandboxes often have no home directory.
	if base, err := os.UserCacheDir(); err == nil {
		dir := filepath.Join(base, "cairn")
		if os.MkdirAll(dir, 0o755) == nil {
			return dir, nil
		}
	}
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("cairn-%d", os.Getuid()))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	if !isPrivate(info) {
		return "", fmt.Errorf("%s is not a private directory of this user; set CAIRN_CACHE", dir)
	}
	return dir, nil
}

//go:build unix

package verb

import (
	"io/fs"
	"os"
	"syscall"
)

// forwarded are the signals to us that RunThrough sends to the program it runs.
var forwarded = []os.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2}

// isPrivate reports whether only this user can use a directory.
func isPrivate(dir fs.FileInfo) bool {
	stat, ok := dir.Sys().(*syscall.Stat_t)
	return dir.IsDir() && dir.Mode().Perm() == 0o700 && ok && int(stat.Uid) == os.Getuid()
}

// showsColors reports whether a terminal understands escape sequences.
func showsColors(*os.File) bool { return true }

// replace renames a file, also to the name of another.
func replace(file, path string) error { return os.Rename(file, path) }

//go:build unix

package verb

import (
	"fmt"
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

// Replace renames a file or a directory, a file also to the name of another.
func Replace(file, path string) error { return os.Rename(file, path) }

// exeSuffix ends the names of programs.
const exeSuffix = ""

// MaxCommandLine is how many bytes a command line may have, 0 for as many as a response file that cairn reads.
const MaxCommandLine = 0

// StandIn makes a program at path that is self under another name.
func StandIn(self, path string) error { return os.Symlink(self, path) }

// Become replaces the process by a program; it returns only if that fails. who begins the error.
func Become(who, path string, argv, env []string) error {
	return fmt.Errorf("%s: running %s: %w", who, path, syscall.Exec(path, argv, env))
}

// RemoveAll removes a directory with all that it has.
func RemoveAll(path string) error { return os.RemoveAll(path) }

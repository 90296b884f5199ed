package journal

import (
	"syscall"
	"testing"
)

// TestLockCopied checks that a directory is unlocked after Close, even if a process that was
// just started still has a copy of the descriptor.
func TestLockCopied(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, err := TakeLock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := TakeLock(dir); err == nil {
		t.Error("a directory is locked twice")
	}
	copied, err := syscall.Dup(int(l.file.Fd())) // as fork does
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(copied)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if l, err = TakeLock(dir); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

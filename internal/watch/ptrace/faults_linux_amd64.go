package ptrace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
	"unsafe"

	"github.com/cairnprof/cairn/internal/binary/objfile"
)

// WarmFaults runs a program normally and returns its page faults.
func WarmFaults(ctx context.Context, argv []string, opts *Options) (*Faults, error) {
	bin, err := openProgram(argv)
	if err != nil {
		return nil, err
	}
	defer bin.Close()
	return countFaults(ctx, bin.Path(), argv, opts)
}

// countFaults runs the program at path.
func countFaults(ctx context.Context, path string, argv []string, opts *Options) (*Faults, error) {
	start := time.Now()
	cmd := command(path, argv, opts)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { cmd.Process.Kill() })
	err := cmd.Wait()
	stop()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f := &Faults{Elapsed: time.Since(start)}
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok {
		f.Status = statusOf(ws)
	}
	if use, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		f.Major, f.Minor = use.Majflt, use.Minflt
	}
	return f, nil
}

// ErrStaysCached: a program's file could not be dropped from the page cache, so
// that no cold start can be measured.
var ErrStaysCached = errors.New("cold starts cannot be measured here")

// ColdFaults drops a program's file from the page cache, runs the program and returns its page faults.
// Libraries stay cached. If the file cannot be dropped the error is ErrStaysCached with the reason.
//
// Read-ahead influences the result: with much read-ahead there are few major faults for any order of the
// functions.
func ColdFaults(ctx context.Context, argv []string, opts *Options) (*Faults, error) {
	bin, err := openProgram(argv)
	if err != nil {
		return nil, err
	}
	path := bin.Path()
	text, err := textInFile(bin)
	bin.Close()
	if err != nil {
		return nil, err
	}
	if err := dropFromCache(path, text); err != nil {
		return nil, err
	}
	f, err := countFaults(ctx, path, argv, opts)
	if err != nil {
		return nil, err
	}
	f.TextPages = text.pages()
	if f.Resident, err = residentPages(path, text); err != nil {
		return nil, err
	}
	f.ReadAhead = f.Resident == f.TextPages && f.Major < int64(f.TextPages)/2
	return f, nil
}

// extent is a half-open range of a file.
type extent struct{ lo, hi int64 }

// pages returns the number of pages that e touches.
func (e extent) pages() int { return int((e.hi+pageSize-1)/pageSize - e.lo/pageSize) }

func textInFile(bin *objfile.File) (extent, error) {
	for _, s := range bin.LoadedSections() {
		if s.Name == ".text" && s.Code && s.InFile {
			return extent{int64(s.Offset), int64(s.Offset + s.Size)}, nil
		}
	}
	return extent{}, fmt.Errorf("%s: no .text section", bin.Path())
}

// dropFromCache drops the file at path from the page cache and checks that its text is gone.
func dropFromCache(path string, text extent) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	// Dirty pages cannot be dropped.
	err = f.Sync()
	if err == nil || errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.EROFS) {
		const dontNeed = 4 // POSIX_FADV_DONTNEED
		_, _, errno := syscall.Syscall6(syscall.SYS_FADVISE64, f.Fd(), 0, 0, dontNeed, 0, 0)
		err = nil
		if errno != 0 {
			err = errno
		}
	}
	f.Close()
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrStaysCached, path, err)
	}
	n, err := residentPages(path, text)
	if err != nil {
		return err
	}
	if n > 0 {
		return fmt.Errorf("%w: %d of %d pages of code of %s stay in memory (is it running elsewhere, on a file system in memory, or not yours?)",
			ErrStaysCached, n, text.pages(), path)
	}
	return nil
}

// residentPages returns how many pages of a range of a file are in the page
// cache.
func residentPages(path string, e extent) (int, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	lo := e.lo &^ (pageSize - 1)
	// A mapping that is not touched loads nothing.
	mem, err := syscall.Mmap(int(f.Fd()), lo, int(e.hi-lo), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return 0, &os.PathError{Op: "mmap", Path: path, Err: err}
	}
	defer syscall.Munmap(mem)
	in := make([]byte, e.pages())
	_, _, errno := syscall.Syscall(syscall.SYS_MINCORE, uintptr(unsafe.Pointer(&mem[0])), uintptr(len(mem)), uintptr(unsafe.Pointer(&in[0])))
	if errno != 0 {
		return 0, &os.PathError{Op: "mincore", Path: path, Err: errno}
	}
	n := 0
	for _, b := range in {
		n += int(b & 1)
	}
	return n, nil
}

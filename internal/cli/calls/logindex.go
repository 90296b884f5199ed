package calls

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/cairnprof/cairn/format/xray"
	"github.com/cairnprof/cairn/internal/logfile"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/trace"
)

// indexLeast is the size of logs whose index is kept: that of a shorter one is made in
// some milliseconds.
const indexLeast = 16 << 20

// openXRay opens a log of XRay, by the index that a command before left in the cache, or
// leaves one. As with places, what goes wrong with the cache is not told.
func openXRay(path string, file *logfile.File) (trace.Log, error) {
	kept, key := indexOf(path, file)
	if kept != "" {
		if log, err := xray.OpenIndex(file, file.Size, file.Name, readKept(kept), key); err == nil {
			return log, nil
		}
	}
	log, err := xray.Open(file, file.Size, file.Name)
	if err != nil {
		return nil, err
	}
	if kept != "" {
		writeKept(kept, log.AppendIndex(nil, key))
	}
	return log, nil
}

// indexOf returns where the index of a log is kept, "" for nowhere, and its key: which
// file it is, when it was last written to or renamed, and what is at both of its ends.
func indexOf(path string, file *logfile.File) (kept string, key []byte) {
	if path == logfile.Stdin || file.Size < indexLeast {
		return "", nil
	}
	st, err := os.Stat(path)
	if err != nil || !st.Mode().IsRegular() {
		return "", nil
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return "", nil
	}
	cache, err := verb.CacheDir()
	if err != nil {
		return "", nil
	}
	sum := sha256.New()
	fmt.Fprintln(sum, sys.Dev, sys.Ino, sys.Mtim, sys.Ctim, st.Size(), file.Size)
	end := make([]byte, logfile.HeadSize)
	n, _ := file.ReadAt(end, file.Size-int64(len(end)))
	sum.Write(file.Head(logfile.HeadSize))
	sum.Write(end[:n])
	key = sum.Sum(nil)
	return filepath.Join(cache, "indexes", fmt.Sprintf("%x", key[:16])), key
}

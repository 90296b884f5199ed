package logset

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/xray"
	"github.com/cairnprof/cairn/internal/logfile"
	"github.com/cairnprof/cairn/internal/verb"
)

// indexLeast is the size of logs whose index is kept: that of a shorter one is made in
// some milliseconds.
const indexLeast = 16 << 20

// openXRay opens a log of XRay, by the index that an earlier command stored in the cache, or
// stores one. As with places, errors of the cache are ignored.
func openXRay(path string, file *logfile.File) (calllog.Log, error) {
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
	if kept != "" && len(log.Names()) == 0 { // an index has no names
		writeKept(kept, log.AppendIndex(nil, key))
	}
	return log, nil
}

// indexOf returns the path of a log's index, "" for none, and its key: the identity of the
// file, the time of its last modification, and the data at both of its ends.
func indexOf(path string, file *logfile.File) (kept string, key []byte) {
	if path == logfile.Stdin || file.Size < indexLeast {
		return "", nil
	}
	version, err := versionOf(path)
	if err != nil {
		return "", nil
	}
	cache, err := verb.CacheDir()
	if err != nil {
		return "", nil
	}
	sum := sha256.New()
	fmt.Fprintln(sum, version, file.Size)
	end := make([]byte, logfile.HeadSize)
	n, _ := file.ReadAt(end, file.Size-int64(len(end)))
	sum.Write(file.Head(logfile.HeadSize))
	sum.Write(end[:n])
	key = sum.Sum(nil)
	return filepath.Join(cache, "indexes", fmt.Sprintf("%x", key[:16])), key
}

// versionOf returns the identity of the regular file at a path and of its version: its size
// and modification time.
func versionOf(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	st, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !st.Mode().IsRegular() {
		return "", fs.ErrInvalid
	}
	return fmt.Sprintf("%q %d %d", path, st.Size(), st.ModTime().UnixNano()), nil
}

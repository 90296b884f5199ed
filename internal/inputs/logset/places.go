package logset

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/internal/verb"
)

// Problem: with --from a long log is read from its beginning, to find the calls that are open
// there.
//
// Choice: the places that a command finds on the way are stored in the cache, for the next
// command that reads the same log. They are an optimisation only: errors of the cache are
// ignored.

const (
	placesLeast = 4 << 20   // bytes of a log that they are kept of
	placesMost  = 256 << 20 // total size in bytes
	placesFiles = 64        // logs that they are kept of
)

// keptPlaces are the places of a log and where they are kept.
type keptPlaces struct {
	*calllog.Places
	path string
	key  []byte
}

// placesOf returns the places of the log in a file, which may be empty; nil if they cannot be
// used.
func placesOf(path string, log calllog.Log) *keptPlaces {
	info := log.Info()
	if path == "-" || info.Size < placesLeast {
		return nil
	}
	key, err := placesKey(path, log)
	if err != nil {
		return nil
	}
	cache, err := verb.CacheDir()
	if err != nil {
		return nil
	}
	k := &keptPlaces{path: filepath.Join(cache, "places", fmt.Sprintf("%x", key[:16])), key: key}
	threads := log.Threads()
	k.Places = calllog.NewPlaces(len(threads))
	if p, err := calllog.ReadPlaces(readKept(k.path), key, threads); err == nil {
		k.Places = p
	}
	return k
}

// readKept returns the content of a file in the cache, or nil if there is none.
func readKept(path string) []byte {
	st, err := os.Stat(path)
	if err != nil || st.Size() > placesMost {
		return nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	return data
}

// placesKey returns the identity of the file and its version, and the content that is known
// without reading all of it.
func placesKey(path string, log calllog.Log) ([]byte, error) {
	version, err := versionOf(path)
	if err != nil {
		return nil, err
	}
	info, sum := log.Info(), sha256.New()
	fmt.Fprintf(sum, "%s %d %v %q\n", version, info.Size, info.Clock, info.Notes)
	for _, t := range log.Threads() {
		fmt.Fprintln(sum, t.PID, t.TID, t.Parts, t.Bytes)
	}
	return sum.Sum(nil), nil
}

// keep writes the places, if there are new ones.
func (k *keptPlaces) keep() {
	if k == nil || !k.Changed() {
		return
	}
	writeKept(k.path, k.AppendTo(nil, k.key))
}

// writeKept writes a file of the cache as a whole, and forgets old ones beside it.
func writeKept(path string, data []byte) {
	dir := filepath.Dir(path)
	if len(data) > placesMost || os.MkdirAll(dir, 0o755) != nil {
		return
	}
	f, err := os.CreateTemp(dir, "new")
	if err != nil {
		return
	}
	_, err = f.Write(data)
	if err = cmp.Or(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return
	}
	forgetKept(dir)
}

// forgetKept removes the oldest files, if there are many.
func forgetKept(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) <= placesFiles {
		return
	}
	written := make(map[string]int64, len(entries))
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			written[e.Name()] = info.ModTime().UnixNano()
		}
	}
	stablesort.Func(entries, func(a, b fs.DirEntry) int { return cmp.Compare(written[a.Name()], written[b.Name()]) })
	for _, e := range entries[:len(entries)-placesFiles] {
		os.Remove(filepath.Join(dir, e.Name()))
	}
}

package toolchain

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/internal/verb"
)

// Whatever a link makes may be stripped, by make install or by a rule of the build, before anyone reads its map. So each
// link keeps the map in the cache, where it is found by build id (objfile.SetKept).

const (
	// keptBytes bounds the size of the kept maps, in bytes; from there on the oldest half is removed.
	keptBytes = 128 << 20
	// keptLeast is what a map counts at least, which bounds their number: checks of build systems link many small programs.
	keptLeast = keptBytes / 4096
)

// KeptMaps returns the directory with the maps of what was linked.
func KeptMaps() (string, error) {
	cache, err := verb.CacheDir()
	return filepath.Join(cache, "maps"), err
}

// KeepMap keeps the map of the output of a link. An output without one is as good, so that an error is a note.
func KeepMap(s *verb.Streams, output string) {
	output = cmp.Or(output, "a.out")
	if err := writeKept(s, output); err != nil {
		verb.Note(s, "the map of %s will be lost if it is stripped: %v", output, err)
	}
}

func writeKept(s *verb.Streams, output string) error {
	bin, err := objfile.Open(output)
	if err != nil {
		return nil // it is of another kind, or went to /dev/null
	}
	defer bin.Close()
	name, data, err := bin.KeptMap()
	if err != nil || data == nil {
		return err
	}
	dir, err := KeptMaps()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	pruneKept(dir)
	return verb.WriteBytes(s, filepath.Join(dir, name), data)
}

// pruneKept removes the oldest maps if all are too large.
func pruneKept(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	var infos []fs.FileInfo
	var total int64
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			infos = append(infos, info)
			total += max(keptLeast, info.Size())
		}
	}
	if total <= keptBytes {
		return
	}
	stablesort.Func(infos, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, info := range infos {
		if total <= keptBytes/2 {
			return
		}
		os.Remove(filepath.Join(dir, info.Name()))
		total -= max(keptLeast, info.Size())
	}
}

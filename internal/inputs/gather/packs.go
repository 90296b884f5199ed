package gather

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/cairnprof/cairn/format/mippack"
	"github.com/cairnprof/cairn/internal/verb"
)

// ReadRaws reads the raw files to be packed, and returns how many bytes they have together.
func (in *Inputs) ReadRaws(s *verb.Streams) (files []mippack.File, total int, err error) {
	var read atomic.Int64
	defer verb.StartProgress(s, "raw files read", &read, len(in.Raws))()
	names := make(map[string]bool)
	for _, path := range in.Raws {
		data, ok := in.packed[path]
		if !ok {
			if data, err = verb.ReadFile(path); err != nil {
				return nil, 0, err
			}
		}
		total += len(data)
		if total > mippack.MaxTotal {
			return nil, 0, fmt.Errorf("more than %d MiB of raw files: make several packs", mippack.MaxTotal>>20)
		}
		files = append(files, mippack.File{Name: freeName(names, filepath.Base(path)), Data: data})
		read.Add(1)
	}
	return files, total, nil
}

// ReadPack returns the files in the pack at path.
func ReadPack(path string) ([]mippack.File, error) {
	data, err := verb.ReadFile(path)
	if err != nil {
		return nil, err
	}
	files, err := mippack.Unpack(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return files, nil
}

// freeName returns name, with a number in it if another file has the name, because containers
// use the same process ids. The result is marked as used.
func freeName(names map[string]bool, name string) string {
	free := name
	for n := 2; names[free]; n++ {
		stem := strings.TrimSuffix(name, RawSuffix)
		free = fmt.Sprintf("%s-%d%s", stem, n, name[len(stem):])
	}
	names[free] = true
	return free
}

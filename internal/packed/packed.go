// Package packed has files that a program embeds compressed: an archive of tar in Zstandard. It is pure.
//
// Sources of the runtimes are a quarter of their size so. The files themselves are in the repository too, and a test
// keeps the archive in step (golden.Archive).
package packed

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"path"

	"github.com/klauspost/compress/zstd"
)

// File is a file of an archive.
type File struct {
	Name string // its path
	Data []byte
}

// Files are the files of an archive, in its order.
type Files []File

// Unpack returns the files of an archive. It panics if that is damaged, as it is part of the program.
func Unpack(archive string) Files {
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		panic(err)
	}
	defer decoder.Close()
	content, err := decoder.DecodeAll([]byte(archive), nil)
	if err != nil {
		panic(err)
	}
	var files Files
	for r := tar.NewReader(bytes.NewReader(content)); ; {
		h, err := r.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			panic(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			panic(err)
		}
		files = append(files, File{h.Name, data})
	}
}

// Pack returns the archive of files.
func Pack(files Files) ([]byte, error) {
	var archive bytes.Buffer
	// One block after the other, so that each machine packs the same bytes.
	zip, err := zstd.NewWriter(&archive, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(zip)
	for _, f := range files {
		if err := w.WriteHeader(&tar.Header{Name: f.Name, Mode: 0o644, Size: int64(len(f.Data)), Format: tar.FormatUSTAR}); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.Data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if err := zip.Close(); err != nil {
		return nil, err
	}
	return archive.Bytes(), nil
}

// In returns the files of a directory, by their names in it.
func (f Files) In(dir string) (in []File) {
	for _, one := range f {
		if path.Dir(one.Name) == dir {
			in = append(in, File{path.Base(one.Name), one.Data})
		}
	}
	return in
}

// Read returns the content of a file.
func (f Files) Read(name string) ([]byte, error) {
	for _, one := range f {
		if one.Name == name {
			return one.Data, nil
		}
	}
	return nil, fmt.Errorf("%s is not among the files of the program", name)
}

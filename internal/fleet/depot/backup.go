package depot

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	"github.com/cairnprof/cairn/internal/fleet/collector"
	"github.com/cairnprof/cairn/internal/lazyregexp"
)

// A backup is a tar archive:
//
//	backup        JSON: the version, 1, and the number of the last record of the journal in it
//	debug/NAME    programs and debug files
//	objects/NAME  the objects of the snapshot
//	head          of the snapshot
//
// The head is last: an archive without it is not complete.

const backupVersion = 1

// backupHead is the first file.
type backupHead struct {
	Version int    `json:"version"`
	Seq     uint64 `json:"seq"`
}

// Pin keeps objects until release is called.
func (d *Dir) Pin(names []string) (release func()) {
	for _, name := range names {
		d.pinned[name]++
	}
	return func() {
		for _, name := range names {
			if d.pinned[name]--; d.pinned[name] == 0 {
				delete(d.pinned, name)
			}
		}
	}
}

// WriteBackup writes a backup with the programs and debug files in a directory. Any goroutine may call it. step is
// called before each file.
func (d *Dir) WriteBackup(w io.Writer, b *collector.Backup, debug string, step func() error) error {
	t := tar.NewWriter(w)
	put := func(name string, size int64, r io.Reader) error {
		err := step()
		if err == nil {
			err = t.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: size, Typeflag: tar.TypeReg, Format: tar.FormatPAX})
		}
		if err == nil {
			_, err = io.Copy(t, r)
		}
		return err
	}
	putData := func(name string, data []byte) error { return put(name, int64(len(data)), bytes.NewReader(data)) }
	putFile := func(name, from string) error {
		f, err := os.Open(from)
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		return put(name, info.Size(), f)
	}
	head, err := json.Marshal(backupHead{backupVersion, b.Seq})
	if err == nil {
		err = putData("backup", head)
	}
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(debug)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if !isDebug().MatchString(e.Name()) {
			continue
		}
		// One that is removed meanwhile was among the oldest.
		if err := putFile("debug/"+e.Name(), filepath.Join(debug, e.Name())); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	for _, name := range b.Objects {
		if err := putFile("objects/"+name, d.path(name)); err != nil {
			return err
		}
	}
	if err := putData("head", seal(b.List)); err != nil {
		return err
	}
	return t.Close()
}

var (
	isDebug  = lazyregexp.New(`^[0-9a-f]{2,128}\.(executable|debuginfo)$`)
	isObject = lazyregexp.New(`^[0-9a-f]{64}$`)
)

// Extracted is what was in a backup.
type Extracted struct {
	Seq     uint64 // of the last record of the journal
	Objects int
	Debug   int // programs and debug files
	Bytes   int64
}

// ErrIncomplete reports a backup of which the end is missing.
var ErrIncomplete = errors.New("the backup is not complete")

// Extract writes the files of a backup into an empty directory. All are synced when it returns, and all objects have the
// content that their names say.
func Extract(r io.Reader, dir string) (e Extracted, err error) {
	t := tar.NewReader(r)
	began, ended := false, false
	d, err := Open(dir)
	if err != nil {
		return e, err
	}
	for !ended {
		h, err := t.Next()
		if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
			return e, ErrIncomplete
		}
		if err != nil {
			return e, err
		}
		kind, name := path.Split(h.Name)
		switch {
		case h.Typeflag != tar.TypeReg:
			return e, fmt.Errorf("a backup has no file such as %.100q", h.Name)
		case h.Name == "backup" && !began:
			began = true
			e.Seq, err = readBackupHead(t)
		case began && h.Name == "head":
			ended = true
			err = d.extractHead(t)
		case began && kind == "objects/" && isObject().MatchString(name):
			e.Objects++
			err = d.extract(d.path(name), t)
			if err == nil {
				err = d.Check(name)
			}
		case began && kind == "debug/" && isDebug().MatchString(name):
			e.Debug++
			err = d.extract(filepath.Join(dir, "debug", name), t)
		default:
			err = fmt.Errorf("a backup has no file such as %.100q", h.Name)
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = ErrIncomplete
		}
		if err != nil {
			return e, err
		}
		e.Bytes += h.Size
	}
	return e, nil
}

func readBackupHead(r io.Reader) (uint64, error) {
	var head backupHead
	if err := json.NewDecoder(io.LimitReader(r, 1<<10)).Decode(&head); err != nil {
		return 0, err
	}
	if head.Version != backupVersion {
		return 0, fmt.Errorf("a backup of version %d, but this cairn knows version %d only", head.Version, backupVersion)
	}
	return head.Seq, nil
}

// extract writes a file.
func (d *Dir) extract(path string, r io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	d.late = append(d.late, path)
	return errors.Join(err, f.Close())
}

func (d *Dir) extractHead(r io.Reader) error {
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	list, ok := unseal(data)
	if !ok {
		return errors.New("the head of the backup is damaged")
	}
	return d.SetHead(list, nil)
}

// Package depot stores the snapshots of a collector in a directory: objects, which are named by
// their content and never change, and one file, the head, that lists the objects in use.
//
//	objects/ab/abcdef...   named by the SHA-256 of its content
//	head                   replaced in one step
//
// A file and its name are synced to the disk when the call returns.
package depot

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Dir is a depot in a directory. One goroutine uses it.
type Dir struct {
	root string
	have map[string]bool // objects that are on the disk
}

const temporary = "new"

// Open opens the depot in a directory, which is created if it does not exist.
func Open(root string) (*Dir, error) {
	if err := os.MkdirAll(filepath.Join(root, "objects"), 0o700); err != nil {
		return nil, err
	}
	d := &Dir{root: root, have: make(map[string]bool)}
	return d, d.each(func(name, _ string) error {
		d.have[name] = true
		return nil
	})
}

// each calls found with each object.
func (d *Dir) each(found func(name, path string) error) error {
	return filepath.WalkDir(filepath.Join(d.root, "objects"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !isName(e.Name()) {
			return err
		}
		return found(e.Name(), path)
	})
}

func isName(name string) bool {
	_, err := hex.DecodeString(name)
	return err == nil && len(name) == 2*sha256.Size
}

func (d *Dir) path(name string) string { return filepath.Join(d.root, "objects", name[:2], name) }

// Put stores an object and returns its name.
func (d *Dir) Put(data []byte) (string, error) {
	sum := sha256.Sum256(data)
	name := hex.EncodeToString(sum[:])
	if d.have[name] {
		return name, nil
	}
	path := d.path(name)
	if err := os.Mkdir(filepath.Dir(path), 0o700); err == nil {
		if err := syncDir(filepath.Join(d.root, "objects")); err != nil {
			return "", err
		}
	} else if !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	if err := d.replace(path, data); err != nil {
		return "", err
	}
	d.have[name] = true
	return name, nil
}

// Get returns an object. It is an error if the content does not have the SHA-256 of the name.
func (d *Dir) Get(name string) ([]byte, error) {
	if !isName(name) {
		return nil, fmt.Errorf("%.80q is not the name of an object", name)
	}
	data, err := os.ReadFile(d.path(name))
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != name {
		return nil, fmt.Errorf("%s: damaged: its SHA-256 is %x", d.path(name), sum)
	}
	return data, nil
}

// Keep removes all objects but those that are used.
func (d *Dir) Keep(used map[string]bool) error {
	for name := range d.have {
		if used[name] {
			continue
		}
		if err := os.Remove(d.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		delete(d.have, name)
	}
	return nil
}

// Head returns the head, nil if there is none yet.
func (d *Dir) Head() ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(d.root, "head"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// SetHead replaces the head.
func (d *Dir) SetHead(data []byte) error { return d.replace(filepath.Join(d.root, "head"), data) }

// replace replaces a file in one step.
func (d *Dir) replace(path string, data []byte) error {
	tmp := filepath.Join(d.root, temporary)
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	return syncDir(filepath.Dir(path))
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Package depot stores the snapshots of a collector in a directory: objects, which are named by
// their content and never change, and two files, the heads, that list the objects in use.
//
//	objects/ab/abcdef...   named by the SHA-256 of its content
//	head                   replaced in one step; its last line is the SHA-256 of what is before it
//	head.before            the head before it
//
// Objects are synced to the disk before a head is written that may list them: many at once, as a sync takes
// milliseconds.
package depot

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/cairnprof/cairn/internal/fleet/collector"
)

// Dir is a depot in a directory. One goroutine uses it.
type Dir struct {
	root string
	have map[string]bool // objects that are there, false for a damaged one, which Put writes again
	late []string        // paths of objects that are not synced yet

	pinned map[string]int // objects that Keep leaves, by how many backups need them
}

const temporary = "new"

// Open opens the depot in a directory, which is created if it does not exist.
func Open(root string) (*Dir, error) {
	if err := os.MkdirAll(filepath.Join(root, "objects"), 0o700); err != nil {
		return nil, err
	}
	d := &Dir{root: root, have: make(map[string]bool), pinned: make(map[string]int)}
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
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	if err := d.write(path, data, false); err != nil {
		return "", err
	}
	d.late = append(d.late, path)
	d.have[name] = true
	return name, nil
}

// fewFiles is up to how many files are synced one by one.
const fewFiles = 8

// sync syncs the objects that were put since its last call. After an error they may be lost.
func (d *Dir) sync() error {
	err := error(nil)
	if len(d.late) > fewFiles {
		err = syncAll(d.root)
	}
	if len(d.late) <= fewFiles || errors.Is(err, errors.ErrUnsupported) {
		err = d.syncEach()
	}
	if err != nil {
		return fmt.Errorf("%w: %w", collector.ErrObjects, err)
	}
	d.late = nil
	return nil
}

func (d *Dir) syncEach() error {
	for _, path := range d.late {
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) { // removed since
			continue
		}
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close(), syncDir(filepath.Dir(path))); err != nil {
			return err
		}
	}
	return syncDir(filepath.Join(d.root, "objects"))
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
		d.have[name] = false
		return nil, fmt.Errorf("%s: damaged: its SHA-256 is %x", d.path(name), sum)
	}
	return data, nil
}

// Check reads an object, and returns an error if its content does not have the SHA-256 of its name.
func (d *Dir) Check(name string) error {
	if !isName(name) {
		return fmt.Errorf("%.80q is not the name of an object", name)
	}
	f, err := os.Open(d.path(name))
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	if sum := h.Sum(nil); hex.EncodeToString(sum) != name {
		d.have[name] = false
		return fmt.Errorf("%s: damaged: its SHA-256 is %x", d.path(name), sum)
	}
	return nil
}

// ReadAt reads a part of an object, which must have that part.
func (d *Dir) ReadAt(name string, p []byte, off int64) error {
	if !isName(name) {
		return fmt.Errorf("%.80q is not the name of an object", name)
	}
	f, err := os.Open(d.path(name))
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.ReadAt(p, off)
	return err
}

// Verify reads all objects, and returns their number and those whose content is not that of their name, with the
// reasons.
func (d *Dir) Verify() (objects int, damaged map[string]error) {
	damaged = make(map[string]error)
	names := slices.Sorted(maps.Keys(d.have))
	for _, name := range names {
		if err := d.Check(name); err != nil {
			damaged[name] = err
		}
	}
	return len(names), damaged
}

// SetAside moves an object out of the way, into a file of its name in the directory damaged.
func (d *Dir) SetAside(name string) error {
	to := filepath.Join(d.root, "damaged")
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	delete(d.have, name)
	return os.Rename(d.path(name), filepath.Join(to, name))
}

// Keep removes all objects but those that are used.
func (d *Dir) Keep(used map[string]bool) error {
	for name := range d.have {
		if used[name] || d.pinned[name] > 0 {
			continue
		}
		if err := os.Remove(d.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		delete(d.have, name)
	}
	return nil
}

const head, headBefore = "head", "head.before"

// Heads returns the last two heads, the newest first, and none if none was set.
func (d *Dir) Heads() (heads []collector.Head, err error) {
	for _, name := range []string{head, headBefore} {
		path := filepath.Join(d.root, name)
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		h := collector.Head{Err: fmt.Errorf("%s: damaged: its last line is not the SHA-256 of what is before it", path)}
		if list, ok := unseal(data); ok {
			h = collector.Head{List: list}
		}
		heads = append(heads, h)
	}
	return heads, nil
}

// SetHead replaces the head and the one before it, which it removes if before is nil.
func (d *Dir) SetHead(list, before []byte) error {
	if err := d.sync(); err != nil {
		return err
	}
	path := filepath.Join(d.root, headBefore)
	if before == nil {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	} else if err := d.replace(path, seal(before)); err != nil {
		return err
	}
	return d.replace(filepath.Join(d.root, head), seal(list))
}

// seal adds the checksum of a head.
func seal(list []byte) []byte { return fmt.Appendf(bytes.Clone(list), "\n%x\n", sha256.Sum256(list)) }

// unseal removes and checks it.
func unseal(data []byte) (list []byte, ok bool) {
	const size = 2*sha256.Size + 2
	if len(data) < size {
		return nil, false
	}
	list = data[:len(data)-size]
	return list, bytes.Equal(seal(list), data)
}

// replace replaces a file in one step, and syncs it.
func (d *Dir) replace(path string, data []byte) error {
	if err := d.write(path, data, true); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// write writes a file, which gets its name when it is complete.
func (d *Dir) write(path string, data []byte, sync bool) error {
	tmp := filepath.Join(d.root, temporary)
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && sync {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	return nil
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

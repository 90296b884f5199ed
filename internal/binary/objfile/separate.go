package objfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path/filepath"

	"github.com/cairnprof/cairn/internal/binary/debuginfod"
	"github.com/cairnprof/cairn/prof"
)

// servers is the client that finds debug files that are not on this machine, or nil for none.
var servers *debuginfod.Client

// SetDebuginfod makes c the last place in which separate debug files are searched. It must be
// called before files are opened.
func SetDebuginfod(c *debuginfod.Client) { servers = c }

// FindSource returns the path of a copy of a source file of a build, from debuginfod's cache
// or servers.
func FindSource(id prof.BuildID, path string) (string, error) {
	if servers == nil {
		return "", debuginfod.ErrNone
	}
	return servers.FindSource(id.String(), path)
}

// SetDebugFile sets the file with the debug information and symbols that the module lacks. It
// must be called before methods that read these.
func (f *File) SetDebugFile(path string) error {
	d, err := Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	if id, err := f.BuildID(); err == nil && !d.hasID(string(id)) {
		return fmt.Errorf("%s: its build id differs from that of %s", path, f.path)
	}
	f.debugFile = path
	return nil
}

// openDebug opens the module's separate debug file. If the caller did not set the file, the
// same places are searched as by gdb: by build id below the debug root, then by the name in
// .gnu_debuglink, beside the module, in .debug beside it, and below the debug root; then
// debuginfod's cache and servers.
func (f *File) openDebug() (*File, error) {
	if f.debugFile != "" {
		return Open(f.debugFile)
	}
	d, missing := f.openInstalled()
	if d != nil {
		return d, nil
	}
	id, err := f.BuildID()
	if servers == nil || err != nil {
		return nil, missing
	}
	path, err := servers.Find(id.String())
	if errors.Is(err, debuginfod.ErrNone) {
		return nil, missing
	}
	if err != nil {
		return nil, fmt.Errorf("%w (debuginfod: %w)", missing, err)
	}
	if d := openIf(path, func(d *File) bool { return d.hasID(string(id)) }); d != nil {
		return d, nil
	}
	return nil, fmt.Errorf("%w (debuginfod: %s is not of this build)", missing, path)
}

// openInstalled opens the separate debug file on this machine.
func (f *File) openInstalled() (*File, error) {
	if f.elf.identity == machOIdentity {
		return f.openBundle()
	}
	id, idErr := f.BuildID()
	if idErr == nil && len(id) > 1 {
		hex := id.String()
		path := filepath.Join(f.debugRoot, ".build-id", hex[:2], hex[2:]+".debug")
		if d := openIf(path, func(d *File) bool { return d.hasID(string(id)) }); d != nil {
			return d, nil
		}
	}
	name, crc, ok := f.debugLink()
	if !ok {
		return nil, fmt.Errorf("%s: %w", f.path, ErrNoDebug)
	}
	dir := filepath.Dir(f.path)
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	matches := func(d *File) bool {
		if idErr == nil {
			return d.hasID(string(id))
		}
		return d.crc() == crc
	}
	for _, path := range []string{
		filepath.Join(dir, name),
		filepath.Join(dir, ".debug", name),
		filepath.Join(f.debugRoot, abs, name),
	} {
		if d := openIf(path, matches); d != nil {
			return d, nil
		}
	}
	return nil, fmt.Errorf("%s: its debug file %s is missing or of another build: %w", f.path, name, ErrNoDebug)
}

// openBundle opens the file in which dsymutil stored the debug information of a Mach-O file:
// the file with its name in the bundle beside it.
func (f *File) openBundle() (*File, error) {
	path := PlainPath(f.path)
	inside := filepath.Join("Contents", "Resources", "DWARF", filepath.Base(path))
	id, err := f.BuildID()
	if err != nil {
		return nil, err
	}
	// For a framework or an application, the bundle is beside the directory.
	for _, bundle := range []string{path + ".dSYM", filepath.Dir(path) + ".dSYM"} {
		name := filepath.Join(bundle, inside)
		if d := openIf(name, func(d *File) bool { return d.hasID(string(id)) }); d != nil {
			return d, nil
		}
		for _, arch := range archs { // it may be a universal file itself
			if d := openIf(name+":"+arch, func(d *File) bool { return d.hasID(string(id)) }); d != nil {
				return d, nil
			}
		}
	}
	return nil, fmt.Errorf("%s: %w; for a Mach-O file, run dsymutil %s where it was linked", f.path, ErrNoDebug, filepath.Base(path))
}

// openIf opens the debug file at path if it exists and accept reports that it belongs to the
// module.
func openIf(path string, accept func(*File) bool) *File {
	d, err := Open(path)
	if err != nil {
		return nil
	}
	if !accept(d) {
		d.Close()
		return nil
	}
	return d
}

func (f *File) hasID(id string) bool {
	got, err := f.BuildID()
	return err == nil && string(got) == id
}

// crc returns the checksum of the whole file, 0 if it cannot be read.
func (f *File) crc() uint32 {
	h := crc32.NewIEEE()
	if _, err := io.Copy(h, io.NewSectionReader(f.f, 0, int64(f.size))); err != nil {
		return 0
	}
	return h.Sum32()
}

// debugLink reads .gnu_debuglink: a file name, NUL, padding to four bytes, and the checksum of
// that file.
func (f *File) debugLink() (name string, crc uint32, ok bool) {
	data, _, _, ok, err := f.Section(".gnu_debuglink")
	if err != nil || !ok || len(data) > maxDebugLink || len(data) < 8 {
		return "", 0, false
	}
	n := bytes.IndexByte(data[:len(data)-4], 0)
	if n <= 0 {
		return "", 0, false
	}
	name = string(data[:n])
	// A link must not contain a path.
	if name != filepath.Base(name) {
		return "", 0, false
	}
	return name, binary.LittleEndian.Uint32(data[len(data)-4:]), true
}

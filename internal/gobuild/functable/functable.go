// Package functable keeps the list of a package's probes in the archive that the compiler
// makes of it. As the go command caches archives, the list is also available in builds that
// do not compile the package. The linker skips members that are not object files.
package functable

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/internal/gobuild/rewrite"
	"github.com/cairnprof/cairn/prof"
)

// version is the version of the list.
const version = 2

// member is the name of the list in an archive. The linker skips members whose names have
// an extension other than .o and .syso, and less than 16 characters.
const member = "cairn.json"

const (
	archiveMagic = "!<arch>\n"
	headerSize   = 60
	headerEnd    = "`\n"
)

// Table is the list of the probes of one package.
type Table struct {
	Version int
	// Package is the path of the package in symbol names, and Import its import path.
	Package     string
	Import      string
	Mode        prof.Mode
	Atomic      bool
	Elements    int
	ElementSize int
	Funcs       []rewrite.Func
	Skipped     []string
	// Unprobed are functions without probes: the compiler rejected them, or they may have none. Their
	// records are not valid.
	Unprobed []rewrite.Func
	// In timed modes: function literals with probes, and functions without probes, because
	// the compiler can inline them or because they are small.
	Literals, Inlinable, Small int
}

// Append adds t to an archive.
func Append(archive []byte, t *Table) ([]byte, error) {
	if !bytes.HasPrefix(archive, []byte(archiveMagic)) {
		return nil, errors.New("not an archive: it does not begin with " + strconv.Quote(archiveMagic))
	}
	t.Version = version
	data, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	archive = fmt.Appendf(archive, "%-16s%-12d%-6d%-6d%-8o%-10d%s", member, 0, 0, 0, 0o644, len(data), headerEnd)
	archive = append(archive, data...)
	if len(data)%2 == 1 {
		archive = append(archive, 0)
	}
	return archive, nil
}

// Read returns the list in an archive of size bytes, nil if there is none.
func Read(archive io.ReaderAt, size int64) (*Table, error) {
	magic := make([]byte, len(archiveMagic))
	if _, err := archive.ReadAt(magic, 0); err != nil || string(magic) != archiveMagic {
		return nil, errors.New("not an archive")
	}
	h := make([]byte, headerSize)
	for off := int64(len(archiveMagic)); off < size; {
		if _, err := archive.ReadAt(h, off); err != nil {
			return nil, fmt.Errorf("archive truncated at offset %#x", off)
		}
		n, err := strconv.ParseInt(strings.TrimSpace(string(h[48:58])), 10, 64)
		if err != nil || n < 0 || n > size-off-headerSize || string(h[58:60]) != headerEnd {
			return nil, fmt.Errorf("damaged archive at offset %#x", off)
		}
		off += headerSize
		if strings.TrimSpace(string(h[:16])) == member {
			data := make([]byte, n)
			if _, err := archive.ReadAt(data, off); err != nil {
				return nil, err
			}
			return decode(data)
		}
		off += n + n%2
	}
	return nil, nil
}

func decode(data []byte) (*Table, error) {
	t := new(Table)
	if err := json.Unmarshal(data, t); err != nil {
		return nil, fmt.Errorf("list of probes: %w", err)
	}
	if t.Version != version {
		return nil, fmt.Errorf("list of probes of version %d, this cairn reads version %d: build with -a", t.Version, version)
	}
	limit := t.Elements
	for i := range t.Funcs {
		f := &t.Funcs[i]
		if f.Element < 0 || f.Element >= limit || len(f.Blocks) == 0 || t.Mode == prof.ModeBlock && len(f.Blocks) > limit-f.Element {
			return nil, fmt.Errorf("list of probes: function %q has record %d of %d", f.Name, f.Element, limit)
		}
		for _, u := range f.Units {
			if u.Block < -1 || u.Block >= len(f.Blocks) {
				return nil, fmt.Errorf("list of probes: function %q has statements in block %d of %d", f.Name, u.Block, len(f.Blocks))
			}
		}
	}
	return t, nil
}

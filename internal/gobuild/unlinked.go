package gobuild

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/cairnprof/cairn/internal/gobuild/functable"
	"github.com/cairnprof/cairn/internal/gobuild/linkmap"
)

// Unlinked describes the map of packages that no program contains.
type Unlinked struct {
	Path      string // of the map, "" if no function has a probe
	Functions int
	Packages  int
}

// WriteUnlinked writes the map of packages that were compiled and linked into no program to a directory, as a
// file NAME.BUILDID.debug. It is that of a program which never runs. Archives are those of the packages, as go list
// -export prints them.
func WriteUnlinked(dir, name, goarch string, archives []string) (u Unlinked, err error) {
	var tables []*functable.Table
	probed := 0
	for _, path := range archives {
		table, err := readTable(path)
		if err != nil {
			return u, fmt.Errorf("%s: %w", path, err)
		}
		if table == nil || len(table.Funcs)+len(table.Unprobed) == 0 {
			continue
		}
		tables = append(tables, table)
		u.Packages++
		u.Functions += len(table.Funcs) + len(table.Unprobed)
		probed += len(table.Funcs)
	}
	if probed == 0 {
		return u, nil // a map without records would not be one
	}
	data, id, err := linkmap.Unlinked(tables, goarch)
	if err != nil {
		return u, err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return u, err
	}
	u.Path = filepath.Join(dir, name+"."+id.String()+".debug")
	return u, os.WriteFile(u.Path, data, 0o666)
}

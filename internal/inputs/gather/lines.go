package gather

import (
	"fmt"
	"slices"

	"github.com/cairnprof/cairn/format/golines"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/profile/coverage"
	"github.com/cairnprof/cairn/prof"
)

// AddLines sets the lines and the code of the module whose binary is at path, unless a copy of
// the binary has set them, and reports whether there is such a module. The error is
// objfile.ErrNoDebug if the binary has no lines.
func AddLines(modules []coverage.Module, path string) (id prof.BuildID, matched bool, err error) {
	bin, err := objfile.Open(path)
	if err != nil {
		return "", false, err
	}
	defer bin.Close()
	if id, err = bin.RecordedID(); err != nil {
		return "", false, fmt.Errorf("%w: it cannot be matched with a profile (link with -Wl,--build-id)", err)
	}
	i := slices.IndexFunc(modules, func(m coverage.Module) bool { return m.BuildID == id })
	if i < 0 {
		return id, false, nil
	}
	if modules[i].Lines != nil {
		return id, true, nil
	}
	if ok, err := addGoLines(&modules[i], bin); ok || err != nil {
		return id, true, err
	}
	table, err := bin.Lines()
	if err != nil {
		return id, true, err
	}
	modules[i].Lines = newCoverageLines(table, path)
	modules[i].Code, err = newCoverageCode(bin)
	return id, true, err
}

// addGoLines sets the lines of a module from a Go program that was built with probes, and
// reports whether bin is one. They are those of the source, so no code is needed to consider
// optimisations.
func addGoLines(m *coverage.Module, bin *objfile.File) (bool, error) {
	data, _, _, _, err := bin.Section(golines.Section)
	if err != nil || data == nil {
		return false, err
	}
	table, err := golines.Read(data)
	if err != nil {
		return false, fmt.Errorf("%s: %w", bin.Path(), err)
	}
	m.Lines = table
	return true, nil
}

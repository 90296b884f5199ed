package gather

import (
	"fmt"

	"github.com/cairnprof/cairn/format/golines"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/profile/coverage"
)

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

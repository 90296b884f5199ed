package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/format/mippack"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/profile/coverage"
	"github.com/cairnprof/cairn/prof"
)

// maxFile bounds the files that are read whole.
const maxFile = 1 << 30

// profileFlags name the profile that a verb reads and what of it.
type profileFlags struct {
	path   string
	module string
	debug  []string
}

func (f *profileFlags) register(c *cobra.Command) {
	c.Flags().StringVarP(&f.path, "profile", "p", "", "the profile, a .mip `file`")
	c.Flags().StringVar(&f.module, "module", "", "only the module of this `name`, as cairn info prints it")
}

func (f *profileFlags) registerDebug(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.debug, "debug", nil, "take source lines from this `binary`, or its .debug file; repeatable")
}

// open reads the profile and keeps the module asked for.
func (f *profileFlags) open() (*prof.Profile, error) {
	if f.path == "" {
		return nil, usagef("which profile? Give it with -p FILE.mip")
	}
	p, err := readProfile(f.path)
	if err != nil || f.module == "" {
		return p, err
	}
	var kept []prof.Module
	var have []string
	for _, m := range p.Modules {
		have = append(have, m.Module)
		if m.Module == f.module || strings.HasPrefix(m.BuildID.String(), f.module) {
			kept = append(kept, m)
		}
	}
	if len(kept) == 0 {
		return nil, fmt.Errorf("%s: no module %s; it has %s", f.path, f.module, strings.Join(have, ", "))
	}
	return &prof.Profile{Modules: kept}, nil
}

// openModules is open with the line lookups that --debug names.
func (f *profileFlags) openModules(s *Streams) ([]coverage.Module, error) {
	p, err := f.open()
	if err != nil {
		return nil, err
	}
	modules := make([]coverage.Module, len(p.Modules))
	for i := range modules {
		modules[i].Module = &p.Modules[i]
	}
	for _, path := range f.debug {
		if err := f.addLines(s, modules, path); err != nil {
			return nil, err
		}
	}
	return modules, nil
}

// addLines gives the module that was built as the binary at path its lines. A
// binary of another build is an error, one without lines is not.
func (f *profileFlags) addLines(s *Streams, modules []coverage.Module, path string) error {
	bin, err := objfile.Open(path)
	if err != nil {
		return err
	}
	defer bin.Close()
	id, err := bin.BuildID()
	if err != nil {
		return fmt.Errorf("%w: it cannot be matched with a profile (link with -Wl,--build-id)", err)
	}
	for i := range modules {
		m := &modules[i]
		if m.BuildID != id {
			continue
		}
		table, err := bin.Lines()
		switch {
		case errors.Is(err, objfile.ErrNoDebug):
			note(s, "%v", err)
			return nil
		case err != nil:
			return err
		default:
			m.Lines = table
			m.Code, err = newCoverageCode(bin)
		}
		return err
	}
	return fmt.Errorf("%s: its build id %s is not in %s: give the binary that ran", path, id, f.path)
}

// hasLines reports whether any module has a line lookup.
func hasLines(modules []coverage.Module) bool {
	for i := range modules {
		if modules[i].Lines != nil {
			return true
		}
	}
	return false
}

// note prints a remark that is no failure.
func note(s *Streams, format string, args ...any) {
	fmt.Fprintf(s.Err, "cairn: note: %s\n", fmt.Sprintf(format, args...))
}

// readProfile reads the .mip file at path.
func readProfile(path string) (*prof.Profile, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	switch mip.Detect(data) {
	case mip.KindRaw:
		return nil, fmt.Errorf("%s is a raw file: merge it into a profile first (cairn merge -h)", path)
	case mip.KindMap:
		return nil, fmt.Errorf("%s is a map: create a profile from it first (cairn create -h)", path)
	}
	switch {
	case isELF(data):
		return nil, fmt.Errorf("%s is a binary: give the profile of its runs (cairn merge -h)", path)
	case mippack.Detect(data):
		return nil, fmt.Errorf("%s is a pack of raw files: merge it into a profile first (cairn merge -h)", path)
	}
	p, err := mip.ReadProfile(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// readFile reads a regular file of at most maxFile bytes.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%s: larger than %d bytes", path, maxFile)
	}
	return data, err
}

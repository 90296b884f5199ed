package gather

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// OnlyModule returns the one module of p: an order file is for one link.
func (f *Choice) OnlyModule(p *prof.Profile) (*prof.Module, error) {
	if len(p.Modules) == 1 {
		return &p.Modules[0], nil
	}
	if len(p.Modules) == 0 {
		return nil, fmt.Errorf("%s: the profile is empty", f.Path)
	}
	names := make([]string, len(p.Modules))
	for i := range p.Modules {
		names[i] = p.Modules[i].Module
	}
	return nil, verb.Usagef("%s has several modules: select one with --module (%s)", f.Path, strings.Join(names, ", "))
}

// ModuleOf returns the module of p that a binary is of: by its build id, or else, as for the same
// program in another layout, by its name. If there is only one module it is that.
func (f *Choice) ModuleOf(p *prof.Profile, binary string) (*prof.Module, error) {
	if len(p.Modules) > 1 && binary != "" {
		bin, err := objfile.Open(binary)
		if err != nil {
			return nil, err
		}
		id, _ := bin.RecordedID() // without one it is chosen by its name
		bin.Close()
		named := -1
		for i := range p.Modules {
			switch m := &p.Modules[i]; {
			case id != "" && m.BuildID == id:
				return m, nil
			case m.Module != filepath.Base(binary):
			case named >= 0:
				return f.OnlyModule(p)
			default:
				named = i
			}
		}
		if named >= 0 {
			return &p.Modules[named], nil
		}
	}
	return f.OnlyModule(p)
}

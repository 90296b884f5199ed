package profile

import (
	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/profile/coverage"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// PrefixMaps replace the beginning of the names of source files in profiles of builds in
// different directories, so that their functions are matched.
type PrefixMaps struct {
	texts []string // FROM=TO
}

// Register adds the flag to a command.
func (f *PrefixMaps) Register(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.texts, "prefix-map", nil, "replace the beginning of names of source files: `old=new`; repeatable")
}

// Given reports whether the flag was given.
func (f *PrefixMaps) Given() bool { return len(f.texts) > 0 }

// Apply renames the source files of p.
func (f *PrefixMaps) Apply(p *prof.Profile) error {
	if !f.Given() {
		return nil
	}
	rules, err := coverage.NewPathRules(f.texts, nil, nil)
	if err != nil {
		return verb.Usagef("%w", err)
	}
	for i := range p.Modules {
		m := &p.Modules[i]
		for k := range m.Funcs {
			m.Funcs[k].File = rules.Rename(m.Funcs[k].File)
		}
		for k := range m.Absent {
			a := &m.Absent[k]
			a.File, a.Source = rules.Rename(a.File), rules.Rename(a.Source)
			for n := range a.Lines {
				a.Lines[n].File = rules.Rename(a.Lines[n].File)
			}
		}
	}
	return nil
}

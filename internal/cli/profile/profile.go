// Package profile has the commands that build profiles from raw files, and show them.
package profile

import (
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cairnprof/cairn/internal/inputs/gather"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
)

// maxCompleted limits the number of function names offered by shell completion.
const maxCompleted = 1000

// RegisterProfile adds the flags that select a profile.
func RegisterProfile(c *cobra.Command, f *gather.Choice) {
	RegisterIn(c.Flags(), f)
	verb.FilesOf(c, "profile", "mip")
	verb.Hide(c, "profile")
}

// RegisterIn adds them to a set of flags.
func RegisterIn(flags *pflag.FlagSet, f *gather.Choice) {
	flags.StringVarP(&f.Path, "profile", "p", "", "the profile, a .mip `file` or a directory of them, if it is not the argument")
	flags.StringVar(&f.Module, "module", "", "only the module of this `name`, as cairn info prints it")
}

// complete has shells complete the profile as the argument, and the names of its functions
// after --regexp.
func complete(c *cobra.Command, f *gather.Choice) {
	verb.Files(c, "mip")
	verb.Complete(c, "regexp", func(args []string, typed string) []string {
		if len(args) > 0 {
			f.Path = args[0]
		}
		p, err := gather.Read(f.Path)
		if err != nil {
			return nil
		}
		names := report.Names{Short: true}
		var found []string
		for i := range p.Modules {
			for j := range p.Modules[i].Funcs {
				name := regexp.QuoteMeta(names.Show(p.Modules[i].Funcs[j].Name))
				if strings.HasPrefix(name, typed) && len(found) < maxCompleted {
					found = append(found, name)
				}
			}
		}
		slices.Sort(found)
		return slices.Compact(found)
	})
}

func registerDebug(c *cobra.Command, f *gather.Choice) {
	c.Flags().StringArrayVar(&f.Debug, "debug", nil, "take source lines from this `binary`, its .debug file, or those below a directory, without counting what else is there; repeatable")
	verb.Hide(c, "debug")
}

// Takes returns the arguments of a command that reads a profile.
func Takes(f *gather.Choice) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		f.Take(args)
		return nil
	}
}

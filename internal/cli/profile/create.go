package profile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/inputs/gather"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// Create returns the command cairn create.
func Create(s *verb.Streams) *cobra.Command {
	var (
		path  string
		force bool
	)
	c := &cobra.Command{
		Use:   "create -o FILE.mip BINARY|MAP...",
		Short: "Create an empty profile from binaries or maps of functions",
		Long: `create makes a profile with the functions of one or more modules and no runs; cairn
merge adds runs. A module is given as its binary, the .debug file of that, or its
map of functions (.mipmap). A directory stands for all of these in it.`,
		Example: "  cairn create -o app.mip app libfoo.so",
		Args:    verb.ExactFiles("create", "a map or a binary", 1, -1),
		RunE: func(_ *cobra.Command, args []string) error {
			if path == "" {
				return verb.Usagef("create: no profile given; use -o FILE.mip")
			}
			if _, err := os.Lstat(path); err == nil && !force {
				return fmt.Errorf("%s exists: merge into it, or overwrite it with --force", path)
			} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			args, err := gather.WithMaps(s, args)
			if err != nil {
				return err
			}
			p := new(prof.Profile)
			for _, arg := range args {
				if err := gather.AddMap(s, p, arg); err != nil {
					return err
				}
			}
			if err := verb.WriteProfile(s, path, p); err != nil {
				return err
			}
			for i := range p.Modules {
				m := &p.Modules[i]
				fmt.Fprintf(s.Remarks(), "%s: %s (%s): %s\n", path, m.Module, m.BuildID.Short(), report.Plural(len(m.Funcs), "function"))
			}
			return nil
		},
	}
	c.Flags().StringVarP(&path, "output", "o", "", "write this profile, a .mip `file`, or - for standard output")
	c.Flags().StringVarP(&path, "profile", "p", "", "the same as --output") // its name before 0.2
	verb.Hide(c, "profile")
	c.Flags().BoolVarP(&force, "force", "f", false, "overwrite an existing profile")
	return c
}

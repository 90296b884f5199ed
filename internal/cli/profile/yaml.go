package profile

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/internal/inputs/gather"
	"github.com/cairnprof/cairn/internal/verb"
)

// YAML returns the command cairn yaml.
func YAML(s *verb.Streams) *cobra.Command {
	var f gather.Choice
	var from, out string
	c := &cobra.Command{
		Use:   "yaml (FILE.mip | --from FILE.yaml) [-o FILE]",
		Short: "Convert a profile to YAML, or YAML to a profile",
		Long: `yaml converts a profile to YAML with one fact per line, for reading, comparing and
editing. With --from it converts such a text back to a profile.`,
		Example: "  cairn yaml app.mip -o app.yaml && cairn yaml --from app.yaml -o app.mip",
		Args:    Takes(&f),
		RunE: func(*cobra.Command, []string) error {
			switch {
			case (f.Path == "") == (from == ""):
				return verb.Usagef("yaml: give either FILE.mip or --from FILE.yaml")
			case from != "":
				return profileFromText(s, from, out)
			}
			p, err := gather.Read(f.Path)
			if err != nil {
				return err
			}
			if out == "" {
				out = "-"
			}
			return verb.WriteFile(s, out, func(w io.Writer) error { return mip.WriteText(w, p) })
		},
	}
	c.Flags().StringVarP(&f.Path, "profile", "p", "", "the profile, a .mip `file`, if it is not the argument")
	verb.Hide(c, "profile")
	c.Flags().StringVar(&from, "from", "", "make a profile from this `file`")
	c.Flags().StringVarP(&out, "output", "o", "", "write to this `file`; YAML goes to standard output by default")
	return c
}

func profileFromText(s *verb.Streams, from, out string) error {
	if out == "" {
		return verb.Usagef("a profile is binary: give an output file with -o FILE.mip")
	}
	data, err := verb.ReadFile(from)
	if err != nil {
		return err
	}
	p, err := mip.ReadText(data)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	return verb.WriteProfile(s, out, p)
}

package main

import (
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
)

func newVersionCmd(s *verb.Streams) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "version [flags]",
		Short: "Print version information",
		Long: `version prints the version of cairn, the revision it was built from, and the
version of Go it was built with.`,
		Example: "  cairn version",
		Args:    verb.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := verb.BuildVersion(debug.ReadBuildInfo())
			if asJSON {
				return report.WriteJSON(s.Out, v)
			}
			return v.Write(s.Out)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

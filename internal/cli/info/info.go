// Package info has the command that prints a summary of any file of cairn.
package info

import (
	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/output/filesummary"
	"github.com/cairnprof/cairn/internal/verb"
)

// Info returns the command cairn info.
func Info(s *verb.Streams) *cobra.Command {
	var path string
	var d verb.DisplayFlags
	c := &cobra.Command{
		Use:   "info FILE|DIR...",
		Short: "Print a summary of a profile, map, raw file or binary",
		Long: `info prints a summary of a profile (.mip), a map of functions (.mipmap), a raw file (.mipraw), a
pack of raw files (.mippack) or an instrumented binary. For a sample profile, text or
binary, as cairn profgen and llvm-profdata write them, it prints the totals and,
for several percentages, how many locations have that share of the counts. Of a
directory it describes all files of cairn below it; of several files each.`,
		Example: "  cairn info app.mip\n  cairn info app.prof",
		Args: func(c *cobra.Command, args []string) error {
			if path != "" {
				return nil
			}
			return verb.ExactFiles("info", "a file or a directory", 1, -1)(c, args)
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if path != "" {
				args = append(args, path)
			}
			style, err := d.Style(s)
			if err != nil {
				return err
			}
			return filesummary.Write(s, args, d.Json, style)
		},
	}
	c.Flags().StringVarP(&path, "profile", "p", "", "the `file` to summarise")
	verb.Hide(c, "profile")
	c.Flags().BoolVar(&d.Json, "json", false, "print JSON")
	d.RegisterColor(c)
	return c
}

package profile

import (
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/output/coverlist"
	"github.com/cairnprof/cairn/internal/verb"
)

// Show returns the command cairn show.
func Show(s *verb.Streams) *cobra.Command {
	var f coverlist.Shown
	c := &cobra.Command{
		Use:   "show INPUT... [flags]",
		Short: "Print the data of each function in a profile",
		Long: `show prints a paragraph for each function: where it is defined, how often it was
called, when it first ran and in how many runs, and which of its blocks ran. What the
profile's mode does not record is omitted. If the compiler split (f.part.0) or cloned
(f.isra.0, f.constprop.0) a function, each part has its own paragraph, which also
gives the sums of the source function.`,
		Example: "  cairn show app.mip app -r '^parse' --sort calls --limit 10\n  cairn show app raws --sort calls",
		Args:    Takes(&f.Choice),
		RunE:    func(c *cobra.Command, _ []string) error { return f.Write(c.Context(), s) },
	}
	RegisterProfile(c, &f.Choice)
	registerDebug(c, &f.Choice)
	f.DisplayFlags.Register(c)
	verb.RegisterRegexp(c, &f.Pattern, "only functions whose name (mangled or demangled) matches this `pattern`")
	complete(c, &f.Choice)
	c.Flags().StringVar(&f.Sort, "sort", "addr", "order of the functions: `key` is name, calls, order or addr")
	verb.Values(c, "sort", slices.Sorted(maps.Keys(coverlist.Orders))...)
	c.Flags().IntVar(&f.Limit, "limit", 0, "only the first `n` functions; 0 for all")
	c.Flags().BoolVar(&f.All, "all", false, "include functions that never ran (the default)")
	c.Flags().BoolVar(&f.Ran, "ran", false, "only functions that ran")
	verb.Rules(c, verb.OnlyOne("all", "ran"))
	return c
}

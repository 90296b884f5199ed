package calls

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cairnprof/cairn/internal/calls/account"
	"github.com/cairnprof/cairn/internal/output/graphfile"
	"github.com/cairnprof/cairn/internal/verb"
)

// RegisterGraph adds the flags to a command. It returns those that apply to logs of calls only.
func RegisterGraph(c *cobra.Command, f *graphfile.OfLogs) *pflag.FlagSet {
	RegisterLogs(c, &f.Choice)
	keys := verb.Alternatives(append(account.KeyNames(), "none"))
	c.Flags().StringVar(&f.Label, "label", "total", "label of nodes: `key` is "+keys)
	c.Flags().StringVar(&f.EdgeLabel, "edge-label", "calls", "label edges by this `key`")
	c.Flags().StringVar(&f.Shade, "shade", "self", "colour nodes and edges by this `key`")
	for _, flag := range []string{"label", "edge-label", "shade"} {
		verb.Values(c, flag, append(account.KeyNames(), "none")...)
	}
	c.Flags().Float64Var(&f.MinPercent, "min-percent", 0, "omit functions and edges with less than this `share` of all time, in percent")
	verb.RegisterRegexp(c, &f.Pattern, "only edges from or to functions that match this `pattern`")
	ofLogs := pflag.NewFlagSet("", pflag.ContinueOnError)
	ofLogs.AddFlagSet(c.Flags())
	graphfile.Formats.Register(c, &f.Format, "dot", ", which is for logs of calls")
	c.Flags().BoolVar(&f.Names.Json, "json", false, "the same as --format json")
	c.Flags().StringVarP(&f.Out, "output", "o", "-", "write to this `file`")
	f.Names.RegisterNames(c)
	rules := c.PreRunE
	c.PreRunE = func(c *cobra.Command, args []string) error {
		if err := rules(c, args); err != nil {
			return err
		}
		if f.Names.Json && c.Flags().Changed("format") && f.Format != "json" {
			return verb.Usagef("--json and --format %s cannot be used together", f.Format)
		}
		if f.Names.Json {
			f.Format = "json"
		}
		f.Names.Json = f.Format == "json"
		return nil
	}
	return ofLogs
}

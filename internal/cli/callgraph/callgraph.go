// Package callgraph has the command that draws the call graph of a profile or of logs of
// calls.
package callgraph

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cairnprof/cairn/internal/calls/account"
	"github.com/cairnprof/cairn/internal/cli/calls"
	"github.com/cairnprof/cairn/internal/cli/profile"
	"github.com/cairnprof/cairn/internal/inputs/gather"
	"github.com/cairnprof/cairn/internal/kind"
	"github.com/cairnprof/cairn/internal/output/graphfile"
	"github.com/cairnprof/cairn/internal/verb"
)

// Callgraph returns the command cairn callgraph.
func Callgraph(s *verb.Streams) *cobra.Command {
	var logs graphfile.OfLogs
	var counts graphfile.OfProfile
	c := &cobra.Command{
		Use:   "callgraph FILE.mip|LOG... [flags]",
		Short: "Draw the call graph of a profile or of logs of calls",
		Long: `callgraph draws who called whom. Of a profile it draws the calls between its
functions. There are three kinds of edges:
  observed (solid)   a run recorded the return address of a function's first call,
                     and the caller calls that function
  implied (dashed)   a block that ran contains a direct call of a function that ran
  possible (dotted)  a return address shows a call through a pointer, which reached
                     the function directly or by a tail call, or a call of a function
                     that jumped through a pointer
The profile must be of mode full, or contain runs of cairn order --run, which give
observed edges only.

Of logs of calls it draws a node for each function, and an edge for each pair of caller
and callee, whatever the rest of the stack was. Nodes and edges can be labelled and
coloured by the columns of cairn stacks functions; for an edge these are of the calls along it.
The node "outside" is where threads start. --min-percent omits functions and edges whose
total is below that share of the logged time; --regexp omits edges of which neither end
matches.`,
		Example: `  cairn callgraph app.mip | dot -Tsvg -o app.svg
  cairn callgraph ./app --shade self --min-percent 1 xray-log.app.* | dot -Tsvg -o app.svg
  cairn callgraph ./app --format mermaid --edge-label calls xray-log.app.*`,
	}
	ofProfiles := pflag.NewFlagSet("", pflag.ContinueOnError)
	profile.RegisterIn(ofProfiles, &counts.Choice)
	ofProfiles.BoolVar(&counts.External, "external", false, "of a profile: include functions outside it, such as those of the C library")
	ofLogs := registerLogs(c, &logs)
	c.Flags().AddFlagSet(ofProfiles)
	verb.Hide(c, "profile")
	c.RunE = func(c *cobra.Command, args []string) error {
		if counts.Path == "" && !slices.ContainsFunc(args, isProfile) {
			if err := refuse(ofProfiles, "a profile, not for logs of calls"); err != nil {
				return err
			}
			if len(args) == 0 {
				return verb.Usagef("callgraph: no profile given, nor logs of calls (see %s -h)", c.CommandPath())
			}
			return logs.Run(c.Context(), s, args)
		}
		if err := refuse(ofLogs, "logs of calls, not for profiles"); err != nil {
			return err
		}
		counts.Take(args)
		return counts.Run(c.Context(), s, graphfile.Form{Format: logs.Format, Path: logs.Out, Names: logs.Names.Names()})
	}
	return c
}

// Graph returns cairn callgraph by the name that it had for logs of calls.
func Graph(s *verb.Streams) *cobra.Command {
	c := Callgraph(s)
	c.Use, c.Hidden = strings.Replace(c.Use, "callgraph", "graph", 1), true
	return c
}

// isProfile reports whether a file is a profile, or is named like one, or a directory contains
// some.
func isProfile(path string) bool {
	if verb.IsDir(path) {
		return gather.HasProfiles(path)
	}
	if strings.HasSuffix(path, ".mip") {
		return true
	}
	if verb.IsStream(path) {
		return false
	}
	head, err := verb.ReadHead(path)
	return err == nil && kind.Of(head) == kind.Profile
}

// refuse returns an error if a flag was given that does not apply.
func refuse(flags *pflag.FlagSet, only string) (err error) {
	flags.VisitAll(func(flag *pflag.Flag) {
		if flag.Changed && err == nil {
			err = verb.Usagef("--%s is only for %s", flag.Name, only)
		}
	})
	return err
}

// registerLogs adds the flags to a command. It returns those that apply to logs of calls only.
func registerLogs(c *cobra.Command, f *graphfile.OfLogs) *pflag.FlagSet {
	calls.RegisterLogs(c, &f.Choice)
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

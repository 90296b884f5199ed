package calls

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/output/calltable"
	"github.com/cairnprof/cairn/internal/verb"
)

// Stacks returns the command cairn stacks.
func Stacks(s *verb.Streams) *cobra.Command {
	var f calltable.Stacks
	c := &cobra.Command{
		Use:   "stacks LOG... | stacks functions LOG... | stacks calls LOG...",
		Short: "List the call stacks with the most time or calls",
		Long: `stacks lists the most expensive call stacks of logs of calls: by the time spent in
the innermost function itself (self), including its callees (total), or by the number
of calls. A stack is a function and all its callers; equal stacks of all threads are
summed.
Logs are those of XRay, basic or FDR, and of modes trace, stacks and spike. They are
recognised by their content and can be compressed with gzip or zstd; - is standard
input. XRay logs have function ids instead of names: the program names them, N=FILE those of
shared object N.
A call without an exit, which exceptions and longjmp leave behind, ends at the
last event seen in it: a lower bound. An exit without its enter, such as at the
beginning of a ring buffer, is counted and omitted.
Other views of the same logs are stacks functions, a table of functions, and stacks
calls, the calls one by one; cairn callgraph draws who calls whom. A log with one of these
names is ./functions.`,
		Example: `  cairn stacks ./app xray-log.app.*
  cairn stacks functions ./app --top 20 xray-log.app.*
  cairn stacks --by calls --top 3 --per-thread ./app log.zst
  cairn stacks --folded ./app log | flamegraph.pl > app.svg`,
		Args: verb.ExactFiles("stacks", "a log", 1, -1),
		RunE: func(c *cobra.Command, args []string) error { return f.Write(c.Context(), s, args) },
	}
	RegisterLogs(c, &f.Choice)
	f.DisplayFlags.Register(c)
	f.RegisterShort(c)
	c.Flags().StringVar(&f.By, "by", "self", "rank stacks by this `key`: self, total or calls")
	verb.Values(c, "by", "self", "total", "calls")
	verb.OtherWord(c, "by", "sort") // its name in cairn stacks functions
	c.Flags().IntVar(&f.Top, "top", 10, "list `n` stacks; 0 for all")
	c.Flags().BoolVar(&f.PerThread, "per-thread", false, "rank the stacks of each thread separately")
	c.Flags().BoolVar(&f.Folded, "folded", false, "print every stack on a line, outermost function first, with its self time or,\nwith --by calls, its calls: what flamegraph.pl and speedscope read")
	verb.RegisterRegexp(c, &f.Regexp, "only stacks whose innermost function matches this `pattern`")
	verb.Rules(c, verb.OnlyOne("folded", "json"))
	c.AddCommand(functions(s), each(s))
	return c
}

// formerly gives a command another name, which it had before, and which no help mentions.
func formerly(name string, c *cobra.Command) *cobra.Command {
	_, rest, _ := strings.Cut(c.Use, " ")
	c.Use, c.Hidden = name+" "+rest, true
	return c
}

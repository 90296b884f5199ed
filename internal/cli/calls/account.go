package calls

import (
	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/calls/account"
	"github.com/cairnprof/cairn/internal/output/calltable"
	"github.com/cairnprof/cairn/internal/verb"
)

// Account returns the command cairn account, the former name of cairn stacks functions.
func Account(s *verb.Streams) *cobra.Command { return formerly("account", functions(s)) }

// functions returns the command cairn stacks functions.
func functions(s *verb.Streams) *cobra.Command {
	var f calltable.Functions
	c := &cobra.Command{
		Use:   "functions LOG... [flags]",
		Short: "Print calls and times of each function in logs of calls",
		Long: `functions prints a table of the functions in logs of calls: the number of calls, the
shortest, median, 90th and 99th percentile and longest call, the time of all calls
including callees (total) and excluding them (self). All logs and threads are summed.
Total counts a recursive function once, unless --recursive asks for the sum of all
calls, as llvm-xray prints it.

Percentiles are exact for up to 32 calls, and within 1.6 % for more. The column "no
exit" counts calls whose end is not in the log; their times are lower bounds.
CSV and JSON have nanoseconds, or ticks if the clock's rate is not known.`,
		Example: "  cairn stacks functions ./app --top 20 --sort self xray-log.app.*",
		Args:    verb.ExactFiles("stacks functions", "logs of calls", 1, -1),
		RunE: func(c *cobra.Command, args []string) error {
			return f.Write(c.Context(), s, args)
		},
	}
	RegisterLogs(c, &f.Choice)
	f.DisplayFlags.Register(c)
	f.RegisterShort(c)
	c.Flags().StringVar(&f.Sort, "sort", "total", "order of the functions: `key` is "+verb.Alternatives(append(account.KeyNames(), "name", "id")))
	verb.Values(c, "sort", append(account.KeyNames(), "name", "id")...)
	verb.OtherWord(c, "sort", "by") // its name in cairn stacks
	c.Flags().BoolVar(&f.Reverse, "reverse", false, "reverse the order")
	c.Flags().IntVar(&f.Top, "top", 0, "only the first `n` functions; 0 for all")
	verb.RegisterRegexp(c, &f.Pattern, "only functions whose name (mangled or demangled) matches this `pattern`")
	c.Flags().BoolVar(&f.CSV, "csv", false, "print comma-separated values (RFC 4180)")
	c.Flags().BoolVar(&f.Recursive, "recursive", false, "count the time of recursive calls again")
	c.Flags().BoolVar(&f.Only, "recursive-calls-only", false, "only recursive calls and the calls that contain them")
	c.Flags().BoolVar(&f.PerThread, "per-thread", false, "print a table for each thread")
	verb.Rules(c, verb.OnlyOne("json", "csv"))
	return c
}

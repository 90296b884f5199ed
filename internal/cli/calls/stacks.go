package calls

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/calls/account"
	"github.com/cairnprof/cairn/internal/output/calllist"
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

// Replay returns the command cairn replay, the former name of cairn stacks calls.
func Replay(s *verb.Streams) *cobra.Command { return formerly("replay", each(s)) }

// each returns the command cairn stacks calls.
func each(s *verb.Streams) *cobra.Command {
	var f calllist.Choice
	c := &cobra.Command{
		Use:   "calls LOG...",
		Short: "Print the calls of a log in time order, indented by depth",
		Long: `calls prints the calls of logs one by one: the time, the thread, and on the line
where the call ends its duration. A call without callees has one line. The threads of
a log are merged in time order; several logs are printed one after the other.
A log of a second has millions of lines: --from and --to, --within, --longer, --depth
and --thread select what to print. Calls whose end is not in the log are marked.`,
		Example: `  cairn stacks calls ./app --from 1.2s --to 1.21s xray-log.app.*
  cairn stacks calls ./app --within handle_request --longer 1ms log | less`,
		Args: verb.ExactFiles("stacks calls", "a log of calls", 1, -1),
		RunE: func(c *cobra.Command, args []string) error { return f.Write(c.Context(), s, args) },
	}
	RegisterLogs(c, &f.Choice)
	f.RegisterNames(c)
	f.RegisterColor(c)
	c.Flags().StringVarP(&f.Out, "output", "o", "-", "write to this `file`")
	c.Flags().BoolVar(&f.Json, "json", false, "print JSON: a list with an object for each line of the text")
	f.RegisterLines(c)
	return c
}

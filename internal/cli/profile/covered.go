package profile

import (
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/output/coverlist"
	"github.com/cairnprof/cairn/internal/verb"
)

func coveredHelp() string {
	return `covered lists the functions that ran in any of the merged runs. A function that the
compiler split or cloned counts as one: it ran if any of its parts did. Other views
are source files (--paths), source lines (--lines), blocks (--blocks), packages with
the bytes of their code that did not run (--packages) and an lcov tracefile for
genhtml and editors (--lcov). Lines need the binaries.

An INPUT is a profile (.mip), raw files, a binary or its debug file, or a directory of
such files; they are merged, and binaries give source lines. A URL is the profile of a
collector.

--format selects other outputs:
` + coverlist.Formats().Help() + `
--diff REVISION limits the report to lines that were changed since the last commit that
HEAD and the git revision have in common, uncommitted changes included. In place of a
revision it takes a unified diff: a file, or - for standard input. Names in the debug
information are made relative to the top of the git work tree; --prefix-map does the
same for trees that were compiled elsewhere. json, markdown, sarif and junit support
--diff, and so does text.

--fail-under N makes the exit code 1 if less than N percent of the lines ran. In
optimised code it cannot be determined for every line whether it ran. Such lines are
listed as unknown and count neither as covered nor as missed.

--include and --exclude select source files by patterns: * stands for any characters
but /, ** for any characters. A pattern also matches the part of a name after any /,
and a pattern of a directory matches all files in it. Headers of the compiler and the
system (/usr/include, sysroots) are left out, in all views and in --fail-under, unless
--system-headers is given. Markers in the source exclude lines, as lcov and gcovr read
them: LCOV_EXCL_LINE, LCOV_EXCL_START to LCOV_EXCL_STOP, GCOVR_EXCL_FUNCTION on the line
of a function's definition, and LCOV_EXCL_BR_LINE and others for branches only.`
}

// Covered returns the command cairn covered.
func Covered(s *verb.Streams) *cobra.Command {
	var f coverlist.Covered
	c := &cobra.Command{
		Use:   "covered INPUT... [flags]",
		Short: "List covered functions, files, lines or blocks",
		Long:  coveredHelp(),
		Example: `  cairn covered app raws --missed
  cairn covered app.mip app --diff origin/main --fail-under 80
  cairn covered app.mip app --lcov -o app.info && genhtml app.info -o html
  cairn covered app.mip app --format cobertura --exclude third_party -o coverage.xml
  cairn covered app.mip app --diff origin/main --format markdown
  cairn covered app.mip --packages`,
		Args: Takes(&f.Choice),
		RunE: func(c *cobra.Command, _ []string) error {
			f.Gate = c.Flags().Changed("fail-under")
			return f.Write(c.Context(), s)
		},
	}
	RegisterProfile(c, &f.Choice)
	registerDebug(c, &f.Choice)
	f.DisplayFlags.Register(c)
	verb.RegisterRegexp(c, &f.Pattern, "only functions whose name (mangled or demangled) matches this `pattern`")
	complete(c, &f.Choice)
	c.Flags().BoolVar(&f.Missed, "missed", false, "list what did not run")
	c.Flags().BoolVar(&f.Unknown, "unknown", false, "list functions, or with --lines lines, that may or may not have run")
	c.Flags().BoolVar(&f.LineRanges, "lines", false, "list ranges of source lines")
	c.Flags().BoolVar(&f.Paths, "paths", false, "list source files with their covered functions and blocks")
	c.Flags().BoolVar(&f.Packages, "packages", false, "list packages of Go, or directories of sources, with the code that did not run")
	c.Flags().BoolVar(&f.Blocks, "blocks", false, "list the blocks of each function, as source lines")
	c.Flags().BoolVar(&f.LCOV, "lcov", false, "write an lcov tracefile")
	c.Flags().StringVarP(&f.Out, "output", "o", "-", "write to this `file`")
	coverlist.Formats().Register(c, &f.Format, "", " (default by the file's name, else text)")
	c.Flags().StringVar(&f.Diff, "diff", "", "only lines changed since this git `revision`, or by this unified diff (a file, or -)")
	c.Flags().Float64Var(&f.FailUnder, "fail-under", 0, "exit with 1 if fewer than `n` percent of the lines ran")
	c.Flags().StringArrayVar(&f.Include, "include", nil, "only source files that match this `pattern`; repeatable")
	c.Flags().StringArrayVar(&f.Exclude, "exclude", nil, "omit source files that match this `pattern`; repeatable")
	c.Flags().BoolVar(&f.System, "system-headers", false, "also count the headers of the compiler and the system")
	c.Flags().StringArrayVar(&f.Left.Lines, "exclude-lines", nil, "omit source lines that match this regular `expression`; repeatable")
	c.Flags().StringArrayVar(&f.Left.Branches, "exclude-branches", nil, "omit branches of source lines that match this regular `expression`; repeatable")
	c.Flags().BoolVar(&f.Left.IgnoreMarkers, "no-markers", false, "ignore markers in the source that exclude lines (LCOV_EXCL_LINE, GCOVR_EXCL_START and others)")
	c.Flags().StringArrayVar(&f.Prefixes, "prefix-map", nil, "replace the beginning of names of source files: `from=to`; repeatable")
	const listsMissed = "that always lists what did not run"
	verb.Rules(c, verb.OnlyOne("missed", "unknown"), verb.OnlyOne("lines", "paths", "packages", "blocks", "lcov"),
		verb.Excludes("lcov", "json", "missed", "regexp"),
		verb.Excludes("regexp", "lines", "paths").Because("it selects functions"),
		verb.Excludes("unknown", "paths", "packages", "blocks", "lcov").Because("it lists functions, or with --lines lines"),
		verb.Excludes("missed", "packages", "paths").Because(listsMissed))
	return c
}

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

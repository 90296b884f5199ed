package verb

import (
	"github.com/spf13/cobra"
)

// Values sets the completions of a flag's value.
func Values[T ~string](c *cobra.Command, flag string, values ...T) {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = string(v)
	}
	complete(c, flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// Directories completes the value of a flag with directories.
func Directories(c *cobra.Command, flag string) {
	complete(c, flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveFilterDirs
	})
}

// FilesOf completes the value of a flag with files with these suffixes, and with directories.
func FilesOf(c *cobra.Command, flag string, suffixes ...string) {
	complete(c, flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return suffixes, cobra.ShellCompDirectiveFilterFileExt
	})
}

// Files completes the arguments of a command with files with these suffixes, and with directories.
func Files(c *cobra.Command, suffixes ...string) {
	c.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return suffixes, cobra.ShellCompDirectiveFilterFileExt
	}
}

// Complete completes the value of a flag with the result of list, which gets the arguments of the command and
// the typed part of the value.
func Complete(c *cobra.Command, flag string, list func(args []string, typed string) []string) {
	complete(c, flag, func(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		return list(args, typed), cobra.ShellCompDirectiveNoFileComp
	})
}

// complete panics if the command has no such flag, as all constructors of commands do for wrong flags.
func complete(c *cobra.Command, flag string, by cobra.CompletionFunc) {
	if err := c.RegisterFlagCompletionFunc(flag, by); err != nil {
		panic(err)
	}
}

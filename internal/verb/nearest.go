package verb

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// UnknownCommand returns the error for a name of which c has no command.
func UnknownCommand(c *cobra.Command, name string) error {
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() || sub.Name() == "help" {
			names = append(names, sub.Name())
		}
	}
	if like := Nearest(name, names); like != "" {
		return Usagef("unknown command %q; did you mean %s?", name, like)
	}
	return Usagef("unknown command %q (see %s -h)", name, c.CommandPath())
}

// FlagError returns the error for a flag that c does not take.
func FlagError(c *cobra.Command, err error) error {
	hint := ""
	if unknown := (*pflag.NotExistError)(nil); errors.As(err, &unknown) {
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, f.Name)
			}
		})
		if like := Nearest(unknown.GetSpecifiedName(), names); like != "" {
			hint = fmt.Sprintf("; did you mean --%s?", like)
		}
	}
	return Usagef("%w%s (see %s -h)", err, hint, c.CommandPath())
}

// Nearest returns the one of names that somebody who wrote name probably meant: one that begins with it, or else the
// one that differs in the fewest letters; "" if all differ in more than two, or in a third of a short name.
func Nearest(name string, names []string) string {
	if len(name) < 2 {
		return ""
	}
	best, least := "", min(2, max(1, len(name)/3))+1
	for _, n := range names {
		if name != "" && strings.HasPrefix(n, name) {
			return n
		}
		if d := distance(name, n); d < least {
			best, least = n, d
		}
	}
	return best
}

// distance is the number of letters that are inserted, removed, replaced or swapped with the next one to get b from a.
func distance(a, b string) int {
	before, above, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, above, row = above, row, before
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}

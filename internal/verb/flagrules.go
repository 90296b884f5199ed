package verb

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// FlagRule is a relation between flags of a command. A command declares its rules, so that its code need not check
// them.
type FlagRule struct {
	kind  flagRuleKind
	flags []string
	why   string
}

type flagRuleKind uint8

const (
	onlyOne flagRuleKind = iota
	excludes
	needs
	together
)

// OnlyOne says that at most one of some flags can be given.
func OnlyOne(flags ...string) FlagRule { return FlagRule{kind: onlyOne, flags: flags} }

// Excludes says that a flag cannot be given with any of the others.
func Excludes(flag string, others ...string) FlagRule {
	return FlagRule{kind: excludes, flags: append([]string{flag}, others...)}
}

// Needs says that a flag has a meaning only with one of the others.
func Needs(flag string, others ...string) FlagRule {
	return FlagRule{kind: needs, flags: append([]string{flag}, others...)}
}

// Together says that of some flags all or none are given.
func Together(flags ...string) FlagRule { return FlagRule{kind: together, flags: flags} }

// Because adds the reason to the rule's error, unless the names of the flags tell it.
func (r FlagRule) Because(why string) FlagRule {
	r.why = why
	return r
}

// Rules has the rules checked before c runs. All flags must have been added to c.
func Rules(c *cobra.Command, rules ...FlagRule) {
	for _, r := range rules {
		for _, name := range r.flags {
			if c.Flags().Lookup(name) == nil {
				panic(fmt.Sprintf("%s: a rule is for --%s, which is no flag of it", c.Name(), name))
			}
		}
	}
	before := c.PreRunE
	c.PreRunE = func(c *cobra.Command, args []string) error {
		if err := CheckFlags(c.Flags(), rules...); err != nil || before == nil {
			return err
		}
		return before(c, args)
	}
}

// CheckFlags returns an error if the flags that were given break a rule.
func CheckFlags(flags *pflag.FlagSet, rules ...FlagRule) error {
	for _, r := range rules {
		text := r.broken(flags)
		if text == "" {
			continue
		}
		if r.why != "" {
			text += ": " + r.why
		}
		return Usagef("%s", text)
	}
	return nil
}

// broken describes how the flags that were given break the rule, "" if they do not.
func (r FlagRule) broken(flags *pflag.FlagSet) string {
	var set, missing []string
	for _, name := range r.flags {
		if Given(flags, name) {
			set = append(set, "--"+name)
		} else {
			missing = append(missing, "--"+name)
		}
	}
	first := Given(flags, r.flags[0])
	switch {
	case r.kind == onlyOne && len(set) > 1:
		return set[0] + " and " + set[1] + " cannot be used together"
	case r.kind == excludes && first && len(set) > 1:
		return set[0] + " cannot be used with " + set[1]
	case r.kind == needs && first && len(set) == 1:
		return set[0] + " needs " + Alternatives(missing)
	case r.kind == together && len(set) > 0 && len(missing) > 0:
		return set[0] + " needs " + missing[0]
	}
	return ""
}

// Given reports whether a flag was given, and is not a switch that was given as off.
func Given(flags *pflag.FlagSet, name string) bool {
	f := flags.Lookup(name)
	return f != nil && f.Changed && (f.Value.Type() != "bool" || f.Value.String() != "false")
}

// Alternatives joins words by commas, and the last by "or".
func Alternatives(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

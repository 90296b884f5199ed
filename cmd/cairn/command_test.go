package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/verb"
)

// TestOneCommand checks that a root with one command is the same to that command as a root with all.
func TestOneCommand(t *testing.T) {
	t.Parallel()
	for _, g := range groups {
		for _, c := range g.commands {
			var alone, among strings.Builder
			one, all := rootFor(&verb.Streams{Out: &alone}, []string{c.name}), newRoot(&verb.Streams{Out: &among})
			for _, root := range []*cobra.Command{one, all} {
				root.SetArgs([]string{c.name, "--help"})
				if err := root.Execute(); err != nil {
					t.Errorf("%s: %v", c.name, err)
				}
			}
			if alone.String() != among.String() {
				t.Errorf("help of %s: %q, among all commands %q", c.name, alone.String(), among.String())
			}
			if own, _, err := one.Find([]string{c.name}); err != nil || own.Name() != c.name {
				t.Errorf("%s makes %s (%v)", c.name, own.Name(), err)
			}
		}
	}
}

// TestHelpFits checks that the help of each command fits a screen, and begins with how it is called and examples.
func TestHelpFits(t *testing.T) {
	t.Parallel()
	const lines, width = 60, 80
	commandsOf(newRoot(&verb.Streams{}), func(c *cobra.Command) {
		var out strings.Builder
		c.SetOut(&out)
		help(c, false)
		text := strings.TrimSuffix(out.String(), "\n")
		if n := strings.Count(text, "\n") + 1; n > lines {
			t.Errorf("the help of %s has %d lines, at most %d fit", c.CommandPath(), n, lines)
		}
		if usage := strings.Index(text, "\nUsage: "); usage < 0 || usage > 200 {
			t.Errorf("the help of %s does not begin with its usage", c.CommandPath())
		}
		_, flags, _ := strings.Cut(text, "\nFlags:") // examples can be longer
		for line := range strings.Lines(flags) {
			if len([]rune(line)) > width+1 {
				t.Errorf("the help of %s is too wide: %q", c.CommandPath(), line)
			}
		}
	})
}

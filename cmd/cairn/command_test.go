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

//go:build man

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/cairnprof/cairn/internal/verb"
)

// With the tag man, cairn has one more command, which writes man pages. The packages that it
// needs stay out of the program that is installed.
func init() {
	groups = append(groups, group{"", "", []command{{"man", newManCmd}}})
}

func newManCmd(s *verb.Streams) *cobra.Command {
	return &cobra.Command{
		Use:     "man DIR",
		Short:   "Write a man page for each command",
		Example: "  go run -tags man ./cmd/cairn man DIR",
		Hidden:  true,
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			date := time.Unix(0, 0).UTC()
			if text := os.Getenv("SOURCE_DATE_EPOCH"); text != "" {
				seconds, err := strconv.ParseInt(text, 10, 64)
				if err != nil {
					return fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
				}
				date = time.Unix(seconds, 0).UTC()
			}
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			root := newRoot(s)
			root.DisableAutoGenTag = true
			describe(root)
			header := &doc.GenManHeader{Section: "1", Date: &date, Source: "cairn", Manual: "cairn"}
			if err := doc.GenManTree(root, header, args[0]); err != nil {
				return err
			}
			return plainSwitches(args[0])
		},
	}
}

// plainSwitches writes switches without a value in the man pages below a directory: --quiet, where cobra has
// --quiet[=false].
func plainSwitches(dir string) error {
	pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil {
		return err
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			return err
		}
		text = bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("[=false]"), nil), []byte("[=true]"), nil)
		if err := os.WriteFile(page, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// describe converts the texts of c and the commands below it to Markdown, which cobra's
// generator expects.
func describe(c *cobra.Command) {
	c.Long = markdown(c.Long)
	for _, sub := range c.Commands() {
		describe(sub)
	}
}

var escape = strings.NewReplacer(`*`, `\*`, `_`, `\_`, `<`, `\<`, "`", "\\`")

// markdown returns a help text as Markdown: its indented lines are code.
func markdown(text string) string {
	var b strings.Builder
	code := false
	for line := range strings.Lines(text) {
		indented := strings.HasPrefix(line, "  ")
		if indented != code {
			b.WriteByte('\n')
		}
		code = indented
		if code {
			b.WriteString("  " + line)
		} else {
			b.WriteString(escape.Replace(line))
		}
	}
	return b.String()
}

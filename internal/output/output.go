// Package output has the tables of the formats that commands write, and selects one by --format or by the suffix of
// the file's name. Package kind has the inputs.
package output

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/logfile"
	"github.com/cairnprof/cairn/internal/verb"
)

// A Format is a row: a format of one command.
type Format[Rules any] struct {
	Name     string
	Help     string   // what it is, or is for
	Suffixes []string // of file names, in lower case, with their dot
	Rules    Rules    // what the command knows of it
}

// Formats are the formats of a command, in the order of its help.
type Formats[Rules any] []Format[Rules]

// Names returns the names of all formats.
func (t Formats[Rules]) Names() []string {
	names := make([]string, len(t))
	for i := range t {
		names[i] = t[i].Name
	}
	return names
}

// Help returns a line for each format, for the help of the command.
func (t Formats[Rules]) Help() string {
	width := 0
	for _, name := range t.Names() {
		width = max(width, len(name))
	}
	var b strings.Builder
	for _, x := range t {
		fmt.Fprintf(&b, "  %-*s  %s", width, x.Name, x.Help)
		if len(x.Suffixes) > 0 {
			fmt.Fprintf(&b, " (%s)", strings.Join(x.Suffixes, ", "))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Register adds flag --format with an initial value, which may be "". more follows the names in its usage.
func (t Formats[Rules]) Register(c *cobra.Command, format *string, initial, more string) {
	c.Flags().StringVar(format, "format", initial, "`format` to write: "+strings.Join(t.Names(), ", ")+more)
	verb.Values(c, "format", t.Names()...)
}

// Named returns the format with a name, or a usage error.
func (t Formats[Rules]) Named(name string) (*Format[Rules], error) {
	for i := range t {
		if t[i].Name == name {
			return &t[i], nil
		}
	}
	return nil, verb.Usagef("--format %s: must be one of %s", name, strings.Join(t.Names(), ", "))
}

// OfFile returns the format that the name of a file ends with, before a suffix of compression; nil if there is none.
// The longest suffix decides: .speedscope.json is not .json.
func (t Formats[Rules]) OfFile(path string) *Format[Rules] {
	path = strings.ToLower(strings.TrimSuffix(path, logfile.Suffix(path)))
	var found *Format[Rules]
	longest := 0
	for i := range t {
		for _, suffix := range t[i].Suffixes {
			if strings.HasSuffix(path, suffix) && len(suffix) > longest {
				found, longest = &t[i], len(suffix)
			}
		}
	}
	return found
}

// Select returns the format with a name, or that of a file if the name is "", or else the one called fallback. If
// there is none of these, the error is a usage error.
func (t Formats[Rules]) Select(name, path, fallback string) (*Format[Rules], error) {
	if name != "" {
		return t.Named(name)
	}
	if x := t.OfFile(path); x != nil {
		return x, nil
	}
	if fallback != "" {
		return t.Named(fallback)
	}
	hint := ""
	for i := range t {
		if len(t[i].Suffixes) > 0 {
			hint = ", or -o FILE with a known suffix"
		}
	}
	return nil, verb.Usagef("no format given; use --format with one of %s%s", strings.Join(t.Names(), ", "), hint)
}

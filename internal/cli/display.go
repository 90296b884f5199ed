package cli

import (
	"os"
	"regexp"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/cairnprof/cairn/internal/report"
)

// displayFlags say how a verb shows its result.
type displayFlags struct {
	json    bool
	mangled bool
	color   string
}

func (d *displayFlags) register(c *cobra.Command) {
	c.Flags().BoolVar(&d.json, "json", false, "print JSON")
	c.Flags().BoolVar(&d.mangled, "mangled", false, "print symbol names as they are, not demangled")
	d.registerColor(c)
}

func (d *displayFlags) registerColor(c *cobra.Command) {
	c.Flags().StringVar(&d.color, "color", "auto", "colour the output: `when` is auto, always or never")
}

// style returns how to write to s.Out.
func (d *displayFlags) style(s *Streams) (report.Style, error) {
	var st report.Style
	f, isFile := s.Out.(*os.File)
	tty := isFile && term.IsTerminal(int(f.Fd()))
	if tty {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil {
			st.Width = w
		}
	}
	switch d.color {
	case "always":
		st.Color = true
	case "never":
	case "auto", "":
		st.Color = tty && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	default:
		return st, usagef("--color %s: there is auto, always and never", d.color)
	}
	return st, nil
}

// names returns how to show symbols. JSON always has both forms of a name.
func (d *displayFlags) names() *report.Names {
	return &report.Names{Mangled: d.mangled && !d.json}
}

// nameFilter selects functions by their symbol or by what it is shown as.
type nameFilter struct{ re *regexp.Regexp }

func newNameFilter(pattern string) (nameFilter, error) {
	if pattern == "" {
		return nameFilter{}, nil
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nameFilter{}, usagef("--regexp: %w", err)
	}
	return nameFilter{re}, nil
}

func (f nameFilter) match(symbol string, names *report.Names) bool {
	return f.re == nil || f.re.MatchString(symbol) || f.re.MatchString(names.Show(symbol))
}

// noArgs is cobra.NoArgs with the exit code of a wrong command line.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no argument %q (see %s -h)", c.Name(), args[0], c.CommandPath())
	}
	return nil
}

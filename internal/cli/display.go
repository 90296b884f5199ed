package cli

import (
	"os"
	"regexp"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/cairnprof/cairn/internal/report"
)

// displayFlags say how a verb shows its result.
type displayFlags struct {
	json    bool
	mangled bool
	short   bool // only verbs of traces have it
	color   string
}

func (d *displayFlags) register(c *cobra.Command) {
	c.Flags().BoolVar(&d.json, "json", false, "print JSON")
	d.registerMangled(c)
	d.registerColor(c)
}

func (d *displayFlags) registerMangled(c *cobra.Command) {
	c.Flags().BoolVar(&d.mangled, "mangled", false, "show symbol names as they are, not demangled")
}

// registerNames adds the flags of how verbs of traces show functions.
func (d *displayFlags) registerNames(c *cobra.Command) {
	d.registerMangled(c)
	d.registerShort(c)
}

func (d *displayFlags) registerShort(c *cobra.Command) {
	c.Flags().BoolVar(&d.short, "short-names", false, "show functions without their parameters and template arguments")
}

func (d *displayFlags) registerColor(c *cobra.Command) {
	c.Flags().StringVar(&d.color, "color", "auto", "colour the output: `when` is auto, always or never")
}

// style returns how to write to s.Out.
func (d *displayFlags) style(s *Streams) (report.Style, error) {
	var st report.Style
	f, tty := outTerminal(s)
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

// outTerminal returns the terminal that standard output is, if it is one.
func outTerminal(s *Streams) (*os.File, bool) {
	f, ok := s.Out.(*os.File)
	return f, ok && term.IsTerminal(int(f.Fd()))
}

// notOnTerminal refuses to write what only programs can read to a terminal.
func notOnTerminal(s *Streams, path, what, flag string) error {
	if _, tty := outTerminal(s); tty && path == "-" {
		return usagef("%s is not for a terminal: give a file with %s, or send it to a program", what, flag)
	}
	return nil
}

// names returns how to show symbols. JSON always has both forms of a name, whole.
func (d *displayFlags) names() *report.Names {
	return &report.Names{Mangled: d.mangled && !d.json, Short: d.short && !d.json}
}

// nameFilter selects functions by their symbol or by what that demangles to.
type nameFilter struct {
	re   *regexp.Regexp
	full *report.Names // whatever is displayed
}

func newNameFilter(pattern string) (nameFilter, error) {
	if pattern == "" {
		return nameFilter{}, nil
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nameFilter{}, usagef("--regexp: %w", err)
	}
	return nameFilter{re, &report.Names{}}, nil
}

func (f nameFilter) match(symbol string) bool {
	return f.re == nil || f.re.MatchString(symbol) || f.re.MatchString(f.full.Show(symbol))
}

// registerRegexp adds the flag whose pattern selects functions.
func registerRegexp(c *cobra.Command, pattern *string, usage string) {
	c.Flags().StringVarP(pattern, "regexp", "r", "", usage)
}

// otherWord lets a flag have a second name, which help does not list.
func otherWord(c *cobra.Command, flag, word string) {
	c.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == word {
			name = flag
		}
		return pflag.NormalizedName(name)
	})
}

// noArgs is cobra.NoArgs with the exit code of a wrong command line.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no argument %q (see %s -h)", c.Name(), args[0], c.CommandPath())
	}
	return nil
}

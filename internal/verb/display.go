package verb

import (
	"io"
	"os"
	"regexp"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/cairnprof/cairn/internal/report"
)

// DisplayFlags control how a verb shows its result.
type DisplayFlags struct {
	Json    bool
	Lines   bool // JSON objects on lines of their own; Json is set as well
	Mangled bool
	Short   bool // only verbs of traces have it
	color   string
}

// Register adds --json, --mangled and --color.
func (d *DisplayFlags) Register(c *cobra.Command) {
	c.Flags().BoolVar(&d.Json, "json", false, "print JSON")
	d.RegisterMangled(c)
	d.RegisterColor(c)
}

// RegisterLines adds --jsonl, for verbs whose JSON is a list of objects.
func (d *DisplayFlags) RegisterLines(c *cobra.Command) {
	c.Flags().BoolFunc("jsonl", "print the objects of --json one on each line, for readers of streams (JSON Lines)", func(string) error {
		d.Json, d.Lines = true, true
		return nil
	})
}

// Objects returns a writer of JSON objects, one document unless --jsonl was given.
func (d *DisplayFlags) Objects(w io.Writer) *report.Objects { return report.NewObjects(w, d.Lines) }

// RegisterMangled adds --mangled.
func (d *DisplayFlags) RegisterMangled(c *cobra.Command) {
	c.Flags().BoolVar(&d.Mangled, "mangled", false, "do not demangle symbol names")
}

// RegisterNames adds --mangled and --short-names.
func (d *DisplayFlags) RegisterNames(c *cobra.Command) {
	d.RegisterMangled(c)
	d.RegisterShort(c)
}

// RegisterShort adds --short-names.
func (d *DisplayFlags) RegisterShort(c *cobra.Command) {
	c.Flags().BoolVar(&d.Short, "short-names", false, "omit parameters and template arguments from function names")
}

// RegisterColor adds --color.
func (d *DisplayFlags) RegisterColor(c *cobra.Command) {
	c.Flags().StringVar(&d.color, "color", "auto", "colour the output: `when` is auto, always or never")
	Values(c, "color", "auto", "always", "never")
}

// Style returns the output style for s.Out.
func (d *DisplayFlags) Style(s *Streams) (report.Style, error) {
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
		st.Color = tty && showsColors(f) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	default:
		return st, Usagef("--color %s: must be auto, always or never", d.color)
	}
	return st, nil
}

// outTerminal returns standard output if it is a terminal.
func outTerminal(s *Streams) (*os.File, bool) {
	f, ok := s.Out.(*os.File)
	return f, ok && term.IsTerminal(int(f.Fd()))
}

// NotOnTerminal returns an error if binary output would go to a terminal.
func NotOnTerminal(s *Streams, path, what, flag string) error {
	if _, tty := outTerminal(s); tty && path == "-" {
		return Usagef("refusing to write %s to a terminal: give a file with %s, or use a pipe", what, flag)
	}
	return nil
}

// Names returns how to show symbols. JSON always has both forms of a name, whole.
func (d *DisplayFlags) Names() *report.Names {
	return &report.Names{Mangled: d.Mangled && !d.Json, Short: d.Short && !d.Json}
}

// NameFilter selects functions by their symbol or by what that demangles to.
type NameFilter struct {
	re   *regexp.Regexp
	full *report.Names // whatever is displayed
}

// NewNameFilter compiles a regular expression of function names; "" matches all.
func NewNameFilter(pattern string) (NameFilter, error) {
	if pattern == "" {
		return NameFilter{}, nil
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return NameFilter{}, Usagef("--regexp: %w", err)
	}
	return NameFilter{re, &report.Names{}}, nil
}

// Match reports whether the filter selects a symbol.
func (f NameFilter) Match(symbol string) bool {
	return f.re == nil || f.re.MatchString(symbol) || f.re.MatchString(f.full.Show(symbol))
}

// RegisterRegexp adds the flag whose pattern selects functions.
func RegisterRegexp(c *cobra.Command, pattern *string, usage string) {
	c.Flags().StringVarP(pattern, "regexp", "r", "", usage)
}

// OtherWord gives a flag a second name, which help does not list.
func OtherWord(c *cobra.Command, flag, word string) {
	c.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == word {
			name = flag
		}
		return pflag.NormalizedName(name)
	})
}

// NoArgs is cobra.NoArgs with the exit code of a wrong command line.
func NoArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Usagef("%s takes no argument %q (see %s -h)", c.Name(), args[0], c.CommandPath())
	}
	return nil
}

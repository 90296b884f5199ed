package verb

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
)

const (
	// narrowest and widest limit the width of help texts, whatever the terminal has; without one they have the first.
	narrowest, widest = 80, 110
	// Columns where the descriptions of flags and of commands begin. Longer names have a line of their own.
	flagColumn, commandColumn = 26, 13
	// shortExamples is the number of examples that -h prints.
	shortExamples = 2
)

// Annotations of flags.
const (
	groupOf  = "group" // the title of the flag's group
	seldomIs = "seldom"
)

// Group lists flags of c below a title of their own in its help. It panics if there is no such flag, as all
// constructors of commands do.
func Group(c *cobra.Command, title string, flags ...string) { annotate(c, groupOf, title, flags) }

// Seldom marks flags that -h only names: cairn help describes them.
func Seldom(c *cobra.Command, flags ...string) { annotate(c, seldomIs, "", flags) }

// Hide keeps flags working that no help names: what they give can stand among the arguments, where it is known by its
// content.
func Hide(c *cobra.Command, flags ...string) {
	for _, name := range flags {
		if err := c.Flags().MarkHidden(name); err != nil {
			panic(err)
		}
	}
}

func annotate(c *cobra.Command, key, value string, flags []string) {
	for _, name := range flags {
		if err := c.Flags().SetAnnotation(name, key, []string{value}); err != nil {
			panic(err)
		}
	}
}

// Help writes the help of a command: how it is called, examples and flags. If full is set, it also has the description
// of the command, all examples and all flags; otherwise it ends with how to get these.
func Help(w io.Writer, c *cobra.Command, full bool) {
	t := &helpText{w: w, width: helpWidth(w)}
	t.line("%s", c.Short)
	t.line("")
	t.line("Usage: %s", strings.TrimSuffix(c.UseLine(), " [flags]"))
	if examples := strings.Split(strings.Trim(c.Example, "\n"), "\n"); c.Example != "" {
		t.line("")
		if !full {
			examples = examples[:min(len(examples), shortExamples)]
		}
		t.line("%s", strings.Join(examples, "\n"))
	}
	if full && c.Long != "" {
		t.line("\n%s", strings.TrimSpace(c.Long))
	}
	t.commands(c)
	seldom := t.flags(c, full)
	if !full {
		t.more(c, seldom)
	}
}

// helpText writes the parts of a help text.
type helpText struct {
	w     io.Writer
	width int
}

func (t *helpText) line(format string, args ...any) { fmt.Fprintf(t.w, format+"\n", args...) }

// RootHelp writes the help of the command above all others. It describes the commands of first, and names the others;
// if first is nil, it describes all, by group.
func RootHelp(w io.Writer, root *cobra.Command, first []string) {
	t := &helpText{w: w, width: helpWidth(w)}
	t.line("%s", root.Short)
	t.line("\nUsage: %s COMMAND [ARGUMENTS]", root.Name())
	t.line("\n%s", strings.Trim(root.Example, "\n"))
	if first != nil {
		t.line("\nFor every day:")
		for _, name := range first {
			if c, _, err := root.Find([]string{name}); err == nil && c != root {
				t.entry("  "+name, c.Short, commandColumn)
			}
		}
		t.line("\nAlso:")
	}
	for _, g := range root.Groups() {
		if first == nil {
			t.line("\n%s", g.Title)
		}
		var names []string
		for _, c := range root.Commands() {
			switch {
			case c.GroupID != g.ID || !c.IsAvailableCommand() || slices.Contains(first, c.Name()):
			case first == nil:
				t.entry("  "+c.Name(), c.Short, commandColumn)
			default:
				names = append(names, c.Name())
			}
		}
		if len(names) > 0 {
			t.wide(strings.ToLower(g.Title[:1])+g.Title[1:], strings.Join(names, ", "))
		}
	}
	t.flags(root, true)
	t.line("")
	t.line("%s COMMAND -h    examples and flags of a command", root.Name())
	t.line("%s help COMMAND  its description and all flags; cairn help lists all commands", root.Name())
}

// wide writes a title and names, whose further lines are indented.
func (t *helpText) wide(title, names string) {
	const indent = "    "
	for i, line := range wrap(title+" "+names, t.width-len(indent)) {
		if i == 0 {
			t.line("  %s", line)
		} else {
			t.line("%s%s", indent, line)
		}
	}
}

// commands lists the commands below c.
func (t *helpText) commands(c *cobra.Command) {
	if !c.HasAvailableSubCommands() {
		return
	}
	t.line("\nCommands:")
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			t.entry("  "+sub.Name(), sub.Short, commandColumn)
		}
	}
}

// flags lists the flags of c by group, those without one first. It returns the names of those that it left out.
func (t *helpText) flags(c *cobra.Command, full bool) (seldom []string) {
	titles := []string{"Flags"}
	groups := map[string][]*pflag.Flag{}
	c.Flags().SortFlags = false // the order in which they were made is that of their importance
	c.Flags().VisitAll(func(f *pflag.Flag) {
		switch {
		case f.Hidden || f.Deprecated != "" || f.Name == "help" || f.Name == "quiet":
			return
		case !full && f.Annotations[seldomIs] != nil:
			seldom = append(seldom, "--"+f.Name)
			return
		}
		title := titles[0]
		if g := f.Annotations[groupOf]; g != nil {
			title = g[0]
		}
		if !slices.Contains(titles, title) {
			titles = append(titles, title)
		}
		groups[title] = append(groups[title], f)
	})
	for _, title := range titles {
		if len(groups[title]) > 0 {
			t.line("\n%s:", title)
		}
		for _, f := range groups[title] {
			name, about := flagEntry(f)
			t.entry(name, about, flagColumn)
		}
	}
	return seldom
}

// flagEntry returns the name of a flag, with that of its value, and its description.
func flagEntry(f *pflag.Flag) (name, about string) {
	value, about := pflag.UnquoteUsage(f)
	name = "      --" + f.Name
	if f.Shorthand != "" {
		name = "  -" + f.Shorthand + ", --" + f.Name
	}
	if f.Value.Type() != "bool" && value != "" {
		name += " " + value
	}
	switch f.DefValue {
	case "", "0", "false", "[]", "0s", "0B":
	default:
		about += " (default " + f.DefValue + ")"
	}
	return name, about
}

// entry writes a name and what it is, whose lines are wrapped from column on.
func (t *helpText) entry(name, about string, column int) {
	if utf8.RuneCountInString(name) > column-2 {
		t.line("%s", name)
		name = ""
	}
	for i, line := range wrap(about, t.width-column) {
		if i > 0 {
			name = ""
		}
		t.line("%-*s%s", column, name, line)
	}
}

// more says what the short help leaves out.
func (t *helpText) more(c *cobra.Command, seldom []string) {
	t.line("")
	rest := "All examples and a description: "
	if len(seldom) > 0 {
		rest = "Flags needed less often: " + strings.Join(seldom, ", ") + ". These, and a description: "
	}
	for _, line := range wrap(rest+c.Root().Name()+" help"+strings.TrimPrefix(c.CommandPath(), c.Root().Name()), t.width) {
		t.line("%s", line)
	}
}

// wrap splits a text into lines of at most width characters, between words.
func wrap(text string, width int) (lines []string) {
	line, length := "", 0
	for _, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		if length > 0 && length+1+n > width {
			lines = append(lines, line)
			line, length = "", 0
		}
		if length > 0 {
			line, length = line+" ", length+1
		}
		line, length = line+word, length+n
	}
	return append(lines, line)
}

// helpWidth returns the width of help on w.
func helpWidth(w io.Writer) int {
	if f, ok := w.(interface{ Fd() uintptr }); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			return min(max(width, narrowest), widest)
		}
	}
	return narrowest
}

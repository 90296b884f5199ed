package driver

import (
	"errors"
	"slices"
	"strings"
)

// ErrLong is the error of a command line that has more words than are read, with its response files in place.
var ErrLong = errors.New("the command line has more than 1048576 words, with those of its response files: divide the command")

// GetFunc returns a variable of the environment, "" if it is not set.
type GetFunc func(name string) string

// msvcWords replaces the response files in the command lines of Microsoft's tools.
type msvcWords struct {
	read  ReadFunc
	split func(text string) []string
	words []string
	seen  int
	err   error
}

func (m *msvcWords) add(args []string, depth int) {
	if m.seen += len(args); m.seen > maxArgs {
		m.err = ErrLong
		return
	}
	for _, arg := range args {
		if strings.HasPrefix(arg, "@") && depth < maxResponseDepth {
			if text, err := m.read(arg[1:]); err == nil {
				m.add(m.split(text), depth+1)
				continue
			}
		}
		m.words = append(m.words, arg)
	}
}

// splitter returns how the response files of a command are split: as Microsoft's tools do, unless it says otherwise. What the
// environment or a response file says of that comes too late.
func splitter(args []string) func(string) []string {
	split := splitCL
	for _, arg := range args {
		switch arg {
		case "--rsp-quoting=posix":
			split = SplitResponse
		case "--rsp-quoting=windows":
			split = splitCL
		}
	}
	return split
}

// expandLINK returns the words of a command of lld-link with its response files in place, behind those of _LINK_ and LINK, which
// /lldignoreenv turns off.
func expandLINK(args []string, read ReadFunc, env GetFunc) ([]string, error) {
	ignores := func(arg string) bool {
		return strings.EqualFold(arg, "/lldignoreenv") || strings.EqualFold(arg, "-lldignoreenv")
	}
	m := msvcWords{read: read, split: splitter(args)}
	if env != nil && !slices.ContainsFunc(args, ignores) {
		m.add(slices.Concat(splitCL(env("_LINK_")), splitCL(env("LINK"))), 0)
	}
	m.add(args, 0)
	return m.words, m.err
}

// expandCL returns the words of a command of clang-cl with its response files in place, between those of CL and _CL_.
func expandCL(args []string, read ReadFunc, env GetFunc) ([]string, error) {
	m := msvcWords{read: read, split: splitter(args)}
	if env != nil {
		m.words = clVariable(env("CL"))
	}
	m.add(args, 0)
	if env != nil {
		m.words = append(m.words, clVariable(env("_CL_"))...)
	}
	return m.words, m.err
}

// clVariable returns the arguments in CL or _CL_, where # may stand for =.
func clVariable(value string) []string {
	words := splitCL(value)
	for i := range words {
		words[i] = strings.Replace(words[i], "#", "=", 1)
	}
	return words
}

// AddLINK adds what a link for MSVC's system has in LINK and _LINK_, which reach the linker through the environment.
func (c *Command) AddLINK(read ReadFunc, env GetFunc) {
	if !c.Links || !c.CL && !IsMSVC(c.triple) {
		return
	}
	l := ParseMSVCLinker(nil, read, env)
	if c.Err == nil {
		c.Err = l.Err
	}
	for i := range l.Words {
		c.words = append(c.words, l.Words[i].forCompiler()...)
	}
}

// forCompiler returns a word of lld-link as clang has it.
func (w *LinkerWord) forCompiler() []string {
	switch {
	case w.Input() && w.Load == "":
		return []string{w.Value}
	case w.Option == "nodefaultlib" && w.Value == "":
		return []string{"-nodefaultlibs"}
	}
	return []string{"-Xlinker", w.Args[0]}
}

// splitCL splits text as Microsoft's tools do: at white space outside of quotes. Backslashes are that many, but before a quote:
// there each two are one, and if one is left the quote is a character. Two quotes inside of quotes are one.
func splitCL(text string) (out []string) {
	var word strings.Builder
	quoted, inWord := false, false
	for i := 0; i < len(text); i++ {
		c := text[i]
		if !quoted && strings.IndexByte(" \t\r\n\x00", c) >= 0 {
			if inWord {
				out = append(out, word.String())
				word.Reset()
				inWord = false
			}
			continue
		}
		inWord = true
		switch {
		case c == '\\':
			n := len(text) - i - len(strings.TrimLeft(text[i:], `\`))
			i += n - 1
			if i+1 < len(text) && text[i+1] == '"' {
				word.WriteString(strings.Repeat(`\`, n/2))
				if n%2 == 1 {
					word.WriteByte('"')
					i++
				}
				continue
			}
			word.WriteString(strings.Repeat(`\`, n))
		case c == '"' && quoted && i+1 < len(text) && text[i+1] == '"':
			word.WriteByte('"')
			i++
		case c == '"':
			quoted = !quoted
		default:
			word.WriteByte(c)
		}
	}
	if inWord {
		out = append(out, word.String())
	}
	return out
}

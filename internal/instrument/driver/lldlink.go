package driver

import (
	"path/filepath"
	"slices"
	"strings"
)

// LLDLink is what cairn must know of a command line of lld-link.
type LLDLink struct {
	Line   LinkerLine // with the inputs of the command alone, not those of /defaultlib
	Output string
	Other  bool // it links no program: it makes a library, or prints something
	bare   bool // without default libraries
	debug  bool // it says what debug information there is
}

// ParseLLDLink reads the arguments of lld-link.
func ParseLLDLink(args []string, read ReadFunc, env GetFunc) (l LLDLink) {
	line := ParseMSVCLinker(args, read, env)
	l.Line = line
	l.Line.Words = slices.DeleteFunc(slices.Clone(line.Words), func(w LinkerWord) bool { return w.Load == "/defaultlib:" })
	for i := range line.Words {
		switch w := &line.Words[i]; w.Option {
		case "debug":
			l.debug = true
		case "nodefaultlib":
			l.bare = l.bare || w.Value == ""
		case "machine":
			l.Other = l.Other || !strings.EqualFold(w.Value, "x64") && !strings.EqualFold(w.Value, "amd64")
		case "lib", "help", "?", "version":
			l.Other = true
		}
	}
	l.Output = line.msvcOutput()
	return l
}

// Options returns the options of a link with the runtime, of a mode that measures time or not.
func (l *LLDLink) Options(timed bool) []string { return msvcOptions(l.bare, timed && !l.debug) }

// ParseMSVCLinker reads the arguments of lld-link, and those in its environment. Names of options are in lower case, without a dash
// or a slash. Libraries that an option names (/defaultlib, /wholearchive) are inputs, of which Load is the option.
func ParseMSVCLinker(args []string, read ReadFunc, env GetFunc) LinkerLine {
	l := LinkerLine{MSVC: true}
	if env != nil {
		l.LibDirs = env("LIB")
	}
	words, err := expandLINK(args, read, env)
	l.parseMSVC(words)
	l.Err = err
	lazy := false
	for i := range l.Words {
		switch w := &l.Words[i]; {
		case w.Input():
			w.Lazy = lazy
		case w.Option == "start-lib", w.Option == "end-lib":
			lazy = w.Option == "start-lib"
		}
	}
	return l
}

func (l *LinkerLine) parseMSVC(args []string) {
	for _, arg := range args {
		w := LinkerWord{Args: []string{arg}, Value: arg, Lib: true}
		rest := strings.TrimLeft(arg, "-/")
		name, value, _ := strings.Cut(rest, ":")
		switch name = strings.ToLower(name); {
		case rest == arg, arg[0] == '/' && strings.ContainsAny(name, "/."): // a path, not an option
		case (name == "defaultlib" || name == "wholearchive") && value != "":
			w.Value, w.Load = value, "/"+name+":"
		default:
			w = LinkerWord{Args: w.Args, Option: name, Value: value}
		}
		if w.Input() {
			w.Names = msvcNames(&w)
		}
		l.Words = append(l.Words, w)
	}
}

// msvcNames returns the names of the files for an input that lld-link looks for.
func msvcNames(w *LinkerWord) []string {
	switch {
	case filepath.Ext(w.Value) != "":
		return []string{w.Value}
	case w.Load == "/defaultlib:":
		return []string{w.Value + ".lib"}
	}
	return []string{w.Value, w.Value + ".obj"}
}

// msvcDirs returns where lld-link looks for inputs: at their own names first.
func (l *LinkerLine) msvcDirs() []string {
	dirs := []string{""}
	for i := range l.Words {
		if l.Words[i].Option == "libpath" {
			dirs = append(dirs, l.Words[i].Value)
		}
	}
	if l.Has("lldignoreenv") {
		return dirs
	}
	return append(dirs, strings.FieldsFunc(l.LibDirs, func(r rune) bool { return r == ';' })...)
}

// msvcOutput returns the name of the file that lld-link writes: that of its first input where none is given.
func (l *LinkerLine) msvcOutput() string {
	if out := l.Value("out"); out != "" {
		return out
	}
	first := slices.IndexFunc(l.Words, func(w LinkerWord) bool { return w.Input() && w.Load != "/defaultlib:" })
	if first < 0 {
		return ""
	}
	name, ext := filepath.Base(l.Words[first].Value), ".exe"
	if l.Has("dll") {
		ext = ".dll"
	} else if l.Has("driver") {
		ext = ".sys"
	}
	return strings.TrimSuffix(name, filepath.Ext(name)) + ext
}

package driver

import (
	"io/fs"
	"slices"
	"strings"
)

// Problem: clang-cl has the options of Microsoft's compiler, which begin with a slash or a dash, and clang's own.
//
// Choice: what cairn must know of a command is translated to clang's options and parsed as those. What cairn adds is spelled
// /clang:, by which clang-cl takes clang's options, and comes first: behind /link or -- arguments have other meanings.

// IsCL reports whether a compiler's name is that of clang with the options of Microsoft's.
func IsCL(name string) bool { return strings.HasPrefix(ToolName(name), "clang-cl") }

// ParseCL is Parse for clang-cl, which also has arguments in variables of its environment.
func ParseCL(args []string, read ReadFunc, env GetFunc) Command {
	args, err := expandCL(args, read, env)
	words := clWords(args)
	if !slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "--target=") }) {
		words = append(words, "--target=x86_64-pc-windows-msvc")
	}
	c := Parse(Clang, words, noFile)
	c.CL = true
	if c.Err == nil {
		c.Err = err
	}
	c.Target = append([]string{"--driver-mode=gcc"}, c.Target...)
	return c
}

// noFile reads response files that have been read: what is left is no file.
func noFile(string) (string, error) { return "", fs.ErrNotExist }

// clSpelled are options that are another word of clang's.
var clSpelled = map[string]string{
	"c": "-c", "E": "-E", "EP": "-E", "P": "-E", "Zs": "-E", "?": "-E", "help": "-E", "Od": "-O0", "O1": "-O2", "O2": "-O2", "Ox": "-O2",
	"Z7": "-g", "Zi": "-g", "ZI": "-g", "LD": "-shared", "LDd": "-shared",
}

// clSeparate are options whose value may be the next argument, and which say nothing that cairn must know.
var clSeparate = setOf("D U I FI imsvc external:I winsysroot vctoolsdir winsdkdir Xclang mllvm")

// clWords translates the arguments of clang-cl.
func clWords(args []string) (words []string) {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		next := func() string { // an output's or a source's name
			i++
			if i < len(args) {
				return args[i]
			}
			return ""
		}
		name := strings.TrimLeft(arg, "-/")
		switch {
		case arg == "--":
			return append(words, args[i+1:]...)
		case name == "link":
			return append(words, clLinkWords(args[i+1:])...)
		case name == arg:
			words = append(words, arg)
		case clSpelled[name] != "":
			words = append(words, clSpelled[name])
		case clSeparate()[name]:
			next()
		case name == "o" || name == "Fo" || name == "Fe" || name == "Fo:" || name == "Fe:":
			words = append(words, "-o", next())
		case strings.HasPrefix(name, "Fo") || strings.HasPrefix(name, "Fe"):
			if file := strings.TrimPrefix(name[2:], ":"); !strings.HasSuffix(file, "/") && !strings.HasSuffix(file, `\`) {
				words = append(words, "-o", file)
			}
		case name == "Tc" || name == "Tp":
			words = append(words, next())
		case strings.HasPrefix(name, "Tc") || strings.HasPrefix(name, "Tp"):
			words = append(words, name[2:])
		case strings.HasPrefix(name, "clang:"):
			words = append(words, name[len("clang:"):])
		case arg[0] == '-' || strings.Contains(name, "/") && !clJoined(name):
			words = append(words, arg)
		}
	}
	return words
}

// clJoined reports whether a name that has a slash begins as an option whose value may be a path.
func clJoined(name string) bool {
	return slices.ContainsFunc([]string{"D", "U", "I", "F", "Y", "imsvc", "external:", "winsysroot", "vctoolsdir", "winsdk", "std:"}, func(o string) bool {
		return strings.HasPrefix(name, o)
	})
}

// clLinkWords translates what follows /link.
func clLinkWords(args []string) (words []string) {
	var l LinkerLine
	l.parseMSVC(args)
	for i := range l.Words {
		switch w := &l.Words[i]; w.Option {
		case "out":
			words = append(words, "-o", w.Value)
		case "dll":
			words = append(words, "-shared")
		default:
			words = append(words, w.forCompiler()...)
		}
	}
	return words
}

// clArgs is Args for clang-cl.
func (c *Command) clArgs(args []string, tc Toolchain) []string {
	var ours []string
	for _, o := range tc.MSVC { // clang-cl reads the others before it knows of /clang:
		if strings.HasPrefix(o, "-B") {
			o = "/clang:" + o
		}
		ours = append(ours, o)
	}
	ours = append(ours, c.IncludeArgs(tc)...)
	if c.Links {
		for _, w := range append(c.msvcOptions(tc), tc.Archive, "kernel32.lib") {
			ours = append(ours, "/clang:-Xlinker", "/clang:"+w)
		}
	}
	return append(ours, args...)
}

// clUseArgs is UseArgs for clang-cl.
func (c *Command) clUseArgs(args, link []string) []string {
	var ours []string
	if c.Compiles {
		ours = append(ours, "/Gy")
		if c.Data {
			ours = append(ours, "/Gw")
		}
	}
	if c.Links {
		for _, word := range link {
			ours = append(ours, "/clang:"+word)
		}
	}
	return append(ours, args...)
}

package driver

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
)

// LinkerLine is a command line of lld for ELF, or in the place of Apple's or Microsoft's linker, with response files expanded.
type LinkerLine struct {
	Words []LinkerWord
	Apple bool // of Mach-O files
	MSVC  bool // lld-link
	// LibDirs is LIB of the environment, where lld-link looks for inputs as well: directories with ; between them.
	LibDirs string
	Err     error // ErrLong
}

// LinkerWord is an input or an option, with its value.
type LinkerWord struct {
	Args   []string // as written: one, or an option and its value
	Option string   // its name without dashes, "" for an input
	Value  string   // value of an option; name of an input

	Lib    bool // an input that is searched in the directories of -L
	Static bool // of those: shared libraries are ignored
	Binary bool // an input that is treated as data, whatever it contains
	Lazy   bool // an input between --start-lib and --end-lib

	Names []string // of Mach-O's libraries and lld-link's inputs: the names of their files
	Load  string   // of inputs for Mach-O and lld-link: the option before the path of an archive, "" for none
}

// linkerSeparate are the options of lld whose value may be the next argument. One-letter options also accept it
// attached.
var linkerSeparate = setOf(`O o L l m T e u z y h f F R b I Y dT A
	Map Tbss Tdata Ttext allow-multiple-definition-of auxiliary call-graph-ordering-file compress-debug-sections compress-sections default-script
	defsym dependency-file dynamic-linker dynamic-list entry error-handling-script error-limit exclude-libs
	export-dynamic-symbol export-dynamic-symbol-list filter fini format hash-style image-base in-implib init irpgo-profile
	just-symbols keep-unique library library-path load-pass-plugin lto-aa-pipeline lto-cs-profile-file
	lto-newpm-passes lto-sample-profile mllvm oformat opt-remarks-filename opt-remarks-format
	opt-remarks-hotness-threshold opt-remarks-passes orphan-handling out-implib output pack-dyn-relocs plugin
	plugin-opt print-symbol-order remap-inputs remap-inputs-file reproduce retain-symbols-file rpath rpath-link script
	section-start shuffle-sections soname sort-section split-stack-adjust-size symbol-ordering-file sysroot target2
	threads trace-symbol undefined undefined-glob unresolved-symbols version-script warn-backrefs-exclude why-extract why-live
	wrap assert android-memtag-mode lto-known-safe-vtables rsp-quoting thinlto-cache-policy thinlto-distributor-arg
	thinlto-remote-compiler-arg thinlto-remote-compiler-prepend-arg time-trace-granularity`)

// longO are the options that begin with the letter of -o, written with one dash.
var longO = []string{"omagic", "output", "orphan-handling", "oformat", "opt-remarks", "optimize-bb-jumps", "out-implib"}

// ParseLinker reads the arguments of lld.
func ParseLinker(args []string, read ReadFunc) LinkerLine {
	p := linkerParser{read: read}
	p.parse(args, 0)
	return LinkerLine{Words: p.words, Err: p.err}
}

type linkerParser struct {
	read                 ReadFunc
	words                []LinkerWord
	static, binary, lazy bool
	saved                []bool // --push-state of static
	seen                 int
	err                  error // ErrLong
}

func (p *linkerParser) parse(args []string, depth int) {
	if p.seen += len(args); p.seen > maxArgs {
		p.err = ErrLong
		return
	}
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case strings.HasPrefix(arg, "@") && depth < maxResponseDepth:
			if text, err := p.read(arg[1:]); err == nil {
				p.parse(SplitResponse(text), depth+1)
				continue
			}
			p.words = append(p.words, LinkerWord{Args: args[i : i+1], Value: arg, Lazy: p.lazy})
		case len(arg) < 2 || arg[0] != '-':
			p.words = append(p.words, LinkerWord{Args: args[i : i+1], Value: arg, Binary: p.binary, Lazy: p.lazy})
		default:
			w := LinkerWord{Args: args[i : i+1]}
			var joined bool
			if w.Option, w.Value, joined = linkerOption(arg); !joined && linkerSeparate()[w.Option] && i+1 < len(args) {
				w.Args, w.Value = args[i:i+2], args[i+1]
				i++
			}
			p.option(w)
		}
	}
}

// linkerOption returns the name of an option and its attached value.
func linkerOption(arg string) (name, value string, joined bool) {
	name, value, joined = strings.Cut(strings.TrimPrefix(arg[1:], "-"), "=")
	if arg[1] == '-' || len(arg) == 2 {
		return name, value, joined
	}
	switch letter := arg[1:2]; {
	case letter == "o" && slices.ContainsFunc(longO, func(long string) bool { return strings.HasPrefix(name, long) }),
		letter == "l" && (strings.HasPrefix(name, "lto") && joined || name == "library" || name == "library-path"):
	case letter == "o" || letter == "l" || letter == "L":
		return letter, arg[2:], true
	}
	return name, value, joined
}

func (p *linkerParser) option(w LinkerWord) {
	switch w.Option {
	case "l", "library":
		w = LinkerWord{Args: w.Args, Value: w.Value, Lib: true, Static: p.static, Lazy: p.lazy}
	case "Bstatic", "static", "dn", "non_shared":
		p.static = true
	case "Bdynamic", "dy", "call_shared":
		p.static = false
	case "push-state":
		p.saved = append(p.saved, p.static)
	case "pop-state":
		if n := len(p.saved); n > 0 {
			p.static, p.saved = p.saved[n-1], p.saved[:n-1]
		}
	case "format", "b":
		p.binary = w.Value == "binary"
	case "start-lib":
		p.lazy = true
	case "end-lib":
		p.lazy = false
	}
	p.words = append(p.words, w)
}

// Input reports whether a word is an input.
func (w *LinkerWord) Input() bool { return w.Option == "" }

// Value returns the value of the last option of one of these names, "" if there is none.
func (l *LinkerLine) Value(names ...string) string {
	value := ""
	for i := range l.Words {
		if slices.Contains(names, l.Words[i].Option) {
			value = l.Words[i].Value
		}
	}
	return value
}

// Has reports whether the line has an option of one of these names.
func (l *LinkerLine) Has(names ...string) bool {
	return slices.ContainsFunc(l.Words, func(w LinkerWord) bool { return w.Option != "" && slices.Contains(names, w.Option) })
}

// Fat reports whether the linker uses the bitcode in objects that have machine code as well.
func (l *LinkerLine) Fat() bool {
	fat := false
	for i := range l.Words {
		switch l.Words[i].Option {
		case "fat-lto-objects":
			fat = true
		case "no-fat-lto-objects":
			fat = false
		}
	}
	return fat
}

// ExcludedLibs returns whether the names in the archive at a path are not exported.
func (l *LinkerLine) ExcludedLibs() func(path string) bool {
	var names []string
	for i := range l.Words {
		if w := &l.Words[i]; w.Option == "exclude-libs" {
			names = append(names, strings.FieldsFunc(w.Value, func(r rune) bool { return r == ',' || r == ':' })...)
		}
	}
	return func(path string) bool {
		return slices.Contains(names, "ALL") || slices.Contains(names, filepath.Base(path))
	}
}

// Dirs returns the directories of -L, in which a leading = or $SYSROOT stands for that of --sysroot.
func (l *LinkerLine) Dirs() []string {
	switch {
	case l.Apple:
		return l.appleDirs()
	case l.MSVC:
		return l.msvcDirs()
	}
	root := l.Value("sysroot")
	var dirs []string
	for i := range l.Words {
		w := &l.Words[i]
		if w.Option != "L" && w.Option != "library-path" {
			continue
		}
		dir := w.Value
		for _, prefix := range []string{"=", "$SYSROOT"} {
			if rest, ok := strings.CutPrefix(dir, prefix); ok {
				dir = root + rest
				break
			}
		}
		dirs = append(dirs, dir)
	}
	return dirs
}

// LibraryNames returns the names of the files for the library of a word that lld looks for in each directory,
// in that order.
func (w *LinkerWord) LibraryNames() []string {
	if len(w.Names) > 0 {
		return w.Names
	}
	if name, ok := strings.CutPrefix(w.Value, ":"); ok {
		return []string{name}
	}
	if w.Static {
		return []string{"lib" + w.Value + ".a"}
	}
	return []string{"lib" + w.Value + ".so", "lib" + w.Value + ".a"}
}

// Output returns the file that a link writes.
func (l *LinkerLine) Output() string {
	if l.MSVC {
		return l.msvcOutput()
	}
	return cmp.Or(l.Value("o", "output"), "a.out")
}

// NameMinGW sets the names of the libraries that lld for mingw-w64 looks for.
func (l *LinkerLine) NameMinGW() {
	for i := range l.Words {
		w := &l.Words[i]
		if !w.Lib || strings.HasPrefix(w.Value, ":") {
			continue
		}
		if !w.Static {
			w.Names = []string{"lib" + w.Value + ".dll.a", w.Value + ".dll.a"}
		}
		w.Names = append(w.Names, "lib"+w.Value+".a", w.Value+".lib")
	}
}

// Without returns the arguments without the options of these names.
func (l *LinkerLine) Without(names ...string) []string {
	var out []string
	for i := range l.Words {
		if w := &l.Words[i]; w.Input() || !slices.Contains(names, w.Option) {
			out = append(out, w.Args...)
		}
	}
	return out
}

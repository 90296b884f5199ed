package toolchain

import (
	"slices"
	"strings"
)

// rustCommand is what cairn must know of a command line of rustc ("Command-line Arguments", "Codegen Options" and
// "Emit" in the rustc book).
type rustCommand struct {
	args   []string // without response files
	source string   // "-" for standard input, "" for none
	crate  string
	output string   // of -o
	outDir string   // of --out-dir
	target string   // the triple of --target
	linker string   // of -C linker
	types  []string // of --crate-type
	emits  []string // kinds of output, none for the default
	deps   []string // directories of the crates that it uses
	asks   bool     // it prints something and compiles nothing
	test   bool     // it makes a harness of tests

	extra       string // -C extra-filename
	units       bool   // it says how many units the crate is divided into
	incremental bool
	lto         bool // it compiles the bitcode of all crates
	bitcode     bool // it leaves that to the linker
}

// rustValues are rustc's options, one and two dashes long, whose value may be the next argument.
var rustValues = []string{
	"-o", "-C", "-L", "-l", "-A", "-W", "-D", "-F", "-Z", "--cfg", "--check-cfg", "--crate-name", "--crate-type", "--edition", "--emit",
	"--print", "--out-dir", "--explain", "--target", "--allow", "--warn", "--force-warn", "--deny", "--forbid", "--cap-lints", "--codegen",
	"--extern", "--sysroot", "--error-format", "--json", "--color", "--diagnostic-width", "--remap-path-prefix", "--remap-path-scope", "--env-set",
}

// parseRust parses a command line of rustc, in which read reads response files (@file).
func parseRust(args []string, read func(name string) (string, error)) (rustCommand, error) {
	var c rustCommand
	for _, a := range args {
		name, ok := strings.CutPrefix(a, "@")
		if !ok {
			c.args = append(c.args, a)
			continue
		}
		text, err := read(name)
		if err != nil {
			return c, err
		}
		c.args = append(c.args, strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })...)
	}
	for i := 0; i < len(c.args); i++ {
		name, value, inline := splitRustOption(c.args[i])
		if !inline && slices.Contains(rustValues, name) && i+1 < len(c.args) {
			i++
			value = c.args[i]
		}
		c.add(name, value)
	}
	if c.crate == "" && c.source != "-" {
		c.crate = strings.ReplaceAll(stem(c.source), "-", "_")
	}
	return c, nil
}

// splitRustOption splits an option that has its value in the same argument; name is the whole argument for others.
func splitRustOption(arg string) (name, value string, inline bool) {
	switch {
	case strings.HasPrefix(arg, "--"):
		return splitAt(arg, strings.IndexByte(arg, '='), 1)
	case len(arg) > 2 && slices.Contains(rustValues, arg[:2]):
		return splitAt(arg, 2, 0)
	}
	return arg, "", false
}

func splitAt(arg string, at, width int) (name, value string, inline bool) {
	if at < 0 {
		return arg, "", false
	}
	return arg[:at], arg[at+width:], true
}

// add adds an option with its value, or the source.
func (c *rustCommand) add(name, value string) {
	switch name {
	case "--crate-name":
		c.crate = value
	case "--crate-type":
		c.types = append(c.types, strings.Split(value, ",")...)
	case "--emit":
		c.emits = append(c.emits, strings.Split(value, ",")...)
	case "--out-dir":
		c.outDir = value
	case "-o":
		c.output = value
	case "--target":
		c.target = value
	case "-L":
		if kind, dir, ok := strings.Cut(value, "="); !ok {
			c.deps = append(c.deps, value)
		} else if kind == "dependency" || kind == "crate" || kind == "all" {
			c.deps = append(c.deps, dir)
		}
	case "--test":
		c.test = true
	case "--print":
		c.asks = c.asks || !strings.HasPrefix(value, "link-args") && !strings.HasPrefix(value, "native-static-libs")
	case "--explain", "--help", "-h", "--version", "-V", "-vV", "-Vv":
		c.asks = true
	case "-C", "--codegen":
		c.codegen(value)
	default:
		if !strings.HasPrefix(name, "-") || name == "-" {
			c.source = name
		}
	}
}

// codegen adds an option of -C.
func (c *rustCommand) codegen(option string) {
	name, value, _ := strings.Cut(option, "=")
	switch strings.ReplaceAll(name, "_", "-") {
	case "extra-filename":
		c.extra = value
	case "codegen-units":
		c.units = true
	case "incremental":
		c.incremental = true
	case "linker":
		c.linker = value
	case "lto":
		c.lto = !slices.Contains([]string{"off", "n", "no", "false"}, value)
	case "linker-plugin-lto":
		c.bitcode = !slices.Contains([]string{"off", "n", "no", "false"}, value)
	}
}

// compiles reports whether it makes machine code.
func (c *rustCommand) compiles() bool {
	return !c.asks && c.source != "" && (len(c.emits) == 0 || slices.ContainsFunc(c.emits, func(kind string) bool {
		kind, _, _ = strings.Cut(kind, "=")
		return kind == "link" || kind == "obj" || kind == "asm"
	}))
}

// onlyLinks reports whether all that it makes of the code goes into a library or a program, and nothing has a name of
// its own that another directory for the output would change.
func (c *rustCommand) onlyLinks() bool {
	return !slices.ContainsFunc(c.emits, func(kind string) bool {
		kind, _, named := strings.Cut(kind, "=")
		return kind != "link" && (c.outDir == "" || kind != "dep-info" && kind != "metadata") || named && kind == "link"
	})
}

// ofBuild reports whether it compiles what runs in the compiler or for the build: a procedural macro, or cargo's
// build script.
func (c *rustCommand) ofBuild() bool {
	return !c.test && (slices.Contains(c.types, "proc-macro") || strings.HasPrefix(c.crate, "build_script_") && slices.Contains(c.types, "bin"))
}

// stem returns how the names of what it makes begin.
func (c *rustCommand) stem() string { return c.crate + c.extra }

// without returns the arguments without -o.
func (c *rustCommand) without() []string {
	var out []string
	for i := 0; i < len(c.args); i++ {
		switch a := c.args[i]; {
		case a == "-o":
			i++
		case strings.HasPrefix(a, "-o") && !strings.HasPrefix(a, "--"):
		default:
			out = append(out, a)
		}
	}
	return out
}

package driver

import (
	"slices"
	"strings"
)

// Input is an input of a link, in the order of the command line.
type Input struct {
	Name   string // a file; for -l its operand
	Lib    bool   // it is searched in the directories of -L
	Static bool   // -Bstatic is in force
}

// Inputs returns the files and libraries on the command line, with response files expanded, and the directories
// of -L. Values of options are not inputs.
func (c *Command) Inputs() (inputs []Input, dirs []string) {
	static := c.Static
	for i := 0; i < len(c.words); i++ {
		w := c.words[i]
		value := func(option string) (string, bool) {
			switch {
			case w == option && i+1 < len(c.words):
				i++
				return c.words[i], true
			case len(w) > len(option) && strings.HasPrefix(w, option):
				return w[len(option):], true
			}
			return "", false
		}
		switch {
		case w == "-" || !strings.HasPrefix(w, "-"):
			inputs = append(inputs, Input{Name: w, Static: static})
		case strings.HasPrefix(w, "-Wl,"):
			for word := range strings.SplitSeq(w[len("-Wl,"):], ",") {
				switch {
				case word == "-Bstatic" || word == "-static":
					static = true
				case word == "-Bdynamic":
					static = c.Static
				case word != "" && word[0] != '-' && (strings.HasSuffix(word, ".o") || strings.HasSuffix(word, ".a")):
					inputs = append(inputs, Input{Name: word, Static: static})
				}
			}
		case strings.HasPrefix(w, "-L"):
			if dir, ok := value("-L"); ok {
				dirs = append(dirs, dir)
			}
		case strings.HasPrefix(w, "-l"):
			if lib, ok := value("-l"); ok {
				inputs = append(inputs, Input{Name: lib, Lib: true, Static: static})
			}
		case separate()[w]:
			i++
		}
	}
	return inputs, dirs
}

// Sysroot returns the directory that the arguments name as the root of the system's files, "" for none.
func (c *Command) Sysroot() string {
	root := ""
	for _, w := range c.forward([]string{"--sysroot", "-isysroot"}) {
		root = strings.TrimPrefix(w, "--sysroot=")
	}
	return root
}

// Forward returns the arguments that select the driver's tools and system: those that the compilation and the
// link of a program have in common.
func (c *Command) Forward() []string {
	return c.forward(append(targetOptions, "-B", "-specs", "--ld-path", "-fcf-protection"))
}

// targetOptions select the machine of the code, and the place of its files.
var targetOptions = []string{
	"-target", "--target", "--sysroot", "-isysroot", "-gcc-toolchain", "--gcc-toolchain", "--gcc-install-dir",
	"-arch", "-mmacosx-version-min", "-mmacos-version-min", "-miphoneos-version-min", "-mios-version-min",
	"-mios-simulator-version-min", "-miphonesimulator-version-min", "-mtvos-version-min", "-mwatchos-version-min",
}

// forward returns the options with these names, with their values: in the next argument, after an equals sign,
// or, for -B, directly attached.
func (c *Command) forward(names []string) []string {
	var out []string
	for i := 0; i < len(c.words); i++ {
		w := c.words[i]
		name, _, joined := strings.Cut(w, "=")
		if w != "-B" && strings.HasPrefix(w, "-B") {
			name, joined = "-B", true
		}
		wanted := slices.Contains(names, name)
		switch {
		case separate()[w] && i+1 < len(c.words):
			i++
			if wanted {
				out = append(out, w, c.words[i])
			}
		case wanted && (joined || name == "-fcf-protection"):
			out = append(out, w)
		}
	}
	return out
}

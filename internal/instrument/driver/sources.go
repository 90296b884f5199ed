package driver

import (
	"path/filepath"
	"slices"
	"strings"
)

// sourceSuffixes are the inputs that a driver compiles. Assembly, .s and .S,
// is not among them.
var sourceSuffixes = map[string]bool{
	".c": true, ".i": true, ".ii": true, ".cc": true, ".cp": true, ".cxx": true, ".cpp": true, ".CPP": true,
	".c++": true, ".C": true, ".m": true, ".mm": true, ".f": true, ".for": true, ".ftn": true, ".F": true,
	".FOR": true, ".fpp": true, ".f90": true, ".f95": true, ".f03": true, ".f08": true, ".F90": true,
	".F95": true, ".F03": true, ".F08": true, ".adb": true, ".ads": true, ".d": true, ".go": true, ".ixx": true,
	".cppm": true, ".ccm": true, ".cxxm": true, ".c++m": true, ".cu": true, ".cui": true, ".hip": true, ".cl": true,
}

// deviceSuffixes are sources for graphics processors.
var deviceSuffixes = map[string]bool{".cu": true, ".cui": true, ".hip": true, ".cl": true}

// codeSuffixes are clang's intermediate files that it compiles: bitcode and modules.
var codeSuffixes = map[string]bool{".ll": true, ".bc": true, ".pcm": true}

// assemblySuffixes are the inputs that a driver assembles.
var assemblySuffixes = map[string]bool{".s": true, ".S": true, ".sx": true, ".asm": true}

// foreignSuffixes are languages whose compilers warn of options for C's preprocessor.
var foreignSuffixes = map[string]bool{".d": true, ".adb": true, ".ads": true, ".go": true}

// headerSuffixes are the inputs that a driver precompiles: it makes neither an object
// of them nor a program.
var headerSuffixes = map[string]bool{
	".h": true, ".H": true, ".hh": true, ".hpp": true, ".hxx": true, ".hp": true, ".HPP": true, ".h++": true, ".tcc": true,
}

func (p *parser) input(name string) {
	p.inputs++
	suffix := filepath.Ext(name)
	compiled, header, assembly := sourceSuffixes[suffix], headerSuffixes[suffix], assemblySuffixes[suffix]
	code, foreign := p.cmd.Family == Clang && codeSuffixes[suffix], foreignSuffixes[suffix]
	if p.lang != "" && p.lang != "none" {
		header = strings.HasSuffix(p.lang, "-header")
		assembly = strings.HasPrefix(p.lang, "assembler")
		code = p.lang == "ir" || p.lang == "pcm"
		compiled = !header && !assembly && !code
		foreign = p.lang == "d" || p.lang == "ada" || p.lang == "go"
	}
	switch {
	case header:
		p.headers++
	case assembly:
		p.cmd.Assembly = append(p.cmd.Assembly, name)
	case code:
		p.cmd.Codes = append(p.cmd.Codes, name)
	case compiled:
		if deviceSuffixes[suffix] && (p.lang == "" || p.lang == "none") {
			p.refuse(suffix + " has code for graphics processors, which cairn does not instrument")
		}
		p.cmd.Sources = append(p.cmd.Sources, name)
		p.foreign = p.foreign || foreign
	}
}

// Object returns the object that the command makes of an input, "" if it makes a program in the same step.
func (c *Command) Object(input string) string {
	switch {
	case c.Links:
		return ""
	case c.Output != "":
		return c.Output
	}
	return strings.TrimSuffix(filepath.Base(input), filepath.Ext(input)) + ".o"
}

// Plain makes Args leave the command's code as it is, and add only the runtime to its link.
func (c *Command) Plain() { c.Compiles, c.LTO = false, false }

const intelSyntax = "-masm=intel generates assembly in Intel syntax: remove it, the code will be the same"

// IntelOnly reports whether the syntax of its assembly is all that is against probes in the code of a command
// with one source. The compiler writes the same code in AT&T's, unless the source has inline assembly.
func (c *Command) IntelOnly() bool {
	made := append(slices.Clone(c.Sources), c.Codes...)
	return c.Refusal == intelSyntax && !c.Alien && !c.LTO && c.Compiles && len(made) == 1 && made[0] != "-"
}

// ATT are the arguments that select AT&T's syntax, after those of a command.
var ATT = []string{"-masm=att"}

// Made returns the names of what the command makes code from; without any, the name of its output.
func (c *Command) Made() []string {
	made := slices.Concat(c.Sources, c.Codes)
	if len(made) == 0 && c.Output != "" {
		return []string{c.Output}
	}
	if len(made) == 0 {
		return []string{"a.out"}
	}
	return made
}

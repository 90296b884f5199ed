// Package driver understands the command lines of compiler drivers (gcc, g++,
// gfortran, clang and their kin) as far as instrumenting through them needs:
// what they will do, what stands in the way, and where to put our arguments.
// It reads nothing but what it is given.
package driver

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Family is the kind of compiler driver.
type Family uint8

// The families that differ for us.
const (
	GCC   Family = iota // any gcc front end; assembles through as by itself
	Clang               // has an assembler of its own
)

// FamilyOf guesses the family from the base names of the driver's executable:
// as it is called, which tells where links lead to a compiler cache, and links
// resolved.
func FamilyOf(names ...string) Family {
	for _, name := range names {
		if strings.Contains(path.Base(name), "clang") {
			return Clang
		}
	}
	return GCC
}

// Command is what a driver is asked to do.
type Command struct {
	Family   Family
	Sources  []string // inputs that are compiled
	Compiles bool     // runs the assembler on a compiler's output
	Links    bool     // makes an executable or a shared object
	LTO      bool
	GC       bool   // links with --gc-sections
	Output   string // operand of -o, "" for the default
	Linker   string // operand of -fuse-ld=, "" for the default
	Language bool   // -x is in force at the end of the arguments
	Strips   bool   // the link would strip the map; Args leaves that out
	Static   bool   // links the C library in
	Shared   bool   // makes a shared object
	Musl     bool   // a musl target by its own name
	NoID     bool   // asks the linker for no build id
	Refusal  string // why it cannot be instrumented and what to do; "" if it can

	words []string // the arguments with response files in place
}

// ReadFunc returns the text of a response file.
type ReadFunc func(name string) (string, error)

// Limits for response files, which may name further ones.
const (
	maxResponseDepth = 8
	maxArgs          = 1 << 20
)

// Parse reads a driver's arguments. Response files are followed through read;
// one that cannot be read counts as an input, as drivers have it.
func Parse(family Family, args []string, read ReadFunc) Command {
	p := parser{cmd: Command{Family: family}, read: read}
	p.parse(args, 0)
	return p.finish()
}

type parser struct {
	cmd     Command
	read    ReadFunc
	inputs  int
	stop    bool // -E, -S, -fsyntax-only, --version ...: no object, no link
	compile bool // -c
	partial bool // -r
	seen    int
	lang    string
}

// separate lists the options whose value is the next argument.
var separate = map[string]bool{
	"-o": true, "-I": true, "-D": true, "-U": true, "-L": true, "-l": true, "-T": true, "-u": true, "-z": true,
	"-e": true, "-x": true, "-B": true, "-F": true, "-A": true, "-h": true,
	"-include": true, "-imacros": true, "-isystem": true, "-iquote": true, "-idirafter": true, "-iprefix": true,
	"-iwithprefix": true, "-iwithprefixbefore": true, "-isysroot": true, "-imultilib": true, "-cxx-isystem": true,
	"-MF": true, "-MT": true, "-MQ": true, "-Xassembler": true, "-Xpreprocessor": true, "-Xlinker": true,
	"-Xclang": true, "-mllvm": true, "-target": true, "-arch": true, "-wrapper": true, "-specs": true,
	"-aux-info": true, "--param": true, "-dumpbase": true, "-dumpdir": true, "-dumpbase-ext": true,
	"--sysroot": true, "-install_name": true, "-framework": true, "-gcc-toolchain": true, "-J": true,
}

func (p *parser) parse(args []string, depth int) {
	for i := 0; i < len(args) && p.seen < maxArgs; i++ {
		p.seen++
		arg := args[i]
		switch {
		case strings.HasPrefix(arg, "@") && depth < maxResponseDepth:
			text, err := p.read(arg[1:])
			if err != nil {
				p.inputs++
				p.cmd.words = append(p.cmd.words, arg)
				continue
			}
			p.parse(SplitResponse(text), depth+1)
			continue
		case arg == "-" || !strings.HasPrefix(arg, "-"):
			p.input(arg)
		case separate[arg]:
			if i+1 < len(args) {
				i++
				p.valued(arg, args[i])
				p.cmd.words = append(p.cmd.words, arg, args[i])
				continue
			}
		default:
			p.option(arg)
		}
		p.cmd.words = append(p.cmd.words, arg)
	}
}

// sourceSuffixes are the inputs that a driver compiles. Assembly, .s and .S,
// is not among them.
var sourceSuffixes = map[string]bool{
	".c": true, ".i": true, ".ii": true, ".cc": true, ".cp": true, ".cxx": true, ".cpp": true, ".CPP": true,
	".c++": true, ".C": true, ".m": true, ".mm": true, ".f": true, ".for": true, ".ftn": true, ".F": true,
	".FOR": true, ".fpp": true, ".f90": true, ".f95": true, ".f03": true, ".f08": true, ".F90": true,
	".F95": true, ".F03": true, ".F08": true, ".adb": true, ".ads": true, ".d": true, ".go": true, ".ixx": true,
	".cppm": true,
}

func (p *parser) input(name string) {
	p.inputs++
	compiled := sourceSuffixes[path.Ext(name)]
	if p.lang != "" && p.lang != "none" {
		compiled = !strings.HasPrefix(p.lang, "assembler") && !strings.HasSuffix(p.lang, "-header")
	}
	if compiled {
		p.cmd.Sources = append(p.cmd.Sources, name)
	}
}

// valued handles an option with a separate value.
func (p *parser) valued(option, value string) {
	switch option {
	case "-x":
		p.lang = value
	case "-o":
		p.cmd.Output = value
	case "-target":
		p.target(value)
	case "-Xlinker":
		p.linker(value)
	case "-z":
	}
}

// option handles any other option.
func (p *parser) option(arg string) {
	switch arg {
	case "-c":
		p.compile = true
	case "-E", "-S", "-M", "-MM", "-fsyntax-only", "--version", "-dumpmachine", "-dumpversion", "-dumpspecs",
		"-dumpfullversion", "--help", "-###", "--precompile", "-emit-ast", "-cc1", "-cc1as":
		p.stop = true
	case "-r", "--relocatable":
		p.partial = true
	case "-static", "-static-pie", "--static":
		p.cmd.Static = true
	case "-shared", "--shared":
		p.cmd.Shared = true
	case "-s":
		p.cmd.Strips = true
	case "-m32", "-mx32", "-m16", "-miamcu":
		p.refuse(arg + " makes code that is not 64-bit x86: build for x86-64 (-m64)")
	case "-masm=intel":
		p.refuse("-masm=intel makes assembly in Intel syntax: drop it, the code will be the same")
	case "-mcmodel=large":
		p.refuse("-mcmodel=large puts data out of a probe's reach: use -mcmodel=medium or small")
	case "-faddrsig":
		p.refuse("-faddrsig needs clang's own assembler, and probes need another: drop it")
	case "-emit-llvm", "-fembed-bitcode":
		p.refuse(arg + " makes bitcode, which has no machine code to instrument: drop it")
	}
	switch {
	case strings.HasPrefix(arg, "-x") && arg != "-xHost":
		p.lang = arg[2:]
	case strings.HasPrefix(arg, "-print-") || strings.HasPrefix(arg, "--print-") || strings.HasPrefix(arg, "--help="):
		p.stop = true
	case strings.HasPrefix(arg, "--target="):
		p.target(arg[len("--target="):])
	case strings.HasPrefix(arg, "-fuse-ld="):
		p.cmd.Linker = arg[len("-fuse-ld="):]
	case arg == "-flto" || strings.HasPrefix(arg, "-flto="):
		p.cmd.LTO = true
	case arg == "-fno-lto":
		p.cmd.LTO = false
	case strings.HasPrefix(arg, "-Wl,"):
		for _, word := range strings.Split(arg[len("-Wl,"):], ",") {
			p.linker(word)
		}
	}
}

// stripWords are the linker options that would drop the map.
var stripWords = map[string]bool{"-s": true, "-S": true, "--strip-all": true, "--strip-debug": true}

// linker handles a word that goes to the linker.
func (p *parser) linker(word string) {
	switch word {
	case "-r", "-i", "--relocatable":
		p.partial = true
	case "--gc-sections", "-gc-sections":
		p.cmd.GC = true
	case "--build-id=none":
		p.cmd.NoID = true
	case "-shared", "--shared", "-Bshareable":
		p.cmd.Shared = true
	}
	p.cmd.Strips = p.cmd.Strips || stripWords[word]
}

func (p *parser) target(triple string) {
	p.cmd.Musl = strings.Contains(triple, "musl")
	if !strings.HasPrefix(triple, "x86_64") && !strings.HasPrefix(triple, "amd64") {
		p.refuse(fmt.Sprintf("target %s is not supported: cairn instruments x86-64 ELF", triple))
	}
}

func (p *parser) refuse(why string) {
	if p.cmd.Refusal == "" {
		p.cmd.Refusal = why
	}
}

func (p *parser) finish() Command {
	c := &p.cmd
	works := !p.stop && p.inputs > 0
	c.Compiles = works && (len(c.Sources) > 0 || c.Family == GCC)
	c.Links = works && !p.compile && !p.partial
	c.Language = p.lang != "" && p.lang != "none"
	if c.Family == Clang && c.LTO {
		p.refuse("clang -flto makes bitcode that its linker compiles: build with -fno-lto, or with gcc -flto")
	}
	if !works {
		c.Refusal = ""
	}
	return *c
}

// SplitResponse splits the text of a response file as gcc does: at white
// space, with quotes and backslashes.
func SplitResponse(text string) []string {
	var out []string
	var word strings.Builder
	quote, inWord := byte(0), false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\' && i+1 < len(text):
			i++
			word.WriteByte(text[i])
			inWord = true
		case quote != 0:
			if c == quote {
				quote = 0
			} else {
				word.WriteByte(c)
			}
		case c == '\'' || c == '"':
			quote, inWord = c, true
		case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v':
			if inWord {
				out = append(out, word.String())
				word.Reset()
				inWord = false
			}
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	if inWord {
		out = append(out, word.String())
	}
	return out
}

// Toolchain is the directory that a driver is pointed to: with our assembler,
// our header and the runtime's archive.
type Toolchain struct {
	Bin     string // holds as
	Include string // holds cairn.h
	Archive string // libcairn.a
	Musl    bool   // the compiler's C library is musl
	Timed   bool   // every exit of a function gets code, too
	Trace   bool   // that of mode trace
}

// Names that the runtimes are reached by: of the records, and of the clock.
const (
	needRecords = "__cairn_link_with_cairn_cc"
	needClock   = "__cairn_base"
	// processSymbol is where the modules of a process find what they share.
	processSymbol = "__cairn_process"
	// nodeSymbol is the current node of a thread in mode stacks.
	nodeSymbol = "__cairn_node"
	// flightSymbol is where a thread records its calls.
	flightSymbol = "__cairn_flight_at"
	// preinitSymbol starts the clock of an executable before all constructors.
	preinitSymbol = "__cairn_preinit"
	needTrace     = "__cairn_trace_full"
)

// traceSymbols are what the modules of a process share in mode trace.
var traceSymbols = []string{"__cairn_tracer", "__cairn_trace_at"}

// Args returns the driver's arguments with ours among them. Ours that a user
// may override come first.
func (c *Command) Args(args []string, tc Toolchain) []string {
	var out []string
	if c.Compiles {
		out = append(out, "-B"+tc.Bin+"/")
		if c.Family == Clang {
			out = append(out, "-fno-integrated-as")
		}
	}
	if len(c.Sources) > 0 {
		out = append(out, "-idirafter", tc.Include)
	}
	args = c.timedArgs(args, tc)
	if !c.Links {
		return append(out, args...)
	}
	out = append(out, "-Wl,--build-id")
	if c.Strips {
		args = withoutStrip(c.timedArgs(c.words, tc))
	}
	out = append(out, args...)
	if c.NoID {
		out = append(out, "-Wl,--build-id") // raw files are told apart by it
	}
	if c.GC && (c.Linker == "" || c.Linker == "bfd" || c.Linker == "lld") {
		// Without it the runtime's use of __start_ keeps records of functions
		// that are gone. Other linkers do not know the option.
		out = append(out, "-Wl,-z,start-stop-gc")
	}
	if c.LTO {
		// The objects that need the runtime come into being after the linker
		// has looked through the archives.
		need := needRecords
		switch {
		case tc.Trace:
			need = needTrace
		case tc.Timed:
			need = needClock
		}
		out = append(out, "-Wl,-u,"+need)
	}
	if tc.Timed {
		out = append(out, c.timedLink(tc)...)
	}
	if c.Static && (c.Musl || tc.Musl) {
		// The runtime's weak reference does not fetch it from libc.a, and
		// without it a forked child's counts are lost. In glibc it comes with
		// fork.
		out = append(out, "-Wl,-u,pthread_atfork")
	}
	if c.Language {
		out = append(out, "-x", "none")
	}
	return append(out, tc.Archive)
}

// timedArgs returns args with what the timed modes ask of the compiler: gcc is
// to name the pattern of each instruction, which tells tail calls from jump
// tables, and not to look into functions for registers that they leave alone.
func (c *Command) timedArgs(args []string, tc Toolchain) []string {
	if !tc.Timed || !c.Compiles {
		return args
	}
	args = append([]string{"-DCAIRN_ON"}, args...)
	if c.Family == GCC {
		args = append(args, "-dp", "-fno-ipa-ra")
	}
	return args
}

// TimedLinkerArgs returns what the timed modes ask of a linker that no driver
// starts: an executable starts the clock, and shares it with shared objects.
func TimedLinkerArgs(args []string) []string {
	for _, a := range args {
		if a == "-shared" || a == "--shared" || a == "-Bshareable" {
			return nil
		}
	}
	return []string{"-u", preinitSymbol, "--export-dynamic-symbol=" + processSymbol, "--export-dynamic-symbol=" + nodeSymbol, "--export-dynamic-symbol=" + flightSymbol}
}

// timedLink returns what the timed modes ask of the linker: an executable
// starts the clock, and shares it with the shared objects; and the unwinder,
// which C programs do without, is there for the stacks.
func (c *Command) timedLink(tc Toolchain) []string {
	var out []string
	if tc.Trace {
		return c.traceLink()
	}
	if !c.Shared {
		out = append(out, "-Wl,-u,"+preinitSymbol)
	}
	if !c.Static && !c.Shared {
		out = append(out, "-Wl,--export-dynamic-symbol="+processSymbol, "-Wl,--export-dynamic-symbol="+nodeSymbol, "-Wl,--export-dynamic-symbol="+flightSymbol)
	}
	switch {
	case c.Musl || tc.Musl: // gcc's unwinder may be one for another C library
	case c.Static:
		out = append(out, "-Wl,-u,_Unwind_Backtrace")
	default:
		out = append(out, "-Wl,--push-state,--no-as-needed", "-lgcc_s", "-Wl,--pop-state")
	}
	return out
}

// traceLink returns what mode trace asks of the linker: all modules of a process
// share what is in the executable, and none is unloaded, as the clock may run in
// it.
func (c *Command) traceLink() []string {
	var out []string
	switch {
	case c.Shared:
		return []string{"-Wl,-z,nodelete"}
	case !c.Static:
		for _, name := range traceSymbols {
			out = append(out, "-Wl,--export-dynamic-symbol="+name)
		}
	}
	return out
}

// UseArgs returns the driver's arguments for a build by a profile: bin holds
// the assembler's stand-in, "" for none, and link is for the linker.
func (c *Command) UseArgs(args []string, bin string, link []string) []string {
	var out []string
	if c.Compiles && bin != "" && c.Refusal == "" {
		out = append(out, "-B"+bin+"/")
		if c.Family == Clang {
			out = append(out, "-fno-integrated-as")
		}
	}
	if c.Compiles {
		out = append(out, "-ffunction-sections")
	}
	out = append(out, args...)
	if c.Links {
		out = append(out, link...)
	}
	return out
}

// withoutStrip returns args less what would strip the map.
func withoutStrip(args []string) []string {
	var out []string
	for i := 0; i < len(args); i++ {
		arg := args[i]
		words, forLinker := strings.CutPrefix(arg, "-Wl,")
		switch {
		case arg == "-s":
		case arg == "-Xlinker" && i+1 < len(args) && stripWords[args[i+1]]:
			i++
		case separate[arg] && i+1 < len(args):
			i++
			out = append(out, arg, args[i])
		case forLinker:
			kept := slices.DeleteFunc(strings.Split(words, ","), func(w string) bool { return stripWords[w] })
			if len(kept) > 0 {
				out = append(out, "-Wl,"+strings.Join(kept, ","))
			}
		default:
			out = append(out, arg)
		}
	}
	return out
}

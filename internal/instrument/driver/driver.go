// Package driver parses the command lines of compiler drivers (gcc, g++, gfortran, clang and similar) as far as
// instrumentation needs: their outputs, options that prevent instrumentation, and the position for additional
// arguments. It reads no files itself.
package driver

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/instrument/asm"
)

// Family is the kind of compiler driver.
type Family uint8

// The families that cairn treats differently.
const (
	GCC   Family = iota // any gcc front end; runs the external assembler as by default
	Clang               // has an integrated assembler
)

// FamilyOf guesses the family from the base names of the driver's executable: the name by which it is called,
// which matters if it is a link to a compiler cache, and the name after resolving links.
func FamilyOf(names ...string) Family {
	for _, name := range names {
		if strings.Contains(ToolName(name), "clang") {
			return Clang
		}
	}
	return GCC
}

// Command describes the command line of a driver.
type Command struct {
	Family Family
	Output string   // operand of -o, "" for the default
	words  []string // the arguments with response files in place
	Reading
	Steps
	Compilation
	Linking
	Aim

	Refusal string // why its code gets no probes and what to do; "" if it gets some
	Alien   bool   // with Refusal: the runtime cannot be linked into what it makes, either
	Err     error  // ErrLong
}

// Reading is what a command reads.
type Reading struct {
	Sources  []string // inputs that are compiled
	Codes    []string // inputs that an earlier run of the compiler wrote for it, such as bitcode and modules
	Assembly []string // inputs that are assembled
	Language bool     // -x is in force at the end of the arguments
	headers  bool     // precompiles headers
	cFamily  bool     // all sources are in languages that include headers
}

// Steps are what a command does with its inputs.
type Steps struct {
	Writes   bool // writes the compiler's assembly to a file (-S)
	Compiles bool // runs the assembler on a compiler's output
	Bitcode  bool // compiles to bitcode, from which the linker makes code: clang -flto
	Merges   bool // makes one object of several (-r)
	Links    bool // makes an executable or a shared object
}

// Compilation is how a command compiles.
type Compilation struct {
	LTO        bool
	NoLTO      bool   // -fno-lto
	Data       bool   // compile so that the linker can also order data
	NoOpt      bool   // without optimisation, as far as the arguments tell
	Unaligned  bool   // loops are to have no padding
	Thunks     bool   // calls and jumps through pointers are to be guarded against speculation
	Debug      bool   // writes debug information, as far as the arguments tell
	Binutils   string // version of binutils that clang writes assembly for, "" for its default
	Around     bool   // the driver finds no assembler but its own: see AroundName
	integrated bool   // selects clang's assembler
	level      string // the last -O option
	tuned      bool   // something other than -O may select passes
}

// Linking is how a command links.
type Linking struct {
	Linker   string // operand of -fuse-ld=, "" for the default; the linker's own name if it was queried
	asked    string // operand of -fuse-ld=
	GC       bool   // --gc-sections
	Strips   bool   // it would strip the map; Args leaves that out
	Static   bool   // links the C library in
	Shared   bool   // makes a shared object
	Bare     bool   // links a program without a C library, and without a loader that provides one
	NoID     bool   // tells the linker to write no build id
	Versions bool   // gives the linker a version script
	// WholeArchive reports that the linker takes all members of some archives.
	WholeArchive bool
}

// Aim is the machine and the system that a command makes code for.
type Aim struct {
	Target []string // options that select another machine than the driver's own, and its files
	Musl   bool     // its name contains a musl target
	CL     bool     // the arguments are those of clang-cl
	triple string   // operand of the last --target
	archs  []string // operands of -arch
}

// ReadFunc returns the text of a response file.
type ReadFunc func(name string) (string, error)

// Limits for response files, which may name others.
const (
	maxResponseDepth = 8
	maxArgs          = 1 << 20
)

// Parse reads a driver's arguments. It reads response files through read; one that cannot be read counts as an
// input, as in drivers.
func Parse(family Family, args []string, read ReadFunc) Command {
	p := parser{cmd: Command{Family: family}, read: read}
	p.parse(args, 0)
	return p.finish()
}

type parser struct {
	cmd     Command
	read    ReadFunc
	inputs  int
	headers int  // of the inputs
	foreign bool // inputs in languages other than C's
	llvm    bool // -emit-llvm
	stop    bool // -E, -S, -fsyntax-only, --version ...: no object, no link
	compile bool // -c
	partial bool // -r
	fat     bool // -ffat-lto-objects
	seen    int
	lang    string
}

func (p *parser) parse(args []string, depth int) {
	if p.seen += len(args); p.seen > maxArgs {
		p.cmd.Err = ErrLong
		return
	}
	for i := 0; i < len(args); i++ {
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
		case separate()[arg]:
			if i+1 < len(args) {
				i++
				p.valued(arg, args[i])
				p.cmd.words = append(p.cmd.words, arg, args[i])
				continue
			}
		case several[arg] > 0:
			last := min(i+several[arg], len(args)-1)
			p.cmd.words = append(p.cmd.words, args[i:last+1]...)
			i = last
			continue
		default:
			p.option(arg)
		}
		p.cmd.words = append(p.cmd.words, arg)
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
	case "-arch":
		p.cmd.archs = append(p.cmd.archs, value)
		if len(slices.Compact(slices.Sorted(slices.Values(p.cmd.archs)))) > 1 {
			p.refuseMachine("several -arch in one command make universal files at once: build for each machine alone, and join the programs by lipo")
		}
	case "-Xlinker":
		p.linker(value)
	case "-Xclang":
		// The compiler's own options: a level, or -disable-O0-optnone.
		p.cmd.tuned = p.cmd.tuned || strings.Contains(value, "-O") || strings.Contains(value, "optnone") || strings.HasPrefix(value, "-load")
	case "-z":
	}
}

// option handles any other option.
func (p *parser) option(arg string) {
	p.word(arg)
	p.withValue(arg)
}

// word handles an option without a value.
func (p *parser) word(arg string) {
	switch arg {
	case "-c":
		p.compile = true
	case "-S":
		p.stop, p.cmd.Writes = true, true
	case "-E", "-M", "-MM", "-fsyntax-only", "--version", "-dumpmachine", "-dumpversion", "-dumpspecs",
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
		p.refuseMachine(arg + " generates code that is not 64-bit x86: build for x86-64 (-m64)")
	case "-fintegrated-as", "-fno-integrated-as", "-integrated-as", "-no-integrated-as":
		p.cmd.integrated = true
	case "-mbig-endian", "-EB", "-mabi=ilp32":
		p.refuseMachine(arg + " generates code for a machine that is not supported: remove it")
	case "-masm=intel":
		p.refuse(intelSyntax)
	case "-mcmodel=large":
		p.refuse("-mcmodel=large places data out of reach of probes: use -mcmodel=small, or medium on x86-64")
	case "-faddrsig":
		p.refuse("-faddrsig needs clang's integrated assembler, which probes cannot use: remove it")
	case "-emit-llvm":
		p.llvm = true
	case "-fembed-bitcode":
		p.refuse(arg + " generates bitcode, which has no machine code to instrument: remove it")
	case "-flto":
		p.cmd.LTO, p.cmd.NoLTO = true, false
	case "-fno-lto":
		p.cmd.LTO, p.cmd.NoLTO = false, true
	case "-ffat-lto-objects", "-fno-fat-lto-objects":
		p.fat = arg == "-ffat-lto-objects"
	}
}

// withValue handles an option that contains a value.
func (p *parser) withValue(arg string) {
	switch {
	case isLevel(arg):
		p.cmd.level = arg
	case strings.HasPrefix(arg, "-falign-loops"), arg == "-fno-align-loops":
		p.cmd.Unaligned = arg == "-fno-align-loops" || arg == "-falign-loops=1"
	case strings.HasPrefix(arg, "-mindirect-branch="):
		p.cmd.Thunks = arg != "-mindirect-branch=keep"
	case arg == "-mretpoline", arg == "-mretpoline-external-thunk", strings.HasPrefix(arg, "-mlvi-"), arg == "-mspeculative-load-hardening":
		p.cmd.Thunks = true
	case debugs(arg):
		p.cmd.Debug = arg != "-g0" && arg != "-ggdb0"
	case arg == "--config" || strings.HasPrefix(arg, "--config=") || strings.HasPrefix(arg, "-specs=") || strings.HasPrefix(arg, "--specs="):
		p.cmd.tuned = true
	case strings.HasPrefix(arg, "-x") && arg != "-xHost":
		p.lang = arg[2:]
	case strings.HasPrefix(arg, "-print-") || strings.HasPrefix(arg, "--print-") || strings.HasPrefix(arg, "--help="):
		p.stop = true
	case strings.HasPrefix(arg, "--target="):
		p.target(arg[len("--target="):])
	case strings.HasPrefix(arg, "-fuse-ld="):
		p.cmd.Linker = arg[len("-fuse-ld="):]
		p.cmd.asked = p.cmd.Linker
	case strings.HasPrefix(arg, "-flto="):
		p.cmd.LTO, p.cmd.NoLTO = true, false
	case strings.HasPrefix(arg, "-Wl,"):
		for _, word := range strings.Split(arg[len("-Wl,"):], ",") {
			p.linker(word)
		}
	}
}

// isLevel reports whether an option selects a level of optimisation: -O, -O0, -Os, -Ofast, and not -ObjC.
func isLevel(arg string) bool {
	return strings.HasPrefix(arg, "-O") && !strings.HasPrefix(arg, "-Obj") || strings.HasPrefix(arg, "--optimize")
}

// debugs reports whether an option selects how much debug information is written.
func debugs(arg string) bool {
	rest, ok := strings.CutPrefix(arg, "-g")
	switch {
	case !ok:
		return false
	case len(rest) <= 1 && strings.Trim(rest, "0123") == "":
		return true
	}
	return strings.HasPrefix(rest, "gdb") || strings.HasPrefix(rest, "dwarf") || rest == "mlt" || rest == "line-tables-only" || rest == "full" || rest == "split-dwarf"
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
	case "--whole-archive", "-whole-archive":
		p.cmd.WholeArchive = true
	case "--build-id=none":
		p.cmd.NoID = true
	case "-shared", "--shared", "-Bshareable":
		p.cmd.Shared = true
	}
	script, _, _ := strings.Cut(word, "=")
	p.cmd.Versions = p.cmd.Versions || script == "--version-script" || script == "-version-script"
	p.cmd.Strips = p.cmd.Strips || stripWords[word]
}

func foreign(triple string) string {
	if strings.HasPrefix(triple, "arm64e-") {
		return fmt.Sprintf("target %s is not supported: code for arm64e signs pointers, which cairn does not instrument; build for arm64, which the same devices run", triple)
	}
	if IsAndroid(triple) {
		return fmt.Sprintf("target %s is not supported: of Android, cairn instruments AArch64", triple)
	}
	if ObjectOf(triple) == asm.COFF {
		return fmt.Sprintf("target %s is not supported: of Windows, cairn instruments x86-64, by mingw-w64 (x86_64-w64-mingw32-gcc, clang --target=x86_64-w64-windows-gnu) and by clang for MSVC's system (--target=x86_64-pc-windows-msvc)", triple)
	}
	return fmt.Sprintf("target %s is not supported: cairn instruments ELF for x86-64, AArch64 and Armv7, Mach-O for x86-64 and AArch64, and COFF for x86-64", triple)
}

// ObjectOf returns the format of the files that a driver whose target is triple makes.
func ObjectOf(triple string) asm.Object {
	_, system, _ := strings.Cut(triple, "-")
	for _, s := range systems {
		if strings.Contains(system, s.word) {
			return s.object
		}
	}
	return asm.ELF
}

// systems are those whose files are not ELF, by a word in the target. Those of Cygwin and of UEFI have another runtime
// than that of Windows: MachineOf does not know them.
var systems = []struct {
	word   string
	object asm.Object
}{
	{"apple", asm.MachO},
	{"darwin", asm.MachO},
	{"windows", asm.COFF},
	{"win32", asm.COFF},
	{"mingw", asm.COFF},
	{"cygwin", asm.COFF},
	{"msys", asm.COFF},
	{"uefi", asm.COFF},
}

// isMinGW reports whether a target is x86-64 Windows with the C library and the assembly of mingw-w64.
func isMinGW(triple string) bool {
	cpu, system, _ := strings.Cut(triple, "-")
	return cpu == "x86_64" && (strings.Contains(system, "mingw32") || strings.HasSuffix(system, "windows-gnu"))
}

// IsMSVC reports whether a target is x86-64 Windows with the C library and the linker's options of MSVC, for which clang has
// several names.
func IsMSVC(triple string) bool {
	cpu, system, _ := strings.Cut(triple, "-")
	return cpu == "x86_64" && (strings.Contains(system, "windows-msvc") || strings.HasSuffix(system, "windows") || strings.HasSuffix(system, "-win32"))
}

// IsAndroid reports whether a driver whose target is triple makes programs for Android.
func IsAndroid(triple string) bool {
	_, system, _ := strings.Cut(triple, "-")
	return strings.Contains(system, "android")
}

// MachineOf returns the machine for which a driver with the target triple makes code, and machine.Unknown if
// cairn does not support it or its system. Drivers for 32-bit x86 may be asked for 64 bits. Without a triple it
// is x86-64.
func MachineOf(triple string) machine.Kind {
	cpu, system, _ := strings.Cut(triple, "-")
	switch {
	case ObjectOf(triple) == asm.COFF && !isMinGW(triple) && !IsMSVC(triple):
		return machine.Unknown
	case ObjectOf(triple) == asm.MachO && cpu != "x86_64" && cpu != "arm64" && cpu != "aarch64":
		return machine.Unknown
	case IsAndroid(triple) && cpu != "aarch64": // Android's seccomp filters end an app for system calls of the runtime
		return machine.Unknown
	case cpu == "", cpu == "x86_64", cpu == "amd64", len(cpu) == 4 && cpu[0] == 'i' && cpu[2:] == "86":
		return machine.X86_64
	case cpu == "aarch64", cpu == "arm64":
		return machine.AArch64
	case isArmv7(cpu) && system != "none-eabi" && system != "eabi":
		return machine.Arm
	}
	return machine.Unknown
}

// isArmv7 reports whether the first word of a target is Arm's from version 7 on, for application processors. If
// it is just arm, the compiler's output has the version.
func isArmv7(cpu string) bool {
	switch cpu {
	case "arm", "thumb":
		return true
	}
	cpu = strings.TrimPrefix(strings.TrimPrefix(cpu, "thumb"), "arm")
	return (strings.HasPrefix(cpu, "v7") || strings.HasPrefix(cpu, "v8") || cpu == "hf") && !strings.HasSuffix(cpu, "m") && !strings.Contains(cpu, "m.") && !strings.HasSuffix(cpu, "eb")
}

// Cross returns why a driver cannot be instrumented whose name contains an unsupported machine, such as
// riscv64-linux-gnu-gcc, and "" for others.
func Cross(name string) string {
	triple := ToolName(name)
	for _, tool := range []string{"-gcc", "-g++", "-cc", "-c++", "-clang", "-gfortran"} {
		if i := strings.LastIndex(triple, tool); i >= 0 && strings.Count(triple[:i], "-") >= 2 {
			return Foreign(triple[:i])
		}
	}
	return ""
}

// Foreign returns why a driver cannot be instrumented that makes code for triple, and "" if it can.
func Foreign(triple string) string {
	if MachineOf(triple) != machine.Unknown {
		return ""
	}
	return foreign(triple)
}

func (p *parser) target(triple string) {
	p.cmd.Musl = strings.Contains(triple, "musl")
	p.cmd.triple = triple
	if why := Foreign(triple); why != "" || strings.HasPrefix(triple, "i") {
		p.refuseMachine(foreign(triple))
	}
}

func (p *parser) refuse(why string) {
	if p.cmd.Refusal == "" {
		p.cmd.Refusal = why
	}
}

// refuseMachine refuses code of a machine that has no runtime, either.
func (p *parser) refuseMachine(why string) {
	if !p.cmd.Alien {
		p.cmd.Refusal, p.cmd.Alien = why, true
	}
}

func (p *parser) finish() Command {
	c := &p.cmd
	works := !p.stop && p.inputs > 0
	c.headers = works && p.headers > 0
	c.cFamily = len(c.Sources) > 0 && !p.foreign || c.headers
	c.Compiles = works && (len(c.Sources) > 0 || c.headers || len(c.Codes) > 0 || c.Family == GCC)
	c.Links = works && !p.compile && !p.partial && p.headers < p.inputs
	c.Language = p.lang != "" && p.lang != "none"
	if c.triple != "" && (MachineOf(c.triple) != machine.X86_64 || ObjectOf(c.triple) != asm.ELF) || len(c.archs) > 0 {
		c.Target = c.forward(targetOptions)
	}
	c.Bare = c.Links && c.Static && !c.Shared && isBare(c.words)
	c.Merges = works && !p.compile && p.partial
	c.NoOpt = works && p.unoptimised() && !c.LTO && !c.tuned && (c.level == "" || c.level == "-O0")
	c.Bitcode = c.Family == Clang && (c.LTO && !p.fat || p.llvm)
	c.Writes = c.Writes && len(c.Sources) > 0
	if !works {
		c.Refusal, c.Alien, c.Assembly = "", false, nil
	}
	return *c
}

// unoptimised reports whether what the command compiles has not been optimised before, as bitcode may have been. A module of
// C++ has what the compiler parsed.
func (p *parser) unoptimised() bool {
	modules := !slices.ContainsFunc(p.cmd.Codes, func(name string) bool { return filepath.Ext(name) != ".pcm" && p.lang != "pcm" })
	return modules && len(p.cmd.Sources)+len(p.cmd.Codes) > 0
}

// NotBare is the reason why the timed modes do not support programs without a C library.
const NotBare = "a program without a C library (-nostdlib -static) has no thread-local storage, no unwinder and nobody who" +
	" calls constructors: modes spike, stacks and trace need them; link one, or use a mode that counts, such as full"

// isBare reports whether the arguments of a static link omit the C library and do not name one themselves.
func isBare(words []string) bool {
	bare := false
	for i, w := range words {
		if w == "-l" && i+1 < len(words) {
			w += words[i+1]
		}
		switch {
		case w == "-nostdlib", w == "-nodefaultlibs":
			bare = true
		case w == "-lc", w == "-l:libc.a", filepath.Base(w) == "libc.a":
			return false
		}
	}
	return bare
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

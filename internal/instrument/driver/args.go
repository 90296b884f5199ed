package driver

import (
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/instrument/asm"
)

// Toolchain is the directory of our assembler, header and runtime archive that a driver uses.
type Toolchain struct {
	Bin     string     // holds as
	Include string     // holds cairn.h
	Archive string     // libcairn.a
	Guest   string     // archive that comes before it in libraries of the timed modes, "" if there is none
	Loads   bool       // with Guest: also in executables, which load the runtime from a file
	Hidden  string     // version script that hides our names outside a module
	Script  string     // linker script for GNU ld, of COFF
	Musl    bool       // the compiler's C library is musl
	MSVC    []string   // options of clang with the target of MSVC, by which it starts cairn in place of itself: see StandIn
	Android bool       // it is Android's
	Timed   bool       // exits of functions get code, too
	Trace   bool       // with Timed: the code is that of mode trace
	Marks   bool       // with Timed: the marks of cairn.h are on, as the runtime has what they call
	Object  asm.Object // format of what the driver makes; of others than ELF, Archive is an object
	Last    []string   // objects that make the records fill whole pages, for links with others behind the archive
	Apart   []string   // options that keep what has the same code apart, of those that ApartOptions returns
}

// Names by which links refer to the runtimes: of the records, and of the clock.
const (
	needRecords = "__cairn_link_with_cairn_cc"
	needClock   = "__cairn_base"
	// processSymbol is where the modules of a process find what they share.
	processSymbol = "__cairn_process"
	tracerSymbol  = "__cairn_traced" // that of mode trace
	// preinitSymbol starts the clock of an executable before all constructors.
	preinitSymbol = "__cairn_preinit"
	// guestSymbol makes a library find the clock of its process.
	guestSymbol = "__cairn_guest"
	// localSymbol is what a process has once for each thread. Libraries of musl have it, as that cannot load them later
	// anyway, and those of Android, which share it in another way.
	localSymbol = "__cairn_has_local"
	needTrace   = "__cairn_trace_full"
)

// Needed returns the name by which a link refers to the runtime.
func (tc *Toolchain) Needed() string {
	switch {
	case tc.Trace:
		return needTrace
	case tc.Timed:
		return needClock
	}
	return needRecords
}

// shared returns the name of what an executable exports for the libraries of its process.
func (tc *Toolchain) shared() string {
	if tc.Trace {
		return tracerSymbol
	}
	return processSymbol
}

// Args returns the driver's arguments with ours added. Ours that a user may override come first.
func (c *Command) Args(args []string, tc Toolchain) []string {
	if c.CL {
		return c.clArgs(args, tc)
	}
	out, args := c.assembler(args, tc)
	out = append(out, c.IncludeArgs(tc)...)
	if !c.Links {
		return append(out, c.compilerArgs(args, tc)...)
	}
	if tc.Object == asm.MachO {
		// The linker adds a UUID by default, and stripping symbols does not strip the map. Constructors run in
		// the order of the objects: the runtime starts first and ends last.
		return append(append(out, tc.Archive), args...)
	}
	if len(tc.MSVC) > 0 {
		return c.msvcLink(append(out, c.compilerArgs(args, tc)...), tc)
	}
	out = append(out, "-Wl,--build-id")
	if c.Strips {
		if !c.overrides() {
			args = c.words
		}
		args = withoutStrip(args)
	}
	out = append(out, c.compilerArgs(args, tc)...)
	if tc.Object == asm.COFF {
		out = append(out, c.coffLink(tc)...)
	} else {
		out = append(out, c.linkerArgs(tc)...)
	}
	if c.Language {
		out = append(out, "-x", "none")
	}
	guest := tc.Timed && tc.Object == asm.ELF && !c.whole(tc) && (c.Shared || tc.Loads && c.loads())
	if guest && tc.Guest != "" {
		out = append(out, tc.Guest)
	}
	out = append(out, tc.Archive)
	if tc.Object == asm.COFF {
		out = append(out, "-lkernel32") // which -nostdlib leaves out
	}
	if guest {
		out = append(out, "-Wl,--push-state,--as-needed", "-ldl", "-Wl,--pop-state") // where that is not in libc
	}
	return out
}

// ownStart are options without the C library, or without its start files, which call initializers.
var ownStart = []string{"-nostdlib", "-nodefaultlibs", "-nostartfiles"}

// loads reports whether an executable can load libraries from an initializer: it has the C library, and as one.
func (c *Command) loads() bool {
	return !c.Static && !slices.ContainsFunc(c.words, func(w string) bool { return slices.Contains(ownStart, w) })
}

// whole reports whether a library has the runtime of the timed modes itself, rather than load it.
func (c *Command) whole(tc Toolchain) bool { return c.Musl || tc.Musl || tc.Android }

// AroundName is the name, beside that of the assembler, of the program that a driver starts around its tools if it has the
// path of the assembler built in, as Debian's gcc for Windows has.
const AroundName = "cairn-around"

// Wrapped reports whether the command has such a program of its own.
func (c *Command) Wrapped() bool { return slices.Contains(c.words, "-wrapper") }

// assembler returns the arguments that make the driver use the assembler in bin, and args without those that
// would select another.
func (c *Command) assembler(args []string, tc Toolchain) (ours, theirs []string) {
	switch {
	case len(tc.MSVC) > 0:
		return tc.MSVC, args
	case !c.Compiles || c.Bitcode:
		return nil, args
	}
	ours = []string{"-B" + tc.Bin + "/"}
	if c.Around {
		ours = append(ours, "-wrapper", tc.Bin+"/"+AroundName)
	}
	if c.Family == Clang {
		ours = append(ours, "-fno-integrated-as")
		if c.Binutils != "" && (len(c.Sources) > 0 || len(c.Codes) > 0 || c.headers) { // clang warns of it elsewhere
			ours = append(ours, "-fbinutils-version="+c.Binutils)
		}
	}
	if c.overrides() {
		args = filter(c.words, func(a string) bool { return !strings.HasSuffix(a, "integrated-as") })
	}
	return ours, args
}

// overrides reports whether the arguments select clang's assembler, possibly in a response file.
func (c *Command) overrides() bool {
	return c.Family == Clang && c.Compiles && !c.Bitcode && c.integrated
}

// tlsTable is the table by which the loader calls the runtime, in the C library (libmingw32.a). GNU ld fails if it is asked for
// in a program without that, in which cairn_dump starts the runtime.
const tlsTable = "_tls_used"

// coffLink returns the arguments of a link for Windows besides the runtime, which is an object that nothing else draws in.
func (c *Command) coffLink(tc Toolchain) (out []string) {
	if c.NoID {
		out = append(out, "-Wl,--build-id")
	}
	if c.Linker == "" || c.Linker == "bfd" {
		out = append(out, "-Xlinker", "-T", "-Xlinker", tc.Script) // its path may have commas
	}
	if !slices.Contains(c.words, "-nostdlib") && !slices.Contains(c.words, "-nodefaultlibs") {
		out = append(out, "-Wl,-u,"+tlsTable)
	}
	return out
}

// linkerArgs returns the arguments of a link besides the runtime.
func (c *Command) linkerArgs(tc Toolchain) []string {
	var out []string
	bfd := c.Linker == "" || c.Linker == "bfd"
	if c.NoID {
		out = append(out, "-Wl,--build-id") // raw files are identified by it
	}
	if c.Shared && bfd && !c.Versions && tc.Hidden != "" {
		// GNU ld exports what it defines itself, hidden or not.
		out = append(out, "-Wl,--version-script="+tc.Hidden)
	}
	if c.GC && (bfd || c.Linker == "lld") {
		// Without it the runtime's use of __start_ keeps records of removed functions. Other linkers do not
		// know the option.
		out = append(out, "-Wl,-z,start-stop-gc")
	}
	if c.LTO {
		// The objects that need the runtime are created after the linker has searched the archives.
		out = append(out, "-Wl,-u,"+tc.Needed())
	}
	if c.Linker == "mold" && c.Family == GCC { // its code of bitcode is behind all objects
		for _, path := range tc.Last {
			out = append(out, "-Xlinker", "-plugin-opt=-pass-through="+path)
		}
	}
	if tc.Timed {
		out = append(out, c.timedLink(tc)...)
		if c.Static {
			out = append(out, "-Wl,--eh-frame-hdr") // the runtime walks stacks by it; gcc omits it in such programs
		}
	}
	if c.Static && (c.Musl || tc.Musl) {
		// The runtime's weak reference does not extract it from libc.a, and without it a forked child's counts
		// are lost. In glibc it comes with fork.
		out = append(out, "-Wl,-u,pthread_atfork")
	}
	return out
}

// compilerArgs returns args with the options that the compiler needs for a mode.
func (c *Command) compilerArgs(args []string, tc Toolchain) []string {
	if !c.Compiles {
		return args
	}
	return c.TextArgs(args, tc)
}

// ReadsHeaders reports whether a command reads sources that can include cairn.h. The compiler proper of clang is left alone.
func (c *Command) ReadsHeaders(args []string) bool {
	return c.cFamily && !strings.HasPrefix(args[0], "-cc1")
}

// IncludeArgs returns the arguments by which sources find cairn.h.
func (c *Command) IncludeArgs(tc Toolchain) []string {
	switch {
	case !c.cFamily:
		return nil
	case c.CL:
		return []string{"/clang:-idirafter" + tc.Include}
	}
	return []string{"-idirafter", tc.Include}
}

// TextArgs returns the arguments of a command that writes a compiler's assembly, which another command of the
// build may assemble in a mode. In the timed modes gcc writes the pattern of each instruction, which distinguishes
// tail calls from jump tables, and does not rely on registers that callees happen to preserve. In others it does not
// replace a function by another one with the same code, of which the records could not tell which ran.
func (c *Command) TextArgs(args []string, tc Toolchain) []string {
	if tc.Timed {
		if tc.Marks {
			args = append([]string{"-DCAIRN_ON"}, args...)
		}
		if c.Family == GCC {
			args = append(args, "-dp", "-fno-ipa-ra")
		}
		return args
	}
	return c.Apart(args, tc.Apart)
}

// Apart returns the arguments of a command of gcc that compiles, with the options of those that keep what has the same
// code apart which the user has not chosen. With -flto, objects have the options by which they were compiled.
func (c *Command) Apart(args, options []string) []string {
	if len(c.Sources) == 0 || len(options) == 0 {
		return args
	}
	out := slices.Clone(args)
	for _, o := range options {
		if !slices.ContainsFunc(c.words, func(word string) bool { return sameChoice(o, word) }) {
			out = append(out, o)
		}
	}
	return out
}

// ApartOptions returns the options by which gcc keeps functions with the same code apart, and, for modes that record
// blocks, also parts of functions: code of several places, and the operands of a condition.
func ApartOptions(blocks bool) []string {
	options := []string{"-fno-ipa-icf-functions"}
	if blocks {
		options = append(options, "-fno-crossjumping", "-fno-tree-tail-merge", "--param=logical-op-non-short-circuit=0")
	}
	return options
}

// sameChoice reports whether a word of a command sets what one of the options of ApartOptions does.
func sameChoice(option, word string) bool {
	if name, ok := strings.CutPrefix(option, "--param="); ok {
		name, _, _ = strings.Cut(name, "=")
		return strings.HasPrefix(strings.TrimPrefix(word, "--param="), name+"=")
	}
	name := func(o string) string { return strings.TrimPrefix(strings.TrimPrefix(o, "-f"), "no-") }
	return strings.HasPrefix(word, "-f") && (name(word) == name(option) || name(word)+"-functions" == name(option))
}

// LinkerArgs returns the arguments besides the runtime for a linker, named as by -fuse-ld=, that is not started
// by a driver. In the timed modes an executable starts the clock, and shares it with shared objects.
func LinkerArgs(args []string, tc Toolchain, linker string) []string {
	p := parser{cmd: Command{Linking: Linking{Linker: linker}}}
	for _, a := range args {
		p.linker(a)
	}
	var out []string
	if tc.Object == asm.COFF {
		if slices.Contains(args, "-lmingw32") {
			out = []string{"-u", tlsTable}
		}
		if linker == "bfd" {
			out = append(out, "-T", tc.Script)
		}
		return out
	}
	if p.cmd.Shared && linker == "bfd" && !p.cmd.Versions && tc.Hidden != "" {
		out = append(out, "--version-script="+tc.Hidden)
	}
	if p.cmd.GC && (linker == "bfd" || linker == "lld") {
		out = append(out, "-z", "start-stop-gc")
	}
	switch {
	case !tc.Timed:
	case !p.cmd.Shared:
		if out = append(out, "-u", preinitSymbol); !tc.Android {
			out = append(out, "--export-dynamic-symbol="+tc.shared())
		}
	case tc.Android:
		out = append(out, "-u", localSymbol, "-z", "nodelete")
	case tc.Musl:
		out = append(out, "-u", localSymbol)
	default:
		out = append(out, "-u", guestSymbol)
		if tc.Guest != "" {
			out = append(out, tc.Guest)
		}
	}
	return out
}

// WithoutStrip returns the arguments of a linker that is not started by a driver without those that would strip
// the map.
func WithoutStrip(args []string) []string {
	return slices.DeleteFunc(slices.Clone(args), func(a string) bool { return stripWords[a] })
}

// timedLink returns the linker options of the timed modes: an executable starts the clock, and shares it with
// the shared objects; and the unwinder, which C programs do not link otherwise, is needed for stacks.
func (c *Command) timedLink(tc Toolchain) []string {
	var out []string
	whole := c.whole(tc)
	switch {
	case !c.Shared:
		out = append(out, "-Wl,-u,"+preinitSymbol)
	case tc.Android: // the process has addresses in the library
		out = append(out, "-Wl,-u,"+localSymbol, "-Wl,-z,nodelete")
	case whole:
		out = append(out, "-Wl,-u,"+localSymbol)
	default:
		out = append(out, "-Wl,-u,"+guestSymbol)
	}
	if !c.Static && !c.Shared && !tc.Android {
		out = append(out, "-Wl,--export-dynamic-symbol="+tc.shared())
	}
	switch {
	case tc.Trace:
	case whole: // gcc's unwinder may be built for another C library
	case c.Static:
		out = append(out, "-Wl,-u,_Unwind_Backtrace")
	default:
		out = append(out, "-Wl,--push-state,--no-as-needed", "-lgcc_s", "-Wl,--pop-state")
	}
	return out
}

// UseArgs returns the driver's arguments for a build with a profile: bin holds the assembler's stand-in, "" for
// none, and link are options for the linker.
func (c *Command) UseArgs(args []string, bin string, link []string) []string {
	if c.CL {
		return c.clUseArgs(args, link)
	}
	var out []string
	if bin != "" && c.Refusal == "" {
		out, args = c.assembler(args, Toolchain{Bin: bin})
	}
	if c.Compiles {
		out = append(out, "-ffunction-sections")
		if c.Data {
			out = append(out, "-fdata-sections")
		}
	}
	out = append(out, args...)
	if c.Links {
		out = append(out, link...)
	}
	return out
}

// ToAssembly returns the arguments of clang that compile one of the sources to assembly that other assemblers accept, and
// write nothing else.
func (c *Command) ToAssembly(source, output string) []string {
	var out []string
	for i := 0; i < len(c.words); i++ {
		switch w := c.words[i]; {
		case w == "-o" || w == "-MF" || w == "-MT" || w == "-MQ" || w == "-MJ" || w == "-dumpdir":
			i++
		case w == "-c", w == "-pipe", strings.HasPrefix(w, "-M"), strings.HasPrefix(w, "-save-temps"), strings.HasPrefix(w, "-ftime-"),
			strings.HasSuffix(w, "integrated-as"), strings.HasPrefix(w, "-o"), strings.HasPrefix(w, "-l"), strings.HasPrefix(w, "-Wl,"), strings.HasPrefix(w, "-Wa,"):
		case w != source && (slices.Contains(c.Sources, w) || slices.Contains(c.Assembly, w)):
		case separate()[w] && i+1 < len(c.words):
			i++
			out = append(out, w, c.words[i])
		default:
			out = append(out, w)
		}
	}
	return append(out, "-S", "-fno-integrated-as", "-w", "-o", output)
}

// LinkerPath returns the path or the name of the linker that the arguments select for clang: with the prefix
// ld. if it is an operand of -fuse-ld=.
func (c *Command) LinkerPath() string {
	name := "ld"
	if c.asked != "" && c.asked != "ld" {
		name = "ld." + c.asked
		if strings.Contains(c.asked, "/") {
			name = c.asked
		}
	}
	for _, w := range c.words {
		if path, ok := strings.CutPrefix(w, "--ld-path="); ok {
			name = path
		}
	}
	return name
}

// filter returns the options that keep accepts, with their values, and all others.
func filter(args []string, keep func(string) bool) []string {
	var out []string
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case separate()[arg] && i+1 < len(args):
			i++
			out = append(out, arg, args[i])
		case keep(arg):
			out = append(out, arg)
		}
	}
	return out
}

// withoutStrip returns args without those that would strip the map.
func withoutStrip(args []string) []string {
	var out []string
	for i := 0; i < len(args); i++ {
		arg := args[i]
		words, forLinker := strings.CutPrefix(arg, "-Wl,")
		switch {
		case arg == "-s":
		case arg == "-Xlinker" && i+1 < len(args) && stripWords[args[i+1]]:
			i++
		case separate()[arg] && i+1 < len(args):
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

package driver

import (
	"slices"
	"strings"
)

// Toolchain is the directory that a driver is pointed to: with our assembler,
// our header and the runtime's archive.
type Toolchain struct {
	Bin     string // holds as
	Include string // holds cairn.h
	Archive string // libcairn.a
	Hidden  string // version script that keeps our names to a module
	Musl    bool   // the compiler's C library is musl
	Timed   bool   // every exit of a function gets code, too
	Trace   bool   // that of mode trace
	MachO   bool   // the driver makes Mach-O files, and Archive is an object
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

// Needed returns the name by which a link asks for the runtime.
func (tc *Toolchain) Needed() string {
	switch {
	case tc.Trace:
		return needTrace
	case tc.Timed:
		return needClock
	}
	return needRecords
}

// Args returns the driver's arguments with ours among them. Ours that a user
// may override come first.
func (c *Command) Args(args []string, tc Toolchain) []string {
	out, args := c.assembler(args, tc.Bin)
	if len(c.Sources) > 0 || c.headers {
		out = append(out, "-idirafter", tc.Include)
	}
	if !c.Links {
		return append(out, c.timedArgs(args, tc)...)
	}
	if tc.MachO {
		// The UUID is there without asking, and symbols that are stripped are not the map.
		// Constructors run in the order of the objects: the runtime starts first and ends last.
		return append(append(out, tc.Archive), args...)
	}
	out = append(out, "-Wl,--build-id")
	if c.Strips {
		if !c.overrides() {
			args = c.words
		}
		args = withoutStrip(args)
	}
	out = append(out, c.timedArgs(args, tc)...)
	out = append(out, c.linkerArgs(tc)...)
	if c.Language {
		out = append(out, "-x", "none")
	}
	return append(out, tc.Archive)
}

// assembler returns the arguments that have the driver take the assembler in bin, and
// args without those that would have it take another.
func (c *Command) assembler(args []string, bin string) (ours, theirs []string) {
	if !c.Compiles || c.Bitcode {
		return nil, args
	}
	ours = []string{"-B" + bin + "/"}
	if c.Family == Clang {
		ours = append(ours, "-fno-integrated-as")
		if c.Binutils != "" {
			ours = append(ours, "-fbinutils-version="+c.Binutils)
		}
	}
	if c.overrides() {
		args = filter(c.words, func(a string) bool { return !strings.HasSuffix(a, "integrated-as") })
	}
	return ours, args
}

// overrides reports whether the arguments say which assembler clang takes. They may
// say so in a response file.
func (c *Command) overrides() bool {
	return c.Family == Clang && c.Compiles && !c.Bitcode && c.integrated
}

// linkerArgs returns what a link needs besides the runtime.
func (c *Command) linkerArgs(tc Toolchain) []string {
	var out []string
	bfd := c.Linker == "" || c.Linker == "bfd"
	if c.NoID {
		out = append(out, "-Wl,--build-id") // raw files are told apart by it
	}
	if c.Shared && bfd && !c.Versions && tc.Hidden != "" {
		// GNU ld exports what it defines itself, hidden or not.
		out = append(out, "-Wl,--version-script="+tc.Hidden)
	}
	if c.GC && (bfd || c.Linker == "lld") {
		// Without it the runtime's use of __start_ keeps records of functions
		// that are gone. Other linkers do not know the option.
		out = append(out, "-Wl,-z,start-stop-gc")
	}
	if c.LTO {
		// The objects that need the runtime come into being after the linker
		// has looked through the archives.
		out = append(out, "-Wl,-u,"+tc.Needed())
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
	return out
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

// LinkerArgs returns what a link needs besides the runtime whose linker, named as by
// -fuse-ld=, no driver starts. In the timed modes an executable starts the clock, and
// shares it with shared objects.
func LinkerArgs(args []string, tc Toolchain, linker string) []string {
	p := parser{cmd: Command{Linker: linker}}
	for _, a := range args {
		p.linker(a)
	}
	var out []string
	if p.cmd.Shared && linker == "bfd" && !p.cmd.Versions && tc.Hidden != "" {
		out = append(out, "--version-script="+tc.Hidden)
	}
	if p.cmd.GC && (linker == "bfd" || linker == "lld") {
		out = append(out, "-z", "start-stop-gc")
	}
	if tc.Timed && !p.cmd.Shared {
		out = append(out, "-u", preinitSymbol, "--export-dynamic-symbol="+processSymbol, "--export-dynamic-symbol="+nodeSymbol, "--export-dynamic-symbol="+flightSymbol)
	}
	return out
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
	if bin != "" && c.Refusal == "" {
		out, args = c.assembler(args, bin)
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

// LinkerPath returns the path or the name of the linker that the arguments ask clang for:
// with ld. in front if it is one of -fuse-ld=.
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

// filter returns the options that keep wants, with their values, and all else.
func filter(args []string, keep func(string) bool) []string {
	var out []string
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case separate[arg] && i+1 < len(args):
			i++
			out = append(out, arg, args[i])
		case keep(arg):
			out = append(out, arg)
		}
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

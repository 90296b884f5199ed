package toolchain

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/spf13/pflag"

	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/catch"
	"github.com/cairnprof/cairn/internal/instrument/driver"
	"github.com/cairnprof/cairn/internal/layout/order"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// Exists reports whether a file of any kind exists.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// InstrumentFlags are the flags that cc and build share.
type InstrumentFlags struct {
	Shim ShimOptions
	use  useOptions

	// As spelled on the command line.
	mode, clock, tick string
	only, skip        []string
	frames, lenient   bool
	mapped            bool
}

// Register adds the flags that say what is recorded and how.
func (f *InstrumentFlags) Register(flags *pflag.FlagSet) {
	flags.StringVar(&f.mode, "mode", "cover", "what to record: cover, block, count, full, order, block+order, edge, spike, stacks or trace")
	flags.IntVar(&f.Shim.Slots, "order-slots", 0, "with modes order and block+order: record the last `n` first executions; 0 for one per function")
	flags.BoolVar(&f.Shim.Atomic, "atomic", false, "count with locked instructions: exact with threads, slower")
	flags.StringArrayVar(&f.only, "only", nil, "instrument only functions whose name (mangled or demangled) or source path matches this `regexp`; repeatable")
	flags.StringArrayVar(&f.skip, "skip", nil, "omit functions whose name or source path matches this `regexp`; repeatable")
	flags.IntVar(&f.Shim.MinInsns, "min-instructions", 0, "omit functions with fewer than `n` instructions")
	flags.IntVar(&f.Shim.Groups, "groups", 0, "divide the functions into `n` groups and instrument one of them")
	flags.IntVar(&f.Shim.Group, "group", 0, "with --groups: instrument group `i`, from 0; cairn merge --join joins the profiles of all groups")
	flags.IntVar(&f.Shim.Small, "small", DefaultSmall, "with mode spike: omit functions with fewer than `n` instructions and no loop that call nothing\nthat can block; 0 to omit none")
	flags.StringVar(&f.clock, "clock", clockCoarse, "with mode spike: the clock that times calls: coarse, updated by a thread, or exact, the processor's counter, which is slower")
	flags.StringVar(&f.tick, "tick", tickThread, "with modes spike and stacks: what updates the coarse clock unless CAIRN_SPIKE sets it: thread, or signal for a timer in each thread as well")
	flags.StringVar(&f.Shim.Threshold, "threshold", "", "with mode spike: minimum duration of a spike, such as `1ms`, unless CAIRN_SPIKE sets it; 10ms if not given")
	flags.BoolVar(&f.Shim.Counts, "counts", false, "with mode stacks: count calls only, do not measure time")
	flags.BoolVar(&f.Shim.Longest, "max", false, "with mode stacks: also record the longest call of each stack")
	flags.IntVar(&f.Shim.Depth, "depth", 0, "with modes stacks and trace: omit calls more than `n` deep and add their time to their\ncaller at that depth; 0 for no limit")
	flags.BoolVar(&f.Shim.Flight, "flight", false, "with mode spike: record calls, and save those before and during each spike")
	flags.BoolVar(&f.frames, "frames", false, "with mode spike: for programs that mark frames by CAIRN_FRAME(): use a threshold of 1ms if none is given")
	flags.BoolVar(&f.Shim.Control, "control", false, "with mode spike: accept cairn watch set and show even without the word control in CAIRN_SPIKE")
	flags.StringVar(&f.Shim.DefaultDir, "default-dir", ".", "directory for raw files if CAIRN_DIR is not set; none for no raw files")
	flags.StringVar(&f.Shim.Runtime, "shared-runtime", "", "put the runtime in a file in this `directory`, which programs load when they start, and not in each program;\nprograms that do not find it run and record nothing")
	flags.BoolVar(&f.Shim.Prove, "prove", false, "also assemble each file without probes, and check that the probes do not change what the code does; with --use, that the layout does not")
	flags.BoolVar(&f.Shim.Strict, "strict", false, "fail if code cannot be instrumented, instead of listing it, and if a link has objects of another mode")
	flags.BoolVar(&f.lenient, "lenient", false, "build code that cannot be instrumented without probes: the default, unless --strict or --prove is given")
}

// RegisterUse registers the flags of a build by a profile.
func (f *InstrumentFlags) RegisterUse(flags *pflag.FlagSet) {
	flags.StringVar(&f.use.Profile, "use", "", "build without probes, and lay out code by this profile, a .mip `file`")
	flags.BoolVar(&f.use.NoSplit, "no-split", false, "with --use: do not move blocks that never ran")
	flags.StringVar(&f.use.DataOrder, "data-order", "", "with --use: also order variables and constants as in this `file`, which cairn order --data wrote (lld, gold)")
	flags.BoolVar(&f.use.FastStart, "fast-start", false, "with --use: link the C++ library into programs where no other code needs it, and pack relocations")
	flags.StringVar(&f.use.Algorithm, "algorithm", string(order.Startup), "with --use: algorithm that orders functions, see cairn order")
}

// buildRules are those of the flags for builds.
var buildRules = []verb.FlagRule{
	verb.OnlyOne("map", "use").Because("map a build by a profile with its own map"),
	verb.Needs("no-split", "use"), verb.Needs("data-order", "use"), verb.Needs("algorithm", "use"), verb.Needs("fast-start", "use"),
	verb.OnlyOne("lenient", "strict"),
	verb.OnlyOne("counts", "max").Because("--counts measures no time"),
	verb.Together("groups", "group").Because("the number of groups, and the group to instrument"),
}

// Check validates what pflag cannot.
func (f *InstrumentFlags) Check(flags *pflag.FlagSet) error {
	if err := verb.CheckFlags(flags, buildRules...); err != nil {
		return err
	}
	if f.use.Profile != "" {
		return f.checkUse(flags)
	}
	if f.mapped {
		return f.checkMap(flags)
	}
	if err := f.checkMode(); err != nil {
		return err
	}
	if err := f.checkTimed(flags); err != nil {
		return err
	}
	if err := f.checkProve(); err != nil {
		return err
	}
	f.Shim.Lenient = f.lenient && f.Shim.Prove
	if err := f.checkGroups(flags); err != nil {
		return err
	}
	if err := f.checkSharedRuntime(); err != nil {
		return err
	}
	if f.Shim.DefaultDir == "none" {
		f.Shim.DefaultDir = ""
	}
	var err error
	if f.Shim.Only, err = CompileAll(f.only); err != nil {
		return err
	}
	f.Shim.Skip, err = CompileAll(f.skip)
	return err
}

// checkUse validates the flags of a build by a profile and reads it.
func (f *InstrumentFlags) checkUse(flags *pflag.FlagSet) error {
	if err := withoutProbeFlags(flags, "use", "prove"); err != nil {
		return err
	}
	if !slices.Contains(order.Algorithms(), order.Algorithm(f.use.Algorithm)) {
		return verb.Usagef("--algorithm %s: must be one of %s", f.use.Algorithm, JoinAlgorithms())
	}
	p, err := f.use.load()
	if err != nil {
		return err
	}
	if err := f.use.loadDataOrder(); err != nil {
		return err
	}
	f.use.NoSplit = f.use.NoSplit || !hasBlocks(p)
	f.Shim = ShimOptions{Use: &f.use, Prove: f.Shim.Prove}
	return nil
}

// invocation is a command line of a compiler, in place of which cairn runs.
type invocation struct {
	streams  *verb.Streams
	compiler Compiler
	cmd      *driver.Command // what argv says
	argv     []string
}

// RunCompiler becomes the compiler, with our arguments added. It returns only if that fails.
func RunCompiler(ctx context.Context, s *verb.Streams, f InstrumentFlags, name string, args []string) error {
	os.Setenv(catch.EnvCaught, "1") // compilations for ourselves do not belong to an enclosing build
	c, err := FindCompiler(name)
	if err != nil {
		return err
	}
	if launcherAt(c.Path) != "" {
		behind, rest, err := throughLauncher(c.Path, args)
		if err != nil {
			return err
		}
		if behind == nil {
			return become(c.Path, append([]string{name}, args...))
		}
		c, name, args = *behind, behind.Path, rest
	}
	cmd := c.parse(args)
	if cmd.Err != nil {
		return fmt.Errorf("cc: %w", cmd.Err)
	}
	argv := append([]string{name}, args...)
	if cmd.Compiles && os.Getenv(catch.EnvLaunch) != "" {
		if err := logEvent(buildEvent{cacheEvent: cacheEvent{Ran: true}}); err != nil {
			return err
		}
	}
	if AsksIdentity(args) {
		if err := f.printIdentity(s, c); err != nil {
			return err
		}
		return c.become(ctx, argv, "")
	}
	in := &invocation{s, c, &cmd, argv}
	if f.Shim.Use == nil && !f.Shim.Map {
		return f.withProbes(ctx, in)
	}
	if !cmd.Compiles && !cmd.Links && (!f.Shim.Map || len(cmd.Assembly) == 0) || isCheck(&cmd) {
		return c.become(ctx, argv, "")
	}
	if f.Shim.Map {
		return mapCompiler(ctx, in, f.Shim)
	}
	return useCompiler(ctx, in, f.Shim)
}

// withProbes becomes the compiler, with arguments that add probes if the command produces something for them.
func (f *InstrumentFlags) withProbes(ctx context.Context, in *invocation) error {
	c, cmd, argv := in.compiler, in.cmd, in.argv
	check := isCheck(cmd)
	if err := f.listAssembly(in.streams, cmd, check); err != nil {
		return err
	}
	if cmd.Writes && !check {
		tc := driver.Toolchain{Timed: f.Shim.Mode.Timed(), Marks: f.Shim.Mode == prof.ModeSpike, Apart: f.apart(ctx, c, cmd)}
		return c.become(ctx, append(argv[:1:1], f.withHeader(ctx, c, cmd, cmd.TextArgs(argv[1:], tc))...), "")
	}
	if !cmd.Compiles && !cmd.Links && !cmd.Merges && cmd.Refusal == "" {
		if !check {
			argv = append(argv[:1:1], f.withHeader(ctx, c, cmd, argv[1:])...)
		}
		return c.become(ctx, argv, "")
	}
	p, err := f.plan(ctx, c, cmd, check)
	if err != nil {
		return err
	}
	switch {
	case check && cmd.Refusal != "":
		return c.become(ctx, argv, "")
	case check:
		return runCheck(ctx, in, p.tc.Archive)
	case cmd.Refusal != "":
		if cmd.IntelOnly() && c.cache == nil {
			if done, err := f.translate(ctx, in, p); done || err != nil {
				return err
			}
			cmd.Refusal = "its inline assembly is in Intel syntax (-masm=intel)"
		}
		if err := f.leavePlain(in.streams, cmd); err != nil {
			return err
		}
		if cmd.Alien {
			return c.become(ctx, argv, "")
		}
		cmd.Plain()
	case cmd.Merges && p.linker == "" && !cmd.Compiles:
		return c.become(ctx, append(argv, f.mergeRecord(in.streams, cmd, p.tc)...), "")
	}
	return f.instrument(ctx, in, p)
}

// withHeader returns arguments of a command that reads sources and makes no objects, with the directory of cairn.h.
func (f *InstrumentFlags) withHeader(ctx context.Context, c Compiler, cmd *driver.Command, args []string) []string {
	if !cmd.ReadsHeaders(args) {
		return args
	}
	tc, err := prepare(ctx, c, f.Shim, cmd.Target)
	if err != nil {
		return args // the compiler says what is missing
	}
	return append(cmd.IncludeArgs(tc), args...)
}

// plan is what a command of a driver needs to add probes.
type plan struct {
	tc     driver.Toolchain
	linker string // that compiles bitcode, "" for none
}

// plan prepares the toolchain of a command. It adds to the command why its code gets no probes, if it finds a
// reason.
func (f *InstrumentFlags) plan(ctx context.Context, c Compiler, cmd *driver.Command, check bool) (p plan, err error) {
	if why := driver.Cross(c.Path); why != "" {
		cmd.Refusal, cmd.Alien = cmp.Or(cmd.Refusal, why), true
	}
	if cmd.Refusal == "" && cmd.Bare && f.Shim.Mode.Timed() {
		cmd.Refusal, cmd.Alien = driver.NotBare, true
	}
	if cmd.Alien {
		return p, nil
	}
	if cmd.Refusal == "" && !check {
		p.linker, cmd.Refusal = c.bitcodeLink(ctx, cmd)
	}
	p.tc, err = prepare(ctx, c, f.Shim, cmd.Target)
	if p.tc.Object == asm.COFF {
		cmd.Refusal = cmp.Or(cmd.Refusal, coffRefusal(cmd, p.tc))
	}
	var foreign foreignError
	if errors.As(err, &foreign) {
		cmd.Refusal, cmd.Alien = foreign.Error(), true
		return p, nil
	}
	return p, err
}

// instrument becomes the compiler, with the arguments that add probes and the runtime.
func (f *InstrumentFlags) instrument(ctx context.Context, in *invocation, p plan) error {
	c, cmd := in.compiler, in.cmd
	if len(p.tc.MSVC) > 0 {
		c.cache = nil // it would start the compiler under its own name
	}
	argv, env := f.instrumented(ctx, in, p)
	if cmd.Bitcode && cmd.Compiles {
		e := buildEvent{bitcodeEvent: bitcodeEvent{Bitcode: len(cmd.Sources)}}
		if !cmd.LTO {
			e.Parsed = absolute(cmd.Sources)
		}
		if err := logEvent(e); err != nil {
			return err
		}
	}
	root := filepath.Dir(p.tc.Bin)
	add, dumpEnv, done, err := f.dumps(c, cmd, p.tc, argv)
	if err != nil {
		return err
	}
	if done != nil {
		defer done()
		argv, env = slices.Insert(argv, 1, add...), append(env, dumpEnv...)
	}
	remarks, err := f.remarks(c, cmd, p.tc, argv)
	if err != nil {
		return err
	}
	if remarks != "" {
		done = func() { os.Remove(remarks) } // where no assembler ran
		defer done()
		argv, env = slices.Insert(argv, 1, remarkArgs(remarks)...), append(env, envRemarks+"="+remarks)
	}
	if cmd.Links {
		if cmd.Shared && p.tc.Timed && (cmd.Musl || p.tc.Musl) {
			verb.Note(in.streams, "%s: musl loads it only when a program starts, not with dlopen: mode %s needs thread-local storage at a fixed place",
				cmp.Or(cmd.Output, "a.out"), f.Shim.Mode)
		}
		l := &mixedLink{streams: in.streams, inputs: driverInputs(cmd), runtime: p.tc.Archive, mode: f.Shim.Mode.String(), output: cmd.Output, strict: f.Shim.strict()}
		return c.runLink(ctx, l, argv, root, env...)
	}
	if done != nil {
		return c.runLink(ctx, &mixedLink{streams: in.streams}, argv, root, env...)
	}
	return c.become(ctx, argv, root, env...)
}

// instrumented returns a command line with the arguments that add probes and the runtime, and what it adds to the
// environment.
func (f *InstrumentFlags) instrumented(ctx context.Context, in *invocation, p plan) (changed, env []string) {
	s, c, cmd, argv := in.streams, in.compiler, in.cmd, in.argv
	env = driverEnv(cmd)
	if p.linker != "" {
		cmd.Linker, cmd.LTO = "lld", true
		env = append(env, ltoEnv(p.linker))
	} else if cmd.Links && (cmd.GC || cmd.Shared || cmd.LTO || p.tc.Object == asm.COFF) && len(p.tc.MSVC) == 0 {
		if l := c.Linker(ctx, cmd); l.Err == nil {
			cmd.Linker = l.word()
		}
	}
	if cmd.Links && cmd.Strips && p.tc.Object != asm.MachO { // no strip option of Mach-O's linkers removes sections
		fmt.Fprintln(s.Err, "cairn: cc: ignoring the strip option of the link, which would remove the map; run strip after cairn map")
	}
	root := filepath.Dir(p.tc.Bin)
	cmd.Binutils = readBinutils(root)
	cmd.Around = readAround(root)
	msvc := len(p.tc.MSVC) > 0
	if msvc && p.linker != "" {
		p.tc.MSVC = append([]string{"-B" + filepath.Join(root, ltoDir)}, p.tc.MSVC...)
	}
	args := cmd.Args(argv[1:], p.tc)
	if p.linker != "" && !msvc {
		args = append(args, ltoArgs(root, p.tc.Object)...)
	}
	if cmd.Links && f.Shim.recordsUnits(p.tc) {
		args = append(args, linkRecord(s, driverInputs(cmd), cmd.Output, false, cmd.WholeArchive || len(cmd.Sources) > 0)...)
	}
	if cmd.Links && p.tc.Object != asm.ELF && f.Shim.Use == nil {
		args = append(args, mapAssembler{s, p.tc.Object, len(p.tc.MSVC) > 0, c.Path, cmd.Target}.record(ctx, driverInputs(cmd), cmp.Or(cmd.Output, "a.out"))...)
	}
	args = append(args, f.mergeRecord(s, cmd, p.tc)...)
	name := argv[0]
	if len(p.tc.MSVC) > 0 {
		name = p.tc.StandIn(c.Path)
	}
	return append([]string{name}, args...), env
}

// mergeRecord returns the arguments that add to a merged object (-r) the record of those without one, none for
// other commands.
func (f *InstrumentFlags) mergeRecord(s *verb.Streams, cmd *driver.Command, tc driver.Toolchain) []string {
	if !cmd.Merges || !f.Shim.recordsUnits(tc) {
		return nil
	}
	args := linkRecord(s, driverInputs(cmd), cmp.Or(cmd.Output, "a.out"), true, false)
	if cmd.Language && len(args) > 0 {
		args = append([]string{"-x", "none"}, args...)
	}
	return args
}

// driverEnv is the environment by which a driver passes our arguments to its tools.
func driverEnv(cmd *driver.Command) []string {
	var env []string
	if sources := absolute(cmd.Sources); len(sources) > 0 {
		env = append(env, envSources+"="+strings.Join(sources, "\n"))
	}
	if cmd.NoOpt {
		env = append(env, envPlain+"=1")
	}
	if cmd.Unaligned {
		env = append(env, envUnaligned+"=1")
	}
	if cmd.Thunks {
		env = append(env, envThunks+"=1")
	}
	return env
}

// become replaces the process by a program, as verb.Become does, with env added to its environment. An enclosing build does not
// catch the tools below it: a driver passes our arguments to them, also in response files.
func become(path string, argv []string, env ...string) error {
	env = append(env, catch.EnvCaught+"=1")
	argv, done, err := withinLimit(argv)
	if err != nil {
		return err
	}
	defer done()
	return verb.Become("cc", path, argv, append(os.Environ(), env...))
}

// absolute makes the sources' paths absolute, with slashes, so that filters see the same path wherever the compiler is
// started. A path stays relative if the directory is unknown.
func absolute(sources []string) []string {
	out := make([]string, len(sources))
	for i, src := range sources {
		out[i] = src
		if abs, err := filepath.Abs(src); err == nil && src != "-" {
			out[i] = filepath.ToSlash(abs)
		}
	}
	return out
}

// maxResponse bounds a response file.
const maxResponse = 64 << 20

// ReadResponse reads a response file of a command line (@file), in UTF-8 or, as Microsoft's tools write it, in UTF-16 with a mark.
func ReadResponse(name string) (string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return "", err
	}
	if info.Size() > maxResponse {
		return "", fmt.Errorf("%s: the response file is too large: %d bytes", name, info.Size())
	}
	text, err := os.ReadFile(name)
	switch {
	case bytes.HasPrefix(text, []byte("\xff\xfe")):
		units := make([]uint16, len(text)/2-1)
		for i := range units {
			units[i] = binary.LittleEndian.Uint16(text[2*i+2:])
		}
		return string(utf16.Decode(units)), err
	case bytes.HasPrefix(text, []byte("\xef\xbb\xbf")):
		text = text[3:]
	}
	return string(text), err
}

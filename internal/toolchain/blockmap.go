package toolchain

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/driver"
	"github.com/cairnprof/cairn/internal/instrument/isa"
	"github.com/cairnprof/cairn/internal/instrument/probe"
	"github.com/cairnprof/cairn/internal/verb"
)

// A build with --map compiles what the build compiles, with the same bytes, and keeps where the blocks of each function are:
// the programs are to run in production, and samples of them are attributed to blocks. gcc starts our stand-in for the
// assembler, which gives the real one what the compiler wrote, and then assembles it again with labels into an object that
// is thrown away. clang assembles itself, and chooses its padding by what it does not write into assembly, so it compiles as
// it would, and a second time to assembly. Functions are found in the linked program by their symbols.

// mapPrefix starts the names of the directories in the cache.
const mapPrefix = "map-"

// RegisterMap registers the flag of a plain build with a map.
func (f *InstrumentFlags) RegisterMap(flags *pflag.FlagSet) {
	flags.BoolVar(&f.mapped, "map", false, "build without probes, and write the map of the blocks of each program to PROGRAM.mipmap, for cairn profgen --format mip")
}

// checkMap validates the flags of a plain build with a map.
func (f *InstrumentFlags) checkMap(flags *pflag.FlagSet) error {
	if err := withoutProbeFlags(flags, "map"); err != nil {
		return err
	}
	f.Shim = ShimOptions{Map: true}
	return nil
}

// withoutProbeFlags rejects flags that say what to record in a build without probes.
func withoutProbeFlags(flags *pflag.FlagSet, name string, but ...string) (err error) {
	ofProbes := pflag.NewFlagSet("", pflag.ContinueOnError)
	new(InstrumentFlags).Register(ofProbes)
	ofProbes.VisitAll(func(flag *pflag.Flag) {
		if err == nil && flags.Changed(flag.Name) && !slices.Contains(but, flag.Name) {
			err = verb.Usagef("--%s builds without probes: it cannot be used with --%s", name, flag.Name)
		}
	})
	return err
}

// mapEvent are the functions of an object, or a program that was linked.
type mapEvent struct {
	Funcs   []probe.MappedFunc `json:",omitempty"`
	Source  string             `json:",omitempty"` // without a map
	Why     string             `json:",omitempty"` // it has none
	Program string             `json:",omitempty"` // absolute
}

// prepareMap returns the directory with the stand-in for a compiler's assembler.
func prepareMap(ctx context.Context, c Compiler, opts ShimOptions) (dir string, err error) {
	return Cached(mapPrefix, "to map blocks", c, opts, func(tmp, self string) error {
		target := c.target(ctx, opts.Target)
		if why := driver.Foreign(target); why != "" {
			return foreignError(why)
		}
		opts.Machine = driver.MachineOf(target)
		if driver.ObjectOf(target) != asm.ELF || !probe.SupportsEdges(&opts.Options) {
			return foreignError("maps of blocks are for x86-64 and AArch64 ELF")
		}
		if err := opts.findAssembler(ctx, c, self); err != nil {
			return err
		}
		if err := os.Mkdir(filepath.Join(tmp, "bin"), 0o755); err != nil {
			return err
		}
		return writeShim(filepath.Join(tmp, "bin"), self, opts)
	})
}

// mapCompiler becomes the compiler, and has its functions mapped.
func mapCompiler(ctx context.Context, in *invocation, shim ShimOptions) error {
	c, cmd, argv := in.compiler, in.cmd, in.argv
	if cmd.Links {
		if err := logProgram(cmp.Or(cmd.Output, "a.out")); err != nil {
			return err
		}
	}
	why := cmp.Or(driver.Cross(c.Path), cmd.Refusal)
	if cmd.Bitcode || cmd.Links && c.Family == driver.Clang && cmd.LTO {
		why = cmp.Or(why, "clang -flto makes code when it links: build with -fno-lto")
	}
	shim.Target = cmd.Target
	dir := ""
	compiles := cmd.Compiles || len(cmd.Assembly) > 0 // assembly may be a compiler's output
	if compiles && why == "" {
		var err error
		if dir, err = prepareMap(ctx, c, shim); err != nil {
			why = err.Error()
		}
	}
	if !compiles || why != "" {
		for _, source := range cmd.Sources {
			if err := logEvent(buildEvent{Map: &mapEvent{Source: source, Why: why}}); err != nil {
				return err
			}
		}
		return c.become(ctx, argv, "")
	}
	bin := filepath.Join(dir, "bin")
	if c.Family != driver.Clang {
		return c.become(ctx, append([]string{argv[0], "-B" + bin + "/"}, argv[1:]...), dir, driverEnv(cmd)...)
	}
	for _, source := range cmd.Sources {
		if err := mapSource(ctx, in, bin, source); err != nil {
			return err
		}
	}
	return c.become(ctx, argv, "")
}

// logProgram logs a program or library that is linked.
func logProgram(output string) error {
	return logEvent(buildEvent{Map: &mapEvent{Program: absolute([]string{output})[0]}})
}

// mapSource compiles a source file to assembly, and logs its functions. That it cannot be compiled the compiler reports.
func mapSource(ctx context.Context, in *invocation, bin, source string) error {
	sh := &shim{streams: *in.streams, dir: bin}
	if _, err := readOptions(filepath.Join(bin, shimOptionsFile), &sh.opts); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "cairn-map-")
	if err != nil {
		return err
	}
	defer verb.RemoveAll(dir)
	text := filepath.Join(dir, "text.s")
	compile := exec.CommandContext(ctx, in.compiler.Path, in.cmd.ToAssembly(source, text)...)
	compile.Env = os.Environ()
	for _, v := range driverEnv(in.cmd) {
		name, value, _ := strings.Cut(v, "=")
		os.Setenv(name, value)
	}
	if out, err := compile.CombinedOutput(); err != nil {
		line, _, _ := bytes.Cut(bytes.TrimSpace(out), []byte("\n"))
		return logEvent(buildEvent{Map: &mapEvent{Source: source, Why: "it does not compile to assembly: " + string(line)}})
	}
	src, err := os.ReadFile(text)
	if err != nil {
		return err
	}
	sh.selectAssembler(src)
	return sh.logBlocks(ctx, []string{"--64"}, src, source)
}

// runMapped assembles a compiler's output as it is, and logs its functions.
func (sh *shim) runMapped(ctx context.Context, in *input) error {
	if err := sh.assembleAsIs(ctx, in); err != nil {
		return err
	}
	if info, err := os.Stat(asOutput(in.args)); err != nil || !info.Mode().IsRegular() {
		return nil // /dev/null
	}
	if sh.opts.Machine == machine.X86_64 && !in.x64 {
		return logEvent(buildEvent{Map: &mapEvent{Source: sourceName(in.text, in.name()), Why: "the compiler generates code for another machine"}})
	}
	return sh.logBlocks(ctx, withoutOutputs(in.others()), in.text, sourceName(in.text, in.name()))
}

// logBlocks logs the functions of a compiler's output, which args assemble.
func (sh *shim) logBlocks(ctx context.Context, args []string, src []byte, source string) error {
	funcs, err := sh.blocksOf(ctx, args, src)
	e := &mapEvent{Funcs: funcs}
	if err != nil {
		e = &mapEvent{Source: source, Why: err.Error()}
	}
	return logEvent(buildEvent{Map: e})
}

func (sh *shim) blocksOf(ctx context.Context, args []string, src []byte) ([]probe.MappedFunc, error) {
	opts := sh.opts.Options
	if s := os.Getenv(envSources); s != "" {
		opts.Sources = strings.Split(s, "\n")
	}
	unit, err := isa.ParseAs(asm.ParseOptions{Plain: plain(src), Counts: true}, src, sh.opts.Machine)
	if err != nil {
		return nil, fmt.Errorf("compiler output: %w", err)
	}
	text, funcs := probe.BlockMap(unit, opts)
	dir, err := os.MkdirTemp("", "cairn-map-")
	if err != nil {
		return nil, err
	}
	defer verb.RemoveAll(dir)
	object := filepath.Join(dir, "labels.o")
	var messages bytes.Buffer
	if err := sh.assembleTo(ctx, &messages, append(args, "-o", object), text); err != nil {
		line, _, _ := bytes.Cut(bytes.TrimSpace(messages.Bytes()), []byte("\n"))
		return nil, fmt.Errorf("the assembler rejects its labels: %s", line)
	}
	f, err := os.Open(object)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := objfile.SectionOf(f, probe.BlockSection)
	if err != nil {
		return nil, err
	}
	return funcs, probe.ReadBlockMap(data, funcs)
}

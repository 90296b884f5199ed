package toolchain

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/driver"
	"github.com/cairnprof/cairn/internal/instrument/isa"
	"github.com/cairnprof/cairn/internal/instrument/native"
	"github.com/cairnprof/cairn/internal/instrument/probe"
	"github.com/cairnprof/cairn/internal/lazyregexp"
	"github.com/cairnprof/cairn/internal/verb"
)

// envSources is set by cairn cc and cairn build for the stand-in for the assembler: paths
// of the sources, one a line.
const envSources = "CAIRN_SOURCES"

// envPlain is set in the same way if the driver compiles without optimisation.
const envPlain = "CAIRN_PLAIN"

// envUnaligned is set in the same way if the compiler was told to align no loops.
const envUnaligned = "CAIRN_UNALIGNED"

// envThunks is set in the same way if the compiler was told to guard calls and jumps through pointers against speculation.
const envThunks = "CAIRN_THUNKS"

// guards reports whether a compiler's output has no calls through pointers that are not guarded, or may not have any: what
// was said at the compilation is not said at a link that compiles.
func guards(src []byte) bool {
	return os.Getenv(envThunks) != "" || bytes.Contains(src, []byte("__x86_indirect_thunk")) || bytes.Contains(src, []byte("__llvm_retpoline_"))
}

// plain reports whether a compiler's output was certainly made without optimisation. src may also be what the link
// made of an object that another command compiled: gcc names no source then.
func plain(src []byte) bool {
	return os.Getenv(envPlain) != "" && !bytes.Contains(src, []byte("\t.file\t\"<artificial>\"")) && os.Getenv("CCC_OVERRIDE_OPTIONS") == ""
}

// shim is one run of cairn in place of the assembler.
type shim struct {
	opts    ShimOptions
	dir     string // it was started from
	broken  error  // why opts could not be read
	streams verb.Streams
	direct  bool   // the build has started the assembler itself
	around  bool   // the driver starts it around its tools, whose command lines are the arguments
	proper  bool   // clang starts it in place of the compiler proper and of its own assembler
	crate   string // of Rust that the text is a unit of, "" for other languages
}

// AsShim returns the shim if args say that cairn was started as one: under the name as, or clang's, with its options beside
// it.
func AsShim(args []string, s verb.Streams) (*shim, bool) {
	name := driver.ToolName(args[0])
	proper := strings.Contains(name, "clang")
	if name != "as" && name != driver.AroundName && !proper {
		return nil, false
	}
	sh := &shim{streams: s, dir: filepath.Dir(args[0]), around: name == driver.AroundName, proper: proper}
	found, err := readOptions(filepath.Join(filepath.Dir(args[0]), shimOptionsFile), &sh.opts)
	sh.broken = err
	return sh, found
}

// readOptions reads the file beside a stand-in and reports whether it is
// there.
func readOptions(path string, opts any) (found bool, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return false, nil
	}
	if err != nil {
		return true, err
	}
	if err := json.Unmarshal(text, opts); err != nil {
		return true, fmt.Errorf("%s: %w; remove the directory it is in", path, err)
	}
	return true, nil
}

// asInputs splits an assembler's arguments into its inputs, by index, and reports whether it must make 64-bit
// x86 code.
func asInputs(args []string) (inputs []int, x64 bool) {
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case a == "--64":
			x64 = true
		case a == "-o" || a == "-I" || a == "-arch" || a == "--defsym" || a == "--MD" || a == "--debug-prefix-map":
			i++
		case a == "-" || a == "--" || !strings.HasPrefix(a, "-"):
			inputs = append(inputs, i)
		}
	}
	return inputs, x64
}

// input is what the assembler is run on.
type input struct {
	args  []string // of the assembler
	at    []int    // indexes of the inputs among them
	text  []byte
	piped bool // the text came through standard input
	x64   bool
}

// name returns the path of the input, or "".
func (in *input) name() string {
	if in.piped {
		return ""
	}
	return in.args[in.at[0]]
}

// others returns the arguments without the input file, in whose place another text comes through a pipe.
func (in *input) others() []string {
	if in.piped {
		return in.args
	}
	return append(in.args[:in.at[0]:in.at[0]], in.args[in.at[0]+1:]...)
}

// Run assembles the driver's input, with probes if it is a compiler's output. Around another tool of the driver it becomes that.
func (sh *shim) Run(ctx context.Context, args []string) error {
	if sh.broken != nil {
		return fmt.Errorf("as: %w", sh.broken)
	}
	if sh.proper {
		return sh.runProper(ctx, args)
	}
	if sh.around {
		if tool := args[0]; driver.ToolName(tool) != driver.ToolName(sh.opts.Assembler) {
			return become(tool, args)
		}
		args = args[1:]
	}
	return sh.assembleInput(ctx, args)
}

// assembleInput is Run with the arguments of the assembler.
func (sh *shim) assembleInput(ctx context.Context, args []string) error {
	in := input{args: args}
	in.at, in.x64 = asInputs(args)
	in.x64 = in.x64 || sh.direct && !slices.Contains(args, "--32") && !slices.Contains(args, "--x32")
	if len(in.at) > 1 {
		for _, i := range in.at {
			if err := listPlain(&sh.streams, args[i], "several files are assembled into one object", asOutput(args)); err != nil {
				return err
			}
		}
		return sh.assemble(ctx, args, nil)
	}
	var err error
	if in.text, in.piped, err = sh.read(args, in.at); err != nil {
		return fmt.Errorf("as: %w", err)
	}
	if !sh.opts.Map {
		sh.selectAssembler(in.text)
	}
	if !sh.isOutput(in.text) {
		name := "standard input"
		if !in.piped {
			name = in.name()
		}
		if sh.opts.Map {
			return sh.assembleAsIs(ctx, &in)
		}
		list := sh.opts.listByHand
		if asm.HoldsNoCode(in.text) {
			list = listEmpty
		}
		if err := list(in.text, name, asOutput(args)); err != nil {
			return err
		}
		return sh.assembleAsIs(ctx, &in)
	}
	if sh.opts.Map {
		return sh.runMapped(ctx, &in)
	}
	switch found, err := reportInline(in.text); {
	case err != nil:
		return fmt.Errorf("as: %w", err)
	case found:
		return verb.ExitError(verb.ExitFail)
	}
	if sh.opts.Use != nil {
		return sh.runSplit(ctx, &in)
	}
	return sh.runProbes(ctx, &in)
}

// assembleAsIs assembles the input without changes.
func (sh *shim) assembleAsIs(ctx context.Context, in *input) error {
	if in.piped {
		return sh.assemble(ctx, in.args, in.text)
	}
	return sh.assemble(ctx, in.args, nil)
}

// runProbes assembles a compiler's output with probes.
func (sh *shim) runProbes(ctx context.Context, in *input) error {
	out, result, err := sh.rewrite(in.text, in.name(), in.x64)
	switch {
	case err != nil && !sh.opts.strict():
		if err := listPlain(&sh.streams, sourceName(in.text, in.name()), err.Error(), asOutput(in.args)); err != nil {
			return err
		}
		return sh.assembleAsIs(ctx, in)
	case err != nil:
		return fmt.Errorf("as: %w", err)
	}
	empty := result.Functions == 0 && len(result.Skipped) == 0
	if empty {
		if err := logEvent(buildEvent{Result: probe.Result{Source: result.Source}, Empty: true, rustEvent: rustEvent{Crate: sh.crate}}); err != nil {
			return err
		}
		out = in.text
	}
	if out, err = sh.appendLTO(in.text, out, result.Source); err != nil {
		return err
	}
	if out, err = sh.appendInlined(in.text, out); err != nil {
		return err
	}
	switch {
	case empty && len(out) == len(in.text):
		return sh.assembleAsIs(ctx, in)
	case empty:
		if err := sh.assemble(ctx, in.others(), out); err != nil {
			return err
		}
		return keepLTO(in.text, outputOf(in.args))
	}
	if err := sh.assembleRewritten(ctx, in.others(), in.text, out, result); err != nil {
		return err
	}
	if err := keepLTO(in.text, outputOf(in.args)); err != nil || !sh.direct || in.piped {
		return err
	}
	return dependOn(in.args, in.name())
}

// rejected is why an object has no probes whose text the assembler accepts only without them.
const rejected = "the assembler rejects its code with probes: report a bug"

// assembleRewritten assembles out, which is made from src. If the assembler rejects out, it assembles src: the
// assembler may reject src as well, because of inline assembly, or of the output's name.
func (sh *shim) assembleRewritten(ctx context.Context, args []string, src, out []byte, result probe.Result) error {
	var messages bytes.Buffer
	failure := sh.assembleTo(ctx, &messages, args, out)
	if failure == nil {
		if err := logEvent(buildEvent{Result: result, Path: pathOf(result.Source), rustEvent: rustEvent{Crate: sh.crate}}); err != nil {
			return err
		}
		if _, err := messages.WriteTo(sh.streams.Err); err != nil || !sh.opts.Prove {
			return err
		}
		return sh.proveObject(ctx, args, src, result.Source, provingProbes)
	}
	if err := sh.assemble(ctx, args, src); err != nil {
		return err
	}
	if !sh.opts.strict() {
		return listPlain(&sh.streams, result.Source, rejected, asOutput(args))
	}
	removeOutput(outputOf(args))
	if _, err := messages.WriteTo(sh.streams.Err); err != nil {
		return err
	}
	fmt.Fprintf(sh.streams.Err, "cairn: %s: the assembler rejected the instrumented code; exclude the function with --skip, and report a bug\n", result.Source)
	return failure
}

// removeOutput removes what was made without probes, which a build must not use.
func removeOutput(path string) {
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() { // not /dev/null
		os.Remove(path)
	}
}

// read returns the text to assemble and whether it came through a pipe.
func (sh *shim) read(args []string, inputs []int) (src []byte, piped bool, err error) {
	if len(inputs) == 0 || args[inputs[0]] == "-" || args[inputs[0]] == "--" {
		src, err = io.ReadAll(sh.streams.In)
		return unixLines(src), true, err
	}
	src, err = os.ReadFile(args[inputs[0]])
	return unixLines(src), false, err
}

// unixLines returns assembly with the ends of lines that it has on all systems but Windows, where compilers write others.
func unixLines(src []byte) []byte {
	if !bytes.Contains(src, []byte("\r\n")) {
		return src // without a copy
	}
	return bytes.ReplaceAll(src, []byte("\r\n"), []byte("\n"))
}

func (sh *shim) rewrite(src []byte, name string, x64 bool) ([]byte, probe.Result, error) {
	if sh.opts.Machine == machine.X86_64 && sh.opts.Object == asm.ELF && !x64 {
		return nil, probe.Result{}, errors.New("the compiler generates code for another machine; cairn supports x86-64, AArch64 and Armv7 ELF")
	}
	opts := sh.opts.Options
	if s := os.Getenv(envSources); s != "" {
		opts.Sources = strings.Split(s, "\n")
	} else if source := sourceOfText(src, nil); sh.direct && source != "" && Exists(source) {
		opts.Sources = absolute([]string{source})
	}
	if sh.opts.Mode.Timed() && asm.LacksPatterns(src) {
		return nil, probe.Result{}, fmt.Errorf("mode %s needs gcc's options -dp -fno-ipa-ra, without which it was compiled", sh.opts.Mode)
	}
	if dir, err := os.Getwd(); err == nil {
		opts.Dir = filepath.ToSlash(dir)
	}
	opts.Lineless = opts.Lineless && len(sh.opts.AssemblerArgs) == 0 // clang keeps line 0
	parse := asm.ParseOptions{Object: sh.opts.Object, Plain: !sh.opts.Mode.Timed() && plain(src), Counts: sh.opts.Mode.HasEdges(), Handlers: !sh.opts.Mode.Timed()}
	unit, err := isa.ParseAs(parse, src, sh.opts.Machine)
	if err == nil && parse.Plain && unit.HasLineless() && !opts.Lineless && len(sh.opts.AssemblerArgs) == 0 {
		// The assembler drops which code has no line, so it is not known which lines that code has.
		parse.Plain = false
		unit, err = isa.ParseAs(parse, src, sh.opts.Machine)
	}
	if err != nil {
		return nil, probe.Result{}, fmt.Errorf("compiler output: %w", err)
	}
	if filepath.Ext(unit.Source) == ".pcm" {
		unit.Source = moduleSource(src, unit.Source, opts.Dir)
	}
	unit.Source = filepath.ToSlash(unit.Source)
	if unit.Source == "" { // Mach-O's first .file may be a header
		unit.Source = machOSource(opts.Sources, name)
	}
	out, result := native.Rewrite(unit, opts)
	return out, result, nil
}

// moduleFile is the first source in what clang makes of a module that it parsed before, in a directory of its own or with
// the sum of its content.
var moduleFile = lazyregexp.New(`(?m)^\s*\.file\s+1\s+"([^"\\\n]+)"(?:\s+"([^"\\\n]+)")?(?:\s+md5\s+\w+)?\s*$`)

// moduleSource returns the source of clang's output for a module, which debug information names, or else the module.
func moduleSource(src []byte, module, dir string) string {
	name := module
	if m := moduleFile().FindSubmatch(src); m != nil {
		name = filepath.Join(string(m[1]), string(m[2]))
	}
	if !filepath.IsAbs(name) && dir != "" {
		name = filepath.Join(dir, name)
	}
	return name
}

// CompileAll compiles regular expressions.
func CompileAll(patterns []string) ([]*regexp.Regexp, error) {
	out := make([]*regexp.Regexp, len(patterns))
	for i, p := range patterns {
		re, err := regexp.Compile(p)
		if err != nil {
			return nil, verb.Usagef("pattern %q: %w", p, err)
		}
		out[i] = re
	}
	return out, nil
}

// assemble runs the real assembler. src goes to its standard input, unless it
// is nil.
func (sh *shim) assemble(ctx context.Context, args []string, src []byte) error {
	return sh.assembleTo(ctx, sh.streams.Err, args, src)
}

// assembleTo is assemble with the assembler's messages written to w.
func (sh *shim) assembleTo(ctx context.Context, w io.Writer, args []string, src []byte) error {
	if len(sh.opts.AssemblerArgs) > 0 {
		args = append(slices.Clone(sh.opts.AssemblerArgs), driverWords(args)...)
	}
	cmd := exec.CommandContext(ctx, sh.opts.Assembler, args...)
	if src != nil {
		cmd.Stdin = bytes.NewReader(src)
	}
	cmd.Stdout, cmd.Stderr = sh.streams.Out, w
	if sh.opts.Object != asm.MachO {
		return ChildError(cmd.Run())
	}
	var messages bytes.Buffer
	cmd.Stderr = &messages
	failure := ChildError(cmd.Run())
	if _, err := w.Write(withoutPlatform(messages.Bytes())); err != nil {
		return err
	}
	return failure
}

// driverWords converts an assembler's arguments to those of a driver that assembles itself.
func driverWords(args []string) []string {
	var out []string
	input := false
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case a == "-o" || a == "-I":
			if i+1 < len(args) {
				out = append(out, a, args[i+1])
				i++
			}
		case a == "-arch": // the target implies it
			i++
		case a == "-Q", a == "-force_cpusubtype_ALL", a == "-static":
		case a == "-EL" || a == "--64", strings.HasPrefix(a, "-g"): // the text has its own lines
		case strings.HasPrefix(a, "-m"), strings.HasPrefix(a, "-I"):
			out = append(out, a)
		case a == "-" || a == "--" || !strings.HasPrefix(a, "-"):
			input = true
			out = append(out, a)
		default:
			out = append(out, "-Wa,"+a)
		}
	}
	if !input {
		out = append(out, "-")
	}
	return out
}

// ChildError turns the failure of a child that has reported its error into its exit code.
func ChildError(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			return verb.ExitError(128 + int(status.Signal()))
		}
		return verb.ExitError(exit.ExitCode())
	}
	return err
}

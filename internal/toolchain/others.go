package toolchain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/driver"
	"github.com/cairnprof/cairn/internal/lazyregexp"
	"github.com/cairnprof/cairn/internal/verb"
)

// Programs of a build that make machine code without a driver that cairn replaces: assemblers that the build
// starts itself, to which the output of gcc -S may go, and compilers of other languages.

// otherLanguage is a compiler that writes objects itself: there is no assembly to put probes into.
type otherLanguage struct {
	suffixes []string
	why      string // its code gets no probes
	// idle has options with which it compiles nothing.
	idle []string
	// bitcode has options with which it writes bitcode, from which lld makes code with probes.
	bitcode []string
}

// The compilers of one language.
var (
	intelAssembler = &otherLanguage{suffixes: []string{".asm", ".nasm", ".s", ".S"}, why: "code of nasm and yasm gets no probes", idle: []string{"-E", "-e", "-M", "-MG", "-v", "-h"}}
	otherD         = &otherLanguage{suffixes: []string{".d"}, why: "D gets probes from gdc only", idle: []string{"-o-", "--version", "--help"}}
	others         = map[string]*otherLanguage{
		"nasm": intelAssembler, "yasm": intelAssembler,
		"ldc2": otherD, "ldmd2": otherD, "dmd": otherD,
		"rustc":  {suffixes: []string{".rs"}, why: "Rust gets probes where cairn build runs rustc (docs/rust.md)", bitcode: []string{"linker-plugin-lto"}},
		"fpc":    {suffixes: []string{".pas", ".pp", ".lpr", ".p"}, why: "code of fpc gets no probes"},
		"swiftc": {suffixes: []string{".swift"}, why: "code of swiftc gets no probes", idle: []string{"-typecheck"}},
		"tcc":    {suffixes: []string{".c"}, why: "code of tcc gets no probes", idle: []string{"-E"}},
	}
)

var versionOfName = lazyregexp.New(`-\d+(?:\.\d+)*$`)

// otherCompiler returns the language of a compiler that cairn build only lists, nil for all others.
func otherCompiler(name string) *otherLanguage {
	return others[versionOfName().ReplaceAllString(name, "")]
}

// listOther lists what a compiler of another language compiles, and becomes it. What it starts is caught again.
func (w *wrapper) listOther(s *verb.Streams, path string, args []string) error {
	o := otherCompiler(w.name)
	sources := o.compiled(args)
	switch {
	case w.opts.Shim.Use != nil: // nothing gets probes, and lld lays out bitcode
	case isCheck(&driver.Command{Reading: driver.Reading{Sources: sources}}):
	case len(sources) > 0 && slices.ContainsFunc(args, o.isBitcode):
		if err := logEvent(buildEvent{bitcodeEvent: bitcodeEvent{Bitcode: len(sources)}}); err != nil {
			return err
		}
	default:
		opts := w.opts.Shim
		opts.Prove = opts.Prove && o != intelAssembler // as other assembly that people write
		for _, source := range sources {
			if err := opts.leave(s, source, o.why, cmp.Or(objectOf(args, len(sources)), stem(source))); err != nil {
				return err
			}
		}
	}
	return becomeOpen(path, append([]string{path}, args...))
}

// compiled returns the sources of a command line, none if it only asks for something.
func (o *otherLanguage) compiled(args []string) []string {
	var sources []string
	for i, a := range args {
		switch {
		case slices.Contains(o.idle, a), emitsNoCode(args, i):
			return nil
		case strings.HasPrefix(a, "-"), i > 0 && args[i-1] == "-o":
		case slices.Contains(o.suffixes, filepath.Ext(a)):
			sources = append(sources, a)
		}
	}
	return sources
}

// objectOf returns the operand of -o of a compiler with one source, or else how rustc begins the names of objects;
// "" if the arguments have neither.
func objectOf(args []string, sources int) string {
	value := func(options ...string) string {
		for i, a := range args {
			for _, option := range options {
				if v, ok := strings.CutPrefix(a, option); ok && v != "" {
					return strings.TrimPrefix(v, "=")
				} else if ok && i+1 < len(args) {
					return args[i+1]
				}
			}
		}
		return ""
	}
	switch output := value("-o"); {
	case sources != 1:
		return ""
	case output != "":
		return output
	}
	return value("--crate-name") + value("extra-filename", "-Cextra-filename")
}

// stem returns the name of a file without its suffix, with which names of objects begin.
func stem(name string) string { return strings.TrimSuffix(filepath.Base(name), filepath.Ext(name)) }

// emitsNoCode reports whether the argument at i is rustc's --emit with neither an object nor a program.
func emitsNoCode(args []string, i int) bool {
	kinds, ok := strings.CutPrefix(args[i], "--emit=")
	if args[i] == "--emit" && i+1 < len(args) {
		kinds, ok = args[i+1], true
	}
	return ok && !slices.ContainsFunc(strings.Split(kinds, ","), func(kind string) bool {
		kind, _, _ = strings.Cut(kind, "=")
		return kind == "link" || kind == "obj" || kind == "asm"
	})
}

func (o *otherLanguage) isBitcode(arg string) bool {
	arg, _, _ = strings.Cut(strings.TrimPrefix(arg, "-C"), "=")
	return slices.Contains(o.bitcode, arg)
}

// assemble runs an assembler that the build has started itself: the output of a compiler gets probes.
func (w *wrapper) assemble(ctx context.Context, s *verb.Streams, path string, args []string) error {
	asIs := func() error { return become(path, append([]string{path}, args...)) }
	inputs, _ := asInputs(args)
	if w.asks(args, inputs) {
		return asIs()
	}
	c, why, err := assembledBy(path)
	if err != nil {
		return err
	}
	bin := ""
	if why == "" {
		if bin, why, err = w.assemblerDir(ctx, c); err != nil {
			return err
		}
	}
	if why != "" {
		for _, i := range inputs {
			if err := w.opts.Shim.leave(s, args[i], why, asOutput(args)); err != nil {
				return err
			}
		}
	}
	if bin == "" {
		return asIs()
	}
	sh := &shim{streams: *s, dir: bin, direct: true}
	if found, err := readOptions(filepath.Join(bin, shimOptionsFile), &sh.opts); err != nil || !found {
		return cmp.Or(err, fmt.Errorf("build: %s is missing", filepath.Join(bin, shimOptionsFile)))
	}
	sh.opts.Assembler, sh.opts.AssemblerArgs = path, nil
	return sh.Run(ctx, args)
}

// asks reports whether an assembler assembles nothing of the build: it is asked for its version, or runs for a
// check, or for a driver of gcc that is found by an absolute path while wrappers are found on PATH.
func (w *wrapper) asks(args []string, inputs []int) bool {
	if slices.Contains(args, "--version") || slices.Contains(args, "--help") || w.tool == "" && os.Getenv(collectGCC) != "" {
		return true
	}
	cmd := driver.Command{Output: asOutput(args)}
	for _, i := range inputs {
		cmd.Sources = append(cmd.Sources, args[i])
	}
	return isCheck(&cmd) || slices.Equal(cmd.Sources, []string{os.DevNull})
}

// assemblerDir returns the directory with the options of the stand-in for a compiler's assembler, "" if its
// output stays as it is, and why.
func (w *wrapper) assemblerDir(ctx context.Context, c Compiler) (bin, why string, err error) {
	defer hideDriver()()
	if use := w.opts.Shim.Use; use != nil {
		b, err := prepareUse(ctx, c, w.opts.Shim)
		var other otherMachine
		switch {
		case errors.As(err, &other):
			return "", other.Error(), nil
		case err != nil || b.opts.NoSplit:
			return "", "", err
		}
		return filepath.Join(b.dir, "bin"), "", nil
	}
	var foreign foreignError
	if w.opts.Shim.Map {
		dir, err := prepareMap(ctx, c, w.opts.Shim)
		if errors.As(err, &foreign) {
			return "", "", nil
		}
		return filepath.Join(dir, "bin"), "", err
	}
	tc, err := prepare(ctx, c, w.opts.Shim, nil)
	if errors.As(err, &foreign) {
		return "", foreign.Error(), nil
	}
	return tc.Bin, "", err
}

// assembledBy returns the compiler whose output the assembler at path assembles, or why cairn does not support
// its machine.
func assembledBy(path string) (c Compiler, why string, err error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return c, "", fmt.Errorf("build: %w", err)
	}
	triple := ""
	for _, name := range []string{driver.ToolName(path), driver.ToolName(real)} {
		if prefix, ok := strings.CutSuffix(name, "-as"); ok && triple == "" {
			triple = prefix
		}
	}
	if why := driver.Foreign(triple); triple != "" && why != "" {
		return c, why, nil
	}
	names := []string{"cc", "gcc", "clang"}
	if triple != "" {
		names = []string{triple + "-gcc", triple + "-clang"}
		if isHost(driver.MachineOf(triple)) && driver.ObjectOf(triple) == asm.ELF {
			names = append(names, "cc", "gcc", "clang")
		}
	}
	for _, name := range names {
		if found, err := RealTool(name); err == nil {
			c, err := FindCompiler(found)
			return c, "", err
		}
	}
	return c, "no compiler for its machine on PATH to compile the runtime", nil
}

// dependOn adds an assembler's input to the rule that it wrote for make (--MD), as it got the text through a pipe.
func dependOn(args []string, input string) error {
	i := slices.Index(args, "--MD")
	if i < 0 || i+1 >= len(args) {
		return nil
	}
	rule, err := os.ReadFile(args[i+1])
	if err != nil {
		return fmt.Errorf("as: %w", err)
	}
	target, rest, ok := strings.Cut(string(rule), ":")
	if !ok {
		return nil
	}
	input = strings.NewReplacer(" ", `\ `, "$", "$$", "#", `\#`).Replace(input)
	return os.WriteFile(args[i+1], []byte(target+": "+input+rest), 0o666)
}

package toolchain

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/catch"
	"github.com/cairnprof/cairn/internal/instrument/driver"
	"github.com/cairnprof/cairn/internal/instrument/isa"
	"github.com/cairnprof/cairn/internal/instrument/split"
	"github.com/cairnprof/cairn/internal/layout/linkorder"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// useOptions are the options that cairn cc --use passes to its stand-ins.
type useOptions struct {
	Profile   string   `json:"profile"` // absolute path
	Digest    string   `json:"digest"`  // of its content: part of the cache's key
	Machine   string   `json:"machine"` // machine of the profile, "" if unknown
	Algorithm string   `json:"algorithm"`
	NoSplit   bool     `json:"no_split,omitempty"`
	Apart     []string `json:"apart,omitempty"` // options that keep apart what the profile does

	DataOrder  string `json:"data_order,omitempty"`  // absolute path of an order file with data
	DataDigest string `json:"data_digest,omitempty"` // of its content

	FastStart bool `json:"fast_start,omitempty"` // spare the dynamic linker work
}

// useProfile is the copy of the profile in the cache, so that all of a build
// sees the same one.
const useProfile = "use.mip"

// usePrefix starts the names of the directories in the cache.
const usePrefix = "use-"

// load reads the profile that opts name and records its digest.
func (u *useOptions) load() (*prof.Profile, error) {
	path := u.Profile
	if !verb.IsURL(path) {
		var err error
		if path, err = filepath.Abs(path); err != nil {
			return nil, err
		}
	}
	p, data, err := verb.ReadProfileData(u.Profile)
	if err != nil {
		return nil, err
	}
	if len(p.Modules) == 0 {
		return nil, fmt.Errorf("%s: the profile is empty", u.Profile)
	}
	sum := sha256.Sum256(data)
	u.Profile, u.Digest, u.Machine, u.Apart = path, hex.EncodeToString(sum[:]), p.Machine(), recordedApart(p)
	return p, nil
}

// useBuild holds what a compiler or linker needs to build with a profile.
type useBuild struct {
	dir     string // in the cache
	opts    useOptions
	windows bool // functions get an order, and are not split: that would need chained entries in the unwind table
	msvc    bool // the system is MSVC's, whose linker has other options
}

// The files in the directory for a compiler whose target is Windows, and MSVC's system there.
const (
	useWindows = "windows"
	useMSVC    = "msvc"
)

// prepareUse returns the directory for a compiler and a profile, which it
// fills on first use.
func prepareUse(ctx context.Context, c Compiler, opts ShimOptions) (*useBuild, error) {
	dir, err := Cached(usePrefix, "to build by "+opts.Use.Profile, c, opts, func(tmp, self string) error {
		return fillUse(ctx, tmp, self, c, opts)
	})
	if err != nil {
		return nil, err
	}
	b := &useBuild{dir: dir, opts: *opts.Use, windows: Exists(filepath.Join(dir, useWindows)), msvc: Exists(filepath.Join(dir, useMSVC))}
	b.opts.NoSplit = b.opts.NoSplit || b.windows
	return b, nil
}

// fillUse puts the stand-in for the assembler and the profile into tmp.
func fillUse(ctx context.Context, tmp, self string, c Compiler, opts ShimOptions) error {
	data, err := verb.ReadFile(opts.Use.Profile)
	if err != nil {
		return err
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != opts.Use.Digest {
		return errors.New("the profile has changed since the build started; restart the build")
	}
	if err := os.WriteFile(filepath.Join(tmp, useProfile), data, 0o644); err != nil {
		return err
	}
	if err := opts.Use.copyDataOrder(tmp); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(tmp, "bin"), 0o755); err != nil {
		return err
	}
	target := c.target(ctx, opts.Target)
	if err := opts.setMachine(target); err != nil {
		return err
	}
	if opts.Prove && opts.Machine != machine.X86_64 && (opts.Machine != machine.AArch64 || opts.Object != asm.ELF) {
		return verb.Usagef("--prove with --use supports x86-64 and AArch64 ELF only")
	}
	if opts.Object == asm.COFF {
		if driver.IsMSVC(target) {
			if err := os.WriteFile(filepath.Join(tmp, useMSVC), nil, 0o644); err != nil {
				return err
			}
		}
		return os.WriteFile(filepath.Join(tmp, useWindows), nil, 0o644)
	}
	if err := opts.findAssembler(ctx, c, self); err != nil {
		return err
	}
	if err := opts.writeBinutils(ctx, tmp, c); err != nil {
		return err
	}
	if err := opts.writeApart(ctx, tmp, c); err != nil {
		return err
	}
	return writeShim(filepath.Join(tmp, "bin"), self, opts)
}

// otherMachine is the error of a build with a profile of another machine, whose blocks and functions differ.
type otherMachine string

func (e otherMachine) Error() string { return string(e) }

// setMachine records the machine of a compiler's target. It must be that of the profile.
func (opts *ShimOptions) setMachine(target string) error {
	opts.Machine, opts.Object = driver.MachineOf(target), driver.ObjectOf(target)
	if opts.Object == asm.COFF && (opts.Machine != machine.X86_64 || opts.Use.FastStart || opts.Prove) {
		return otherMachine(fmt.Sprintf("programs for Windows (%s) are built by a profile on x86-64 only, without --fast-start and --prove", target))
	}
	if of := opts.Use.Machine; of != "" && of != opts.Machine.String() {
		return otherMachine(fmt.Sprintf("%s is a profile of %s, and the compiler is for %s: record one of that machine", filepath.Base(opts.Use.Profile), of, cmp.Or(target, opts.Machine.String())))
	}
	return nil
}

// writeShim puts the stand-in for the assembler into bin.
func writeShim(bin, self string, opts ShimOptions) error {
	if err := verb.StandIn(self, filepath.Join(bin, "as")); err != nil {
		return err
	}
	text, err := json.MarshalIndent(opts, "", "\t")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(bin, shimOptionsFile), text, 0o644); err != nil {
		return err
	}
	return linkLTO(bin, self)
}

// useCompiler becomes the compiler, which then builds with the profile.
func useCompiler(ctx context.Context, in *invocation, shim ShimOptions) error {
	s, c, cmd := in.streams, in.compiler, in.cmd
	shim.Target = cmd.Target
	if (len(cmd.Target) > 0 || runtime.GOOS == "darwin") && driver.ObjectOf(c.target(ctx, cmd.Target)) == asm.MachO {
		shim = shim.unsplit()
	}
	b, err := prepareUse(ctx, c, shim)
	if other := otherMachine(""); errors.As(err, &other) {
		return useOther(ctx, in, other)
	}
	if err != nil {
		return err
	}
	cmd.Data = b.opts.DataOrder != ""
	var link []string
	var laid []buildEvent
	var linker FoundLinker
	if cmd.Links {
		var inputs []linkInput
		if len(cmd.Sources) == 0 { // what it compiles has sections for functions
			inputs = driverInputs(cmd)
		}
		linker = b.linker(ctx, c, cmd)
		if b.windows && linker.Kind == linkorder.LLD && c.Family != driver.Clang {
			linker.Err = errors.New("lld moves functions for Windows in objects by clang only: link with GNU ld")
		}
		linker.refuseOwn(cmd.OwnOrder())
		if link, err = b.linkArgs(s, linker, cmd.Output, inputs); err != nil {
			return err
		}
		laid = laidEvents(link, cmd.Output)
	}
	bin, env := filepath.Join(b.dir, "bin"), driverEnv(cmd)
	cmd.Binutils = readBinutils(b.dir)
	cmd.Around = readAround(b.dir)
	if b.opts.NoSplit {
		bin = ""
	} else if lto, why := c.bitcodeLink(ctx, cmd); lto != "" {
		link = append(link, ltoArgs(b.dir, asm.ELF)...)
		env = append(env, ltoEnv(lto))
	} else if why != "" {
		if err := noteKept(s, cmd.Output, wholeKept, why); err != nil {
			return err
		}
	}
	args := in.argv[1:]
	if cmd.Compiles {
		args = cmd.Apart(args, readApart(b.dir))
	}
	argv := append(in.argv[:1:1], cmd.UseArgs(args, bin, link)...)
	if cmd.Links {
		mixed := &mixedLink{streams: s, inputs: driverInputs(cmd), events: laid}
		if b.opts.FastStart {
			l := startLink{b, in, linker, argv, env, map[string]string{}}
			return l.run(ctx, mixed)
		}
		return c.runLink(ctx, mixed, argv, b.dir, env...)
	}
	return c.become(ctx, argv, b.dir, env...)
}

// linker returns the linker that a command starts. lld-link does not say so when it is asked for its version.
func (b *useBuild) linker(ctx context.Context, c Compiler, cmd *driver.Command) FoundLinker {
	if b.msvc {
		return FoundLinker{Name: string(linkorder.LLDLink), Kind: linkorder.LLDLink}
	}
	return c.Linker(ctx, cmd)
}

// withoutProbes is what a link of a build by a profile is for.
const withoutProbes = "a build without probes (--use)"

// useOther becomes a compiler for another machine than the profile's. A cross build also compiles programs for
// the host: only in a build they are compiled unchanged, and listed in its summary.
func useOther(ctx context.Context, in *invocation, why otherMachine) error {
	if os.Getenv(catch.EnvLog) == "" {
		return fmt.Errorf("cc: --use: %w", why)
	}
	for _, source := range in.cmd.Sources {
		if err := logUntouched(source, why.Error(), ""); err != nil {
			return err
		}
	}
	return in.compiler.become(ctx, in.argv, "")
}

// linkArgs returns the driver's arguments that make its linker lay out the module output by the profile. A
// linker that does not support orders gets none, with a note, and neither does a link of inputs that cannot be ordered.
func (b *useBuild) linkArgs(s *verb.Streams, l FoundLinker, output string, inputs []linkInput) ([]string, error) {
	err := l.Err
	var format linkorder.Format
	if err == nil {
		format, err = l.Kind.Format(l.Version)
	}
	if err == nil && b.windows {
		format = format.ForWindows()
	}
	if err != nil {
		return nil, noteKept(s, output, functionsKept, err.Error())
	}
	if b.opts.DataOrder == "" && inOneSection(inputs) {
		return nil, noteKept(s, output, functionsKept, "the objects were compiled without -ffunction-sections: compile them again by this build ("+compileAgain+")")
	}
	if b.opts.DataOrder != "" && !format.HasData() {
		if err := noteKept(s, output, dataKept, string(l.Kind)+" cannot, lld and gold can (-fuse-ld=lld)"); err != nil {
			return nil, err
		}
	}
	path := filepath.Join(b.dir, fmt.Sprintf("%s.%s.order", orderName(output), format))
	args := format.Args(path)
	if b.msvc {
		args = linkorder.MSVCArgs(path)
	}
	if Exists(path) {
		return args, nil
	}
	p, err := verb.ReadProfile(filepath.Join(b.dir, useProfile))
	if err != nil {
		return nil, err
	}
	funcs, err := b.ranked(p, filepath.Base(output))
	if err != nil {
		return nil, err
	}
	rendered, _ := linkorder.Render(format, linkorder.Resolve(funcs, &linkorder.Link{}).Entries)
	dataLines, err := b.dataLines(format)
	if err != nil {
		return nil, err
	}
	err = verb.WriteBytes(s, path, append(rendered, dataLines...))
	return args, err
}

// laidEvents records that a module is linked with the arguments of an order, if there are any.
func laidEvents(args []string, module string) []buildEvent {
	if args == nil {
		return nil
	}
	return []buildEvent{{linkEvent: linkEvent{Laid: cmp.Or(module, "a.out")}}}
}

// inOneSection reports whether the linker can move no function of the inputs of a link: an order would have no effect.
func inOneSection(inputs []linkInput) bool {
	var have [objfile.InSections + 1]bool
	for _, in := range inputs {
		if in.path == "" || in.system {
			continue
		}
		_ = objfile.EachLinkInput(in.path, func(_ bool, _ string, r *io.SectionReader) error {
			at, err := objfile.FunctionPlacement(r)
			have[at] = true
			return err
		}) // the linker reports what is wrong
	}
	return have[objfile.InOneSection] && !have[objfile.InSections]
}

// orderName is a file name for the order of a module.
func orderName(output string) string {
	base := filepath.Base(output)
	if output == "" || len(base) > 100 {
		sum := sha256.Sum256([]byte(base))
		return hex.EncodeToString(sum[:8])
	}
	return base
}

// runSplit assembles a compiler's output with its cold blocks moved away. Should
// the assembler refuse that, the output is assembled as it is.
func (sh *shim) runSplit(ctx context.Context, in *input) error {
	args, src := in.others(), in.text
	out, event, err := sh.split(src, in.x64)
	if err != nil {
		return err
	}
	if event == nil {
		return sh.assemble(ctx, args, src)
	}
	if err := logEvent(buildEvent{Split: event}); err != nil {
		return err
	}
	var messages bytes.Buffer
	if sh.assembleTo(ctx, &messages, args, out) == nil {
		if _, err := messages.WriteTo(sh.streams.Err); err != nil || !sh.opts.Prove {
			return err
		}
		return sh.proveObject(ctx, args, src, event.Source, provingLayout)
	}
	if err := sh.assemble(ctx, args, src); err != nil {
		return err // the assembler does not fail because of the split
	}
	fmt.Fprintf(sh.streams.Err, "cairn: %s: the assembler rejected the split code: report a bug; the file is built without splitting\n", event.Source)
	return nil
}

// ProfileIdent is in CommentSection, where compilers put their names, of programs with code that was compiled by a profile,
// whether some of it was moved or not. They have no probes.
const (
	ProfileIdent   = "cairn: built by a profile"
	CommentSection = ".comment"
)

// split returns the text of the compiler's output with its cold blocks moved
// away.
func (sh *shim) split(src []byte, x64 bool) ([]byte, *splitEvent, error) {
	of := sh.opts.Machine
	if of == machine.X86_64 && !x64 || of != machine.X86_64 && of != machine.AArch64 {
		return src, nil, nil
	}
	p, err := verb.ReadProfile(filepath.Join(sh.dir, "..", useProfile))
	if err != nil {
		return nil, nil, err
	}
	counted := hasFunc(p, func(f *prof.Func) bool { return f.Mode.HasEdges() })
	parse := asm.ParseOptions{Plain: plain(src), Counts: counted}
	unit, err := isa.ParseAs(parse, src, of)
	if err != nil {
		return nil, nil, fmt.Errorf("as: compiler output: %w", err)
	}
	cold := newColdModules(p)
	opts := split.Options{MinInsns: split.DefaultMinInsns, Whole: true, SourceOf: sh.opts.SourceOf, Counted: counted, Flow: cold.flow, Executed: executed(p)}
	opts.Unaligned = os.Getenv(envUnaligned) != ""
	if !guards(src) {
		opts.Inside = inside(p)
	}
	if s := os.Getenv(envSources); s != "" {
		opts.Sources = strings.Split(s, "\n")
	}
	out, result := split.Split(unit, cold.blocks, opts)
	if sh.opts.Object != asm.MachO {
		out = fmt.Appendf(out, "\t.ident\t%q\n", ProfileIdent)
	}
	return out, &splitEvent{result, cold.stale, cold.missing}, nil
}

// splitEvent is the result of splitting an object by a profile.
type splitEvent struct {
	split.Result
	Stale   int // functions that the profile has in another shape
	Missing int // functions that it does not have
}

// hasBlocks reports whether p records blocks.
func hasBlocks(p *prof.Profile) bool {
	return hasFunc(p, func(f *prof.Func) bool { return f.Mode.HasBlocks() })
}

// hasFunc reports whether is holds for a function of a profile.
func hasFunc(p *prof.Profile, is func(*prof.Func) bool) bool {
	for i := range p.Modules {
		for k := range p.Modules[i].Funcs {
			if is(&p.Modules[i].Funcs[k]) {
				return true
			}
		}
	}
	return false
}

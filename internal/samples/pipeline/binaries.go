package pipeline

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/logfile"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/samples/profgen"
	"github.com/cairnprof/cairn/internal/samples/samplefile"
	"github.com/cairnprof/cairn/internal/samples/unwind"
	"github.com/cairnprof/cairn/sample"
)

// binaries are the programs that ran, with the data that identifies locations in them.
type binaries struct {
	programs []*objfile.Program
	code     *machinecode.Set
	lines    *profgen.Lines        // the keys of a profile, nil for pseudo probes
	source   *profgen.Source       // of stacks, if requested
	scopes   []*objfile.ScopeTable // for the pre-inliner
	tables   *Tables               // of copies of stacks
	lazy     bool                  // code is read when it is needed
	fs       bool                  // discriminators are flow-sensitive
}

// readBinaries reads the programs, and determines the keys of the product.
func (r run) readBinaries() (*binaries, error) {
	b := &binaries{}
	open, err := r.openBinaries()
	defer closeAll(open)
	if err != nil {
		return nil, err
	}
	var stripped []strippedFile
	stubs := r.namesStubs()
	for _, f := range open {
		f.SetEHFrame(r.Tables.ofFile(f.Path()))
		read, bySymbols := f.Program, !r.Product.forCompilers()
		if bySymbols {
			read = f.ProgramOfSymbols
		}
		p, err := read()
		if err != nil {
			return nil, err
		}
		if len(p.Symbols) == 0 {
			left, err := r.nameStripped(f, p)
			if err != nil {
				return nil, err
			}
			stripped = append(stripped, left)
		}
		if stubs {
			f.AddStubs(p)
		}
		b.programs = append(b.programs, p)
		if bySymbols && r.Detail == profgen.Functions {
			continue // debug information is not read
		}
		if m := f.MissingSplit(); m.Units > 0 {
			r.Note("%s: %s: the functions there have only their symbols", f.Path(), m)
		}
	}
	r.noteStripped(stripped)
	if !r.Product.forCompilers() {
		return b, r.readSymbols(b, open)
	}
	byLines := r.keyedByLines(b)
	if b.code, err = machinecode.NewSet(b.programs...); err != nil {
		return nil, err
	}
	if err := b.checkDiscriminators(); err != nil {
		return nil, err
	}
	if byLines {
		return b, b.readLines(open)
	}
	if r.Preinline != nil && r.BySize {
		return b, b.readScopes(open)
	}
	return b, nil
}

// needsFewFunctions reports whether all samples have whole stacks, by which functions can be named without the rest of the code.
func (r run) needsFewFunctions() bool {
	return r.Product == Stacks && r.Detail == profgen.Functions && r.Infer == InferFull && !r.IgnoreStacks && r.Kept != nil && r.Kept.Copied()
}

// namesStubs reports whether stubs of the dynamic linker are functions: on stacks without branches, which show the way
// through them.
func (r run) namesStubs() bool {
	if r.Product != Stacks || r.Detail != profgen.Functions {
		return false
	}
	if r.Kept != nil {
		return r.Kept.Info().Kind == sample.Stacks
	}
	paths, err := samplefile.Expand(r.Samples)
	if err != nil {
		return false
	}
	return !slices.ContainsFunc(paths, func(path string) bool {
		if !logfile.Regular(path) {
			return true // a pipe can be read once
		}
		in, err := samplefile.Open(path, nil)
		if err != nil {
			return true // which is reported later
		}
		defer in.Close()
		return in.Info().Kind != sample.Stacks
	})
}

// strippedFile is a stripped binary, and the functions that have a name in it and those that have none.
type strippedFile struct {
	path, id string
	objfile.RemainingSymbols
}

const noSymbols = "%s: no symbols (it is stripped: give the unstripped binary, or its debug file with --debug-binary)"

// nameStripped names the functions of a stripped binary by what is left in it. Compilers would
// not know these names.
func (r run) nameStripped(f *objfile.File, p *objfile.Program) (strippedFile, error) {
	if r.Product.forCompilers() {
		return strippedFile{}, fmt.Errorf(noSymbols, f.Path())
	}
	left, err := f.RemainingSymbols()
	if err != nil {
		return strippedFile{}, err
	}
	if left.Named+left.Unnamed == 0 {
		return strippedFile{}, fmt.Errorf(noSymbols, f.Path())
	}
	p.Symbols = left.Symbols
	return strippedFile{f.Path(), p.BuildID, left}, nil
}

// noteStripped says on one line which binaries are stripped.
func (r run) noteStripped(files []strippedFile) {
	switch len(files) {
	case 0:
		return
	case 1:
		f := files[0]
		named := report.Either(uint64(f.Named), " has a name, as it is exported,", " have names, as they are exported,")
		if f.Mini {
			named = report.Either(uint64(f.Named), " has a name", " have names") + " (.dynsym and .gnu_debugdata)"
		}
		r.Note("%s: stripped: %s%s and %s have none (%s): for all names, %s", f.path, report.Plural(f.Named, "function"), named, report.Count(f.Unnamed), objfile.UnnamedFunction(f.path, 0x1234), betterNames(f.id))
		return
	}
	named, unnamed, most := 0, 0, files[0]
	for _, f := range files {
		named, unnamed = named+f.Named, unnamed+f.Unnamed
		if f.Unnamed > most.Unnamed {
			most = f
		}
	}
	const listed = 3
	var names []string
	for _, f := range files[:min(listed, len(files))] {
		names = append(names, f.path)
	}
	list := strings.Join(names, ", ")
	if n := len(files) - listed; n > 0 {
		list += fmt.Sprintf(" and %d more", n)
	}
	r.Note("%d files are stripped, those with the most samples first: %s: %s have names, as they are exported, and %s have none (%s): for all names, install their debug symbols in %s, or set DEBUGINFOD_URLS to the server of the distribution",
		len(files), list, report.Plural(named, "function"), report.Count(unnamed), objfile.UnnamedFunction(most.path, 0x1234), objfile.DefaultDebugRoot)
}

// betterNames says where the symbols of a stripped binary may be.
func betterNames(id string) string {
	const servers = "set DEBUGINFOD_URLS to the server of its distribution"
	if len(id) < 4 {
		return "give the unstripped binary, or its debug file with --debug-binary"
	}
	return fmt.Sprintf("install its debug symbols (%s/.build-id/%s/%s.debug), give them with --debug-binary, or %s", objfile.DefaultDebugRoot, id[:2], id[2:], servers)
}

func closeAll(files []*objfile.File) {
	for _, f := range files {
		f.Close()
	}
}

// openBinaries opens each binary once. The caller closes the opened files, also after an
// error.
func (r run) openBinaries() (open []*objfile.File, err error) {
	for i, path := range r.Binaries {
		if slices.Contains(r.Binaries[:i], path) {
			continue
		}
		f, err := objfile.Open(path)
		if err != nil {
			return open, err
		}
		open = append(open, f)
		if r.DebugFile != "" {
			if err := f.SetDebugFile(r.DebugFile); err != nil {
				return open, err
			}
		}
		if r.SplitFile != "" {
			if err := f.SetSplitFile(r.SplitFile); err != nil {
				return open, err
			}
		}
	}
	return open, nil
}

// keyedByLines reports whether a profile is keyed by lines: then functions are those of debug
// information, and probes are ignored.
func (r run) keyedByLines(b *binaries) bool {
	without := b.withoutProbes()
	if without == "" && !r.ByLines {
		return false
	}
	probed := func(p *objfile.Program) bool { return len(p.Probes) > 0 }
	if without != "" && len(b.programs) > 1 && !r.ByLines && slices.ContainsFunc(b.programs, probed) {
		r.Note("%s has no pseudo probes: the profile is keyed by lines", without)
	}
	for _, p := range b.programs {
		p.Probes = nil
	}
	return true
}

// withoutProbes returns the first binary that has no pseudo probes, "" if there is none.
func (b *binaries) withoutProbes() string {
	for _, x := range b.programs {
		if len(x.Probes) == 0 || len(x.Probed) == 0 {
			return x.Path
		}
	}
	return ""
}

// readProbes reads the pseudo probes, only those of the functions in met if it is not nil. It
// returns nil if a binary has none.
func (b *binaries) readProbes(met *unwind.Result) (*profgen.Probes, error) {
	if b.withoutProbes() != "" {
		return nil, nil
	}
	return profgen.ReadProbes(b.code, b.programs, met)
}

// checkDiscriminators determines the kind of discriminators: a profile has one kind.
func (b *binaries) checkDiscriminators() error {
	for i, p := range b.programs {
		if i == 0 {
			b.fs = p.FSDiscriminators()
		} else if b.fs != p.FSDiscriminators() {
			return fmt.Errorf("only one of %s and %s was compiled with -enable-fs-discriminator: make a profile of each", b.programs[0].Path, p.Path)
		}
	}
	return nil
}

// readLines reads the keys of binaries without pseudo probes.
func (b *binaries) readLines(open []*objfile.File) error {
	var info []profgen.DebugInfo
	for _, f := range open {
		d := profgen.DebugInfo{FS: b.fs}
		var err error
		if d.Lines, err = f.Lines(); err == nil {
			d.Scopes, err = f.Scopes()
		}
		if m := f.MissingSplit(); noDebug(err) && m.Units > 0 {
			return fmt.Errorf("%s: no pseudo probes, and %s: name the package with --dwp, or keep the files", f.Path(), m)
		} else if noDebug(err) {
			return fmt.Errorf("%s: neither pseudo probes nor debug information (compile with clang -fpseudo-probe-for-profiling or -g)", f.Path())
		} else if err != nil {
			return err
		}
		info = append(info, d)
		b.scopes = append(b.scopes, d.Scopes)
	}
	b.lines = profgen.NewLines(b.code, info)
	return nil
}

// readScopes reads the inlined calls. Without debug information the pre-inliner uses only
// pseudo probes.
func (b *binaries) readScopes(open []*objfile.File) error {
	for _, f := range open {
		scopes, err := f.Scopes()
		if err != nil && !noDebug(err) {
			return err
		}
		b.scopes = append(b.scopes, scopes)
	}
	return nil
}

func noDebug(err error) bool {
	return errors.Is(err, objfile.ErrNoScopes) || errors.Is(err, objfile.ErrNoDebug)
}

// readSymbols makes the code with symbols as its functions: outputs for people need no debug
// information, but use its lines.
func (r run) readSymbols(b *binaries, open []*objfile.File) (err error) {
	for _, p := range b.programs {
		p.Ranges = nil
	}
	read := machinecode.NewSet
	if b.lazy = r.needsFewFunctions() && b.withoutProbes() != "" && machinecode.CanBeLazy(b.programs); b.lazy {
		read = machinecode.NewLazySet
	}
	if b.code, err = read(b.programs...); err != nil || r.Detail == profgen.Functions {
		return err
	}
	if b.source, err = readSource(b.code, open); err != nil {
		return err
	}
	for i, f := range open {
		if r.Detail == profgen.Inlined && !b.source.HasLines(i) {
			r.Note("%s: no debug information: inlined functions are part of the functions that contain them", f.Path())
		}
	}
	return nil
}

// readSource reads source locations from debug information, if there is any.
func readSource(code *machinecode.Set, open []*objfile.File) (*profgen.Source, error) {
	info := make([]profgen.DebugInfo, len(open))
	names := make([]*objfile.SourceFiles, len(open))
	for i, f := range open {
		var err error
		if info[i].Lines, err = f.Lines(); errors.Is(err, objfile.ErrNoDebug) {
			continue
		} else if err != nil {
			return nil, err
		}
		if names[i], err = f.SourceFiles(); err != nil {
			return nil, err
		}
		if info[i].Scopes, err = f.Scopes(); err != nil && !errors.Is(err, objfile.ErrNoScopes) {
			return nil, err
		}
	}
	return profgen.NewSource(code, info, names), nil
}

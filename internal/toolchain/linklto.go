package toolchain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/internal/binary/bitcode"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/driver"
	"github.com/cairnprof/cairn/internal/instrument/probe"
	"github.com/cairnprof/cairn/internal/profile/absent"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// Objects for link-time optimisation have no code yet. What they were compiled from is in their records (gcc) or in
// their bitcode (clang), which linkers do not join: the object that a link adds has all of it. The linker does
// not say which members of archives it took either. Those that it may have taken follow from the names that objects
// define and need.

// ltoLink is the code of a link that its linker makes.
type ltoLink struct {
	units []ltoInputUnit
	all   bool // the linker takes all members of some archives, or has inputs that are not known here
}

// ltoInputUnit is the unit of an object with such code.
type ltoInputUnit struct {
	unit *prof.Unit
	at   inputPlace
}

// inputPlace identifies an object of a link.
type inputPlace struct {
	path   string
	member int // from 0 on, -1 for an object that is in no archive
}

// add adds the code of an object, if it has any.
func (l *ltoLink) add(at inputPlace, member string, body *io.SectionReader) (bool, error) {
	u, err := absent.LTOUnit(body, newLinkedObject(at.path, at.member >= 0, member).Name)
	if u == nil || err != nil {
		return false, err
	}
	l.units = append(l.units, ltoInputUnit{u, at})
	return true, nil
}

// linkNames returns the names of an object of any kind, nil if r is none.
func linkNames(body *io.SectionReader) (*objfile.LinkNames, error) {
	var magic [4]byte
	if n, _ := body.ReadAt(magic[:], 0); n < len(magic) || !bitcode.Is(magic[:]) {
		return objfile.ReadLinkNames(body)
	}
	data, err := io.ReadAll(io.NewSectionReader(body, 0, body.Size()))
	if err != nil {
		return nil, err
	}
	m, err := bitcode.Read(data)
	if err != nil {
		return nil, err
	}
	n := &objfile.LinkNames{}
	for i := range m.Symbols {
		switch s := &m.Symbols[i]; {
		case s.Local:
		case s.Defined:
			n.Defined = append(n.Defined, s.Name)
		default:
			n.Needed = append(n.Needed, s.Name)
		}
	}
	return n, nil
}

// extracted returns which members of archives the linker may have taken: those that define a name that an object, or
// another of them, needs. Their order makes no difference, so that these may be more than it took.
func (l *ltoLink) extracted(paths []string) (map[inputPlace]bool, error) {
	taken := map[inputPlace]bool{}
	needed := map[inputPlace][]string{}
	defines := map[string][]inputPlace{} // names of members of archives
	var next []inputPlace
	for _, path := range paths {
		n := 0
		err := objfile.EachLinkInput(path, func(archive bool, _ string, body *io.SectionReader) error {
			at := inputPlace{path, -1}
			if archive {
				at.member = n
			}
			n++
			names, err := linkNames(body)
			if names == nil || err != nil {
				return nil // the linker reports what is wrong
			}
			needed[at] = names.Needed
			if !archive {
				next = append(next, at)
				return nil
			}
			for _, name := range names.Defined {
				defines[name] = append(defines[name], at)
			}
			return nil
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	next = append(next, defines["main"]...) // files of the system need it
	for len(next) > 0 {
		at := next[len(next)-1]
		next = next[:len(next)-1]
		if taken[at] {
			continue
		}
		taken[at] = true
		for _, name := range needed[at] {
			next = append(next, defines[name]...)
		}
	}
	return taken, nil
}

// record appends the units to a section. paths are the inputs of the link, less those of the system.
func (l *ltoLink) record(data []byte, paths []string) ([]byte, error) {
	archived := slices.ContainsFunc(l.units, func(u ltoInputUnit) bool { return u.at.member >= 0 })
	var taken map[inputPlace]bool
	if archived && !l.all {
		var err error
		if taken, err = l.extracted(paths); err != nil {
			return nil, err
		}
	}
	units := make([]*prof.Unit, len(l.units))
	for i := range units {
		u, at := l.units[i].unit, l.units[i].at
		if units[i] = u; at.member >= 0 && !l.all && !taken[at] {
			u.Unlinked = true
			nameArchive(u, filepath.Base(at.path))
		}
	}
	absent.KeepRefs(units)
	var err error
	for _, u := range units {
		if data, err = mip.AppendUnit(data, u); err != nil {
			return nil, err
		}
	}
	return data, nil
}

// bitcodeRecord returns the path of the object with the record of a link's bitcode, "" if it has none. runtime is an
// archive of objects for the same machine, or one for Mach-O.
func (l *ltoLinker) bitcodeRecord(ctx context.Context, line *driver.LinkerLine, runtime string) (string, error) {
	r := ltoLink{all: takesAll(line)}
	o := l.opts.Options
	if s := os.Getenv(envSources); s != "" { // the driver compiles and links
		o.Sources = strings.Split(s, "\n")
	}
	var paths []string
	inputs, _ := inputsOfLine(line)
	for _, in := range inputs {
		if in.path == "" || in.system || in.path == runtime {
			continue
		}
		paths = append(paths, in.path)
		at := inputPlace{in.path, -1}
		err := objfile.EachLinkInput(in.path, func(archive bool, member string, body *io.SectionReader) error {
			if archive {
				at.member++
			}
			data, err := bitcodeOf(body, line.Fat())
			if data == nil || err != nil {
				return err
			}
			u, err := absent.BitcodeUnit(data, newLinkedObject(in.path, archive, member).Name)
			if err != nil {
				return err
			}
			u.File = o.SourcePath(u.File)
			for i := range u.Funcs {
				u.Funcs[i].File = u.File
			}
			u.Funcs = slices.DeleteFunc(u.Funcs, func(a prof.Absent) bool { return o.Omits(a.Name, u.File) })
			r.units = append(r.units, ltoInputUnit{u, at})
			return nil
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	if len(r.units) == 0 {
		return "", nil
	}
	data, err := r.record(nil, paths)
	if err != nil {
		return "", err
	}
	output := line.Output() + " (bitcode)"
	switch l.opts.Object {
	case asm.MachO:
		return mapAssembler{&l.streams, asm.MachO, false, l.opts.Assembler, l.opts.Target}.place(ctx, data, output)
	case asm.COFF:
		return mapAssembler{&l.streams, asm.COFF, l.opts.MSVC, l.opts.Clang, l.opts.Target}.place(ctx, data, output)
	}
	object, err := recordLike(runtime, data)
	if object == nil || err != nil {
		return "", err
	}
	return placeRecord(&l.streams, object, output)
}

// takesAll reports whether a link takes all members of some archives.
func takesAll(line *driver.LinkerLine) bool {
	return line.Has("whole-archive", "all_load", "ObjC", "wholearchive") || slices.ContainsFunc(line.Words, func(w driver.LinkerWord) bool { return w.Load == "-force_load" || w.Load == "/wholearchive:" })
}

// recordLike returns an object with a record, for the machine of those in an archive.
func recordLike(archive string, data []byte) (object []byte, err error) {
	err = objfile.EachLinkInput(archive, func(_ bool, _ string, body *io.SectionReader) (err error) {
		if object == nil {
			object, err = objfile.OneSection(body, wire.UnitSection, data)
		}
		return err
	})
	return object, err
}

// nameArchive notes the archive of functions of a unit that is in one.
func nameArchive(u *prof.Unit, archive string) {
	for i := range u.Funcs {
		if u.Funcs[i].Note == "" {
			u.Funcs[i].Note = archive
		}
	}
}

// envDump is set by cairn cc for the stand-in for the assembler: the directory in which gcc dumps the functions that
// the linker's compiler will make code of, and where objects that the same command links are kept.
const envDump = "CAIRN_LTO_DUMP"

// Names in that directory.
const (
	dumpFile = "functions"
	keptDir  = "objects" // only if the command links what it compiles
	joined   = "joined"  // one of the compilations that the linker started has the record
)

// dumps returns the arguments by which gcc dumps its functions into a directory, which done removes; none if the
// command makes no code for the linker's compiler, or if the options would change what its user asked for.
func (f *InstrumentFlags) dumps(c Compiler, cmd *driver.Command, tc driver.Toolchain, args []string) (add, env []string, done func(), err error) {
	if c.Family != driver.GCC || c.cache != nil || !cmd.Compiles || !cmd.LTO || !f.Shim.recordsUnits(tc) ||
		slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "-fdump-tree-") }) {
		return nil, nil, nil, nil
	}
	dir, err := os.MkdirTemp("", "cairn-lto-")
	if err != nil {
		return nil, nil, nil, fmt.Errorf("cc: %w", err)
	}
	if cmd.Links {
		if err := os.Mkdir(filepath.Join(dir, keptDir), 0o700); err != nil {
			return nil, nil, nil, fmt.Errorf("cc: %w", err)
		}
	}
	done = func() { verb.RemoveAll(dir) }
	return []string{probe.DumpOption + filepath.Join(dir, dumpFile)}, []string{envDump + "=" + dir}, done, nil
}

// appendLTO appends the record of functions for the linker's compiler to a compiler's output that has such, and the
// records of a command that compiles and links to the first output of the compilers that the linker starts.
func (sh *shim) appendLTO(src, out []byte, source string) ([]byte, error) {
	dir := os.Getenv(envDump)
	if dir == "" || sh.opts.Use != nil {
		return out, nil
	}
	if !probe.HasLTO(src) {
		return sh.joinKept(dir, out)
	}
	dump, err := os.ReadFile(filepath.Join(dir, dumpFile))
	if os.IsNotExist(err) {
		return out, nil
	} else if err != nil {
		return nil, fmt.Errorf("as: %w", err)
	}
	if err := os.Remove(filepath.Join(dir, dumpFile)); err != nil {
		return nil, fmt.Errorf("as: %w", err)
	}
	opts := sh.opts.Options
	if opts.Dir, err = os.Getwd(); err != nil {
		return nil, fmt.Errorf("as: %w", err)
	}
	return opts.AppendLTO(out, src, dump, source), nil
}

// keepLTO keeps an object for the link of the same command.
func keepLTO(src []byte, object string) error {
	dir := filepath.Join(os.Getenv(envDump), keptDir)
	if os.Getenv(envDump) == "" || object == "" || !Exists(dir) || !probe.HasLTO(src) {
		return nil
	}
	data, err := os.ReadFile(object)
	if err != nil {
		return fmt.Errorf("as: %w", err)
	}
	f, err := os.CreateTemp(dir, "*.o")
	if err != nil {
		return fmt.Errorf("as: %w", err)
	}
	defer f.Close()
	if _, err := f.Write(data); err != nil {
		return fmt.Errorf("as: %w", err)
	}
	return f.Close()
}

// joinKept appends the records of the objects that were kept, unless another compilation of the link has done it.
func (sh *shim) joinKept(dir string, out []byte) ([]byte, error) {
	objects, err := filepath.Glob(filepath.Join(dir, keptDir, "*.o"))
	if err != nil || len(objects) == 0 {
		return out, err
	}
	f, err := os.OpenFile(filepath.Join(dir, joined), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if os.IsExist(err) {
		return out, nil
	} else if err != nil {
		return nil, fmt.Errorf("as: %w", err)
	}
	f.Close()
	var l ltoLink
	for _, path := range objects {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("as: %w", err)
		}
		body := io.NewSectionReader(bytes.NewReader(data), 0, int64(len(data)))
		if _, err := l.add(inputPlace{path, -1}, "", body); err != nil {
			return nil, fmt.Errorf("as: %w", err)
		}
	}
	data, err := l.record(nil, nil)
	if err != nil {
		return nil, fmt.Errorf("as: %w", err)
	}
	return probe.AppendRecord(out, wire.UnitSection, data), nil
}

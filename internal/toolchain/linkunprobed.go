package toolchain

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/instrument/driver"
	"github.com/cairnprof/cairn/internal/instrument/probe"
	"github.com/cairnprof/cairn/internal/lazyregexp"
	"github.com/cairnprof/cairn/internal/profile/coverage"
	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/prof"
)

// Objects without the record of a unit are not from our stand-ins: other languages, assembly written by hand,
// code that cannot get probes, objects of an earlier build. Their functions are in the program, and nothing says
// whether they ran. The object that a link adds has records of them as well, made from their symbols and debug
// information.

// linkedObject is an object without probes in a link.
type linkedObject struct {
	Name   string // for messages
	Object string // path of the file, or the name of a member; of rustc's objects the part that all of a crate share
	In     string // path of the archive that the member is in
	Source string // if it is known
	Why    string // it has no probes
}

// systemObject matches inputs of links that compilers and systems bring: their libraries and start files. Those
// of rustc are below its lib/rustlib.
var systemObject = lazyregexp.New(`^/(usr/)?lib[^/]*/|^/usr/libexec/|^/usr/[^/]+-[^/]+/lib[^/]*/|/lib/rustlib/` +
	`|/lib[^/]*/gcc(-cross)?/[^/]+-[^/]+/\d[^/]*/|/lib[^/]*/clang/\d[^/]*/|^/nix/store/[^/]+/lib/`)

// systemInput reports whether an input of a link belongs to the compiler or the system. sysroot is the directory
// that the link names as root of the system, or "".
func systemInput(path, sysroot string) bool {
	if path == "" {
		return false
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return false
	}
	if sysroot != "" && strings.HasPrefix(path, filepath.Clean(sysroot)+string(filepath.Separator)) {
		return true
	}
	return systemObject().MatchString(path)
}

// readUnprobed adds a record of an object that has none.
func (r *unitRecords) readUnprobed(in linkInput, archive bool, member string, body *io.SectionReader) error {
	if ours, err := objfile.SectionOf(body, wire.MapSection); err != nil || ours != nil {
		return err // of a cairn that wrote no records
	}
	if archive && r.rust.has(member) {
		return nil
	}
	code, err := objfile.ReadLinkCode(body)
	switch {
	case errors.Is(err, objfile.ErrNotELF) && !archive:
		return r.readScript(in, body)
	case errors.Is(err, objfile.ErrNotELF) || errors.Is(err, objfile.ErrNoCode):
		return nil
	case err != nil: // the linker may accept what cannot be read here: other objects keep their records
		code = &objfile.LinkCode{Made: []string{err.Error()}, Bytes: 1}
	}
	o := newLinkedObject(in.path, archive, member)
	u := o.unit(code, in.path, archive)
	if u == nil {
		return nil
	}
	r.unprobed = append(r.unprobed, o)
	if r.data, err = mip.AppendUnit(r.data, u); err != nil {
		return err
	}
	return r.likeThis(body)
}

// unit returns the unit of an object without probes at path, or of a member of an archive there, nil if it has no code of
// a source. It adds what the object says of its source and compiler.
func (o *linkedObject) unit(code *objfile.LinkCode, path string, archive bool) *prof.Unit {
	name := o.Name
	if archive {
		code.Made = append([]string{filepath.Base(path)}, code.Made...)
	}
	u := unprobedUnit(code, name, filepath.Dir(path))
	if u == nil {
		return nil
	}
	all := len(u.Funcs)
	u.Funcs = slices.DeleteFunc(u.Funcs, func(a prof.Absent) bool { return probe.RustMade(a.Name) })
	if all > 0 && len(u.Funcs) == 0 {
		return nil
	}
	u.Unlinked = archive
	o.describe(code, u, name)
	return u
}

// UnprobedUnit returns the unit of an object without probes at path, or of a member of an archive there, nil if it has
// probes, or no code of a source.
func UnprobedUnit(path string, archive bool, member string, body *io.SectionReader) (*prof.Unit, error) {
	if defined, needed, ok := objfile.ObjectNames(body, ourPrefix); !ok || len(defined)+len(needed) > 0 {
		return nil, nil
	}
	code, err := objfile.ReadLinkCode(body)
	if errors.Is(err, objfile.ErrNotELF) || errors.Is(err, objfile.ErrNoCode) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	o := newLinkedObject(path, archive, member)
	return o.unit(code, path, archive), nil
}

// maxScript bounds a linker script, in bytes.
const maxScript = 1 << 20

// readScript adds records of the inputs that a linker script names: some compilers hand all objects to the linker
// in this way. Scripts in scripts are left out.
func (r *unitRecords) readScript(in linkInput, body *io.SectionReader) error {
	if in.script || body.Size() > maxScript {
		return nil
	}
	text, err := io.ReadAll(body)
	if err != nil || bytes.IndexByte(text, 0) >= 0 {
		return err // a file of another kind
	}
	for _, name := range driver.ScriptInputs(string(text)) {
		if err := r.read(linkInput{path: name, system: systemInput(name, ""), script: true, whole: in.whole}); err != nil {
			return err
		}
	}
	return nil
}

// rustObject is how names of rustc's objects end: it makes several of a crate.
const rustObject = ".rcgu.o"

// describe adds what the object says of its source and compiler. name stands for sources that it does not name.
func (o *linkedObject) describe(code *objfile.LinkCode, u *prof.Unit, name string) {
	i := slices.IndexFunc(u.Funcs, func(a prof.Absent) bool { return filepath.IsAbs(a.File) && a.File != name })
	if i >= 0 {
		o.Source = u.Funcs[i].File
	}
	switch o.Why = elsewhere; {
	case goRootOf(code) != "":
		o.Why = "Go gets probes by cairn go (docs/go.md)"
	case strings.HasSuffix(o.Object, rustObject):
		o.Why = others["rustc"].why
		crate, _, _ := strings.Cut(filepath.Base(o.Object), ".")
		o.Object, o.Name = crate, crate
	}
}

// newLinkedObject names an object of a link.
func newLinkedObject(path string, archive bool, member string) linkedObject {
	full := func(path string) string {
		abs, err := filepath.Abs(path)
		switch {
		case err != nil:
			return path
		case strings.HasPrefix(abs, filepath.Clean(os.TempDir())+string(filepath.Separator)): // as of rustc, another one in each build
			return filepath.Base(abs)
		}
		return filepath.ToSlash(abs) // as absolute
	}
	switch {
	case !archive:
		return linkedObject{Name: full(path), Object: full(path)}
	case filepath.IsAbs(member) || strings.Contains(member, "/"): // of a thin archive
		return linkedObject{Name: full(member), Object: full(member)}
	}
	return linkedObject{Name: fmt.Sprintf("%s(%s)", full(path), member), Object: member, In: full(path)}
}

// unprobedUnit returns the unit of an object without probes, nil if it has no code but that of a compiler's
// library. name stands for sources that the object does not name; dir is the directory of the object.
func unprobedUnit(code *objfile.LinkCode, name, dir string) *prof.Unit {
	u := &prof.Unit{}
	if len(code.Funcs) == 0 && code.Bytes > 0 {
		u.File = cut(name)
		u.Funcs = []prof.Absent{{File: u.File, Why: prof.Unprobed, Note: cut(strings.Join(code.Made, ", "))}}
	}
	sources, goRoot := map[string]string{}, goRootOf(code)
	for i := range code.Funcs {
		fn := &code.Funcs[i]
		source, ok := sources[fn.File]
		if !ok {
			file, _, _ := strings.Cut(fn.File, "/@/") // rustc adds the part of the crate
			source = cmp.Or(existing(file, dir), name)
			sources[fn.File] = source
		}
		a := prof.Absent{Name: cut(fn.Name), File: cut(source), Why: prof.Unprobed, Note: cut(strings.Join(code.Made, ", ")), Shared: fn.Shared}
		for _, row := range fn.Rows {
			if row.File == "" || row.End <= row.Addr {
				continue
			}
			file := cut(row.File)
			if a.Line == 0 {
				a.Source, a.Line = file, uint32(row.Line)
			}
			a.Lines = append(a.Lines, prof.LineRange{File: file, From: uint32(row.Line), To: uint32(row.Line)})
		}
		if coverage.SystemFile(source) || goRoot != "" && strings.HasPrefix(a.Source, goRoot) {
			continue
		}
		if source == name && a.Source != "" {
			a.File = a.Source // Go's units are packages
		}
		stablesort.Func(a.Lines, func(x, y prof.LineRange) int {
			return cmp.Or(cmp.Compare(x.File, y.File), cmp.Compare(x.From, y.From))
		})
		a.Lines = prof.JoinRanges(a.Lines)
		u.Funcs = append(u.Funcs, a)
		u.File = cmp.Or(u.File, a.File)
	}
	if len(u.Funcs) == 0 {
		return nil
	}
	return u
}

// goRootOf returns the directory of the sources of Go's library, with a slash at its end, from the debug
// information of a Go program; "" if the object is none.
func goRootOf(code *objfile.LinkCode) string {
	const in = "/src/runtime/"
	for i := range code.Funcs {
		fn := &code.Funcs[i]
		if !strings.HasPrefix(fn.Name, "runtime.") || len(fn.Rows) == 0 {
			continue
		}
		if root, _, ok := strings.Cut(fn.Rows[0].File, in); ok {
			return root + "/src/"
		}
	}
	return ""
}

// existing returns the path of a source file: symbol tables name it as the compiler was told, in its working
// directory, which is that of the link or of the object in most builds. "" if there is no such file.
func existing(file, dir string) string {
	switch {
	case file == "":
		return ""
	case filepath.IsAbs(file):
		return file
	}
	for _, path := range []string{file, filepath.Join(dir, file)} {
		if abs, err := filepath.Abs(path); err == nil && Exists(abs) {
			return abs
		}
	}
	return ""
}

// cut returns as much of a text as the formats allow.
func cut(s string) string { return s[:min(len(s), mip.MaxName)] }

// unprobedLinks are the objects without probes of all links of a build, and what the build knows of them
// already.
type unprobedLinks struct {
	objects []linkedObject
	seen    map[linkedObject]bool
	listed  map[string]bool // sources, objects, and names of objects as archives have them
}

// add adds an event of the build's log.
func (l *unprobedLinks) add(e *buildEvent) {
	if l.seen == nil {
		l.seen, l.listed = map[linkedObject]bool{}, map[string]bool{}
	}
	for _, o := range e.Linked {
		if !l.seen[o] {
			l.seen[o] = true
			l.objects = append(l.objects, o)
		}
	}
	if e.Path != "" && e.Untouched != "" {
		l.listed[e.Path] = true
	}
	if e.Object != "" {
		for _, name := range []string{e.Object, filepath.Base(e.Object)} {
			l.listed[name], l.listed[name+".o"] = true, true
		}
	}
}

// elsewhere is why an object has no probes that the build has not compiled before our eyes.
const elsewhere = "linked, and compiled before this build or by a compiler that cairn does not know"

// list adds to the summary the objects of which the build has listed neither the source nor the object.
func (l *unprobedLinks) list(sum *buildSummary) {
	listed := map[string]bool{}
	for _, o := range l.objects {
		name := cmp.Or(o.Source, o.Name)
		if l.listed[o.Source] || l.listed[o.Object] || l.listed[o.In] || listed[name] {
			continue
		}
		listed[name] = true
		sum.Untouched[o.Why] = append(sum.Untouched[o.Why], name)
	}
}

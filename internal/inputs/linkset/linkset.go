// Package linkset reads the symbols of a link that is to be ordered: of its objects, of its program, or of a profile.
package linkset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/layout/linkorder"
	"github.com/cairnprof/cairn/internal/layout/order"
	"github.com/cairnprof/cairn/internal/toolchain"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// Choice is the link that is to be ordered.
type Choice struct {
	Format  string
	Linker  string
	Binary  string
	Objects []string
}

// ResolveFormat returns the format to write.
func (f *Choice) ResolveFormat(ctx context.Context) (linkorder.Format, error) {
	name := f.Format
	if name == "" && f.Linker == "" {
		name = string(linkorder.FormatLLD)
	}
	if name != "" && name != "auto" {
		format, err := linkorder.ParseFormat(name)
		if err != nil {
			return "", verb.Usagef("--format: %w", err)
		}
		return format, nil
	}
	l, err := f.findLinker(ctx)
	if err != nil {
		return "", err
	}
	if l.Err != nil {
		return "", fmt.Errorf("%w: give the format with --format", l.Err)
	}
	format, err := l.Kind.Format(l.Version)
	if err != nil {
		return "", fmt.Errorf("%s: %w; --format writes the format of another linker", l.Name, err)
	}
	return format, nil
}

// findLinker returns the linker that --linker names, or the compiler's.
func (f *Choice) findLinker(ctx context.Context) (toolchain.FoundLinker, error) {
	if f.Linker == "" {
		words := strings.Fields(cmp.Or(os.Getenv("CC"), "gcc")) // CC may contain arguments
		if len(words) == 0 {
			return toolchain.FoundLinker{}, verb.Usagef("no linker: $CC is blank; give the linker with --linker, or the format with --format")
		}
		return toolchain.LinkerOfDriver(ctx, words[0], words[1:]), nil
	}
	// -fuse-ld=lld runs ld.lld.
	for _, name := range []string{"ld." + f.Linker, f.Linker} {
		if path, err := exec.LookPath(name); err == nil {
			return toolchain.LinkerAt(ctx, path), nil
		}
	}
	return toolchain.FoundLinker{}, verb.Usagef("--linker %s: program not found", f.Linker)
}

// Load reads the symbol tables of the link. Without any, the functions of the profile are
// used. sameBuild is set if addresses in the profile are those of the link.
func (f *Choice) Load(m *prof.Module) (link *linkorder.Link, sameBuild bool, err error) {
	link = &linkorder.Link{}
	for _, path := range f.Objects {
		if err := addObjects(link, m, path); err != nil {
			return nil, false, err
		}
	}
	if len(f.Objects) > 0 && len(link.Objects) == 0 {
		return nil, false, fmt.Errorf("%s: no object with functions", strings.Join(f.Objects, ", "))
	}
	if f.Binary != "" {
		objects, err := objfile.ReadObjects(f.Binary)
		if err != nil {
			return nil, false, err
		}
		if len(objects) != 1 || !objects[0].Linked {
			return nil, false, verb.Usagef("%s: not a linked file; give objects and archives with --objects", f.Binary)
		}
		if err := sameMachine(m, &objects[0]); err != nil {
			return nil, false, err
		}
		if link.Binary = symbols(&objects[0]); len(link.Binary) == 0 {
			return nil, false, fmt.Errorf("%s: no function symbols: give the unstripped program", f.Binary)
		}
		return link, isBuild(f.Binary, m.BuildID), nil
	}
	if len(link.Objects) > 0 {
		return link, false, nil
	}
	link.Binary = profileSymbols(m)
	return link, true, nil
}

// isBuild reports whether the module at path has a build id.
func isBuild(path string, id prof.BuildID) bool {
	bin, err := objfile.Open(path)
	if err != nil {
		return false
	}
	defer bin.Close()
	got, err := bin.RecordedID()
	return err == nil && got == id
}

// profileSymbols returns the functions of a profile as a symbol table. Of two functions with
// one name, at least one is local.
func profileSymbols(m *prof.Module) []linkorder.Symbol {
	count := make(map[string]int)
	for i := range m.Funcs {
		count[m.Funcs[i].Name]++
	}
	syms := make([]linkorder.Symbol, len(m.Funcs))
	for i := range m.Funcs {
		fn := &m.Funcs[i]
		syms[i] = linkorder.Symbol{
			Name: fn.Name, Addr: fn.Addr(), Size: uint64(fn.Fragments[0].Size), Source: fn.File, Local: count[fn.Name] > 1,
		}
	}
	return syms
}

// maxObjects limits the number of objects in a directory.
const maxObjects = 1 << 20

// addObjects appends the objects at path: a file, or all objects and archives
// below a directory.
func addObjects(link *linkorder.Link, m *prof.Module, path string) error {
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !st.IsDir() {
		return addObject(link, m, path, verb.Usagef("--objects %s: a linked file; give it beside the profile", path))
	}
	return filepath.WalkDir(path, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch filepath.Ext(file) {
		case ".o", ".a", ".obj", ".lo":
			if !d.Type().IsRegular() {
				return nil
			}
			if len(link.Objects) >= maxObjects {
				return fmt.Errorf("%s: more than %d objects", path, maxObjects)
			}
			return addObject(link, m, file, nil)
		}
		return nil
	})
}

// addObject appends the objects of a file. A linked file is the error linked.
func addObject(link *linkorder.Link, m *prof.Module, path string, linked error) error {
	objects, err := objfile.ReadObjects(path)
	if err != nil {
		if linked == nil && errors.Is(err, objfile.ErrNoObject) {
			return nil // bitcode, a script: a directory may contain any files
		}
		return err
	}
	for i := range objects {
		o := &objects[i]
		if o.Linked {
			return linked
		}
		if err := sameMachine(m, o); err != nil {
			return err
		}
		if len(o.Funcs) > 0 {
			link.Objects = append(link.Objects, linkorder.Object{
				Path: filepath.ToSlash(o.Path), Member: o.Member, Funcs: symbols(o),
			})
		}
	}
	return nil
}

// sameMachine returns an error if o is for another machine than the profile of m.
func sameMachine(m *prof.Module, o *objfile.Object) error {
	if m.Machine == "" || o.Machine == "" || m.Machine == o.Machine {
		return nil
	}
	return fmt.Errorf("%s is for %s, and the profile is of %s: record one of that machine", o.Path, o.Machine, m.Machine)
}

func symbols(o *objfile.Object) []linkorder.Symbol {
	syms := make([]linkorder.Symbol, len(o.Funcs))
	for i := range o.Funcs {
		fn := &o.Funcs[i]
		syms[i] = linkorder.Symbol{
			Name: fn.Name, Addr: fn.Addr, Size: fn.Size,
			Section: fn.Section, Index: fn.Index, Local: fn.Local, Source: fn.Source,
		}
	}
	return syms
}

// ReadContent sets the code of the functions of in, from the binary that ran.
func (f *Choice) ReadContent(m *prof.Module, in *order.Input) error {
	if f.Binary == "" {
		return verb.Usagef("--compress needs the binary that ran, beside the profile")
	}
	if !isBuild(f.Binary, m.BuildID) {
		return verb.Usagef("--compress needs the binary of the profile: %s is another build", f.Binary)
	}
	bin, err := objfile.Open(f.Binary)
	if err != nil {
		return err
	}
	defer bin.Close()
	code, addr, _, ok, err := bin.Section(".text")
	if err != nil || !ok {
		return err
	}
	for i := range in.Funcs {
		fn := &in.Funcs[i]
		if at := fn.Addr - addr; fn.Addr >= addr && at <= uint64(len(code)) && fn.Size <= uint64(len(code))-at {
			fn.Content = code[at : at+fn.Size]
		}
	}
	return nil
}

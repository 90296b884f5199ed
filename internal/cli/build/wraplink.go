package build

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/instrument/driver"
	"github.com/cairnprof/cairn/internal/instrument/wrap"
	"github.com/cairnprof/cairn/internal/layout/linkorder"
	"github.com/cairnprof/cairn/internal/toolchain"
	"github.com/cairnprof/cairn/internal/verb"
)

// wrapLink is the link that cairn wrap is to do.
type wrapLink struct {
	name    string   // of the compiler, as given
	args    []string // of the compiler
	ccFlags []string // of the cairn cc in front
	cmd     driver.Command
	view    wrap.Link
	machine machine.Kind
}

func newWrapLink(ctx context.Context, command []string) (*wrapLink, error) {
	flags, words, err := parseCC(command)
	if err != nil {
		return nil, err
	}
	l := &wrapLink{name: words[0], args: words[1:], ccFlags: flags}
	c, err := toolchain.FindCompiler(l.name)
	if err != nil {
		return nil, err
	}
	l.cmd = driver.Parse(c.Family, l.args, toolchain.ReadResponse)
	if l.cmd.Err != nil {
		return nil, fmt.Errorf("wrap: %w", l.cmd.Err)
	}
	if c.MakesMachO(ctx, &l.cmd) {
		return nil, fmt.Errorf("wrap: %s makes Mach-O files, whose linkers have no --wrap: only ELF is supported", l.name)
	}
	l.machine = c.Machine(ctx, &l.cmd)
	l.view.LLD = c.Linker(ctx, &l.cmd).Kind == linkorder.LLD
	if c.Family == driver.Clang && l.cmd.LTO && len(l.cmd.Sources) == 0 && l.view.LLD {
		// lld accepts bitcode. cairn cc rejects options that produce it.
		l.args = slices.DeleteFunc(slices.Clone(l.args), func(a string) bool { return a == "-flto" || strings.HasPrefix(a, "-flto=") })
		l.cmd = driver.Parse(c.Family, l.args, toolchain.ReadResponse)
	}
	if err := checkLink(&l.cmd, l.name); err != nil {
		return nil, err
	}
	noLTO := false
	for _, a := range l.args {
		l.view.Shared = l.view.Shared || a == "-shared"
		noLTO = a == "-fno-lto" || noLTO && !strings.HasPrefix(a, "-flto")
	}
	if l.cmd.LTO && c.Family == driver.GCC {
		l.view.LTOSources = l.cmd.Sources
	}
	if err := l.load(ctx, c); err != nil {
		return nil, err
	}
	for i := range l.view.Objects {
		switch o := &l.view.Objects[i]; {
		case o.LTO == objfile.GCCLTO && noLTO:
			o.LTO = objfile.NoLTO // its machine code is taken
			o.Names = slices.DeleteFunc(o.Names, func(n objfile.LinkName) bool { return n.LTO })
		case o.LTO == objfile.Bitcode && !l.view.LLD:
			return nil, fmt.Errorf("wrap: %s is bitcode, and only lld redirects all calls of functions defined in bitcode: link with clang -fuse-ld=lld", wrap.Title(o))
		}
	}
	return l, nil
}

// check returns an error if a function cannot be wrapped on the machine of the link.
func (l *wrapLink) check(functions []*wrap.Function) error {
	for _, f := range functions {
		if f.Shim && l.machine != machine.X86_64 {
			return fmt.Errorf("wrap: %s: its parameter types are not known, and timing by the return address is for x86-64 only; declare it with --prototype or give its debug information with --from", f.Title)
		}
	}
	return nil
}

// load reads the inputs of the link.
func (l *wrapLink) load(ctx context.Context, c toolchain.Compiler) error {
	inputs, dirs := l.cmd.Inputs()
	source := map[string]bool{}
	for _, name := range l.cmd.Sources {
		source[name] = true
	}
	for _, in := range inputs {
		path := in.Name
		switch {
		case in.Lib:
			if path = findLibrary(ctx, c, &l.cmd, in, dirs); path == "" {
				continue // the linker will report it
			}
		case source[path] || strings.HasSuffix(path, ".s") || strings.HasSuffix(path, ".S"):
			if len(l.view.LTOSources) == 0 || !source[path] {
				l.view.Unseen = append(l.view.Unseen, path)
			}
			continue
		case path == "-":
			continue
		}
		objects, err := objfile.LinkObjects(path)
		if errors.Is(err, objfile.ErrNotELF) {
			if !in.Lib { // libraries may be linker scripts
				l.view.Unseen = append(l.view.Unseen, path)
			}
			continue
		}
		if err != nil {
			return fmt.Errorf("wrap: %w", err)
		}
		l.view.Objects = append(l.view.Objects, objects...)
	}
	return nil
}

// findLibrary returns the file that -l finds, or "".
func findLibrary(ctx context.Context, c toolchain.Compiler, cmd *driver.Command, in driver.Input, dirs []string) string {
	names := []string{"lib" + in.Name + ".so", "lib" + in.Name + ".a"}
	if exact, ok := strings.CutPrefix(in.Name, ":"); ok {
		names = []string{exact}
	} else if in.Static {
		names = names[1:]
	}
	for _, dir := range dirs {
		for _, name := range names {
			if path := filepath.Join(dir, name); toolchain.Exists(path) {
				return path
			}
		}
	}
	for _, name := range names {
		if path := c.FileOf(ctx, cmd, name); path != "" {
			return path
		}
	}
	return ""
}

// functions finds the named functions, reports calls that their wrappers cannot see, and finds
// their signatures.
func (f *wrapFlags) functions(s *verb.Streams, names []string, link *wrapLink) ([]*wrap.Function, error) {
	given := map[string]*wrap.Function{}
	for _, text := range f.prototypes {
		fn, err := wrap.ParsePrototype(text)
		if err != nil {
			return nil, verb.Usagef("wrap: %w", err)
		}
		given[fn.Name] = fn
	}
	resolved, err := f.resolve(s, names, link)
	if err != nil {
		return nil, err
	}
	look := signatureSearch{files: f.from, link: link, read: map[string][]objfile.Signature{}}
	var out []*wrap.Function
	for _, name := range resolved {
		fn := given[name]
		delete(given, name)
		if fn == nil {
			if fn, err = look.find(name); err != nil {
				return nil, fmt.Errorf("wrap: %s: %w", wrap.Demangled(name), err)
			}
		}
		if fn.Shim {
			verb.Note(s, "wrap: %s: timed by %s", fn.Title, strings.Replace(fn.Source, ": ", ", for ", 1))
		}
		out = append(out, fn)
	}
	for name := range given {
		return nil, verb.Usagef("wrap: --prototype names %s, which is not one of the functions to wrap", name)
	}
	return out, nil
}

// resolve returns the linker's names of functions, only those for which a wrapper sees calls.
func (f *wrapFlags) resolve(s *verb.Streams, names []string, link *wrapLink) ([]string, error) {
	var have, out []string
	if link != nil {
		have = link.view.AllNames()
	}
	for _, asked := range names {
		resolved, err := wrap.Resolve(asked, have)
		if err != nil {
			return nil, fmt.Errorf("wrap: %w", err)
		}
		for _, name := range resolved {
			if why := wrap.Refused(name); why != "" {
				return nil, fmt.Errorf("wrap: %s cannot be wrapped: %s", name, why)
			}
		}
		if link != nil {
			if resolved, err = f.reportUnseen(s, asked, resolved, link); err != nil {
				return nil, err
			}
		}
		for _, name := range resolved {
			if !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out, nil
}

// signatureSearch looks for signatures in debug information.
type signatureSearch struct {
	files []string // of --from
	link  *wrapLink
	read  map[string][]objfile.Signature
}

// find returns the function of a name.
func (l *signatureSearch) find(name string) (*wrap.Function, error) {
	for _, path := range l.files {
		if fn, err := l.in(path, name, false); fn != nil || err != nil {
			return fn, err
		}
	}
	definers, callers := l.objects(name)
	for _, path := range definers {
		if fn, err := l.in(path, name, true); fn != nil || err != nil {
			return fn, err
		}
	}
	if fn := wrap.Known(name); fn != nil {
		return fn, nil
	}
	for _, path := range callers {
		if fn, err := l.in(path, name, true); fn != nil || err != nil {
			return fn, err
		}
	}
	where := "the objects of the link have no"
	if l.link == nil {
		where = "nothing given has"
	}
	return wrap.Shim(name, where+" debug information of it")
}

// objects lists the files of the link that define a function and those that call it.
func (l *signatureSearch) objects(name string) (definers, callers []string) {
	if l.link == nil {
		return nil, nil
	}
	for i := range l.link.view.Objects {
		o := &l.link.view.Objects[i]
		for _, n := range o.Names {
			switch {
			case n.Name != name || o.LTO == objfile.Bitcode:
			case n.Defined:
				definers = append(definers, o.Path)
			default:
				callers = append(callers, o.Path)
			}
		}
	}
	return definers, callers
}

// in searches one file. A file without debug information has no signatures, which is an error
// only if the user named it.
func (l *signatureSearch) in(path, name string, optional bool) (*wrap.Function, error) {
	key := path + "\x00" + name
	signatures, ok := l.read[key]
	if !ok {
		var err error
		signatures, err = objfile.Signatures(path, func(n string) bool { return wrap.SameFunction(n, name) })
		if err != nil && (!optional || !errors.Is(err, objfile.ErrNoScopes)) {
			return nil, err
		}
		l.read[key] = signatures
	}
	best := -1
	for i := range signatures {
		if signatures[i].Name == name || best < 0 {
			best = i
		}
	}
	if best < 0 || optional && !signatures[best].Known {
		return nil, nil
	}
	sig := signatures[best]
	sig.Name = name
	fn, err := wrap.FromSignature(&sig, "the debug information of "+filepath.Base(path))
	if err != nil {
		return wrap.Shim(name, err.Error())
	}
	return fn, nil
}

package wrap

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/objfile"
)

// Link is what a linker is given, as far as it is known.
type Link struct {
	Objects []objfile.LinkObject
	LLD     bool // the linker is lld, which redirects what others leave
	Shared  bool // a shared library is made
	// Unseen are inputs that could not be looked into: sources that are
	// compiled on the way, linker scripts.
	Unseen []string
}

// Finding is something that wrapping a function does not do.
type Finding struct {
	Name  string // of the function
	Fatal bool   // it would do nothing at all
	Text  string
}

// uses is what the objects of a link have to do with a function.
type uses struct {
	callers   []string              // objects that need it from another one
	libraries []string              // shared ones that need it
	definers  []*objfile.LinkObject // that define it
	defined   []*objfile.LinkName   // there
	locals    []string              // objects that have a static function of that name
	data      bool
}

func (l *Link) uses(name string) (u uses) {
	for i := range l.Objects {
		o := &l.Objects[i]
		for k := range o.Names {
			n := &o.Names[k]
			switch {
			case n.Name != name:
			case n.Local && n.Defined:
				u.locals = append(u.locals, Title(o))
			case o.Shared && !n.Defined:
				u.libraries = append(u.libraries, Title(o))
			case o.Shared:
			case n.Defined:
				u.definers, u.defined = append(u.definers, o), append(u.defined, n)
				u.data = u.data || n.Data
			default:
				u.callers = append(u.callers, Title(o))
			}
		}
	}
	return u
}

// Title names an object.
func Title(o *objfile.LinkObject) string {
	name := path.Base(o.Path)
	if o.Member != "" {
		name += "(" + o.Member + ")"
	}
	return name
}

// Analyse says which calls of a function a wrapper does not see. Fatal findings
// say why it would see none.
func (l *Link) Analyse(name string) []Finding {
	u := l.uses(name)
	var out []Finding
	add := func(fatal bool, format string, args ...any) {
		out = append(out, Finding{name, fatal, fmt.Sprintf(format, args...)})
	}
	blind := l.blind()
	switch {
	case u.data:
		add(true, "it is no function but data, in %s", Title(u.definers[0]))
		return out
	case len(u.locals) > 0 && len(u.callers) == 0 && len(u.definers) == 0:
		add(true, "it is static in %s: no linker sees its calls; take static away, or compile that file with cairn cc --mode spike", list(u.locals))
		return out
	}
	for i, o := range u.definers {
		l.local(add, u.defined[i], o)
	}
	if len(u.callers) == 0 && len(blind) == 0 && !l.reachesLocal(&u) {
		add(true, "%s", l.nobody(name, &u))
		return out
	}
	if len(u.callers) == 0 && len(blind) > 0 {
		add(false, "whether anything calls it is not known: %s could not be looked into", list(blind))
	}
	for _, o := range u.definers {
		if names := aliases(o, name); len(names) > 0 {
			add(false, "it is %s as well: calls by that name are not wrapped", list(names))
		}
	}
	if len(u.libraries) > 0 {
		add(false, "calls from within %s are not wrapped: a linker redirects only what it links (for those, preload a library that defines it: LD_PRELOAD)", list(u.libraries))
	}
	return out
}

// local says what becomes of calls within the object that defines a function.
func (l *Link) local(add func(bool, string, ...any), n *objfile.LinkName, o *objfile.LinkObject) {
	where := Title(o)
	switch {
	case o.LTO == objfile.GCCLTO:
		add(true, "%s is made by gcc -flto: gcc resolves calls of what such objects define before the linker redirects them, and none is wrapped; compile that file with -fno-lto", where)
	case n.Calls+n.Pointers == 0 || l.LLD:
	default:
		in := ""
		if len(n.From) > 0 {
			in = ", in " + list(n.From)
		}
		add(false, "%d of its uses are not wrapped%s: they are in %s, which defines it, and this linker redirects only what an object needs from others (lld redirects these too: -fuse-ld=lld; or compile that file with cairn cc --mode spike)", n.Calls+n.Pointers, in, where)
	}
}

// reachesLocal reports whether the linker redirects uses within the object that
// defines the function.
func (l *Link) reachesLocal(u *uses) bool {
	return l.LLD && slices.ContainsFunc(u.defined, func(n *objfile.LinkName) bool { return n.Calls+n.Pointers > 0 })
}

// blind lists the inputs whose names are not known.
func (l *Link) blind() []string {
	out := slices.Clone(l.Unseen)
	for i := range l.Objects {
		if o := &l.Objects[i]; o.LTO != objfile.NoLTO {
			out = append(out, Title(o))
		}
	}
	return out
}

// nobody says why no call of a function would be wrapped though no object is
// unknown.
func (l *Link) nobody(name string, u *uses) string {
	for i := range l.Objects {
		for _, n := range l.Objects[i].Names {
			if !n.Defined && !l.Objects[i].Shared && slices.Contains(variants(name), n.Name) {
				return fmt.Sprintf("no object calls it by this name: %s calls %s; wrap that", Title(&l.Objects[i]), n.Name)
			}
		}
	}
	switch {
	case len(u.definers) > 0:
		return fmt.Sprintf("no other object than %s, which defines it, calls it: this linker would redirect nothing (calls may have been inlined; compile that file with cairn cc --mode spike)", Title(u.definers[0]))
	case len(u.libraries) > 0:
		return fmt.Sprintf("only %s calls it, and a linker redirects only what it links (preload a library that defines it: LD_PRELOAD)", list(u.libraries))
	}
	return "no object of the link calls it (the compiler may have made something else of the calls: nm -u shows what an object needs)"
}

// Exported returns the wrapped functions that shared libraries of the link need
// from it. Under --wrap a linker forgets to export them.
func (l *Link) Exported(names []string) []string {
	var out []string
	for _, name := range names {
		if u := l.uses(name); !l.Shared && len(u.libraries) > 0 && len(u.definers) > 0 {
			out = append(out, name)
		}
	}
	return out
}

// AllNames returns the names of functions that the link knows.
func (l *Link) AllNames() []string {
	var out []string
	for i := range l.Objects {
		for _, n := range l.Objects[i].Names {
			if !n.Data && !n.Local {
				out = append(out, n.Name)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// aliases returns other names of a function in the object that defines it.
func aliases(o *objfile.LinkObject, name string) []string {
	at := slices.IndexFunc(o.Names, func(n objfile.LinkName) bool { return n.Name == name && n.Defined })
	if at < 0 {
		return nil
	}
	var out []string
	for _, n := range o.Names {
		// Constructors have two names that users call by one.
		if n.Defined && !n.Data && !n.Local && n.Name != name && n.Addr == o.Names[at].Addr && Demangled(n.Name) != Demangled(name) {
			out = append(out, n.Name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// list joins names for a sentence.
func list(names []string) string {
	slices.Sort(names)
	names = slices.Compact(names)
	const most = 3
	if n := len(names); n > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", n-most)
	}
	return strings.Join(names, ", ")
}

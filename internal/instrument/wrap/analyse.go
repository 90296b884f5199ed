package wrap

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/objfile"
)

// Link describes the inputs of a linker, as far as they are known.
type Link struct {
	Objects []objfile.LinkObject
	LLD     bool // the linker is lld, which redirects calls that others do not
	Shared  bool // a shared library is made
	// LTOSources are compiled by gcc -flto during the link.
	LTOSources []string
	// Unseen are other inputs that could not be read: sources compiled during the link, linker scripts.
	Unseen []string
}

// Finding is an effect that wrapping a function does not have.
type Finding struct {
	Name  string // of the function
	Fatal bool   // it would have no effect at all
	Text  string
}

// uses lists how the objects of a link use a function.
type uses struct {
	callers   []string              // objects that need it from another one
	ltoUsers  []string              // those of gcc -flto
	libraries []string              // shared ones that need it
	elsewhere bool                  // a shared library defines it
	definers  []*objfile.LinkObject // that define it
	defined   []*objfile.LinkName   // there
	locals    []string              // objects that have a static function of that name
	data      bool
}

func (l *Link) uses(name string) (u uses) {
	for i := range l.Objects {
		o := &l.Objects[i]
		for k := range o.Names {
			if o.Names[k].Name == name {
				u.add(o, &o.Names[k])
			}
		}
	}
	return u
}

func (u *uses) add(o *objfile.LinkObject, n *objfile.LinkName) {
	switch {
	case n.Local && n.Defined:
		u.locals = append(u.locals, Title(o))
	case o.Shared && !n.Defined:
		u.libraries = append(u.libraries, Title(o))
	case o.Shared:
		u.elsewhere = true
	case n.Defined && len(u.definers) > 0 && u.definers[len(u.definers)-1] == o:
		// Intermediate code and machine code of the same function.
	case n.Defined:
		u.definers, u.defined = append(u.definers, o), append(u.defined, n)
		u.data = u.data || n.Data
	case o.LTO == objfile.GCCLTO:
		u.ltoUsers = append(u.ltoUsers, Title(o))
	default:
		u.callers = append(u.callers, Title(o))
	}
}

// Title names an object.
func Title(o *objfile.LinkObject) string {
	name := path.Base(o.Path)
	if o.Member != "" {
		name += "(" + o.Member + ")"
	}
	return name
}

// Analyse returns which calls of a function a wrapper does not see. Fatal findings say why it would see none.
func (l *Link) Analyse(name string) []Finding {
	u := l.uses(name)
	if why := l.nothing(name, &u); why != "" {
		return []Finding{{name, true, why}}
	}
	var out []Finding
	add := func(format string, args ...any) {
		out = append(out, Finding{name, false, fmt.Sprintf(format, args...)})
	}
	for i, o := range u.definers {
		n := u.defined[i]
		switch {
		case o.LTO == objfile.GCCLTO:
			add("calls within code compiled by gcc -flto are not wrapped: %s, which defines it, is such code, and gcc resolves these calls before the linker can redirect them (compile that file with -fno-lto)", Title(o))
		case n.Calls+n.Pointers > 0 && !l.LLD:
			in := ""
			if len(n.From) > 0 {
				in = ", in " + list(n.From)
			}
			add("%s not wrapped%s: %s defines it, and this linker redirects only calls to other objects (use lld, which redirects these as well: -fuse-ld=lld; or compile that file with cairn cc --mode spike)",
				plural(n.Calls+n.Pointers, "use is", "uses are"), in, Title(o))
		}
		if names := aliases(o, name); len(names) > 0 {
			add("it is also named %s: calls by that name are not wrapped", list(names))
		}
	}
	if blind := l.blind(); len(u.callers)+len(u.ltoUsers) == 0 && !l.reachesLocal(&u) {
		add("cannot determine whether it is called: %s could not be read", list(blind))
	}
	if len(u.libraries) > 0 {
		add("calls from within %s are not wrapped: a linker redirects only calls in objects that it links (for those, preload a library that defines it: LD_PRELOAD)", list(u.libraries))
	}
	return out
}

// nothing returns why a wrapper would see no call at all, or "".
func (l *Link) nothing(name string, u *uses) string {
	outside := slices.ContainsFunc(u.definers, func(o *objfile.LinkObject) bool { return o.LTO != objfile.GCCLTO })
	lto := slices.ContainsFunc(u.definers, func(o *objfile.LinkObject) bool { return o.LTO == objfile.GCCLTO })
	calls := len(u.callers) > 0 || l.reachesLocal(u)
	switch {
	case u.data:
		return fmt.Sprintf("it is data, not a function, in %s", Title(u.definers[0]))
	case len(u.locals) > 0 && !calls && len(u.definers) == 0:
		return fmt.Sprintf("it is static in %s: linkers do not see its calls (remove static, or compile that file with cairn cc --mode spike)", list(u.locals))
	case lto && !calls && len(l.Unseen) == 0:
		return fmt.Sprintf("%s, which defines it, and its callers are compiled by gcc -flto: gcc resolves such calls before the linker can redirect them (compile that file with -fno-lto)", Title(u.definers[0]))
	case len(l.LTOSources) > 0 && !calls && !outside && !u.elsewhere && Known(name) == nil:
		return fmt.Sprintf("only code compiled by gcc -flto (%s) can define it, and gcc resolves its calls before the linker can redirect them (compile the file that defines it with -fno-lto)", list(l.LTOSources))
	case !calls && len(u.ltoUsers) == 0 && len(l.blind()) == 0:
		return l.nobody(name, u)
	}
	return ""
}

// reachesLocal reports whether the linker redirects uses within the object that
// defines the function.
func (l *Link) reachesLocal(u *uses) bool {
	return l.LLD && slices.ContainsFunc(u.defined, func(n *objfile.LinkName) bool { return n.Calls+n.Pointers > 0 })
}

// blind lists the inputs whose names are not known.
func (l *Link) blind() []string {
	out := slices.Concat(l.Unseen, l.LTOSources)
	for i := range l.Objects {
		if o := &l.Objects[i]; o.LTO != objfile.NoLTO && len(o.Names) == 0 {
			out = append(out, Title(o))
		}
	}
	return out
}

// nobody returns why no call of a function would be wrapped although all objects are known.
func (l *Link) nobody(name string, u *uses) string {
	for i := range l.Objects {
		for _, n := range l.Objects[i].Names {
			if !n.Defined && !l.Objects[i].Shared && slices.Contains(variants(name), n.Name) {
				return fmt.Sprintf("no object calls it by this name: %s calls %s; wrap that name", Title(&l.Objects[i]), n.Name)
			}
		}
	}
	switch {
	case len(u.definers) > 0:
		return fmt.Sprintf("only %s, which defines it, calls it: this linker would redirect no call (calls may have been inlined; compile that file with cairn cc --mode spike)", Title(u.definers[0]))
	case len(u.libraries) > 0:
		return fmt.Sprintf("only %s calls it, and a linker redirects only calls in objects that it links (preload a library that defines it: LD_PRELOAD)", list(u.libraries))
	}
	return "no object of the link calls it (the compiler may have replaced the calls: nm -u lists the functions that an object calls)"
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

// AllNames returns the names of all functions in the link.
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
	at := slices.IndexFunc(o.Names, func(n objfile.LinkName) bool { return n.Name == name && n.Defined && !n.LTO })
	if at < 0 {
		return nil
	}
	var out []string
	for _, n := range o.Names {
		// Constructors have two names that users call by one.
		if n.Defined && !n.Data && !n.Untyped && !n.LTO && !n.Local && n.Name != name && n.Addr == o.Names[at].Addr && Demangled(n.Name) != Demangled(name) {
			out = append(out, n.Name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// list joins names for a sentence.
func list(names []string) string {
	names = slices.Sorted(slices.Values(names))
	names = slices.Compact(names)
	const most = 3
	if n := len(names); n > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", n-most)
	}
	return strings.Join(names, ", ")
}

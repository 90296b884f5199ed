package wrap

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ianlancetaylor/demangle"

	"github.com/cairnprof/cairn/internal/lazyregexp"
)

// Demangled returns the demangled name.
func Demangled(name string) string { return demangle.Filter(name, demangle.NoClones) }

// Resolve returns the linker's names of the function that a user calls name: itself, or the mangled names of a
// C++ function. Parameters of C++ functions may be omitted if the name is unambiguous. have are the names of
// the link.
func Resolve(name string, have []string) ([]string, error) {
	if strings.HasPrefix(name, "_Z") || slices.Contains(have, name) || !strings.ContainsAny(name, ":(<~ ") {
		return plain(name, have)
	}
	full := map[string][]string{} // mangled names, by demangled ones
	for _, mangled := range have {
		if !strings.HasPrefix(mangled, "_Z") {
			continue
		}
		title := Demangled(mangled)
		if title == name || withoutParams(mangled) == name || strings.ReplaceAll(title, ", ", ",") == strings.ReplaceAll(name, ", ", ",") {
			full[title] = append(full[title], mangled)
		}
	}
	switch len(full) {
	case 0:
		return nil, fmt.Errorf("%s: no object of the link has a function of that name", name)
	case 1:
		for _, names := range full {
			slices.Sort(names)
			return slices.Compact(names), nil
		}
	}
	return nil, ambiguous(name, full)
}

// plain resolves a name without C++ syntax: it may still be that of a C++ function.
func plain(name string, have []string) ([]string, error) {
	if strings.HasPrefix(name, "_Z") || slices.Contains(have, name) {
		return []string{name}, nil
	}
	full := map[string][]string{}
	for _, mangled := range have {
		if strings.HasPrefix(mangled, "_Z") && withoutParams(mangled) == name {
			full[Demangled(mangled)] = append(full[Demangled(mangled)], mangled)
		}
	}
	switch len(full) {
	case 0:
		return []string{name}, nil
	case 1:
		for _, names := range full {
			return names, nil
		}
	}
	return nil, ambiguous(name, full)
}

func ambiguous(name string, full map[string][]string) error {
	var titles []string
	for t := range full {
		titles = append(titles, t)
	}
	slices.Sort(titles)
	return fmt.Errorf("%s: ambiguous name; it can be %s", name, strings.Join(titles[:min(len(titles), 6)], "; "))
}

func withoutParams(mangled string) string {
	return demangle.Filter(mangled, demangle.NoClones, demangle.NoParams)
}

// variant is the part of a mangled name that distinguishes a constructor or destructor of whole objects from
// that of base classes.
var variant = lazyregexp.New(`[CD][0-9]E`)

// SameFunction reports whether a mangled name is another of the same function:
// constructors and destructors have several, and debug information only one.
func SameFunction(a, b string) bool {
	return a == b || len(a) == len(b) && variant().MatchString(a) && variant().MatchString(b) && Demangled(a) == Demangled(b)
}

package wrap

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// Demangled returns a name as people have it.
func Demangled(name string) string { return demangle.Filter(name, demangle.NoClones) }

// Resolve returns the names that linkers know the function by that a user calls
// name: itself, or the mangled names of a C++ function. C++ functions may be
// named without their parameters if that says which. have are the names of the
// link.
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

// plain resolves a name without anything of C++ in it: it may still be that of a
// C++ function.
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
	return fmt.Errorf("%s: which? There is %s", name, strings.Join(titles[:min(len(titles), 6)], "; "))
}

func withoutParams(mangled string) string {
	return demangle.Filter(mangled, demangle.NoClones, demangle.NoParams)
}

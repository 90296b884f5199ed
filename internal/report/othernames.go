package report

import (
	"strconv"
	"strings"
)

// otherName returns the name in its source of a function whose symbol the demangler does not know: of a module of Fortran, by gfortran,
// or of D. It returns the symbol of others.
func otherName(symbol string) string {
	if name := fortranName(symbol); name != "" {
		return name
	}
	if name := dName(symbol); name != "" {
		return name
	}
	return symbol
}

// fortranName reads __MODULE_MOD_NAME, as gdb shows it.
func fortranName(symbol string) string {
	rest, ok := strings.CutPrefix(symbol, "__")
	module, name, both := strings.Cut(rest, "_MOD_")
	if !ok || !both || module == "" || name == "" {
		return ""
	}
	return module + "::" + name
}

// dName reads the qualified name at the beginning of a symbol of D ("Name Mangling" in the specification of D's ABI): _D,
// then names that have their length before them. The arguments of templates and the type are left out. It returns "" for
// back references to names, and for templates without a length, which newer compilers make.
func dName(symbol string) string {
	rest, ok := strings.CutPrefix(symbol, "_D")
	if !ok {
		return ""
	}
	var parts []string
	for rest != "" && rest[0] >= '1' && rest[0] <= '9' {
		name, after, ok := dPart(rest)
		if !ok {
			return ""
		}
		if template, is := strings.CutPrefix(name, "__T"); is {
			if name, _, ok = dPart(template); !ok {
				return ""
			}
			name += "!(...)"
		}
		parts = append(parts, name)
		rest = strings.TrimPrefix(after, "M") // of a method, behind whose name the type of the enclosing function may be
	}
	if len(parts) == 0 || rest == "" || rest[0] == 'Q' || rest[0] == '_' {
		return ""
	}
	return strings.Join(parts, ".")
}

// dPart cuts a name with its length before it.
func dPart(s string) (name, rest string, ok bool) {
	digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
	n, err := strconv.Atoi(s[:digits])
	if err != nil || n <= 0 || n > len(s)-digits {
		return "", "", false
	}
	return s[digits : digits+n], s[digits+n:], true
}

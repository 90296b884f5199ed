package linkorder

import (
	"strconv"
	"strings"
)

// cloneWords are what compilers put after a dot when they make a function of
// another one. A number may follow, which the next build may choose otherwise.
// Those that are true stand for the same code under a name that is unique in
// the program: they say nothing of the kind of clone.
var cloneWords = map[string]bool{
	"cold": false, "part": false, "__part": false, "constprop": false, "isra": false, "specialized": false,
	"argprom": false, "argelim": false, "retelim": false,
	"lto_priv": true, "llvm": true, "__uniq": true, "localalias": true,
}

// family is a symbol's name taken apart.
type family struct {
	root string // the function as the source has it
	kind string // the clone words, without numbers
	cold bool   // a piece that was split off for running rarely
}

// familyOf takes a symbol's name apart: f.isra.0.cold is of the root f and the
// kind isra.cold.
func familyOf(name string) family {
	f := family{root: name}
	at := strings.IndexByte(name, '.')
	if at <= 0 {
		return f
	}
	f.root = name[:at]
	words := strings.Split(name[at+1:], ".")
	for i := 0; i < len(words); i++ {
		unique, known := cloneWords[words[i]]
		switch {
		case known && !unique:
			f.kind += "." + words[i]
			f.cold = f.cold || words[i] == "cold"
		case known:
		case isNumber(words[i]):
			f.kind += ".#" // a function inside another one
		default: // a name of its own, as far as this word
			f = family{root: name[:at+1] + strings.Join(words[:i+1], ".")}
			continue
		}
		if known && i+1 < len(words) && isNumber(words[i+1]) {
			i++
		}
	}
	return f
}

// inC returns the family of a static function without the mangling that clang's
// -funique-internal-linkage-names gives functions of C, too: _ZL6secreti.__uniq.1
// is secret there.
func inC(name string, f family) (family, bool) {
	rest, ok := strings.CutPrefix(f.root, "_ZL")
	if !ok || !strings.Contains(name, ".__uniq.") {
		return family{}, false
	}
	digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
	n, err := strconv.Atoi(rest[:digits])
	if err != nil || n == 0 || n > len(rest)-digits {
		return family{}, false
	}
	f.root = rest[digits : digits+n]
	return f, true
}

// isNumber reports whether s is what compilers count with, or a hash.
func isNumber(s string) bool {
	return s != "" && strings.Trim(s, "0123456789abcdef") == "" && strings.ContainsAny(s, "0123456789")
}

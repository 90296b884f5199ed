package linkorder

import (
	"strconv"
	"strings"
)

// cloneWords are the words that compilers append after a dot to the name of a function made
// from another one. An optional number follows, which may differ in the next build. Those with
// value true mark the same code under a name that is unique in the program, and not a kind of
// clone.
var cloneWords = map[string]bool{
	"cold": false, "part": false, "__part": false, "constprop": false, "isra": false, "specialized": false,
	"argprom": false, "argelim": false, "retelim": false,
	"lto_priv": true, "llvm": true, "__uniq": true, "localalias": true,
}

// family is a parsed symbol name.
type family struct {
	root string // the function's name in the source
	kind string // the clone words, without numbers
	cold bool   // a split part that rarely runs
}

// familyOf parses a symbol's name: f.isra.0.cold has the root f and the kind isra.cold.
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
			f.kind += ".#" // a nested function
		default: // this word is part of the name
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
// -funique-internal-linkage-names also adds to C functions: _ZL6secreti.__uniq.1 has the root
// secret.
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

// isNumber reports whether s is a counter of a compiler, or a hash.
func isNumber(s string) bool {
	return s != "" && strings.Trim(s, "0123456789abcdef") == "" && strings.ContainsAny(s, "0123456789")
}

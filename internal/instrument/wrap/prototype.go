package wrap

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/lazyregexp"
)

var errVariadic = errors.New("it takes a variable number of arguments, which a C function cannot forward")

// typedefs are names of types that prototypes may use without a header, and
// what they are on x86-64.
var typedefs = map[string]string{
	"size_t": "unsigned long", "ssize_t": "long", "ptrdiff_t": "long", "intptr_t": "long", "uintptr_t": "unsigned long",
	"off_t": "long", "off64_t": "long", "time_t": "long", "clock_t": "long", "suseconds_t": "long",
	"int8_t": "signed char", "int16_t": "short", "int32_t": "int", "int64_t": "long",
	"uint8_t": "unsigned char", "uint16_t": "unsigned short", "uint32_t": "unsigned int", "uint64_t": "unsigned long",
	"pid_t": "int", "uid_t": "unsigned int", "gid_t": "unsigned int", "mode_t": "unsigned int", "dev_t": "unsigned long",
	"ino_t": "unsigned long", "nfds_t": "unsigned long", "socklen_t": "unsigned int", "clockid_t": "int", "useconds_t": "unsigned int",
	"wchar_t": "int", "wint_t": "unsigned int", "pthread_t": "unsigned long", "pthread_key_t": "unsigned int", "bool": "_Bool",
}

// qualifiers do not affect how a value is passed.
var qualifiers = map[string]bool{
	"const": true, "volatile": true, "restrict": true, "__restrict": true, "register": true, "extern": true, "static": true,
	"inline": true, "__inline": true, "__extension__": true, "_Noreturn": true,
}

// basic are the words that C spells its arithmetic types with.
var basic = map[string]bool{
	"void": true, "char": true, "short": true, "int": true, "long": true, "float": true, "double": true, "signed": true,
	"unsigned": true, "_Bool": true, "_Complex": true, "__int128": true,
}

var (
	prototypeForm = lazyregexp.New(`^([\w\s*]*[\s*])([A-Za-z_]\w*)\s*\((.*)\)$`)
	word          = lazyregexp.New(`^[A-Za-z_]\w*$`)
)

// ParsePrototype reads a C prototype such as "void *malloc(size_t n)". Types are
// the arithmetic ones, names such as size_t, and pointers to anything.
func ParsePrototype(text string) (*Function, error) {
	line := strings.TrimSuffix(strings.Join(strings.Fields(text), " "), ";")
	m := prototypeForm().FindStringSubmatch(strings.TrimSpace(line))
	if m == nil {
		return nil, fmt.Errorf("prototype %q: must be RESULT NAME(TYPE, TYPE), such as void *malloc(size_t)", text)
	}
	f := &Function{Name: m[2], Title: m[2], Source: "the prototype given"}
	var err error
	if f.Result, err = prototypeType(m[1], false); err != nil {
		return nil, fmt.Errorf("prototype %q: the result: %w", text, err)
	}
	params := strings.TrimSpace(m[3])
	if params == "" || params == "void" {
		return f, nil
	}
	for i, p := range splitParams(params) {
		if strings.TrimSpace(p) == "..." {
			return nil, fmt.Errorf("prototype %q: %w: omit the prototype", text, errVariadic)
		}
		t, err := prototypeType(p, true)
		if err == nil && t == "void" {
			err = errors.New("void is not a parameter type")
		}
		if err != nil {
			return nil, fmt.Errorf("prototype %q: parameter %d: %w", text, i+1, err)
		}
		f.Params = append(f.Params, t)
	}
	return f, nil
}

// splitParams splits parameters at the commas between them.
func splitParams(text string) []string {
	var out []string
	depth, start := 0, 0
	for i := range len(text) {
		switch text[i] {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		case ',':
			if depth == 0 {
				out = append(out, text[start:i])
				start = i + 1
			}
		}
	}
	return append(out, text[start:])
}

// prototypeType returns the type that is passed like that of a declaration,
// which may have a name.
func prototypeType(text string, named bool) (string, error) {
	if named && strings.ContainsAny(text, "*[(") || strings.Contains(text, "*") {
		return "void *", nil
	}
	words := slices.DeleteFunc(strings.Fields(text), func(w string) bool { return qualifiers[w] })
	for _, w := range words {
		if !word().MatchString(w) {
			return "", fmt.Errorf("%q is not a C type", strings.TrimSpace(text))
		}
	}
	if len(words) == 0 {
		return "", errors.New("a type is missing")
	}
	if last := words[len(words)-1]; named && len(words) > 1 && !basic[last] && typedefs[last] == "" {
		words = words[:len(words)-1] // its name
	}
	switch words[0] {
	case "struct", "union", "enum":
		if words[0] == "enum" {
			return "int", nil
		}
		return "", fmt.Errorf("%s is passed by value and needs debug information: give --from FILE", strings.Join(words, " "))
	}
	if to, ok := typedefs[words[0]]; ok && len(words) == 1 {
		return to, nil
	}
	for _, w := range words {
		if !basic[w] {
			return "", fmt.Errorf("unknown type %q: use a built-in type, such as long or void *", w)
		}
	}
	return strings.Join(words, " "), nil
}

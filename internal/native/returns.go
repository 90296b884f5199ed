package native

// libraryReturns are functions of the C library that always come back: they
// call nothing that a program can replace.
var libraryReturns = []string{
	"memcpy", "memmove", "memset", "memcmp", "memchr", "memrchr", "strlen", "strnlen", "strcmp", "strncmp",
	"strchr", "strrchr", "strstr", "strspn", "strcspn", "strpbrk", "strcpy", "strncpy", "strcat", "strncat",
	"stpcpy", "strcasecmp", "strncasecmp", "strtol", "strtoul", "strtoll", "strtoull", "strtod", "atoi", "atol",
	"toupper", "tolower", "isspace", "isdigit", "isalpha", "isalnum", "abs", "labs",
	"sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "exp", "exp2", "log", "log2",
	"log10", "pow", "sqrt", "fmod", "floor", "ceil", "round", "trunc", "ldexp", "frexp",
}

// returning finds the functions of the unit that come back from every call:
// whatever they call does, and no other definition can take their place. It is
// the least set, so what takes part in a recursion is not in it.
func (p *parser) returning() map[string]bool {
	out := map[string]bool{}
	for _, name := range libraryReturns {
		out[name] = true
	}
	for changed := true; changed; {
		changed = false
		for _, fn := range p.unit.funcs {
			if !out[fn.name] && !p.global[fn.name] && fn.returns(out) {
				out[fn.name], changed = true, true
			}
		}
	}
	return out
}

func (f *function) returns(known map[string]bool) bool {
	for _, fr := range f.frags {
		for _, c := range fr.calls {
			if !known[c.callee] {
				return false
			}
		}
		for i := range fr.blocks {
			if b := &fr.blocks[i]; b.leaves || b.traps {
				return false
			}
		}
	}
	return true
}

package asm

// libraryReturns are functions of the C library that always return: they call nothing that a program can
// replace. The C standard reserves their names for them; log is left out, because programs define one that
// exits all the same.
var libraryReturns = []string{
	"memcpy", "memmove", "memset", "memcmp", "memchr", "memrchr", "strlen", "strnlen", "strcmp", "strncmp",
	"strchr", "strrchr", "strstr", "strspn", "strcspn", "strpbrk", "strcpy", "strncpy", "strcat", "strncat",
	"stpcpy", "strcasecmp", "strncasecmp", "strtol", "strtoul", "strtoll", "strtoull", "strtod", "atoi", "atol",
	"toupper", "tolower", "isspace", "isdigit", "isalpha", "isalnum", "abs", "labs",
	"sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "exp", "exp2", "log2",
	"log10", "pow", "sqrt", "fmod", "floor", "ceil", "round", "trunc", "ldexp", "frexp",
	"__errno_location", "__ctype_b_loc", "__ctype_tolower_loc", "__ctype_toupper_loc",
}

// returnsTwice are functions of the C library that may return more often than they are called.
var returnsTwice = map[string]bool{
	"setjmp": true, "_setjmp": true, "sigsetjmp": true, "__sigsetjmp": true, "vfork": true, "__vfork": true, "getcontext": true, "savectx": true,
}

// returning finds the functions of the unit that return from every call, whatever their callees do: they have
// no endless loop, and no other definition can replace them. It computes the least set, so recursive functions
// are not in it. Neither are functions that may jump to a computed address, even by a jump table.
func (p *Parser) returning() map[string]bool {
	out := map[string]bool{}
	for _, name := range libraryReturns {
		if p.byName[name] == nil { // the unit's own definition takes precedence
			out[name] = true
		}
	}
	for changed := true; changed; {
		changed = false
		for _, fn := range p.Unit.Funcs {
			if !out[fn.Name] && !p.global[fn.Name] && fn.returns(p.taken, out) {
				out[fn.Name], changed = true, true
			}
		}
	}
	return out
}

func (f *Function) returns(taken, known map[string]bool) bool {
	for _, fr := range f.Frags {
		for _, c := range fr.Calls {
			if !known[c.Callee] {
				return false
			}
		}
		for i := range fr.Blocks {
			if b := &fr.Blocks[i]; b.leaves || b.traps {
				return false
			}
		}
	}
	return !f.FlowGraph(taken, known).endless
}

package report

import (
	"strings"

	"github.com/ianlancetaylor/demangle"

	"github.com/cairnprof/cairn/internal/msname"
)

// Names converts symbol names to readable names. All data is keyed by symbol name, and names
// are demangled only for output, because two symbols may demangle to the same text. The zero
// value demangles; it is not safe for concurrent use.
type Names struct {
	Mangled bool // leave names alone
	LLVM    bool // demangle as LLVM does, a<b<c>> and not a<b<c> >
	Short   bool // demangle without parameters and template arguments
	cache   map[string]string
}

// maxDemangled limits the size of a demangled symbol: nested substitutions double it with a
// few bytes each.
const maxDemangled = 16 // power of two, bytes

// Show returns the name to display for a symbol.
func (n *Names) Show(symbol string) string {
	if n.Mangled || len(symbol) < 2 || symbol[0] != '_' && symbol[0] != '?' || isOperatorOfNothing(symbol) {
		return Printable(symbol)
	}
	if s, ok := n.cache[symbol]; ok {
		return s
	}
	if n.cache == nil {
		n.cache = map[string]string{}
	}
	s := Printable(n.demangled(symbol))
	n.cache[symbol] = s
	return s
}

// demangled returns the readable name of a symbol, or the symbol.
func (n *Names) demangled(symbol string) string {
	if symbol[0] == '?' {
		if name, ok := msname.Demangle(symbol, n.Short); ok {
			return name
		}
		return symbol
	}
	options := []demangle.Option{demangle.MaxLength(maxDemangled)}
	if n.LLVM {
		options = append(options, demangle.LLVMStyle)
	}
	if n.Short {
		options = append(options, demangle.NoParams, demangle.NoEnclosingParams, demangle.NoTemplateParams, demangle.NoABITags)
	}
	// A wrapper (cairn wrap) has the name of its function after a prefix.
	wrapper, mangled := "", symbol
	for _, prefix := range []string{"__wrap_", "__timed_"} {
		if name, ok := strings.CutPrefix(symbol, prefix); ok && strings.HasPrefix(name, "_Z") {
			wrapper, mangled = prefix, name
		}
	}
	if !n.LLVM {
		mangled = withoutUnique(mangled)
	}
	name := demangle.Filter(mangled, options...)
	if name == symbol {
		name = otherName(symbol)
	}
	return wrapper + name
}

// withoutUnique removes the number that clang appends to local functions, so that profiles can
// distinguish them from those of other files: clang emits pseudo probes with it.
func withoutUnique(symbol string) string {
	name, rest, found := strings.Cut(symbol, ".__uniq.")
	if !found {
		return symbol
	}
	return name + strings.TrimLeft(rest, "0123456789")
}

// isOperatorOfNothing reports whether a symbol reads as a mangled operator of types that are all built in, as _Zgetc of
// zipio.c does (operator>=(unsigned short, char)). C++ has none: an operator has a class or an enumeration among its
// parameters, but for new and delete. So it is the name of a function in another language.
func isOperatorOfNothing(symbol string) bool {
	rest, ok := strings.CutPrefix(symbol, "_Z")
	if !ok || len(rest) < 3 || strings.Trim(rest, "abcdefghijklmnopqrstuvwxyz") != "" {
		return false
	}
	switch rest[:2] {
	case "nw", "na", "dl", "da":
		return false
	}
	return true
}

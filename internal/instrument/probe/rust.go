package probe

import "strings"

// RustMade reports whether rustc made a function for the link, which no source has: those by which Rust's library calls
// the allocator that a program chose. Newer versions put them into a crate of their own, __rustc.
func RustMade(symbol string) bool {
	return strings.HasPrefix(symbol, "_R") && strings.Contains(symbol, "_7___rustc") || strings.HasPrefix(symbol, "__rust_alloc") ||
		symbol == "__rust_dealloc" || symbol == "__rust_realloc" || strings.HasPrefix(symbol, "__rust_no_alloc_shim_is_unstable")
}

package profgen

import "strings"

// ambiguous reports whether functions of this name are in most object files, each
// another one. Compilers could not tell whose samples they are.
func ambiguous(name string) bool {
	return strings.HasPrefix(name, "__cxx_global_var_init") || strings.HasPrefix(name, "__tls_init")
}

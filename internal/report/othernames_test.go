package report

import "testing"

// TestOtherNames shows names of languages that the demangler does not know; the symbols are those of gfortran 12 and gdc 12.
func TestOtherNames(t *testing.T) {
	t.Parallel()
	for symbol, want := range map[string]string{
		"__minpack_module_MOD_enorm":        "minpack_module::enorm",
		"_D8splitter6Entity4dumpMFZAya":     "splitter.Entity.dump",
		"_Dmain":                            "_Dmain",
		"_D3std5stdio__T7writelnTAyaZQnFZv": "_D3std5stdio__T7writelnTAyaZQnFZv",
		"_D4test10__T3sumTiZFiiZi":          "test.sum!(...)",
		"_D4test99x":                        "_D4test99x",
		"_D4testQf":                         "_D4testQf",
		"_D4test":                           "_D4test",
		"__x_MOD_":                          "__x_MOD_",
		"__MOD_x":                           "__MOD_x",
		"__libc_start_main":                 "__libc_start_main",
	} {
		var n Names
		if got := n.Show(symbol); got != want {
			t.Errorf("%s: %s, want %s", symbol, got, want)
		}
	}
}

// FuzzOtherNames reads any symbol.
func FuzzOtherNames(f *testing.F) {
	f.Add("_D8splitter6Entity4dumpMFZAya")
	f.Add("__minpack_module_MOD_enorm")
	f.Fuzz(func(t *testing.T, symbol string) {
		if otherName(symbol) == "" && symbol != "" {
			t.Errorf("%q has no name", symbol)
		}
	})
}

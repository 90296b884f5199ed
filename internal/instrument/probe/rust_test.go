package probe

import "testing"

// TestRustMade checks which functions rustc makes for a link, by the symbols of 1.95 and of older versions.
func TestRustMade(t *testing.T) {
	t.Parallel()
	for symbol, want := range map[string]bool{
		"_RNvCsfLfy6EI15iL_7___rustc14___rust_realloc":                      true,
		"_RNvCsfLfy6EI15iL_7___rustc12___rust_alloc":                        true,
		"_RNvCsfLfy6EI15iL_7___rustc35___rust_no_alloc_shim_is_unstable_v2": true,
		"__rust_alloc":                     true,
		"__rust_alloc_zeroed":              true,
		"__rust_dealloc":                   true,
		"_RNvCs1234_3app4main":             false,
		"_ZN3app4main17h0123456789abcdefE": false,
		"rust_alloc":                       false,
		"":                                 false,
	} {
		if got := RustMade(symbol); got != want {
			t.Errorf("%s: %v", symbol, got)
		}
	}
}

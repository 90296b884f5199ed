package report_test

import (
	"testing"

	"github.com/cairnprof/cairn/internal/report"
)

// TestShow checks which symbols are demangled: those of C++, and not functions of C whose names read like one.
func TestShow(t *testing.T) {
	t.Parallel()
	var n report.Names
	for symbol, want := range map[string]string{
		"_Zgetc":          "_Zgetc", // of zipio.c in FIGlet: operator>=(unsigned short, char) by the letter
		"_Zplii":          "_Zplii",
		"_Znwm":           "operator new(unsigned long)",
		"_ZdlPv":          "operator delete(void*)",
		"_ZplRK1AS1_":     "operator+(A const&, A const&)",
		"_Z4workv":        "work()",
		"_Z":              "_Z",
		"main.(*T).fill":  "main.(*T).fill",
		"?f@n@@YAHPEBD@Z": "n::f(char const*)",
		"?no":             "?no",
	} {
		if got := n.Show(symbol); got != want {
			t.Errorf("%s: %q, want %q", symbol, got, want)
		}
	}
}

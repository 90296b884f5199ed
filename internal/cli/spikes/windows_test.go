package spikes

import (
	"slices"
	"testing"
)

// TestImageSummary has what processes for Windows say of their hooks.
func TestImageSummary(t *testing.T) {
	t.Parallel()
	const text = "0 detours hooked 81 of app.exe\n0 detours hooked 3 of a.dll\n0 detours hooked 3 of A.dll\n0 detours hooked 3 of a.dll\n" +
		"0 detours refused b.dll: its code differs from its file\nanother line\n"
	for _, c := range []struct {
		images []string
		want   []string
	}{
		{[]string{"x/app.exe", "x/a.dll", "x/b.dll", "x/c.dll"}, []string{
			"81 functions of app.exe hooked", "3 functions of a.dll hooked, 2 times", "3 functions of A.dll hooked",
			"functions are not hooked: b.dll: its code differs from its file",
			"no function of c.dll was hooked: it was not loaded or started, or not under this name",
		}},
		{[]string{"app.exe"}, []string{
			"81 functions hooked", "3 functions hooked, 3 times", "functions are not hooked: b.dll: its code differs from its file",
		}},
	} {
		if got := imageSummary(text, c.images); !slices.Equal(got, c.want) {
			t.Errorf("%q", got)
		}
	}
}

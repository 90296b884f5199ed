package driver

import (
	"slices"
	"testing"
)

func TestToolName(t *testing.T) {
	for _, c := range []struct{ base, goos, want string }{
		{"gcc.exe", "windows", "gcc"},
		{"Clang-CL.EXE", "windows", "clang-cl"},
		{"g++", "windows", "g++"},
		{"gcc-12.2", "windows", "gcc-12.2"},
		{"gcc.exe", "linux", "gcc.exe"},
		{"GCC", "linux", "GCC"},
	} {
		if got := toolName(c.base, c.goos); got != c.want {
			t.Errorf("%s on %s is %s, want %s", c.base, c.goos, got, c.want)
		}
	}
}

// TestJoinResponse reads response files as the tools do for which they are written.
func TestJoinResponse(t *testing.T) {
	words := []string{
		"-c", "", `C:\Program Files\in\`, `-DNAME="a b"`, `back\"slash`, `\\server\share\x.c`, `ends\\`, `"`, `\"`, "it's", "two\nlines", "\t", "#", "a\rb", "ö",
	}
	if got := SplitResponse(JoinResponse(words)); !slices.Equal(got, words) {
		t.Errorf("gcc reads %q", got)
	}
	if got := splitCL(JoinCL(words)); !slices.Equal(got, words) {
		t.Errorf("clang-cl reads %q", got)
	}
}

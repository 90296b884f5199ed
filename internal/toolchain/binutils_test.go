package toolchain

import (
	"os"
	"path/filepath"
	"testing"
)

// TestGNUVersion checks the versions that assemblers print.
func TestGNUVersion(t *testing.T) {
	t.Parallel()
	for says, want := range map[string]string{
		"GNU assembler (GNU Binutils for Debian) 2.40":                     "2.40",
		"GNU assembler version 2.30-123.el8":                               "2.30",
		"GNU assembler (GNU Binutils; openSUSE Leap 15.5) 2.41.0.20230908": "2.41",
		"GNU assembler (crosstool-NG 1.25.0) 2.38":                         "2.38",
		"clang version 22.1.8":                                             "",
		"GNU assembler":                                                    "",
		"":                                                                 "",
	} {
		path := filepath.Join(t.TempDir(), "as")
		if err := os.WriteFile(path, []byte("#!/bin/sh\necho '"+says+"'\necho 'Copyright 2.99'\n"), 0o777); err != nil {
			t.Fatal(err)
		}
		if got := gnuVersion(t.Context(), path); got != want {
			t.Errorf("%q has version %q, want %q", says, got, want)
		}
	}
}

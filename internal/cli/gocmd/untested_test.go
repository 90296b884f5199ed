package gocmd

import (
	"slices"
	"strings"
	"testing"
)

func TestTestArgs(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"":                                   "| .",
		"./...":                              "| ./...",
		"-count=1 -v ./a ./b -run X":         "| ./a ./b",
		"-count 1 -tags a,b -race ./a":       "-tags a,b -race | ./a",
		"--tags=x -test.v -test.run Y ./a":   "--tags=x | ./a",
		"./a -tags x -wrong value -race":     "-tags x | ./a",
		"-wrong ./a":                         "| .",
		"./a -args -race ./b":                "| ./a",
		"./a -v ./b -buildvcs":               "-buildvcs | ./a",
		"-p 2 -vet=off -a -json -mod vendor": "-p 2 -mod vendor | .",
	} {
		flags, patterns := testArgs(strings.Fields(args))
		if got := strings.TrimSpace(strings.Join(slices.Concat(flags, []string{"|"}, patterns), " ")); got != want {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
}

// TestOwnFlag checks that a flag of cairn behind the word build is named, and no flag that may be of a test or a program.
func TestOwnFlag(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"build --mode cover ./...":         "mode",
		"install -only=std .":              "only",
		"build -mod=mod -tags mode -o x .": "",
		"test -mode=fast ./...":            "",
		"run . --mode x":                   "",
	} {
		c, err := parse(strings.Fields(line))
		if err != nil {
			t.Fatal(err)
		}
		if got := c.ownFlag(); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

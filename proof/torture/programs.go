package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// source is where a program comes from.
type source struct {
	name string
	file string // "" for csmith
	seed uint64 // of csmith; it also draws the compiler and the level
	test bool   // it ends with 0, unless it does what C does not define
}

// passes reports whether the program ends with 0 where all that it does is defined: a test
// does, and what csmith generates.
func (s *source) passes() bool { return s.test || s.file == "" }

// origin is who wrote it.
func (s *source) origin() string {
	switch {
	case s.file == "":
		return "csmith"
	case s.test:
		return "gcc's tests"
	}
	return "ours"
}

// sources returns the programs one by one: those of a directory, which may be tests that
// end with 0, then csmith's. count bounds them, 0 for no end.
func sources(dir string, tests bool, seed uint64, count int) (next func() (source, bool), err error) {
	var files []string
	if dir != "" {
		if files, err = filepath.Glob(filepath.Join(dir, "*.c")); err != nil {
			return nil, err
		}
		if len(files) == 0 {
			return nil, fmt.Errorf("%s: no C files there", dir)
		}
	}
	given := 0
	return func() (source, bool) {
		if count > 0 && given == count {
			return source{}, false
		}
		given++
		if len(files) > 0 {
			file := files[0]
			files = files[1:]
			return source{name: filepath.Base(file), file: file, seed: seed + uint64(given), test: tests}, true
		}
		s := source{name: fmt.Sprintf("csmith-%d", seed), seed: seed}
		seed++
		return s, true
	}, nil
}

// write makes the C file of a program in a directory. why is set where it cannot.
func (s *source) write(dir string) (why string) {
	to := filepath.Join(dir, "program.c")
	if s.file == "" {
		cmd := exec.Command("csmith", "--seed", fmt.Sprint(s.seed), "--output", to, "--concise",
			"--max-funcs", "8", "--max-block-depth", "4")
		cmd.Dir = dir // it leaves a file beside it
		if err := cmd.Run(); err != nil {
			return "csmith failed"
		}
		os.Remove(filepath.Join(dir, "platform.info"))
		return ""
	}
	text, err := os.ReadFile(s.file)
	if err != nil {
		return "it cannot be read"
	}
	// Directives for tests on other machines, or that are not to be run.
	if strings.Contains(string(text), "dg-do compile") || strings.Contains(string(text), "dg-skip-if") {
		return "gcc's tests leave it out"
	}
	if err := os.WriteFile(to, text, 0o666); err != nil {
		return "it cannot be written"
	}
	return ""
}

// draw returns one of the compilers, and the level, for a program.
func (s *source) draw(compilers []string) []string {
	r := rand.New(rand.NewPCG(s.seed, 1))
	levels := []string{"-O0", "-O1", "-O2", "-O3", "-Os"}
	return append(strings.Fields(compilers[r.IntN(len(compilers))]), levels[r.IntN(len(levels))])
}

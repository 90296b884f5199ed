package gocmd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
)

const (
	// unlinkedSuffix is in the name of the map that addUnlinked writes.
	unlinkedSuffix = ".unlinked"
	// mostPackages is the number of packages that a message names.
	mostPackages = 5
)

// addUnlinked reports the packages of the main modules that no program of a build contains. With the flag
// --all-packages it writes their map beside the programs: their functions did not run.
func (c *command) addUnlinked(ctx context.Context, s *verb.Streams, b *build) error {
	flags, patterns := testArgs(c.args)
	files := slices.ContainsFunc(patterns, func(p string) bool { return strings.HasSuffix(p, ".go") })
	if files || c.remote() != "" || c.hasFlag(b.env.GOFLAGS, "n") || b.quiet && !b.all {
		return nil
	}
	packages, err := c.unlinkedPackages(ctx, b, flags, patterns)
	switch {
	case err != nil:
		return notCounted(err)
	case len(packages) == 0:
		return nil
	case !b.all:
		n := uint64(len(packages))
		fmt.Fprintf(s.Err, "cairn: %s of the main module %s in no program of this build, and not counted (--all-packages counts %s): %s\n", report.Plural(len(packages), "package"),
			report.Either(n, "is", "are"), report.Either(n, "it", "them"), report.First(packages, mostPackages))
		return nil
	}
	dir := c.outputDir()
	old, err := filepath.Glob(filepath.Join(dir, "*"+unlinkedSuffix+".*.debug"))
	if err != nil {
		return notCounted(err)
	}
	u, err := c.writeUnlinked(ctx, s, b, packages, mapFile{dir, unlinkedSuffix})
	if err != nil || u.Functions == 0 {
		return err
	}
	if err := removeOthers(old, dir); err != nil {
		return notCounted(err)
	}
	if !b.quiet {
		fmt.Fprintf(s.Err, "cairn: %s of %s are in no program of this build: %s has their map\n", report.Plural(u.Functions, "function"), report.Plural(u.Packages, "package"), dir)
	}
	return nil
}

// removeOthers removes the maps of earlier builds, unless the last is one of them: then there is no other.
func removeOthers(old []string, dir string) error {
	now, err := filepath.Glob(filepath.Join(dir, "*"+unlinkedSuffix+".*.debug"))
	if err != nil || len(now) == len(old) && len(old) < 2 {
		return err
	}
	newest := ""
	var last os.FileInfo
	for _, path := range now {
		if st, err := os.Stat(path); err == nil && (last == nil || st.ModTime().After(last.ModTime())) {
			newest, last = path, st
		}
	}
	for _, path := range old {
		if path != newest {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// unlinkedPackages returns the packages of the main modules that no program of a build has; none if it makes none.
func (c *command) unlinkedPackages(ctx context.Context, b *build, flags, patterns []string) (packages []string, err error) {
	// The programs may be up to date, and then no linker ran.
	const programs = `{{if eq .Name "main"}}{{.ImportPath}}{{range .Deps}} {{.}}{{end}}{{end}}`
	out, err := c.output(ctx, slices.Concat([]string{"list"}, flags, []string{"-e", "-f", programs, "--"}, patterns)...)
	if err != nil {
		return nil, err
	}
	linked := map[string]bool{}
	for importPath := range strings.FieldsSeq(out) {
		linked[importPath] = true
	}
	modules, err := c.mainModules(ctx)
	if err != nil || len(linked) == 0 {
		return nil, err
	}
	const sources = "{{if or .GoFiles .CgoFiles}}{{.ImportPath}}{{end}}"
	if out, err = c.output(ctx, slices.Concat([]string{"list"}, flags, []string{"-e", "-find", "-f", sources, "--"}, modules)...); err != nil {
		return nil, err
	}
	for importPath := range strings.FieldsSeq(out) {
		if !linked[importPath] && b.cfg.Selects(importPath) {
			packages = append(packages, importPath)
		}
	}
	return packages, nil
}

// outputDir returns the directory of the programs that a build writes.
func (c *command) outputDir() string {
	dir := "."
	if len(c.dir) > 0 {
		dir = strings.TrimPrefix(strings.TrimLeft(c.dir[len(c.dir)-1], "-"), "C=")
	}
	for i, arg := range c.args {
		out, ok := strings.CutPrefix(strings.TrimLeft(arg, "-"), "o=")
		if ok = ok && strings.HasPrefix(arg, "-"); strings.TrimLeft(arg, "-") == "o" && arg != "o" && i+1 < len(c.args) {
			out, ok = c.args[i+1], true
		}
		if !ok {
			continue
		}
		ends := strings.HasSuffix(out, "/")
		if !filepath.IsAbs(out) {
			out = filepath.Join(dir, out)
		}
		if st, err := os.Stat(out); !ends && (err != nil || !st.IsDir()) {
			out = filepath.Dir(out)
		}
		return out
	}
	return dir
}

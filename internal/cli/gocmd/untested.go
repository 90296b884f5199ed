package gocmd

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/cairnprof/cairn/internal/gobuild"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
)

// addUntested writes the map of those packages of go test that no test program contains, such as packages without
// tests: their functions did not run. The go command compiled them all the same, so they are in its cache.
func (c *command) addUntested(ctx context.Context, s *verb.Streams, b *build, reports []gobuild.Report, dir string) error {
	flags, patterns := testArgs(c.args)
	files := slices.ContainsFunc(patterns, func(p string) bool { return strings.HasSuffix(p, ".go") })
	if files || c.hasFlag(b.env.GOFLAGS, "n") {
		return nil // the package of these files is the tested one; or nothing was compiled
	}
	linked := map[string]bool{}
	for i := range reports {
		for _, p := range reports[i].Imports {
			linked[p] = true
		}
	}
	out, err := c.output(ctx, slices.Concat([]string{"list"}, flags, []string{"-e", "--"}, patterns)...)
	if err != nil {
		return notCounted(err)
	}
	var packages []string
	for importPath := range strings.FieldsSeq(out) {
		if !linked[importPath] && b.cfg.Selects(importPath) {
			packages = append(packages, importPath)
		}
	}
	u, err := c.writeUnlinked(ctx, s, b, packages, mapFile{dir, ".untested"})
	if err != nil || b.quiet || u.Functions == 0 {
		return err
	}
	fmt.Fprintf(s.Err, "cairn: %s of %s are in no test program of this run\n", report.Plural(u.Functions, "function"), report.Plural(u.Packages, "package"))
	return nil
}

// unlinked is what a map of packages that are in no program has.
type unlinked struct{ Functions, Packages int }

// mapFile is where a map of packages goes: the file is named after the first of them.
type mapFile struct{ dir, suffix string }

// writeUnlinked writes the map of packages that are in no program. The go command has compiled them, or does so now.
func (c *command) writeUnlinked(ctx context.Context, s *verb.Streams, b *build, packages []string, to mapFile) (u unlinked, err error) {
	if len(packages) == 0 {
		return u, nil
	}
	flags, _ := testArgs(c.args)
	// Of packages with tests the go command compiled another variant: the archives of these are not needed.
	list := slices.Concat([]string{"list"}, flags, []string{"-e", "-export", "-f", "{{.ImportPath}}\t{{.Export}}\t{{len .GoFiles}}{{len .CgoFiles}}", "-toolexec=" + toolexec(b.self, b.cfg), "--"}, packages)
	out, err := c.output(ctx, list...)
	if err != nil {
		return u, notCounted(err)
	}
	var archives []string
	for line := range strings.Lines(out) {
		importPath, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		archive, files, _ := strings.Cut(rest, "\t")
		switch {
		case archive != "":
			archives = append(archives, archive)
		case files != "00": // it has not only tests
			verb.Note(s, "go: package %s is not counted: it does not compile", importPath)
		}
	}
	if len(archives) == 0 {
		return u, nil
	}
	made, err := gobuild.WriteUnlinked(to.dir, path.Base(packages[0])+to.suffix, b.env.GOARCH, archives)
	if err != nil {
		return u, notCounted(err)
	}
	return unlinked{made.Functions, made.Packages}, nil
}

func notCounted(err error) error {
	return fmt.Errorf("go: the packages that no program contains are not counted: %w", err)
}

// Flags of go build: those that go list gets as well, and those that it must not get.
var (
	buildValues = words("p asmflags buildmode compiler gccgoflags gcflags installsuffix ldflags mod modfile overlay pgo pkgdir tags")
	buildBools  = words("race msan asan buildvcs linkshared modcacherw trimpath")
	otherBools  = words("a n v work x json c i benchmem failfast fullpath short artifacts cover")
	otherValues = words("C o exec vet bench benchtime blockprofile blockprofilerate count covermode coverpkg coverprofile cpu cpuprofile " +
		"fuzz fuzztime fuzzminimizetime list memprofile memprofilerate mutexprofile mutexprofilefraction outputdir parallel run shuffle skip timeout trace toolexec")
)

func words(text string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		set := map[string]bool{}
		for w := range strings.FieldsSeq(text) {
			set[w] = true
		}
		return set
	})
}

// testArgs returns those arguments of go test that are flags of go build, and the packages. The list of packages
// ends at the first flag after it, or at a flag that the go command does not know.
func testArgs(args []string) (flags, patterns []string) {
	ended := false
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if !strings.HasPrefix(arg, "-") {
			if !ended {
				patterns = append(patterns, arg)
			}
			continue
		}
		ended = len(patterns) > 0
		name, _, valued := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-"), "=")
		name = strings.TrimPrefix(name, "test.")
		takes := buildValues()[name] || otherValues()[name]
		if name == "" || name == "args" || !takes && !buildBools()[name] && !otherBools()[name] {
			break
		}
		last := i
		if takes && !valued {
			last = min(i+1, len(args)-1)
		}
		if buildValues()[name] || buildBools()[name] {
			flags = append(flags, args[i:last+1]...)
		}
		i = last
	}
	if patterns == nil {
		patterns = []string{"."}
	}
	return flags, patterns
}

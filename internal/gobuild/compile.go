package gobuild

import (
	"bytes"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/internal/gobuild/functable"
	"github.com/cairnprof/cairn/internal/gobuild/rewrite"
	"github.com/cairnprof/cairn/internal/lazyregexp"
	"github.com/cairnprof/cairn/internal/runtime/goruntime"
	"github.com/cairnprof/cairn/prof"
)

// coverageConfig tells the compiler which variables are coverage counters. In mode testmain
// it does not register them with Go's own coverage.
const coverageConfig = `{"CounterPrefix":"` + rewrite.Counters + `","CounterMode":"testmain","CounterGranularity":"perfunc","MetaHash":"00000000000000000000000000000000"}`

// compile runs the compiler on a package, with probes if the package gets any.
func (t *tool) compile() error {
	files := t.sources()
	output, ok := t.flag("-o")
	pkg, hasPath := t.flag("-p")
	if !ok || !hasPath || len(files) == 0 {
		return t.run(t.args)
	}
	switch pkg {
	case "runtime":
		return t.compileRuntime(files, output)
	case "runtime/coverage":
		return t.compileCoverage(files, output)
	}
	if pkg == markPackage {
		return t.compileMark(files, output)
	}
	importPath := os.Getenv("TOOLEXEC_IMPORTPATH")
	if importPath == "" {
		importPath = pkg
	}
	if _, covered := t.flag("-coveragecfg"); covered {
		return fmt.Errorf("%s: built with -cover, whose counters are at the same places as those of cairn: use one of them", importPath)
	}
	if !t.cfg.Selects(importPath) {
		return t.run(t.args)
	}
	importPath, _, _ = strings.Cut(importPath, " ") // a variant for tests: p [p.test]
	return t.compileProbes(pkg, importPath, files, output)
}

// sources returns the index of the first source file among the arguments.
func (t *tool) sources() (files []string) {
	for i := len(t.args); i > 0 && strings.HasSuffix(t.args[i-1], ".go"); i-- {
		files = t.args[i-1:]
	}
	return files
}

// compileProbes adds probes to a package.
func (t *tool) compileProbes(pkg, importPath string, files []string, output string) error {
	opts := rewrite.Options{Mode: t.cfg.Mode, Atomic: t.cfg.Atomic, Race: t.has("-race"), Small: t.cfg.Small, Probed: t.cfg.Selects, LoadOnce: os.Getenv("GOARCH") == "arm64", Wide: t.ownCounters()}
	if t.cfg.Mode.Timed() {
		var ok bool
		if opts.Inlinable, opts.Closures, ok = t.decisions(output); !ok {
			return t.run(t.args) // the compiler reports why
		}
	}
	r := rewrite.New(opts)
	dir := filepath.Join(filepath.Dir(output), "cairn")
	sources, name, err := t.addProbes(r, dir, files)
	if err != nil {
		return err
	}
	if sources == nil {
		return t.run(t.args)
	}
	table := &functable.Table{Package: pkg, Import: importPath, Mode: t.cfg.Mode}
	if len(r.Funcs) == 0 && r.Literals == 0 {
		if err := t.run(t.args); err != nil || len(r.Unprobed) == 0 {
			return err
		}
		table.Skipped, table.Unprobed = r.Skipped, r.Unprobed
		return t.addTable(output, table)
	}
	generated, err := writeSource(dir, len(files), "cairn_generated.go", r.Generated(name, pkg == "main"))
	if err != nil {
		return err
	}
	accepted, err := t.compileRewritten(dir, append(sources, generated))
	switch {
	case err != nil:
		return err
	case !accepted:
		rejected(table, r)
	default:
		table.Atomic, table.Funcs, table.Skipped, table.Unprobed = t.cfg.Atomic || r.Races(), r.Funcs, r.Skipped, r.Unprobed
		table.Elements, table.ElementSize = r.Elements()
		table.Literals, table.Inlinable, table.Small = r.Literals, r.Inlinable, r.Small
	}
	return t.addTable(output, table)
}

// addProbes adds probes to source files, and writes those that get any into a directory. It returns the files
// to compile in place of the given ones, and the name of the package. It returns no files if one cannot be
// read or parsed, which the compiler explains better.
func (t *tool) addProbes(r *rewrite.Rewriter, dir string, files []string) (sources []string, name string, err error) {
	sources = slices.Clone(files)
	texts := make([][]byte, len(files))
	for i, path := range files {
		if texts[i], err = os.ReadFile(path); err != nil {
			return nil, "", nil
		}
		r.Declare(texts[i])
	}
	for i, path := range files {
		if leaveOut(path) {
			continue
		}
		src := texts[i]
		abs, err := filepath.Abs(path)
		if err != nil {
			return nil, "", err
		}
		text, err := t.rewrite(r, abs, src)
		if err != nil {
			return nil, "", nil
		}
		if name == "" {
			name = packageName(src)
		}
		if text == nil {
			continue
		}
		if sources[i], err = writeSource(dir, i, filepath.Base(path), text); err != nil {
			return nil, "", err
		}
	}
	return sources, name, nil
}

// compileRewritten compiles a package with probes. If the compiler rejects it, the original package is compiled,
// so that messages have the original columns, and a package that fails only with probes is built without them.
func (t *tool) compileRewritten(dir string, sources []string) (accepted bool, err error) {
	var out, errs bytes.Buffer
	probed := *t
	probed.stdout, probed.stderr = &out, &errs
	if probed.runCompiler(dir, sources) != nil {
		return false, t.run(t.args)
	}
	if _, err := t.stdout.Write(out.Bytes()); err != nil {
		return false, err
	}
	_, err = t.stderr.Write(errs.Bytes())
	return true, err
}

// rejected fills in the table of a package that the compiler accepts only without probes.
func rejected(table *functable.Table, r *rewrite.Rewriter) {
	const why = "the compiler rejected its probes"
	table.Skipped = []string{"*: " + why}
	if table.Mode.Timed() {
		return
	}
	table.Unprobed = r.Unprobed
	for _, f := range r.Funcs {
		f.Unprobed = why
		table.Unprobed = append(table.Unprobed, f)
	}
}

// rewrite adds probes to a file.
func (t *tool) rewrite(r *rewrite.Rewriter, path string, src []byte) ([]byte, error) {
	original := rewrite.CgoOriginal(path, src)
	if original == "" || t.cfg.Mode.Timed() {
		return r.File(path, src)
	}
	rules, _ := t.flag("-trimpath")
	text, err := os.ReadFile(untrimPath(original, rules))
	if err != nil {
		return r.File(path, src) // with the places of what cgo made
	}
	return r.CgoFile(path, src, text)
}

// leaveOut reports whether a source file has no probes: tests, and what cgo declares.
func leaveOut(path string) bool {
	base := filepath.Base(path)
	return strings.HasSuffix(base, "_test.go") || base == "_cgo_gotypes.go" || base == "_cgo_import.go" || base == "_testmain.go"
}

func packageName(src []byte) string {
	f, err := parser.ParseFile(token.NewFileSet(), "", src, parser.PackageClauseOnly)
	if err != nil {
		return ""
	}
	return f.Name.Name
}

// writeSource writes a file to a directory in the one that the go command made for the
// package. Files of cgo have base names that occur in other directories, hence the number.
func writeSource(dir string, i int, base string, text []byte) (string, error) {
	dir = filepath.Join(dir, fmt.Sprint(i))
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	path := filepath.Join(dir, base)
	return path, os.WriteFile(path, text, 0o666)
}

// The compiler's messages about a function that it can inline, and about a closure; the body of
// a range over a function is a closure. After a line directive without a column there is no
// column, and ?? stands for a file without a name.
const compilerPlace = `^(.+?):(\d+)(?::(\d+))?: `

var (
	canInline = lazyregexp.New(compilerPlace + `can inline `)
	closure   = lazyregexp.New(compilerPlace + `(?:func literal |can inline .*-range\d+( |$))`)
)

// decisions returns the functions of the package that the compiler can inline, and where it
// makes closures, according to its own messages about the package without probes. It reports
// whether the package compiles.
func (t *tool) decisions(output string) (inlinable, closures map[rewrite.Place]bool, ok bool) {
	args := make([]string, 0, len(t.args)+1)
	for i := 0; i < len(t.args); i++ {
		switch a := t.args[i]; {
		case a == "-o" || a == "-asmhdr":
			i++ // with its value
		case a != "-pack":
			args = append(args, a)
		}
	}
	var out bytes.Buffer
	plain := *t
	plain.stdout, plain.stderr = &out, &out
	plainOutput := filepath.Join(filepath.Dir(output), "cairn_plain.o")
	defer os.Remove(plainOutput)
	if plain.run(append([]string{"-m", "-o", plainOutput}, args...)) != nil {
		return nil, nil, false
	}
	inlinable, closures = map[rewrite.Place]bool{}, map[rewrite.Place]bool{}
	for line := range strings.Lines(out.String()) {
		line = strings.TrimSuffix(line, "\n")
		if m := canInline().FindStringSubmatch(line); m != nil {
			inlinable[placeOf(m)] = true
		}
		if m := closure().FindStringSubmatch(line); m != nil {
			closures[placeOf(m)] = true
		}
	}
	return inlinable, closures, true
}

// placeOf returns the place that the groups of a match name: file, line and column.
func placeOf(m []string) rewrite.Place {
	n, _ := strconv.Atoi(m[2])
	column, _ := strconv.Atoi(m[3]) // 0 if it is unknown, as in package go/token
	file := filepath.Base(m[1])
	if m[1] == "??" {
		file = ""
	}
	return rewrite.Place{File: file, Line: n, Column: column}
}

// runCompiler runs the compiler on other source files, with coverage counters if the mode
// has them.
func (t *tool) runCompiler(dir string, sources []string) error {
	flags := t.args[:len(t.args)-len(t.sources())]
	// Probes call functions of package runtime without a body here.
	flags = slices.DeleteFunc(slices.Clone(flags), func(a string) bool { return a == "-complete" })
	if t.cfg.Mode.Timed() {
		return t.run(append(flags, sources...))
	}
	config := filepath.Join(dir, "counters.json")
	if err := os.WriteFile(config, []byte(coverageConfig), 0o666); err != nil {
		return err
	}
	return t.run(slices.Concat([]string{"-coveragecfg=" + config}, flags, sources))
}

// trimPaths converts file names to those of debug information, as -trimpath specifies.
func (t *tool) trimPaths(table *functable.Table) {
	rules, _ := t.flag("-trimpath")
	for _, funcs := range [][]rewrite.Func{table.Funcs, table.Unprobed} {
		for i := range funcs {
			funcs[i].File, funcs[i].UnitFile = trimPath(funcs[i].File, rules), trimPath(funcs[i].UnitFile, rules)
		}
	}
}

// trimPath rewrites a path by the first rule that matches it or one of its parent directories;
// rules are OLD=>NEW, separated by semicolons. As in debug information, all names have slashes.
func trimPath(path, rules string) string {
	path, rules = filepath.ToSlash(path), filepath.ToSlash(rules)
	for rule := range strings.SplitSeq(rules, ";") {
		from, to, ok := strings.Cut(rule, "=>")
		if !ok {
			from, to = rule, ""
		}
		rest, has := strings.CutPrefix(path, from)
		switch {
		case from == "" || !has:
		case rest == "":
			return to
		case rest[0] == '/' && to == "":
			return rest[1:]
		case rest[0] == '/':
			return to + rest
		}
	}
	return path
}

// untrimPath returns the path that the rules of trimPath make a path of.
func untrimPath(path, rules string) string {
	rules = filepath.ToSlash(rules)
	for rule := range strings.SplitSeq(rules, ";") {
		from, to, _ := strings.Cut(rule, "=>")
		if rest, ok := strings.CutPrefix(path, to+"/"); ok && to != "" {
			return from + "/" + rest
		}
	}
	return path
}

// addTable adds the list of a package's probes to its archive.
func (t *tool) addTable(archive string, table *functable.Table) error {
	t.trimPaths(table)
	data, err := os.ReadFile(archive)
	if err != nil {
		return err
	}
	if data, err = functable.Append(data, table); err != nil {
		return fmt.Errorf("%s: %w", archive, err)
	}
	return os.WriteFile(archive, data, 0o666)
}

// compileRuntime adds the files of goruntime to package runtime.
func (t *tool) compileRuntime(files []string, output string) error {
	goVersion, ok := t.flag("-goversion")
	if !ok {
		goVersion = runtime.Version()
	}
	target := target(goVersion)
	if err := target.Check(); err != nil {
		return err
	}
	dir := filepath.Join(filepath.Dir(output), "cairn")
	sources := slices.Clone(files)
	for _, name := range target.Edited(t.cfg.Mode) {
		i := slices.IndexFunc(files, func(f string) bool { return filepath.Base(f) == name })
		if i < 0 {
			return errors.New("package runtime has no " + name)
		}
		src, err := os.ReadFile(files[i])
		if err != nil {
			return err
		}
		abs, err := filepath.Abs(files[i])
		if err != nil {
			return err
		}
		text, err := target.Edit(t.cfg.Mode, name, abs, src)
		if err != nil {
			return err
		}
		if sources[i], err = writeSource(dir, i, name, text); err != nil {
			return err
		}
	}
	added, err := goruntime.Files(target, t.cfg.Mode)
	if err != nil {
		return err
	}
	goroot, err := filepath.Abs(filepath.Dir(files[0]))
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(added)) {
		// Debug information has no directories of builds, which differ.
		text := fmt.Appendf(nil, "//line %s:1:1\n%s", filepath.Join(goroot, name), added[name])
		path, err := writeSource(dir, len(files), name, text)
		if err != nil {
			return err
		}
		sources = append(sources, path)
	}
	return t.runCompiler(dir, sources)
}

// compileCoverage renames the hook of package runtime/coverage, which the compiler calls in
// programs with coverage counters: package main has one that does nothing, and the linker
// accepts no second one.
func (t *tool) compileCoverage(files []string, output string) error {
	const hook = "func initHook("
	dir := filepath.Join(filepath.Dir(output), "cairn")
	sources := slices.Clone(files)
	for i, path := range files {
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		before, after, ok := bytes.Cut(src, []byte(hook))
		if !ok {
			continue
		}
		abs, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		text := fmt.Appendf(nil, "//line %s:1:1\n%sfunc cairnInitHook(%s", abs, before, after)
		if sources[i], err = writeSource(dir, i, filepath.Base(path), text); err != nil {
			return err
		}
	}
	return t.run(append(slices.Clone(t.args[:len(t.args)-len(files)]), sources...))
}

// ownCounters reports whether the counters of a package can be those of the processor. Without
// optimisation, and with sanitizers, probes are other instructions than package percpu knows.
func (t *tool) ownCounters() bool {
	other := slices.ContainsFunc([]string{"-N", "-l", "-race", "-msan", "-asan"}, t.has)
	return t.cfg.Mode == prof.ModeCount && !t.cfg.Atomic && !other && target("").PerCPU()
}

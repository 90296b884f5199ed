package gobuild

import (
	"bytes"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/gobuild/functable"
	"github.com/cairnprof/cairn/internal/gobuild/goruntime"
	"github.com/cairnprof/cairn/internal/gobuild/rewrite"
)

// coverageConfig tells the compiler which variables are coverage counters. In mode testmain
// it does not register them with Go's own coverage.
const coverageConfig = `{"CounterPrefix":"` + rewrite.Counters + `","CounterMode":"testmain","CounterGranularity":"perfunc","MetaHash":"00000000000000000000000000000000"}`

// compile runs the compiler on a package, with probes if it is to have any.
func (t *tool) compile() error {
	files := t.sources()
	output, ok := t.flag("-o")
	pkg, hasPath := t.flag("-p")
	if !ok || !hasPath || len(files) == 0 {
		return t.run(t.args)
	}
	if pkg == "runtime" {
		return t.compileRuntime(files, output)
	}
	importPath := os.Getenv("TOOLEXEC_IMPORTPATH")
	if importPath == "" {
		importPath = pkg
	}
	if !t.cfg.Selects(importPath) {
		return t.run(t.args)
	}
	if _, covered := t.flag("-coveragecfg"); covered {
		return fmt.Errorf("%s: built with -cover, whose counters are where those of cairn would be: use one of them", importPath)
	}
	return t.compileProbes(pkg, files, output)
}

// sources returns the index of the first source file among the arguments.
func (t *tool) sources() (files []string) {
	for i := len(t.args); i > 0 && strings.HasSuffix(t.args[i-1], ".go"); i-- {
		files = t.args[i-1:]
	}
	return files
}

// compileProbes adds probes to a package.
func (t *tool) compileProbes(pkg string, files []string, output string) error {
	r := rewrite.New(rewrite.Options{Mode: t.cfg.Mode, Atomic: t.cfg.Atomic, Race: t.has("-race")})
	dir := filepath.Join(filepath.Dir(output), "cairn")
	sources := slices.Clone(files)
	name := ""
	for i, path := range files {
		if leaveOut(path) {
			continue
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return t.run(t.args) // for the compiler to say
		}
		abs, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		text, err := r.File(abs, src)
		if err != nil {
			return t.run(t.args) // a syntax error, which the compiler explains better
		}
		if name == "" {
			name = packageName(src)
		}
		if text == nil {
			continue
		}
		if sources[i], err = writeSource(dir, i, filepath.Base(path), text); err != nil {
			return err
		}
	}
	if len(r.Funcs) == 0 {
		return t.run(t.args)
	}
	generated, err := writeSource(dir, len(files), "cairn_generated.go", r.Generated(name, pkg == "main"))
	if err != nil {
		return err
	}
	// If the compiler fails it says so of the package as it is: probes change columns. A
	// package that is in order but for its probes goes without.
	var out, errs bytes.Buffer
	probed := *t
	probed.stdout, probed.stderr = &out, &errs
	if err := probed.runCompiler(dir, append(sources, generated)); err != nil {
		if err := t.run(t.args); err != nil {
			return err
		}
		return appendTable(output, &functable.Table{Package: pkg, Mode: t.cfg.Mode, Skipped: []string{"*: the compiler rejected its probes"}})
	}
	if _, err := t.stdout.Write(out.Bytes()); err != nil {
		return err
	}
	if _, err := t.stderr.Write(errs.Bytes()); err != nil {
		return err
	}
	n, size := r.Elements()
	table := &functable.Table{
		Package: pkg, Mode: t.cfg.Mode, Atomic: t.cfg.Atomic || r.Races(), Elements: n, ElementSize: size, Funcs: r.Funcs, Skipped: r.Skipped,
	}
	t.trimPaths(table)
	return appendTable(output, table)
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

// runCompiler runs the compiler on other source files, with coverage counters.
func (t *tool) runCompiler(dir string, sources []string) error {
	config := filepath.Join(dir, "counters.json")
	if err := os.WriteFile(config, []byte(coverageConfig), 0o666); err != nil {
		return err
	}
	flags := t.args[:len(t.args)-len(t.sources())]
	args := []string{"-coveragecfg=" + config}
	for _, a := range flags {
		if a != "-complete" { // probes call functions of package runtime without a body here
			args = append(args, a)
		}
	}
	return t.run(append(args, sources...))
}

// trimPaths makes the names of files those of debug information, as -trimpath says.
func (t *tool) trimPaths(table *functable.Table) {
	rules, _ := t.flag("-trimpath")
	for i := range table.Funcs {
		table.Funcs[i].File = trimPath(table.Funcs[i].File, rules)
	}
}

// trimPath rewrites a path by the first rule that is for it or for a directory of it; rules
// are OLD=>NEW, separated by semicolons.
func trimPath(path, rules string) string {
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

func appendTable(archive string, table *functable.Table) error {
	data, err := os.ReadFile(archive)
	if err != nil {
		return err
	}
	if data, err = functable.Append(data, table); err != nil {
		return fmt.Errorf("%s: %w", archive, err)
	}
	return os.WriteFile(archive, data, 0o666)
}

// compileRuntime adds the file of goruntime to package runtime.
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
	i := slices.IndexFunc(files, func(f string) bool { return filepath.Base(f) == goruntime.EditedFile })
	if i < 0 {
		return errors.New("package runtime has no " + goruntime.EditedFile)
	}
	src, err := os.ReadFile(files[i])
	if err != nil {
		return err
	}
	abs, err := filepath.Abs(files[i])
	if err != nil {
		return err
	}
	text, err := goruntime.Start(abs, src)
	if err != nil {
		return err
	}
	if sources[i], err = writeSource(dir, i, goruntime.EditedFile, text); err != nil {
		return err
	}
	added, err := writeSource(dir, len(files), "cairn_runtime.go", goruntime.File(target))
	if err != nil {
		return err
	}
	return t.runCompiler(dir, append(sources, added))
}

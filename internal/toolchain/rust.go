package toolchain

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/internal/instrument/catch"
	"github.com/cairnprof/cairn/internal/instrument/driver"
	"github.com/cairnprof/cairn/internal/verb"
)

// rustc makes objects itself and starts no assembler. cairn has it write the assembly of each of its units as well
// (--emit=asm), from which a second set of objects is assembled, with probes. They replace rustc's own where it links:
//
//   - rustc hands the objects of a program to the linker, which is intercepted (rustlink.go).
//   - A library (.rlib) stays as rustc made it, for procedural macros and build scripts. Beside it is an archive with
//     the probes, which links of programs get in its place.
//   - In a static library, which rustc makes without a linker, they replace rustc's.
//
// A unit without assembly, or whose assembly is not accepted, keeps its object, and is listed.

// rustJob describes a run of rustc to the linker that it starts.
type rustJob struct {
	Objects string   `json:"objects"` // directory of the objects with probes
	Out     string   `json:"out"`     // directory of the assembly
	Stem    string   `json:"stem"`    // its names begin with that; "" for all
	Crate   string   `json:"crate"`
	Source  string   `json:"source"`         // the crate's first, absolute
	Deps    []string `json:"deps,omitempty"` // directories of the crates that it uses
	Host    bool     `json:"host,omitempty"` // it runs for the build, without probes
	Plain   bool     `json:"plain,omitempty"`
}

const (
	// rustUnits is the number of units that rustc divides a crate into if nothing says how many. With --emit=asm, it would make one.
	rustUnits            = 16
	rustIncrementalUnits = 256
	// rustSidecar ends the name of the archive with the probes of a library.
	rustSidecar = ".cairn.a"
)

// compileRust runs rustc.
func (w *wrapper) compileRust(ctx context.Context, s *verb.Streams, path string, args []string) error {
	if w.tool == "" && len(args) > 0 && otherCompiler(filepath.Base(args[0])) == others["rustc"] { // as cargo starts RUSTC_WRAPPER
		if path, args = args[0], args[1:]; filepath.Base(path) == path {
			found, err := RealTool(path)
			if err != nil {
				return err
			}
			path = found
		}
	}
	asIs := func(env ...string) error { return becomeOpen(path, append([]string{path}, args...), env...) }
	if os.Getenv(catch.EnvRust) != "" { // the link that rustup puts before rustc has started it
		return asIs()
	}
	c, err := parseRust(args, ReadResponse)
	if err != nil || !c.compiles() {
		return asIs() // rustc reports it
	}
	job := rustJob{Crate: c.crate, Source: absolute([]string{c.source})[0], Deps: absolute(append(c.deps, c.outDir)), Out: c.outDir, Stem: c.stem()}
	switch {
	case isCheck(&driver.Command{Reading: driver.Reading{Sources: []string{c.source}}}):
		return asIs()
	case w.opts.Shim.Map:
		// With another --emit, rustc may make other objects, and so another program.
		return errors.Join(logEvent(buildEvent{Map: &mapEvent{Source: c.source, Why: "code of rustc has no map of its blocks"}}), asIs())
	case c.ofBuild() || c.forHost():
		if err := logEvent(buildEvent{rustEvent: rustEvent{Host: c.crate}}); err != nil {
			return err
		}
		job.Host = true
		return asIs(job.variable())
	case c.source == "-", c.bitcode && !c.lto:
		if err := w.listRust(s, &c); err != nil {
			return err
		}
		job.Plain = true
		return asIs(job.variable())
	}
	tools, why, err := w.rustTools(ctx, &c)
	if err != nil {
		return err
	}
	if why == "" && !c.onlyLinks() {
		why = "rustc is asked for other files than a library or a program (--emit)"
	}
	if why == "" && c.outDir != "" && os.Getenv(catch.EnvCargo) == "" { // cargo's directories are its own
		if files, _ := job.assembly(); len(files) > 0 {
			why = fmt.Sprintf("rustc would write its assembly over %s: move it, or name another --out-dir", files[0])
		}
	}
	if why != "" {
		if err := w.opts.Shim.leave(s, c.source, why, cmp.Or(objectOf(args, 1), stem(c.source))); err != nil {
			return err
		}
		return asIs()
	}
	run := rustRun{command: &c, job: job, path: path, tools: tools, s: s}
	return run.compile(ctx)
}

// listRust lists what a command compiles without probes, or to bitcode.
func (w *wrapper) listRust(s *verb.Streams, c *rustCommand) error {
	switch {
	case w.opts.Shim.Use != nil:
		return nil
	case c.bitcode && !c.lto:
		return logEvent(buildEvent{bitcodeEvent: bitcodeEvent{Bitcode: 1}})
	case os.Getenv(catch.EnvCargo) != "": // rustdoc compiles an example of the documentation, or a build script examines rustc
		return logEvent(buildEvent{rustEvent: rustEvent{Host: "examples of rustdoc"}})
	}
	return w.opts.Shim.leave(s, "standard input", "rustc reads it from standard input", "")
}

// forHost reports whether cargo compiles for the build itself: with --target it says for what machine the
// rest is.
func (c *rustCommand) forHost() bool {
	return os.Getenv(catch.EnvCargo) == cargoTargets && c.target == ""
}

// rustTools returns the compiler whose assembler and runtime belong to the target, or why there is none.
func (w *wrapper) rustTools(ctx context.Context, c *rustCommand) (tools rustTools, why string, err error) {
	names := []string{"cc", "gcc", "clang"}
	if compilerName().MatchString(filepath.Base(c.linker)) {
		names = []string{c.linker}
	}
	for _, name := range names {
		if !filepath.IsAbs(name) {
			if name, err = RealTool(name); err != nil {
				continue
			}
		}
		if tools.compiler, err = FindCompiler(name); err == nil {
			break
		}
	}
	if tools.compiler.Path == "" {
		return tools, "no compiler for its machine on PATH to compile the runtime", nil
	}
	of := tools.compiler.target(ctx, nil)
	if c.target != "" && (driver.MachineOf(c.target) != driver.MachineOf(of) || strings.Contains(c.target, "-linux") != strings.Contains(of, "-linux")) {
		return tools, fmt.Sprintf("%s makes no code for %s: name a compiler that does as its linker (-C linker)", tools.compiler.Path, c.target), nil
	}
	tools.bin, why, err = w.assemblerDir(ctx, tools.compiler)
	return tools, why, err
}

// rustTools is what assembles the output of rustc.
type rustTools struct {
	compiler Compiler
	bin      string // directory with the options of the stand-in for its assembler, "" if nothing is changed
}

// rustRun is a run of rustc whose code gets probes.
type rustRun struct {
	command *rustCommand
	job     rustJob
	path    string
	tools   rustTools
	s       *verb.Streams
}

// compile runs rustc and gives its libraries probes.
func (r *rustRun) compile(ctx context.Context) error {
	if r.tools.bin == "" { // a build by a profile that moves no blocks
		r.job.Plain = true
		return becomeOpen(r.path, append([]string{r.path}, r.command.args...), r.job.variable())
	}
	args, done, err := r.arguments(ctx)
	if err != nil {
		return err
	}
	defer done()
	if err := r.firstInto(); err != nil {
		return err
	}
	r.job.clean()
	defer r.job.clean()
	os.Unsetenv(catch.EnvCaught)
	cmd := &exec.Cmd{
		Path: r.path, Args: append([]string{r.path}, args...), Env: append(os.Environ(), r.job.variable()),
		Stdin: r.s.In, Stdout: r.s.Out, Stderr: r.s.Err,
	}
	code, err := verb.RunThrough(cmd)
	os.Setenv(catch.EnvCaught, "1")
	switch {
	case err != nil:
		return fmt.Errorf("build: running %s: %w", r.path, err)
	case code != 0:
		return verb.ExitError(code)
	}
	return r.libraries(ctx)
}

// firstInto logs that cargo compiles into a directory for the first time with the flags of this build. A file there, which
// cargo clean removes, remembers it.
func (r *rustRun) firstInto() error {
	if os.Getenv(catch.EnvCargo) == "" {
		return nil
	}
	f, err := os.OpenFile(filepath.Join(r.job.Out, strings.TrimPrefix(cargoFlag(os.Getenv(catch.EnvBuild)), "--cfg=")), os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil { // it exists
		return nil
	}
	return errors.Join(f.Close(), logEvent(buildEvent{rustEvent: rustEvent{CargoNew: true}}))
}

// arguments returns those of rustc, and what removes a directory that they name.
func (r *rustRun) arguments(ctx context.Context) (args []string, done func(), err error) {
	c := r.command
	args, done = c.without(), func() {}
	if c.outDir == "" {
		output, err := r.names(ctx)
		if err != nil {
			return nil, nil, err
		}
		dir, err := verb.PrivateDir("cairn-rust-")
		if err != nil {
			return nil, nil, err
		}
		undo := verb.Temporary.Add(dir)
		done = func() {
			verb.RemoveAll(dir)
			undo()
		}
		c.outDir, c.output = dir, output
		r.job.Out, r.job.Stem = dir, ""
		args = append(args, "--out-dir", dir, "--emit=link="+output)
	}
	units := rustUnits
	if c.incremental {
		units = rustIncrementalUnits
	}
	if !c.units {
		args = append(args, "-Ccodegen-units="+strconv.Itoa(units))
	}
	if len(c.emits) == 0 && c.output == "" {
		args = append(args, "--emit=link")
	}
	r.job.Out = absolute([]string{c.outDir})[0]
	r.job.Objects = filepath.Join(r.job.Out, c.stem()+".cairn.o")
	return append(args, "--emit=asm"), done, nil
}

// names asks rustc for the name of what it makes if nothing says where.
func (r *rustRun) names(ctx context.Context) (string, error) {
	if r.command.output != "" {
		return r.command.output, nil
	}
	cmd := exec.CommandContext(ctx, r.path, append(slices.Clone(r.command.args), "--print", "file-names")...)
	cmd.Stderr = r.s.Err
	out, err := cmd.Output()
	if err != nil {
		return "", ChildError(err)
	}
	names := strings.Fields(string(out))
	if len(names) != 1 {
		return "", fmt.Errorf("build: rustc makes %d files of %s: name a directory for them (--out-dir)", len(names), r.command.source)
	}
	return names[0], nil
}

// variable is the job for the linker that rustc starts.
func (j *rustJob) variable() string {
	text, err := json.Marshal(j)
	if err != nil { // of strings
		panic(err)
	}
	return catch.EnvRust + "=" + string(text)
}

// rustJobAround returns the run of rustc that has started this process, nil if none has.
func rustJobAround() (*rustJob, error) {
	text := os.Getenv(catch.EnvRust)
	if text == "" {
		return nil, nil
	}
	var j rustJob
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		return nil, fmt.Errorf("build: %s: %w", catch.EnvRust, err)
	}
	return &j, nil
}

// assembly returns the files with the assembly of the job's units.
func (j *rustJob) assembly() ([]string, error) {
	entries, err := os.ReadDir(j.Out)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var files []string
	for _, e := range entries {
		if rest, ok := strings.CutPrefix(e.Name(), j.Stem); ok && strings.HasSuffix(rest, ".s") && (j.Stem == "" || rest[0] == '.') {
			files = append(files, filepath.Join(j.Out, e.Name()))
		}
	}
	return files, err
}

// clean removes what a run, this or an earlier one that was killed, has left.
func (j *rustJob) clean() {
	files, _ := j.assembly()
	for _, file := range files {
		os.Remove(file)
	}
	verb.RemoveAll(j.Objects)
}

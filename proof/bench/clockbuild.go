package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// clockFlags are those of the part clock.
type clockFlags struct {
	steps     string // of build, model, series and report, separated by commas
	dir       string // of the builds and of what was measured
	guests    string // separated by commas; "": all
	compilers string // gcc and clang
	series    time.Duration
	cpu       int // that series are pinned to
}

// A clockCompiler is a compiler with its linker and its own use of profiles.
type clockCompiler struct {
	name, cc, cxx string
	ldflags       string
	generate      string // flags that make a program which writes a profile
	apart         string // flags that BOLT needs of the compiler; "": a link alone will do
}

var clockCompilers = []clockCompiler{
	{"gcc", "gcc", "g++", "", "-fprofile-generate -fprofile-update=single", "-fno-reorder-blocks-and-partition"},
	{"clang", "clang-22", "clang++-22", "-fuse-ld=lld", "-fprofile-generate", ""},
}

// clockVariants are the builds that are compared, the plain one first. Those of the first
// half have no profile of the compiler, those of the other half have one.
var clockVariants = []struct{ name, label string }{
	{"plain", "plain"},
	{"use", "`--use`"},
	{"bolt", "BOLT"},
	{"pgo", "PGO"},
	{"pgo-use", "PGO, `--use`"},
	{"pgo-bolt", "PGO, BOLT"},
}

// A clockProgram is a guest by one compiler.
type clockProgram struct {
	b       *bench
	g       *clockGuest
	c       *clockCompiler
	dir     string // of its builds
	data    string // of its inputs
	sources string // with the trees of all guests
	inTree  string // the build whose objects are in the tree
}

// A clockBuild is one way to compile a program.
type clockBuild struct {
	name    string
	wrap    []string // in front of the command that builds
	cflags  string
	ldflags string
	relink  string // the build of the same objects, if there is one
}

func (p *clockProgram) String() string             { return p.g.name + ", " + p.c.name }
func (p *clockProgram) file(name string) string    { return filepath.Join(p.dir, name) }
func (p *clockProgram) program(name string) string { return filepath.Join(p.dir, "bin", name) }

// clockPrograms are the programs that flags ask for.
func (b *bench) clockPrograms() ([]*clockProgram, error) {
	var programs []*clockProgram
	asked := strings.Split(b.clocked.guests, ",")
	for _, name := range asked {
		if name != "" && !slices.ContainsFunc(clockGuests, func(g clockGuest) bool { return g.name == name }) {
			return nil, fmt.Errorf("-clock-guests=%s: no program %s", b.clocked.guests, name)
		}
	}
	for i := range clockGuests {
		g := &clockGuests[i]
		if b.clocked.guests != "" && !slices.Contains(asked, g.name) {
			continue
		}
		for k := range clockCompilers {
			if !slices.Contains(strings.Split(b.clocked.compilers, ","), clockCompilers[k].name) {
				continue
			}
			dir := filepath.Join(b.clocked.dir, g.name)
			programs = append(programs, &clockProgram{
				b: b, g: g, c: &clockCompilers[k], dir: filepath.Join(dir, clockCompilers[k].name),
				data: filepath.Join(dir, "data"), sources: filepath.Join(b.clocked.dir, "source"),
			})
		}
	}
	if len(programs) == 0 {
		return nil, fmt.Errorf("-clock-guests=%s -clock-compilers=%s: no such program", b.clocked.guests, b.clocked.compilers)
	}
	return programs, nil
}

// shell returns a command that runs a script in dir.
func (p *clockProgram) shell(ctx context.Context, dir, script string, env ...string) *exec.Cmd {
	return command(ctx, dir, append(env,
		"SOURCES="+p.sources, "AMALGAMATION="+p.b.out, "SCRIPTS="+filepath.Join(p.b.root, "proof", "bench", "clock"),
		"HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null"), "bash", "-ec", script)
}

// fetch unpacks the trees of all guests, as inputs are made of those of others.
func (b *bench) clockFetch(ctx context.Context) error {
	for i := range clockGuests {
		g := &clockGuests[i]
		dir := filepath.Join(b.clocked.dir, "source", g.source)
		if _, err := os.Stat(dir); err == nil || g.source == "" {
			continue
		}
		if _, err := output(ctx, b.root, "scripts/debian-source.sh", g.source, dir+".part"); err != nil {
			return err
		}
		if err := os.Rename(dir+".part", dir); err != nil {
			return err
		}
	}
	return nil
}

// once runs a script in a new directory, which is complete if it is there.
func (p *clockProgram) once(ctx context.Context, dir, from, script string, env ...string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	part := dir + ".part"
	if err := os.RemoveAll(part); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(part), 0o755); err != nil {
		return err
	}
	make := []string{"mkdir", part}
	if from != "" {
		make = []string{"cp", "-a", from, part}
	}
	if _, err := output(ctx, "", make...); err != nil {
		return err
	}
	if _, err := finish(p.shell(ctx, part, script, env...)); err != nil {
		return err
	}
	return os.Rename(part, dir)
}

// build makes all variants that are not there yet.
func (p *clockProgram) build(ctx context.Context) error {
	from := ""
	if p.g.source != "" {
		from = filepath.Join(p.sources, p.g.source)
	}
	prepared := p.file("prepared")
	if err := p.once(ctx, prepared, from, `cp "$SCRIPTS/clock.mk" .
`+p.g.prepare); err != nil {
		return err
	}
	sizes := "set -- " + p.g.sizes.clock + " " + p.g.sizes.model + "\n"
	if err := p.once(ctx, p.data, "", sizes+p.g.data); err != nil {
		return err
	}
	if p.complete() {
		return nil
	}
	if err := os.MkdirAll(p.file("bin"), 0o755); err != nil {
		return err
	}
	if err := p.family(ctx, "plain", "use", "bolt", ""); err != nil {
		return err
	}
	flags, err := p.trainCompiler(ctx)
	if err != nil {
		return err
	}
	if err := p.family(ctx, "pgo", "pgo-use", "pgo-bolt", flags); err != nil {
		return err
	}
	return os.RemoveAll(p.file("tree"))
}

func (p *clockProgram) complete() bool {
	for _, v := range clockVariants {
		if !exists(p.program(v.name)) {
			return false
		}
	}
	return true
}

// family builds a program with flags, and that program by our profile and by BOLT.
func (p *clockProgram) family(ctx context.Context, base, use, bolt, flags string) error {
	if err := p.compile(ctx, clockBuild{name: base, cflags: flags}); err != nil {
		return err
	}
	if !exists(p.program(bolt)) {
		relocs := clockBuild{name: bolt + ".relocs", cflags: flags + " " + p.c.apart, ldflags: "-Wl,--emit-relocs"}
		if p.c.apart == "" {
			relocs.relink = base
		}
		if err := p.compile(ctx, relocs); err != nil {
			return err
		}
		if err := p.bolt(ctx, p.program(relocs.name), p.program(bolt)); err != nil {
			return err
		}
	}
	if exists(p.program(use)) {
		return nil
	}
	profile := p.file(use + ".mip")
	if !exists(profile) {
		edge := clockBuild{name: use + ".edge", cflags: flags, wrap: []string{p.b.cairn, "build", "--mode", "edge", "--strict", "--"}}
		if err := p.compile(ctx, edge); err != nil {
			return err
		}
		raws := p.file(use + ".raws")
		if err := p.train(ctx, p.program(edge.name), "CAIRN_DIR="+raws); err != nil {
			return err
		}
		if _, err := output(ctx, "", p.b.cairn, "merge", "-o", profile, p.program(edge.name), raws); err != nil {
			return err
		}
	}
	return p.compile(ctx, clockBuild{name: use, cflags: flags, wrap: []string{p.b.cairn, "build", "--use", profile, "--"}})
}

// compile builds the program in a copy of its tree, always of the same name, since
// profiles of gcc are found by it.
func (p *clockProgram) compile(ctx context.Context, how clockBuild) error {
	if exists(p.program(how.name)) {
		return nil
	}
	tree := p.file("tree")
	binary := filepath.Join(tree, p.g.binary)
	if how.relink != "" && how.relink == p.inTree {
		if err := os.Remove(binary); err != nil {
			return err
		}
	} else if err := p.freshTree(ctx, tree); err != nil {
		return err
	}
	p.inTree = ""
	script := how.script(p.g.build)
	from := now()
	cmd := p.shell(ctx, tree, script, "CC="+p.c.cc, "CXX="+p.c.cxx,
		"CFLAGS=-O2 -w "+how.cflags, "LDFLAGS="+strings.TrimSpace(p.c.ldflags+" "+how.ldflags))
	said, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%v, %s: %w: %s", p, how.name, err, said[max(0, len(said)-2000):])
	}
	fmt.Fprintf(p.b.log, "%v, %s: %.0f s\n", p, how.name, now()-from)
	if err := os.WriteFile(p.file(how.name+".log"), said, 0o644); err != nil {
		return err
	}
	if _, err := output(ctx, "", "cp", binary, p.program(how.name)); err != nil {
		return err
	}
	p.inTree = how.name
	return nil
}

// script is the one that builds, inside of the command that wraps it.
func (how *clockBuild) script(build string) string {
	if how.wrap == nil {
		return build
	}
	return strings.Join(how.wrap, " ") + " bash -ec '" + strings.ReplaceAll(build, "'", `'\''`) + "'"
}

// freshTree copies the tree, with the compiler's profiles if there are some.
func (p *clockProgram) freshTree(ctx context.Context, tree string) error {
	if err := os.RemoveAll(tree); err != nil {
		return err
	}
	if _, err := output(ctx, "", "cp", "-a", p.file("prepared"), tree); err != nil {
		return err
	}
	if profiles := p.file("gcda.tar"); exists(profiles) {
		_, err := output(ctx, tree, "tar", "xf", profiles)
		return err
	}
	return nil
}

// train runs the program as it is trained.
func (p *clockProgram) train(ctx context.Context, program string, env ...string) error {
	if _, err := finish(p.shell(ctx, p.data, p.g.train, append(env, "P="+program)...)); err != nil {
		return fmt.Errorf("training %v: %w", p, err)
	}
	return nil
}

// trainCompiler makes a profile for the compiler, and returns the flags that use it.
func (p *clockProgram) trainCompiler(ctx context.Context) (string, error) {
	raws, profile := p.file("llvm"), p.file("llvm.profdata")
	llvm := p.c.name == "clang"
	flags := "-fprofile-use -fprofile-correction"
	if llvm {
		flags = "-fprofile-use=" + profile
	} else {
		profile = p.file("gcda.tar")
	}
	if exists(profile) {
		return flags, nil
	}
	if err := p.compile(ctx, clockBuild{name: "generate", cflags: p.c.generate}); err != nil {
		return "", err
	}
	if err := p.train(ctx, p.program("generate"), "LLVM_PROFILE_FILE="+filepath.Join(raws, "%p.profraw")); err != nil {
		return "", err
	}
	collect := `find . -name '*.gcda' | sort | tar cf ../gcda.tar -T -`
	if llvm {
		collect = `llvm-profdata-22 merge -o ../llvm.profdata ../llvm`
	}
	_, err := finish(p.shell(ctx, p.file("tree"), collect))
	return flags, err
}

// bolt has BOLT instrument a program with relocations, trains it, and lays it out anew.
func (p *clockProgram) bolt(ctx context.Context, from, to string) error {
	data := to + ".fdata"
	if err := removeMatching(data + "*"); err != nil {
		return err
	}
	instrumented := to + ".instrumented"
	if _, err := output(ctx, "", "llvm-bolt-22", from, "-instrument", "-o", instrumented,
		"-instrumentation-file="+data, "-instrumentation-file-append-pid"); err != nil {
		return err
	}
	if err := p.train(ctx, instrumented); err != nil {
		return err
	}
	parts, err := filepath.Glob(data + ".*")
	if err != nil {
		return err
	}
	merged, err := output(ctx, "", append([]string{"merge-fdata-22"}, parts...)...)
	if err != nil {
		return err
	}
	if err := os.WriteFile(data, []byte(merged), 0o644); err != nil {
		return err
	}
	if _, err := output(ctx, "", "llvm-bolt-22", from, "-o", to+".part", "-data", data, "-reorder-blocks=ext-tsp",
		"-reorder-functions=cdsort", "-split-functions", "-split-all-cold"); err != nil {
		return err
	}
	return os.Rename(to+".part", to)
}

func removeMatching(pattern string) error {
	files, err := filepath.Glob(pattern)
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := os.Remove(f); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}

// clockBuilds builds all programs.
func (b *bench) clockBuilds(ctx context.Context, programs []*clockProgram) error {
	if err := b.clockFetch(ctx); err != nil {
		return err
	}
	for _, p := range programs {
		if err := p.build(ctx); err != nil {
			return err
		}
	}
	return nil
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cairnprof/cairn/format/procmaps"
)

// goGuest is a Go program whose cost is measured.
type goGuest struct {
	name, version string
	module        string // of the module proxy; "" for a file of proof/bench/c
	pkg           string
	edit          string   // the file that changes before a warm build; "": builds are not timed
	few           bool     // only Go's own builds and those with an aim are measured
	only          string   // the packages that get probes
	args          []string // of a run
	what          string   // that a run does
}

var goGuests = []goGuest{
	{
		name: "esbuild", version: "v0.28.2", module: "github.com/evanw/esbuild", pkg: "./cmd/esbuild", edit: "internal/js_parser/js_parser.go",
		only: "github.com/evanw/esbuild/...", args: []string{"--minify", "--log-level=error", "--outfile=/dev/null", "typescript.js"},
		what: "minifies TypeScript 5.9.3 (9 MB of JavaScript)",
	},
	{
		name: "hugo", version: "v0.152.2", module: "github.com/gohugoio/hugo", pkg: ".", few: true,
		only: "github.com/gohugoio/hugo/...", args: []string{"--source", "site", "--quiet", "--renderToMemory", "--noBuildLock"},
		what: "renders a site of 100 pages of Markdown, with highlighted code",
	},
	{
		name: "goroutines", pkg: ".", only: "example.com/goroutines/...", args: []string{"60"},
		what: "has 10,000 goroutines that evaluate expressions and wait for answers over channels (proof/bench/c/goroutines.go.txt)",
	},
}

// goVariant is a way of building a Go program.
type goVariant struct {
	name, label string
	cairn       []string // flags of cairn go; nil: the go command itself
	build       []string // flags of go build; @ONLY stands for the packages with probes, @PGO for a profile
	limit       float64  // of the ratio, 0 for none
}

// goVariants are the plain build, Go's own, and ours. The build for the profile comes before
// the one that uses it.
var goVariants = []goVariant{
	{name: "plain", label: "go build"},
	{name: "set", label: "go build -cover", build: []string{"-cover", "-covermode=set", "-coverpkg=@ONLY"}},
	{name: "atomic", label: "go build -cover -covermode=atomic", build: []string{"-cover", "-covermode=atomic", "-coverpkg=@ONLY"}},
	{name: "cover", label: "cairn go, cover", cairn: []string{"--mode", "cover"}, limit: 1.02},
	{name: "block", label: "cairn go, block", cairn: []string{"--mode", "block"}},
	{name: "order", label: "cairn go, order", cairn: []string{"--mode", "order"}},
	{name: "count", label: "cairn go, count", cairn: []string{"--mode", "count"}, limit: 1.05},
	{name: "exact", label: "cairn go, count --atomic", cairn: []string{"--mode", "count", "--atomic"}},
	{name: "spike", label: "cairn go, spike", cairn: []string{"--mode", "spike"}, limit: 1.10},
	{name: "stacks", label: "cairn go, stacks", cairn: []string{"--mode", "stacks"}, limit: 1.5},
	{name: "pgo", label: "go build -pgo, of cairn's counts", build: []string{"-pgo=@PGO"}},
}

// goBuilt is a variant's program and what is known of it.
type goBuilt struct {
	*goVariant
	Name       string
	Cold, Warm float64   // seconds of processor time that builds took
	Text, File int64     // bytes, of the stripped program
	Ratios     []float64 // of processor time to the plain program's
	Log        int64     // bytes that a run left on the disk
}

// goPrograms measures what cairn go costs, and writes GO.md.
func (b *bench) goPrograms(ctx context.Context) error {
	results := make([][]*goBuilt, len(goGuests))
	for i := range goGuests {
		g := &goGuests[i]
		dir := filepath.Join(b.out, "go", g.name)
		if b.goGuests != "" && !slices.Contains(strings.Split(b.goGuests, ","), g.name) {
			built, err := keptGo(dir)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			results[i] = built // none of one that was never measured
			continue
		}
		built, err := b.goBuilds(ctx, g, dir)
		if err != nil {
			return fmt.Errorf("%s: %w", g.name, err)
		}
		results[i] = built
		if b.goBuild {
			continue
		}
		for _, r := range built {
			r.Ratios = nil
		}
		for round := range b.rounds {
			fmt.Fprintf(b.log, "%s: round %d of %d\n", g.name, round+1, b.rounds)
			for _, r := range built {
				if err := r.pair(ctx, dir, g); err != nil {
					return err
				}
			}
		}
		if err := keepGo(dir, built); err != nil {
			return err
		}
	}
	if b.goBuild {
		return nil
	}
	return b.reportGo(ctx, results)
}

// wants reports whether a variant of a program is built and measured.
func (b *bench) wants(g *goGuest, v *goVariant) bool {
	if b.goOnly != "" {
		return slices.Contains(strings.Split(b.goOnly, ","), v.name)
	}
	return !g.few || v.limit > 0 || v.name == "plain" || v.name == "set" || v.name == "atomic"
}

// goBuilds builds a program in each variant, or takes those of an earlier run if they are
// kept.
func (b *bench) goBuilds(ctx context.Context, g *goGuest, dir string) ([]*goBuilt, error) {
	if b.goKeep {
		if list, err := keptGo(dir); !errors.Is(err, fs.ErrNotExist) {
			return list, err
		}
	}
	var list []*goBuilt
	if err := b.unpackGo(ctx, g, dir); err != nil {
		return nil, err
	}
	for i := range goVariants {
		if !b.wants(g, &goVariants[i]) {
			continue
		}
		fmt.Fprintf(b.log, "building %s: %s\n", g.name, goVariants[i].name)
		r := &goBuilt{goVariant: &goVariants[i], Name: goVariants[i].name}
		if err := b.buildGo(ctx, g, dir, r); err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, keepGo(dir, list)
}

// keptGo returns what an earlier run wrote of the builds of a program.
func keptGo(dir string) ([]*goBuilt, error) {
	kept := filepath.Join(dir, "builds.json")
	data, err := os.ReadFile(kept)
	if err != nil {
		return nil, err
	}
	var list []*goBuilt
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, err
	}
	for _, r := range list {
		i := slices.IndexFunc(goVariants, func(v goVariant) bool { return v.name == r.Name })
		if i < 0 {
			return nil, fmt.Errorf("%s has a build %q that there is no more", kept, r.Name)
		}
		r.goVariant = &goVariants[i]
	}
	return list, nil
}

// keepGo writes what is known of the builds of a program, for a later run.
func keepGo(dir string, list []*goBuilt) error {
	data, err := json.Marshal(list)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "builds.json"), data, 0o644)
}

// unpackGo makes dir/src of a program, and what it reads.
func (b *bench) unpackGo(ctx context.Context, g *goGuest, dir string) error {
	src := filepath.Join(dir, "src")
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if g.module == "" {
		text, err := sources.ReadFile("c/" + g.name + ".go.txt")
		if err != nil {
			return err
		}
		if err := os.Mkdir(src, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(src, "go.mod"), []byte("module example.com/"+g.name+"\n\ngo 1.25\n"), 0o644); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(src, "main.go"), text, 0o644)
	}
	out, err := output(ctx, "", "go", "mod", "download", "-json", g.module+"@"+g.version)
	if err != nil {
		return err
	}
	var info struct{ Dir string }
	if err := json.Unmarshal([]byte(out), &info); err != nil {
		return err
	}
	if err := os.CopyFS(src, os.DirFS(info.Dir)); err != nil {
		return err
	}
	if _, err := output(ctx, dir, "chmod", "-R", "u+w", src); err != nil {
		return err
	}
	if g.name == "hugo" {
		return writeSite(filepath.Join(dir, "site"))
	}
	_, err = output(ctx, dir, "sh", "-c", "npm pack --silent typescript@5.9.3 && tar xzf typescript-5.9.3.tgz --strip-components=2 package/lib/typescript.js")
	return err
}

// writeSite writes the sources of a site for hugo.
func writeSite(dir string) error {
	files := map[string]string{
		"hugo.toml":                    "baseURL = 'https://example.com/'\ntitle = 'Site'\ncacheDir = '" + filepath.Join(dir, "cache") + "'\n",
		"layouts/_default/single.html": "{{ define \"main\" }}<h1>{{ .Title }}</h1>{{ .TableOfContents }}{{ .Content }}{{ range first 5 .Site.RegularPages }}<a href=\"{{ .RelPermalink }}\">{{ .Title | upper }}</a>{{ end }}{{ end }}",
		"layouts/_default/list.html":   "{{ define \"main\" }}{{ range .Pages }}<h2>{{ .Title }}</h2>{{ .Summary }}{{ end }}{{ end }}",
		"layouts/_default/baseof.html": "<html><head><title>{{ .Title }}</title></head><body>{{ block \"main\" . }}{{ end }}</body></html>",
	}
	for i := range 100 {
		var text strings.Builder
		fmt.Fprintf(&text, "---\ntitle: Page %d\ntags: [t%d, t%d]\n---\n", i, i%7, i%31)
		for k := range 6 {
			fmt.Fprintf(&text, "\n## Part %d\n\nSome *text* with [links](https://example.com/%d), `code` and **words**.\n\n- one\n- two\n\n", k, i)
			fmt.Fprintf(&text, "```go\nfunc f%d(x int) (int, error) { return x + %d, nil } // a comment\n```\n\n| a | b |\n|---|---|\n| %d | %d |\n", k, i, i, k)
		}
		files[fmt.Sprintf("content/s%d/p%d.md", i%20, i)] = text.String()
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// buildGo builds a variant, and measures the sizes and the builds.
func (b *bench) buildGo(ctx context.Context, g *goGuest, dir string, r *goBuilt) error {
	program := filepath.Join(dir, r.name)
	argv := append([]string{"go", "build", "-trimpath", "-o", program}, r.build...)
	if r.cairn != nil {
		argv = append(append([]string{b.cairn, "go", "-q", "--only", g.only}, r.cairn...), argv[1:]...)
	}
	for i := range argv {
		argv[i] = strings.NewReplacer("@ONLY", g.only, "@PGO", filepath.Join(dir, "cpu.pgo")).Replace(argv[i])
	}
	argv = append(argv, g.pkg)
	src := filepath.Join(dir, "src")
	if g.edit == "" || !b.goTimes {
		if _, err := finish(command(ctx, src, []string{"GOFLAGS=-buildvcs=false"}, argv...)); err != nil {
			return err
		}
	} else if err := r.timeBuilds(ctx, src, g.edit, argv); err != nil {
		return err
	}
	sizes := built{path: program}
	if err := sizes.measureSizes(ctx); err != nil {
		return err
	}
	r.Text, r.File = sizes.text, sizes.file
	if r.name != "count" {
		return nil
	}
	return b.goProfile(ctx, g, dir, program)
}

// timeBuilds builds with an empty cache of Go, and again after changes of one file.
func (r *goBuilt) timeBuilds(ctx context.Context, src, edit string, argv []string) error {
	cache := filepath.Join(filepath.Dir(src), "gocache")
	defer os.RemoveAll(cache)
	build := func() (float64, error) {
		d, err := cpuTime(command(ctx, src, []string{"GOCACHE=" + cache, "GOFLAGS=-buildvcs=false"}, argv...))
		return d.Seconds(), err
	}
	var err error
	if r.Cold, err = build(); err != nil {
		return err
	}
	edited := filepath.Join(src, edit)
	text, err := os.ReadFile(edited)
	if err != nil {
		return err
	}
	var warm []float64
	for i := range 3 {
		if err := os.WriteFile(edited, fmt.Appendf(nil, "%s\n\nvar benchEdit = %d\n", text, i), 0o644); err != nil {
			return err
		}
		d, err := build()
		if err != nil {
			return err
		}
		warm = append(warm, d)
	}
	r.Warm = median(warm)
	return os.WriteFile(edited, text, 0o644)
}

// goProfile makes dir/cpu.pgo of the counts of a run.
func (b *bench) goProfile(ctx context.Context, g *goGuest, dir, program string) error {
	raws, profile := filepath.Join(dir, "raws"), filepath.Join(dir, "count.mip")
	if err := os.RemoveAll(raws); err != nil {
		return err
	}
	if _, err := finish(command(ctx, dir, []string{"CAIRN_DIR=" + raws, goCounters()}, append([]string{program}, g.args...)...)); err != nil {
		return err
	}
	if _, err := output(ctx, dir, b.cairn, "merge", "-o", profile, program, raws); err != nil {
		return err
	}
	_, err := output(ctx, dir, b.cairn, "export", profile, "--format", "pgo", "--binary", program, "-o", filepath.Join(dir, "cpu.pgo"))
	return err
}

// pair runs a variant next to the plain program.
func (r *goBuilt) pair(ctx context.Context, dir string, g *goGuest) error {
	if r.name == "plain" {
		return nil
	}
	raws := filepath.Join(dir, "raws")
	once := func(name string) (time.Duration, error) {
		if err := os.RemoveAll(raws); err != nil {
			return 0, err
		}
		if err := os.Mkdir(raws, 0o755); err != nil {
			return 0, err
		}
		return cpuTime(command(ctx, dir, []string{"CAIRN_DIR=" + raws, "GOCOVERDIR=" + raws, goCounters()}, append([]string{filepath.Join(dir, name)}, g.args...)...))
	}
	plain, err := once("plain")
	if err != nil {
		return err
	}
	ours, err := once(r.name)
	if err != nil {
		return err
	}
	r.Ratios = append(r.Ratios, ours.Seconds()/plain.Seconds())
	r.Log, err = directorySize(raws)
	return err
}

// goCounters returns the environment in which each processor has its own counters, even if the
// kernel does not let programs set the base of segment gs themselves.
func goCounters() string {
	const fsgsbase = 1 << 1
	auxv, _ := os.ReadFile("/proc/self/auxv")
	if features, _ := procmaps.Auxiliary(auxv, procmaps.AuxHWCap2); features&fsgsbase != 0 {
		return "CAIRN_GO_COUNTERS=wrgsbase"
	}
	return "CAIRN_GO_COUNTERS=arch_prctl"
}

// directorySize returns the bytes that the files of a directory take on the disk.
func directorySize(dir string) (total int64, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		size, err := onDisk(filepath.Join(dir, e.Name()))
		if err != nil {
			return 0, err
		}
		total += size
	}
	return total, err
}

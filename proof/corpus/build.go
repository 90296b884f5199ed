package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// variant is a way to build a guest.
type variant struct {
	name   string
	flags  []string // of cairn build
	ccache bool
	use    bool // by the profile of mode full
	logs   bool // the runs leave logs, and no records
}

var variants = []variant{
	{name: "cover", flags: []string{"--mode", "cover"}},
	{name: "full", flags: []string{"--mode", "full"}},
	{name: "spike", flags: []string{"--mode", "spike"}, logs: true},
	{name: "trace", flags: []string{"--mode", "trace"}, logs: true},
	{name: "use", use: true},
	{name: "cover ccache", flags: []string{"--mode", "cover"}, ccache: true},
	{name: "full ccache", flags: []string{"--mode", "full"}, ccache: true},
	{name: "use ccache", use: true, ccache: true},
}

// row is what became of a case.
type row struct {
	Guest    string
	System   string
	Variant  string
	Why      string // it was not run, or what is wrong; "" if all is well
	Bad      bool
	Size     [2]int64 // of the stripped binary: plain, with probes
	Summary  summary
	Ran      int    // functions that ran, of those with records
	Revision string // of cairn
}

// row begins one for a case, "" for all of them.
func (c *corpus) row(g *guest, variant string) row {
	return row{Guest: g.name, System: g.system, Variant: variant, Revision: c.revision}
}

// notRun returns the only row of a guest that has none for its cases.
func (c *corpus) notRun(g *guest, format string, args ...any) []row {
	r := c.row(g, "")
	r.Why = fmt.Sprintf(format, args...)
	return []row{r}
}

// summary is what cairn build --json says.
type summary struct {
	Files     int                 `json:"files"`
	Functions int                 `json:"functions"`
	Cached    int                 `json:"cached"`
	Untouched map[string][]string `json:"untouched"`
	Skipped   map[string][]string `json:"skipped"`
	Use       *struct {
		Files int `json:"files"`
		Laid  int `json:"laid"` // modules in the profile's order: all that is done where code is not split
	} `json:"use"`
}

// nothing reports whether a build did nothing with cairn.
func (s *summary) nothing() bool {
	return s.Files == 0 && s.Cached == 0 && (s.Use == nil || s.Use.Files == 0 && s.Use.Laid == 0)
}

// guest builds a program in all cases that are wanted.
func (c *corpus) guest(ctx context.Context, g *guest) []row {
	if lacks := g.lacks(); lacks != "" {
		return c.notRun(g, "this machine has no %s", lacks)
	}
	dir := filepath.Join(c.out, g.name)
	if err := os.RemoveAll(dir); err != nil {
		return c.notRun(g, "%v", err)
	}
	plain := filepath.Join(dir, "plain")
	if err := c.fetch(ctx, g); err != nil {
		return c.notRun(g, "%v", err)
	}
	if err := c.tree(ctx, g, plain); err != nil {
		return c.notRun(g, "%v", err)
	}
	c.say("%s: plain", g.name)
	if text, err := c.shell(ctx, plain, nil, g.build); err != nil {
		return c.notRun(g, "it does not build here without cairn: %v: %s", err, end(text))
	}
	want, err := c.shell(ctx, plain, g.env, g.test)
	if err != nil {
		return c.notRun(g, "its tests fail without cairn: %v: %s", err, end(want))
	}
	size := g.stripped(ctx, plain)
	var rows []row
	for _, v := range g.variants() {
		if !c.cases.MatchString(v.name) {
			continue
		}
		r := c.row(g, v.name)
		if _, err := exec.LookPath("ccache"); v.ccache && err != nil {
			r.Why = "this machine has no ccache"
			rows = append(rows, r)
			continue
		}
		began := time.Now()
		if err := (&trial{c, g, &r, v, dir}).run(ctx, want); err != nil {
			r.Why, r.Bad = err.Error(), true
		}
		r.Size[0] = size
		c.say("%s: %s: %s (%.0f s)", g.name, v.name, cmp.Or(r.Why, "ok"), time.Since(began).Seconds())
		rows = append(rows, r)
	}
	if !c.keep {
		os.RemoveAll(dir)
	}
	return rows
}

// lacks returns what the guest needs that is not there.
func (g *guest) lacks() string {
	for _, tool := range g.tools {
		if _, err := exec.LookPath(tool); err != nil {
			return tool
		}
	}
	for _, file := range g.files {
		if _, err := os.Stat(file); err != nil {
			return file
		}
	}
	return ""
}

// fetch unpacks the guest's sources once.
func (c *corpus) fetch(ctx context.Context, g *guest) error {
	dir := filepath.Join(c.out, "src", g.source)
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	cmd := exec.CommandContext(ctx, filepath.Join(c.repo, "scripts", "debian-source.sh"), g.source, dir+".part")
	if text, err := cmd.CombinedOutput(); err != nil {
		os.RemoveAll(dir + ".part")
		return fmt.Errorf("no sources: %w: %s", err, end(text))
	}
	return os.Rename(dir+".part", dir)
}

// tree copies the sources, with their times: a build system may look at them.
func (c *corpus) tree(ctx context.Context, g *guest, dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	if text, err := exec.CommandContext(ctx, "cp", "-a", filepath.Join(c.out, "src", g.source), dir).CombinedOutput(); err != nil {
		return fmt.Errorf("cp: %w: %s", err, end(text))
	}
	return nil
}

// trial is a build of a guest by cairn, and a run of its tests.
type trial struct {
	corpus  *corpus
	guest   *guest
	row     *row
	variant variant
	dir     string
}

// tree is where it is built: not by the name of the case, as paths in programs are to be of one length.
func (t *trial) tree() string { return filepath.Join(t.dir, "probe") }

// raws is where its tests record.
func (t *trial) raws() string { return filepath.Join(t.dir, "raws") }

// run builds one case and runs the tests.
func (t *trial) run(ctx context.Context, want []byte) error {
	c, g, r, v, dir, tree, raws := t.corpus, t.guest, t.row, t.variant, t.dir, t.tree(), t.raws()
	for _, old := range []string{tree, raws} {
		if err := os.RemoveAll(old); err != nil {
			return err
		}
	}
	if err := c.tree(ctx, g, tree); err != nil {
		return err
	}
	flags, profile := v.flags, filepath.Join(dir, "full.mip")
	if v.use {
		if _, err := os.Stat(profile); err != nil {
			r.Why = "it needs the profile of case full"
			return nil
		}
		flags = []string{"--use", profile}
	}
	env := []string{"CAIRN_DIR=" + filepath.Join(dir, "building"), "CAIRN_CACHE=" + filepath.Join(c.out, "cache")}
	if v.ccache {
		env = append(env, "PATH=/usr/lib/ccache:"+os.Getenv("PATH"), "CCACHE_DIR="+filepath.Join(c.out, "ccache"))
	}
	if err := t.build(ctx, flags, env); err != nil {
		return err
	}
	r.Size[1] = g.stripped(ctx, tree)
	env = append(slices.Clone(g.env), "CAIRN_DIR="+raws)
	got, err := c.shell(ctx, tree, env, g.test)
	if err != nil {
		return fmt.Errorf("its tests: %w: %s", err, end(got))
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("its tests answer otherwise: %s", firstDifference(want, got))
	}
	if v.use {
		return nil
	}
	if v.logs {
		return logged(raws)
	}
	if v.name != "full" {
		profile = filepath.Join(dir, "other.mip")
	}
	return t.recorded(ctx, profile)
}

// build has cairn build the tree, and reads its summary.
func (t *trial) build(ctx context.Context, flags, env []string) error {
	c, r := t.corpus, t.row
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	args := append(append([]string{"build", "--json"}, flags...), "--", "sh", "-ec", t.guest.build)
	cmd := c.command(ctx, t.tree(), env, c.cairn, args...)
	var text, talk bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &talk
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("building: %w: %s", errors.Join(err, ctx.Err()), end(talk.Bytes()))
	}
	if err := json.Unmarshal(text.Bytes(), &r.Summary); err != nil {
		return fmt.Errorf("the summary of the build: %w: %s", err, end(text.Bytes()))
	}
	if r.Summary.nothing() {
		return errors.New("nothing was built with cairn")
	}
	return nil
}

// logged looks for what runs of the timed modes have left.
func logged(raws string) error {
	logs, err := filepath.Glob(filepath.Join(raws, "*"))
	if err == nil && len(logs) == 0 {
		err = errors.New("no run left a log")
	}
	return err
}

// recorded merges what the tests' runs have left to a profile, and counts the functions
// that ran.
func (t *trial) recorded(ctx context.Context, profile string) error {
	c, tree := t.corpus, t.tree()
	args := []string{"merge", "-o", profile}
	seen := map[string]bool{}
	scratch := profile + ".map"
	defer os.Remove(scratch)
	for _, glob := range t.guest.modulesOf() {
		files, err := filepath.Glob(filepath.Join(tree, glob))
		if err != nil {
			return err
		}
		for _, file := range files {
			// Some are scripts, or belong to no build of ours.
			if !seen[file] && exec.CommandContext(ctx, c.cairn, "map", "-o", scratch, file).Run() == nil {
				seen[file] = true
				args = append(args, file)
			}
		}
	}
	if text, err := c.command(ctx, tree, nil, c.cairn, append(args, t.raws())...).CombinedOutput(); err != nil {
		return fmt.Errorf("merging: %w: %s", err, end(text))
	}
	text, err := c.command(ctx, tree, nil, c.cairn, "covered", "--json", "-p", profile).Output()
	if err != nil {
		return fmt.Errorf("cairn covered: %w", err)
	}
	var shown struct{ Functions []json.RawMessage }
	if err := json.Unmarshal(text, &shown); err != nil {
		return fmt.Errorf("cairn covered: %w", err)
	}
	if t.row.Ran = len(shown.Functions); t.row.Ran == 0 {
		return errors.New("no function ran")
	}
	return nil
}

// shell runs commands in a tree and returns what they print.
func (c *corpus) shell(ctx context.Context, dir string, env []string, commands string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	out, err := c.command(ctx, dir, env, "sh", "-c", commands).CombinedOutput()
	return out, errors.Join(err, ctx.Err())
}

func (c *corpus) command(ctx context.Context, dir string, env []string, argv0 string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, argv0, args...)
	cmd.Dir = dir
	// A make around this one must not tell those of the builds what to print, or to share.
	inherited := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return name == "MAKEFLAGS" || name == "MFLAGS" || name == "MAKELEVEL"
	})
	cmd.Env = append(append(inherited, "LC_ALL=C"), env...)
	// What a build has started ends with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// stripped returns the size of the guest's binary in a tree without symbols, 0 if that cannot be told.
func (g *guest) stripped(ctx context.Context, tree string) int64 {
	path := filepath.Join(tree, g.binary)
	to := path + ".stripped"
	defer os.Remove(to)
	if exec.CommandContext(ctx, cmp.Or(g.strip, "strip"), "-o", to, path).Run() != nil {
		return 0
	}
	info, err := os.Stat(to)
	if err != nil {
		return 0
	}
	return info.Size()
}

// end returns the last words of a program.
func end(text []byte) string {
	text = bytes.TrimSpace(text)
	return strings.ToValidUTF8(string(text[max(0, len(text)-600):]), "?")
}

// firstDifference returns the first line that differs.
func firstDifference(want, got []byte) string {
	w, g := strings.Split(string(want), "\n"), strings.Split(string(got), "\n")
	for i := range max(len(w), len(g)) {
		var a, b string
		if i < len(w) {
			a = w[i]
		}
		if i < len(g) {
			b = g[i]
		}
		if a != b {
			return fmt.Sprintf("line %d is %q, without cairn %q", i+1, b, a)
		}
	}
	return "nothing"
}

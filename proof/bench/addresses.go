package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// addresses builds programs by profiles of samples with branches and of samples without, and
// writes ADDRESSES.md: what the build of each executes.
func (b *bench) addresses(ctx context.Context) error {
	dir, err := os.MkdirTemp(b.out, "addresses-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	programs, err := b.addressPrograms(ctx, dir)
	if err != nil {
		return err
	}
	var uses []*profileUse
	for _, p := range programs {
		of := filepath.Join(dir, p.name)
		if err := os.MkdirAll(of, 0o755); err != nil {
			return err
		}
		more, err := b.addressUses(ctx, of, p)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		uses = append(uses, more...)
	}
	var text bytes.Buffer
	b.writeHead(ctx, &text, "Profiles without branches", addressNotes, [][]string{{"clang", "clang-22", "--version"}})
	writeUses(&text, uses)
	return os.WriteFile(filepath.Join(b.root, "bench", "ADDRESSES.md"), text.Bytes(), 0o644)
}

const addressNotes = `Programs were recorded by ` + "`cairn record --lbr`" + ` and by perf on the clock of the
processor, which is what a virtual machine has. "Branches" are all of the former, with their
stacks or without; "instructions" the same samples without their branches, of which counts are
inferred by the flow of control; "time" are the samples of perf, some thousand, of which counts
are inferred likewise.`

const mujsScript = `var words = {}, s = 0;
for (var i = 0; i < 6000; i++) { var k = "k" + (i * 7919 % 503); words[k] = (words[k] || 0) + 1; s += [i, i + 1].length; }
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
function P(x) { this.x = x; } P.prototype.twice = function () { return this.x * 2; };
for (var i = 0; i < 5000; i++) s += new P(i).twice() % 7;
var l = []; for (var i = 0; i < 700; i++) l.push(i * 7919 % 1009); l.sort(function (a, b) { return a - b; });
try { throw new Error("thrown"); } catch (e) { s += e.message.length; }
print(s, words.k7, fib(19), l[77], "the quick brown fox".replace(/[aeiou]/g, function (c) { return c.toUpperCase(); }), JSON.stringify(words).length);
`

// addressPrograms fetches what is built.
func (b *bench) addressPrograms(ctx context.Context, dir string) ([]*profiled, error) {
	lua, err := b.profiledLua(ctx, filepath.Join(dir, "lua"))
	if err != nil {
		return nil, err
	}
	sources := map[string]string{}
	for _, name := range []string{"mujs", "bzip2"} {
		sources[name] = filepath.Join(dir, name+"-source")
		if _, err := output(ctx, b.root, "scripts/debian-source.sh", name, sources[name]); err != nil {
			return nil, err
		}
	}
	script := filepath.Join(dir, "script.js")
	if err := os.WriteFile(script, []byte(mujsScript), 0o644); err != nil {
		return nil, err
	}
	bzip2 := &profiled{name: "bzip2", args: []string{"-kc", filepath.Join(b.out, "speed.c")}}
	for _, name := range []string{"blocksort", "huffman", "crctable", "randtable", "compress", "decompress", "bzlib", "bzip2"} {
		bzip2.files = append(bzip2.files, filepath.Join(sources["bzip2"], name+".c"))
	}
	return []*profiled{
		lua,
		{
			name:  "SQLite",
			files: []string{filepath.Join(b.out, "speed.c"), filepath.Join(b.out, "sqlite3.c"), "-lpthread"},
			args:  []string{"1000", ":memory:"},
		},
		{name: "mujs", files: []string{filepath.Join(sources["mujs"], "one.c"), filepath.Join(sources["mujs"], "main.c")}, args: []string{script}},
		bzip2,
	}, nil
}

// addressUses builds a program by each kind of samples.
func (b *bench) addressUses(ctx context.Context, dir string, p *profiled) ([]*profileUse, error) {
	fmt.Fprintf(b.log, "building %s by samples\n", p.name)
	if err := p.build(ctx, dir, "probed"); err != nil {
		return nil, err
	}
	run := append([]string{"./probed"}, p.args...)
	if _, err := output(ctx, dir, append([]string{b.cairn, "record", "--lbr", "-o", "perf", "--every", "4999", "--"}, run...)...); err != nil {
		return nil, err
	}
	if err := withoutBranches(filepath.Join(dir, "perf"), filepath.Join(dir, "perf.stacks")); err != nil {
		return nil, err
	}
	const times = "i=0; while [ $i -lt 40 ]; do \"$@\" >/dev/null; i=$((i + 1)); done"
	perf := append([]string{"perf", "record", "-q", "-e", "cpu-clock:u", "-F", "5000", "-o", "perf.time", "--", "sh", "-c", times, "sh"}, run...)
	if _, err := output(ctx, dir, perf...); err != nil {
		return nil, err
	}
	ours := []string{b.cairn, "profgen", "--binary", "probed", "-o", "profile"}
	return p.uses(ctx, dir, []profileForm{
		{label: plainBuild},
		{"branches and stacks", append(slices.Clone(ours), "perf")},
		{"branches", append(slices.Clone(ours), "--ignore-stack-samples", "perf")},
		{"instructions", append(slices.Clone(ours), "perf.stacks")},
		{"time", append(slices.Clone(ours), "perf.time")},
	})
}

// use builds the program by a profile, and counts what it executes.
func (p *profiled) use(ctx context.Context, dir string, form profileForm) (*profileUse, error) {
	var flags []string
	if form.argv != nil {
		if _, err := output(ctx, dir, form.argv...); err != nil {
			return nil, err
		}
		flags = []string{"-fprofile-sample-use=profile"}
	}
	if err := p.build(ctx, dir, "built", flags...); err != nil {
		return nil, err
	}
	u := &profileUse{program: p.name, label: form.label}
	return u, u.count(ctx, dir, append([]string{"./built"}, p.args...))
}

// withoutBranches copies text of perf script without the lines of branches.
func withoutBranches(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	var kept strings.Builder
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(strings.TrimLeft(line, " "), "0x") {
			kept.WriteString(line)
		}
	}
	return os.WriteFile(to, []byte(kept.String()), 0o644)
}

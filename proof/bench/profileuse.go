package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A profileUse is a build of a program with a profile, or without one.
type profileUse struct {
	program, label string
	instructions   int64
	mispredicted   int64 // conditional and indirect branches, by callgrind's model
}

// A profiled is a program that is built with profiles.
type profiled struct {
	name  string
	files []string // of the compiler
	args  []string // of the program
}

// A profileForm is a way to make a profile of "probed" and its samples "perf", as
// "profile".
type profileForm struct {
	label string
	argv  []string
}

// The profiles that tools make unless they are told otherwise.
const (
	plainBuild  = "plain"
	oursBuild   = "cairn profgen"
	theirsBuild = "llvm-profgen"
)

// profileForms returns what is compared: of each tool the profile that it makes unless
// it is told otherwise, and the form that the other's has.
func (b *bench) profileForms() []profileForm {
	ours := []string{b.cairn, "profgen", "--binary", "probed", "-o", "profile", "perf"}
	theirs := []string{"llvm-profgen-22", "--binary=probed", "--perfscript=perf", "--format=text", "--output=profile"}
	return []profileForm{
		{label: plainBuild},
		{oursBuild, ours},
		{theirsBuild, theirs},
		{oursBuild + " --csspgo-preinliner", append(slices.Clone(ours), "--csspgo-preinliner")},
		{theirsBuild + ", all contexts", append(slices.Clone(theirs), "--csspgo-preinliner=0", "--csprof-merge-cold-context=0", "--gen-cs-nested-profile=0")},
	}
}

const luaScript = `local function fib(n) if n < 2 then return n end return fib(n-1) + fib(n-2) end
local t = {} for i = 1, 400 do t[i] = (i * 7919) % 1009 end
table.sort(t, function(a, b) return a < b end)
local ok, e = pcall(function() local s = "" for w in string.gmatch("the quick brown fox jumps", "%a+") do s = s .. w:upper():sub(1, 2) end error(s) end)
local co = coroutine.wrap(function(a) for i = 1, 500 do a = coroutine.yield(a * i % 7) end return a end)
local x = 0 for i = 1, 400 do x = x + co(i) end
local mt = setmetatable({}, {__index = function(_, k) return k * 2 end, __add = function(a, b) return 3 end})
for i = 1, 3000 do x = x + mt[i] end
print(fib(25), t[3], e, x, mt + mt)
`

// useProfiles builds programs with profiles of the same samples, and counts what each
// build executes.
func (b *bench) useProfiles(ctx context.Context, dir string) ([]*profileUse, error) {
	lua, err := b.profiledLua(ctx, filepath.Join(dir, "source"))
	if err != nil {
		return nil, err
	}
	sqlite := &profiled{
		name:  "SQLite",
		files: []string{filepath.Join(b.out, "speed.c"), filepath.Join(b.out, "sqlite3.c"), "-lpthread"},
		args:  []string{"1000", ":memory:"},
	}
	var uses []*profileUse
	for _, p := range []*profiled{lua, sqlite} {
		of := filepath.Join(dir, p.name)
		if err := os.MkdirAll(of, 0o755); err != nil {
			return nil, err
		}
		more, err := b.usesOf(ctx, of, p)
		if err != nil {
			return nil, err
		}
		uses = append(uses, more...)
	}
	return uses, nil
}

// usesOf builds one program.
func (b *bench) usesOf(ctx context.Context, dir string, p *profiled) ([]*profileUse, error) {
	fmt.Fprintf(b.log, "building %s by profiles\n", p.name)
	if err := p.build(ctx, dir, "probed"); err != nil {
		return nil, err
	}
	record := append([]string{b.cairn, "record", "--lbr", "-o", "perf", "--event", "branches", "--every", "997", "--", "./probed"}, p.args...)
	if _, err := output(ctx, dir, record...); err != nil {
		return nil, err
	}
	return p.uses(ctx, dir, b.profileForms())
}

// uses builds the program by each form of its profile, and counts what each build executes.
func (p *profiled) uses(ctx context.Context, dir string, forms []profileForm) ([]*profileUse, error) {
	var uses []*profileUse
	for _, form := range forms {
		u, err := p.use(ctx, dir, form)
		if err != nil {
			return nil, err
		}
		uses = append(uses, u)
	}
	return uses, nil
}

// profiledLua fetches Lua, whose interpreter makes many tail calls.
func (b *bench) profiledLua(ctx context.Context, dir string) (*profiled, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if _, err := output(ctx, b.root, "scripts/debian-source.sh", "lua5.4", dir); err != nil {
		return nil, err
	}
	script := filepath.Join(dir, "script.lua")
	if err := os.WriteFile(script, []byte(luaScript), 0o644); err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(dir, "src", "l*.c"))
	if err != nil {
		return nil, err
	}
	files = slices.DeleteFunc(files, func(f string) bool { return filepath.Base(f) == "luac.c" })
	return &profiled{name: "Lua", files: files, args: []string{script}}, nil
}

// build compiles the program.
func (p *profiled) build(ctx context.Context, dir, name string, flags ...string) error {
	argv := append([]string{"clang-22", optimize, "-w", "-g1", "-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer", "-fpseudo-probe-for-profiling"}, flags...)
	argv = append(append(argv, p.files...), "-o", name, "-lm")
	_, err := output(ctx, dir, argv...)
	return err
}

var branchesCollected = regexp.MustCompile(`Collected : (\d+) \d+ (\d+) \d+ (\d+)`)

// count runs the program under callgrind, which does not understand the debug
// information of this compiler.
func (u *profileUse) count(ctx context.Context, dir string, program []string) error {
	if _, err := output(ctx, dir, "strip", program[0]); err != nil {
		return err
	}
	log := filepath.Join(dir, "callgrind.log")
	argv := append([]string{"valgrind", "--tool=callgrind", "--branch-sim=yes", "--callgrind-out-file=/dev/null", "--log-file=" + log}, program...)
	if _, err := output(ctx, dir, argv...); err != nil {
		return err
	}
	text, err := os.ReadFile(log)
	if err != nil {
		return err
	}
	m := branchesCollected.FindStringSubmatch(string(text))
	if m == nil {
		return fmt.Errorf("callgrind counted nothing: %s", strings.TrimSpace(string(text)))
	}
	var conditional, indirect int64
	for i, to := range []*int64{&u.instructions, &conditional, &indirect} {
		if *to, err = strconv.ParseInt(m[i+1], 10, 64); err != nil {
			return err
		}
	}
	u.mispredicted = conditional + indirect
	return nil
}

// worstUse returns by how much more instructions a build with our profile executes
// than one with llvm-profgen's, of the program where that is the most.
func worstUse(uses []*profileUse) float64 {
	worst := -1.0
	for _, ours := range uses {
		for _, theirs := range uses {
			if ours.program == theirs.program && ours.label == oursBuild && theirs.label == theirsBuild {
				worst = max(worst, growth(ours.instructions, theirs.instructions))
			}
		}
	}
	return worst
}

func writeUses(text *bytes.Buffer, uses []*profileUse) {
	text.WriteString("## What the profiles are worth\n\nPrograms built by clang with each profile and run under callgrind: instructions,\n" +
		"and branches that its model of a predictor gets wrong.\n\n")
	rows := [][]string{{"program", "build", "instructions", "against plain", "mispredicted"}}
	plain := int64(0)
	for _, u := range uses {
		if u.label == plainBuild {
			plain = u.instructions
		}
		rows = append(rows, []string{u.program, u.label, thousands(u.instructions), percent(growth(u.instructions, plain)), thousands(u.mispredicted)})
	}
	table(text, rows)
}

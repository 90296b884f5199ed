package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A profileUse is a build of Lua with a profile, or without one.
type profileUse struct {
	label        string
	profile      string // file; "" is none
	instructions int64
	mispredicted int64 // conditional and indirect branches, by callgrind's model
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

// useProfiles builds Lua with profiles of the same samples, and counts what each
// build executes.
func (b *bench) useProfiles(ctx context.Context, dir string) ([]*profileUse, error) {
	fmt.Fprintln(b.log, "building Lua by profiles")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if _, err := output(ctx, b.root, "scripts/debian-source.sh", "lua5.4", dir); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "script.lua"), []byte(luaScript), 0o644); err != nil {
		return nil, err
	}
	if err := b.buildLua(ctx, dir, "probed"); err != nil {
		return nil, err
	}
	for _, argv := range [][]string{
		{b.cairn, "record", "--lbr", "-o", "lua.perf", "--every", "997", "--", "./probed", "script.lua"},
		{b.cairn, "profgen", "--binary", "probed", "-o", "ours.prof", "lua.perf"},
		{"llvm-profgen-22", "--binary=probed", "--perfscript=lua.perf", "--format=text", "--output=theirs.prof"},
	} {
		if _, err := output(ctx, dir, argv...); err != nil {
			return nil, err
		}
	}
	uses := []*profileUse{{label: "plain"}, {label: "cairn profgen", profile: "ours.prof"}, {label: "llvm-profgen", profile: "theirs.prof"}}
	for i, u := range uses {
		name := "lua" + strconv.Itoa(i)
		var flags []string
		if u.profile != "" {
			flags = []string{"-fprofile-sample-use=" + filepath.Join(dir, u.profile)}
		}
		if err := b.buildLua(ctx, dir, name, flags...); err != nil {
			return nil, err
		}
		if err := u.count(ctx, dir, name); err != nil {
			return nil, err
		}
	}
	return uses, nil
}

func (b *bench) buildLua(ctx context.Context, dir, name string, flags ...string) error {
	files, err := filepath.Glob(filepath.Join(dir, "src", "l*.c"))
	if err != nil {
		return err
	}
	files = slices.DeleteFunc(files, func(f string) bool { return filepath.Base(f) == "luac.c" })
	argv := append([]string{"clang-22", optimize, "-w", "-g1", "-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer", "-fpseudo-probe-for-profiling"}, flags...)
	argv = append(append(argv, files...), "-o", name, "-lm")
	_, err = output(ctx, dir, argv...)
	return err
}

var branchesCollected = regexp.MustCompile(`Collected : (\d+) \d+ (\d+) \d+ (\d+)`)

// count runs the program under callgrind, which does not understand the debug
// information of this compiler.
func (u *profileUse) count(ctx context.Context, dir, name string) error {
	if _, err := output(ctx, dir, "strip", name); err != nil {
		return err
	}
	log := filepath.Join(dir, "callgrind.log")
	if _, err := output(ctx, dir, "valgrind", "--tool=callgrind", "--branch-sim=yes", "--callgrind-out-file=/dev/null", "--log-file="+log, "./"+name, "script.lua"); err != nil {
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

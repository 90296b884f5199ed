package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/internal/inputs/gather"
	"github.com/cairnprof/cairn/internal/profile/rawfiles"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// coverMap returns the map of a module with n functions in mode cover.
func coverMap(id prof.BuildID, module string, n int) *prof.Map {
	m := &prof.Map{BuildID: id, Module: module, RawAddr: 0x100000, RawSize: uint64(n)}
	for i := range n {
		m.Funcs = append(m.Funcs, prof.Func{
			Name: fmt.Sprintf("%s_f%d", module, i), File: module + ".c", Mode: prof.ModeCover, Record: uint64(i),
			Fragments: []prof.Fragment{{Addr: 0x1000 + uint64(i)*16, Size: 16}},
		})
	}
	return m
}

func writeTestMap(t testing.TB, path string, m *prof.Map) {
	t.Helper()
	var b bytes.Buffer
	if err := mip.WriteMap(&b, m); err != nil {
		t.Fatal(err)
	}
	writeTestFile(t, path, b.Bytes())
}

func writeTestRaw(t testing.TB, path string, m *prof.Map, data ...byte) {
	t.Helper()
	file, err := mip.AppendRaw(nil, mip.Raw{BuildID: m.BuildID, Size: m.RawSize, Data: data})
	if err != nil {
		t.Fatal(err)
	}
	writeTestFile(t, path, file)
}

func writeTestFile(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
}

// cairn runs a command line and returns its exit code and output. In args and
// in what it prints, $W stands for dir.
func cairn(t testing.TB, dir string, args ...string) (code int, out, talk string) {
	t.Helper()
	line := []string{"cairn"}
	for _, arg := range args {
		line = append(line, strings.ReplaceAll(arg, "$W", dir))
	}
	var stdout, stderr bytes.Buffer
	code = execute(t.Context(), line, verb.Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr})
	return code, strings.ReplaceAll(stdout.String(), dir, "$W"), strings.ReplaceAll(stderr.String(), dir, "$W")
}

// runsOf returns the runs of each function of the first module of a profile.
func runsOf(t testing.TB, path string) (runs []uint64) {
	t.Helper()
	p, err := verb.ReadProfile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range p.Modules[0].Counts {
		runs = append(runs, c.Runs)
	}
	return runs
}

// mergeDir makes a directory with app.mipmap, lib.mipmap and the raw files
// raws/{a,b,sub/c}.mipraw of app.
func mergeDir(t testing.TB) string {
	dir := t.TempDir()
	app, lib := coverMap("\x12\xab", "app", 3), coverMap("\x34\xcd", "lib", 2)
	writeTestMap(t, filepath.Join(dir, "app.mipmap"), app)
	writeTestMap(t, filepath.Join(dir, "lib.mipmap"), lib)
	writeTestRaw(t, filepath.Join(dir, "raws", "a.mipraw"), app, 1)
	writeTestRaw(t, filepath.Join(dir, "raws", "b.mipraw"), app, 1, 1)
	writeTestRaw(t, filepath.Join(dir, "raws", "sub", "c.mipraw"), app)
	writeTestFile(t, filepath.Join(dir, "raws", "notes.txt"), []byte("not a raw file"))
	writeTestRaw(t, filepath.Join(dir, "lib.mipraw"), lib, 0, 1)
	writeTestFile(t, filepath.Join(dir, "list"), []byte(dir+"/raws\r\n\n"+dir+"/lib.mipraw\n"))
	return dir
}

func TestMerge(t *testing.T) {
	t.Parallel()
	dir := mergeDir(t)
	step := func(want string, args ...string) {
		t.Helper()
		if code, _, talk := cairn(t, dir, args...); code != 0 || talk != want {
			t.Fatalf("%v: exit code %d\n%s\nwant %s", args, code, talk, want)
		}
	}
	step("$W/app.mip: app (12ab): 3 functions\n", "create", "-p", "$W/app.mip", "$W/app.mipmap")
	step("$W/app.mip: merged 3 raw files\n  app (12ab): 3 raw files, 3 new; 2 of 3 functions ran\n",
		"merge", "-p", "$W/app.mip", "$W/raws")
	if got := runsOf(t, dir+"/app.mip"); !reflect.DeepEqual(got, []uint64{2, 1, 0}) {
		t.Errorf("runs %d", got)
	}
	step("$W/app.mip: merged 1 raw file\n  app (12ab): 4 raw files, 1 new; 2 of 3 functions ran\n",
		"merge", "-p", "$W/app.mip", "$W/raws/b.mipraw", "$W/raws/../app.mip")
	step("$W/all.mip: merged 4 raw files and 1 profile\n"+
		"  app (12ab): 7 raw files, 3 new; 2 of 3 functions ran\n  lib (34cd): 1 raw file, 1 new; 1 of 2 functions ran\n",
		"merge", "-o", "$W/all.mip", "@$W/list", "$W/lib.mipmap", "$W/app.mip", "$W/raws/a.mipraw", "$W//app.mip")
	if got := runsOf(t, dir+"/all.mip"); !reflect.DeepEqual(got, []uint64{5, 3, 0}) {
		t.Errorf("runs %d", got)
	}
	// Neither way of merging the same files makes a difference to the bytes.
	step("$W/one.mip: merged 3 raw files\n  app (12ab): 3 raw files, 3 new; 2 of 3 functions ran\n",
		"merge", "-o", "$W/one.mip", "$W/raws/sub", "$W/raws/b.mipraw", "$W/app.mipmap", "$W/raws/a.mipraw")
	code, two, _ := cairn(t, dir, "merge", "-o", "-", "$W/app.mipmap", "$W/raws")
	if one, err := os.ReadFile(dir + "/one.mip"); err != nil || code != 0 || two != string(one) {
		t.Errorf("profiles of the same files differ: %v", err)
	}
}

func TestMergeRefuses(t *testing.T) {
	t.Parallel()
	dir := mergeDir(t)
	app := coverMap("\x12\xab", "app", 3)
	writeTestRaw(t, dir+"/bad/flag.mipraw", app, 1, 7)
	writeTestRaw(t, dir+"/bad/whole.mipraw", app, 1, 1, 1)
	if err := os.Truncate(dir+"/bad/whole.mipraw", 90); err != nil {
		t.Fatal(err)
	}
	wider := coverMap("\x12\xab", "app", 4)
	writeTestRaw(t, dir+"/bad/wider.mipraw", wider, 1)
	writeTestMap(t, dir+"/wider.mipmap", wider)
	writeTestFile(t, dir+"/bad/text.mipraw", []byte("hello, world"))
	complaints := strings.Join([]string{
		"cairn: $W/gone: no such file or directory",
		"cairn: $W/raws/notes.txt: not a raw file, map, profile or binary: it is not in a format that cairn knows",
		"cairn: $W/bad/flag.mipraw: damaged raw file: at offset 0x59: flag of app_f1 is 0x7, not 0 or 1",
		"cairn: $W/bad/text.mipraw: not a raw file: bad magic",
		"cairn: $W/bad/whole.mipraw: damaged raw file: at offset 0x5a: truncated: the header says 91 bytes",
		"cairn: $W/bad/wider.mipraw: raw section of 4 bytes, but that of app has 3",
		"cairn: $W/lib.mipraw: is of build 34cd, $W/app.mip holds app (12ab): merge it with its own binary", "",
	}, "\n")
	bad := []string{"$W/gone", "$W/raws/notes.txt", "$W/bad", "$W/lib.mipraw"}
	args := func(a ...string) []string { return append(a, bad...) }

	code, _, talk := cairn(t, dir, args("merge", "-o", "$W/app.mip", "$W/app.mipmap", "$W/raws", "--strict")...)
	if want := complaints + "cairn: 7 of 10 files could not be merged (--strict); $W/app.mip is not written\n"; code != verb.ExitFail || talk != want {
		t.Errorf("--strict: exit code %d\n%s\nwant\n%s", code, talk, want)
	}
	if _, err := os.Stat(dir + "/app.mip"); err == nil {
		t.Error("--strict wrote a profile")
	}
	code, out, talk := cairn(t, dir, args("merge", "-o", "$W/app.mip", "$W/app.mipmap", "$W/raws", "--json")...)
	want := complaints + "$W/app.mip: merged 3 raw files, 7 files omitted\n  app (12ab): 3 raw files, 3 new; 2 of 3 functions ran\n" +
		"cairn: 7 files omitted from $W/app.mip (--allow-omitted accepts this)\n"
	if code != verb.ExitPartial || talk != want {
		t.Errorf("exit code %d\n%s\nwant\n%s", code, talk, want)
	}
	var sum gather.Summary
	if err := json.Unmarshal([]byte(out), &sum); err != nil || sum.Raws != 3 || len(sum.Refused) != 7 || sum.Refused[6].Kind != rawfiles.OtherBuild || sum.Modules[0].Ran != 2 {
		t.Errorf("--json: %v\n%s", err, out)
	}
	before, err := os.ReadFile(dir + "/app.mip")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args []string
		code int
		want string
	}{
		{args("merge", "-p", "$W/app.mip"), verb.ExitFail, "nothing could be merged from 7 files; $W/app.mip is unchanged"},
		{[]string{"merge", "-p", "$W/app.mip", "$W/app.mipmap"}, verb.ExitFail, "nothing to merge"},
		{[]string{"merge", "-p", "$W/none.mip", "$W/raws"}, verb.ExitFail, "$W/none.mip: profile does not exist: create it first"},
		{[]string{"merge", "-p", "$W/app.mipmap", "$W/raws"}, verb.ExitFail, "$W/app.mipmap is a map"},
		{[]string{"merge", "-p", "$W/app.mip", "$W/wider.mipmap", "$W/raws"}, verb.ExitFail, "$W/wider.mipmap: app (12ab): same build id, but a different map"},
		{[]string{"merge", "-o", "$W/x.mip", "$W/raws"}, verb.ExitFail, "nothing could be merged from 3 files, as there is no binary or map among the arguments; $W/x.mip is not written"},
		{[]string{"merge", "-o", "$W/x.mip", "@$W/none"}, verb.ExitFail, "no such file"},
		{[]string{"merge", "-o", "$W/x.mip", "-p", "$W/app.mip", "$W/raws"}, verb.ExitUsage, "give -o FILE.mip"},
		{[]string{"merge", "$W/raws"}, verb.ExitUsage, "give -o FILE.mip"},
		{[]string{"merge", "-p", "$W/app.mip"}, verb.ExitUsage, "give raw files or directories"},
		{[]string{"merge", "-o", "-", "--json", "$W/raws"}, verb.ExitUsage, "standard output"},
		{[]string{"create", "-p", "$W/app.mip", "$W/app.mipmap"}, verb.ExitFail, "$W/app.mip exists"},
		{[]string{"create", "-p", "$W/y.mip", "$W/raws/a.mipraw"}, verb.ExitFail, "not a binary or a map: it is a raw file"},
		{[]string{"create", "$W/app.mipmap"}, verb.ExitUsage, "no profile given; use -o FILE.mip"},
		{[]string{"create", "-p", "$W/y.mip", "$W/app.mipmap", "$W/wider.mipmap"}, verb.ExitFail, "same build id, but a different map"},
		{[]string{"map", "$W/raws/notes.txt"}, verb.ExitFail, "not a binary or a map"},
	} {
		if code, _, talk := cairn(t, dir, tc.args...); code != tc.code || !strings.Contains(talk, tc.want) {
			t.Errorf("%v: exit code %d, want %d\n%s\nwant %s", tc.args, code, tc.code, talk, tc.want)
		}
	}
	if after, err := os.ReadFile(dir + "/app.mip"); err != nil || !bytes.Equal(before, after) {
		t.Errorf("a merge that failed changed the profile: %v", err)
	}
	if left, _ := filepath.Glob(dir + "/.*"); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestMergeListsTen(t *testing.T) {
	t.Parallel()
	dir := mergeDir(t)
	for i := range 30 {
		lib := coverMap(prof.BuildID(fmt.Sprintf("\x34%c", 'a'+i/2)), "lib", 2) // two files of each build
		writeTestRaw(t, fmt.Sprintf("%s/raws/lib%02d.mipraw", dir, i), lib, 1)
		writeTestFile(t, fmt.Sprintf("%s/raws/cut%02d.mipraw", dir, i), []byte("\x4d\x49"))
	}
	_, _, talk := cairn(t, dir, "merge", "-o", "$W/app.mip", "$W/app.mipmap", "$W/raws")
	if !strings.Contains(talk, "cairn: 30 raw files of 15 other builds omitted (3461, 3462, 3463, 3464, 3465 and 10 more): merge them with their own binaries\n") || strings.Contains(talk, "is of build") {
		t.Errorf("complaints about other builds:\n%s", talk)
	}
	if n := strings.Count(talk, "raws/cut"); n != 10 || !strings.Contains(talk, "cairn: and 20 more ") {
		t.Errorf("%d complaints about files that were cut off\n%s", n, talk)
	}
	list, err := os.ReadFile(dir + "/app.mip.refused")
	if n := strings.Count(string(list), ".mipraw: "); err != nil || n != 60 || !strings.Contains(talk, "cairn: all 60 files that were omitted are listed in $W/app.mip.refused\n") {
		t.Errorf("%v: %d complaints in the list\n%s", err, n, talk)
	}
	code, _, talk := cairn(t, dir, "merge", "-o", "/dev/null", "$W/app.mipmap", "$W/raws")
	if n := strings.Count(talk, "is of build"); n != 30 || code != verb.ExitPartial {
		t.Errorf("%d complaints where there is no place for a list\n%s", n, talk)
	}
}

// TestMergeLongRaw has a section larger than the first buffer of a worker.
func TestMergeLongRaw(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	m := coverMap("\x12", "app", 5*(64<<10))
	writeTestMap(t, dir+"/app.mipmap", m)
	data := bytes.Repeat([]byte{1}, int(m.RawSize))
	writeTestRaw(t, dir+"/a.mipraw", m, data...)
	live, err := mip.AppendRaw(nil, mip.Raw{BuildID: m.BuildID, Size: m.RawSize, Data: data, Continuous: true})
	if err != nil {
		t.Fatal(err)
	}
	writeTestFile(t, dir+"/b.mipraw", append(live, make([]byte, 4096)...))
	if code, _, talk := cairn(t, dir, "merge", "-o", "$W/app.mip", "$W/app.mipmap", "$W/a.mipraw", "$W/b.mipraw"); code != 0 {
		t.Fatal(talk)
	}
	for i, n := range runsOf(t, dir+"/app.mip") {
		if n != 2 {
			t.Fatalf("function %d ran %d times", i, n)
		}
	}
}

// TestMergeAtOnce merges into one profile from several processes, and checks that no run is
// lost.
func TestMergeAtOnce(t *testing.T) {
	t.Parallel()
	dir := mergeDir(t)
	if code, _, talk := cairn(t, dir, "create", "-p", "$W/app.mip", "$W/app.mipmap"); code != 0 {
		t.Fatal(talk)
	}
	var wg sync.WaitGroup
	const merges = 8
	for range merges {
		wg.Go(func() {
			if code, _, talk := cairn(t, dir, "merge", "-p", "$W/app.mip", "$W/raws"); code != 0 {
				t.Error(talk)
			}
		})
	}
	wg.Wait()
	if got := runsOf(t, dir+"/app.mip"); !reflect.DeepEqual(got, []uint64{2 * merges, merges, 0}) {
		t.Errorf("runs %d", got)
	}
}

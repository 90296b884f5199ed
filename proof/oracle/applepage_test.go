//go:build linux && amd64

package oracle

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// applePage runs what docs/apple.md shows, where clang, ld and an SDK are found as on a Mac.
type applePage struct {
	dir string
	env []string
}

// stub is a library of Apple as linkers read it, with the names of libSystem that the tests have.
const stub = "--- !tapi-tbd\ntbd-version: 4\ntargets: [ arm64-ios ]\ninstall-name: %s\nexports:\n  - targets: [ arm64-ios ]\n    symbols: [ _NSLog ]\n...\n"

// newApplePage makes the tools and the SDK. The linker makes no chained fixups, which the loader cannot apply.
func newApplePage(t *testing.T) *applePage {
	t.Helper()
	for _, tool := range []string{"clang-22", "ld64.lld-22", "llvm-objcopy-22", "llvm-nm-22", iOS.compiler, iOS.emulator[0]} {
		mustHave(t, tool)
	}
	p := &applePage{dir: t.TempDir()}
	tools, sdk := filepath.Join(p.dir, "tools"), filepath.Join(p.dir, "sdk")
	system, err := filepath.Abs(filepath.Join("testdata", "macho"))
	if err != nil {
		t.Fatal(err)
	}
	const foundation = "/System/Library/Frameworks/Foundation.framework/Foundation"
	p.write(t, 0o755, map[string]string{
		"tools/clang":               "#!/bin/sh\nexec clang-22 -mlinker-version=820 \"$@\"\n",
		"tools/clang++":             "#!/bin/sh\nexec clang++-22 -mlinker-version=820 \"$@\"\n",
		"tools/ld":                  "#!/bin/sh\nexec ld64.lld-22 -no_fixup_chains \"$@\"\n",
		"tools/llvm-objcopy":        "#!/bin/sh\nexec llvm-objcopy-22 \"$@\"\n",
		"sdk/usr/lib/libobjc.tbd":   fmt.Sprintf(stub, "/usr/lib/libobjc.A.dylib"),
		"sdk/usr/lib/libc++.tbd":    fmt.Sprintf(stub, "/usr/lib/libc++.1.dylib"),
		"sdk" + foundation + ".tbd": fmt.Sprintf(stub, foundation),
		"derived/App.LinkFileList":  filepath.Join(p.dir, "derived", "main.o") + "\n",
	})
	for from, to := range map[string]string{
		filepath.Join(system, "include"):       filepath.Join(sdk, "usr", "include"),
		filepath.Join(system, "libSystem.tbd"): filepath.Join(sdk, "usr", "lib", "libSystem.tbd"),
		filepath.Join(system, "counter.m"):     filepath.Join(p.dir, "main.m"),
		cairn:                                  filepath.Join(tools, "cairn"),
	} {
		if err := os.Symlink(from, to); err != nil {
			t.Fatal(err)
		}
	}
	p.env = []string{"PATH=" + tools + ":" + os.Getenv("PATH"), "SDK=" + sdk}
	return p
}

func (p *applePage) write(t *testing.T, mode os.FileMode, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(p.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
}

// sh runs commands and returns what they print.
func (p *applePage) sh(t *testing.T, commands string) string {
	t.Helper()
	cmd := command(t, "sh", "-ec", commands)
	cmd.Dir, cmd.Env = p.dir, append(cmd.Env, p.env...)
	return output(t, cmd)
}

// run runs a program of the page, which writes its files to a directory.
func (p *applePage) run(t *testing.T, program, raws string) string {
	t.Helper()
	cmd := iOS.load(t, iOS.emulator, filepath.Join(p.dir, program))
	cmd.Env = append(cmd.Env, "CAIRN_DIR="+filepath.Join(p.dir, raws))
	return output(t, cmd)
}

var shellBlock = regexp.MustCompile("(?ms)^```(sh|c)\n(.*?)^```$")

// TestApplePage runs the commands of docs/apple.md, in their order, and commands as Xcode starts them. It leaves
// out what needs a Mac.
func TestApplePage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "apple.md"))
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	needsMac := regexp.MustCompile(`(?m)^(.*# on a Mac|codesign .*)$\n`)
	for _, m := range shellBlock.FindAllStringSubmatch(string(page), -1) {
		blocks = append(blocks, needsMac.ReplaceAllString(m[2], ""))
	}
	if len(blocks) != 7 {
		t.Fatalf("%d blocks of commands, want 7: %q", len(blocks), blocks)
	}
	build, container, timed, xcode, lto, faster, ship := blocks[0], blocks[1], blocks[2], blocks[3], blocks[4], blocks[5], blocks[6]
	p := newApplePage(t)
	p.sh(t, "mkdir build; clang -target arm64-apple-ios15 -isysroot $SDK -O2 -c -o build/main.o main.m; clang -target arm64-apple-ios15 -isysroot $SDK -o plain build/main.o")
	want := p.run(t, "plain", "none")

	p.sh(t, build)
	checkAnswer(t, p.run(t, "app", "raw"), want)
	p.write(t, 0o644, map[string]string{"container.c": container})
	p.sh(t, "cairn cc clang -target arm64-apple-ios15 -isysroot $SDK -Werror -c container.c")

	compile, show, _ := strings.Cut(timed, "\n")
	p.sh(t, compile)
	checkAnswer(t, p.run(t, "timed", "logs"), want)
	if calls := p.sh(t, strings.ReplaceAll(show, "PROGRAM.ID.PID.0.cairnlog", "logs/*.cairnlog")); !strings.Contains(calls, "-[Louder add:]") {
		t.Errorf("stacks: %s", calls)
	}

	p.sh(t, xcode)
	p.xcode(t, want, xcodeCommands, 7)

	const lld = "-fuse-ld=lld -Wl,-no_fixup_chains" // the loader needs it
	p.sh(t, strings.ReplaceAll(lto, "-fuse-ld=lld", lld))
	checkAnswer(t, p.run(t, "optimised", "optimised.raws"), want)
	if calls := p.sh(t, "cairn merge -o optimised.mip optimised optimised.raws && cairn covered optimised.mip"); !strings.Contains(calls, "-[Louder add:]") {
		t.Errorf("covered: %s", calls)
	}
	p.xcode(t, want, strings.ReplaceAll(xcodeCommands, " -Os ", " -Os -flto=thin -Wno-unused-command-line-argument "+lld+" "), 7)

	text := p.sh(t, faster)
	if !regexp.MustCompile(`(?m)^\(no name\) +1 +6 `).MatchString(text) {
		t.Errorf("pages: %s", text)
	}
	order := []string{"_main", "+[Counter make]", "_helper", "-[Counter twice:plus:]", "-[Counter add:]", "-[Louder add:]"}
	symbols := p.sh(t, `llvm-nm-22 -n faster | sed -n 's/^[0-9a-f]* [tT] //p' | grep -v '^__mh'`)
	if !strings.HasPrefix(symbols, strings.Join(order, "\n")+"\n") {
		t.Errorf("the code begins with %q, want %q", symbols, order)
	}
	checkAnswer(t, p.run(t, "faster", "none"), want)

	p.sh(t, ship)
	checkAnswer(t, p.run(t, "app", "shipped"), want)
	if calls := p.sh(t, "cairn merge -o shipped.mip app.mipmap shipped && cairn covered shipped.mip"); !strings.Contains(calls, "-[Louder add:]") {
		t.Errorf("covered: %s", calls)
	}
	if exec.Command("grep", "-q", "main.m", filepath.Join(p.dir, "app")).Run() == nil {
		t.Error("the name of a source file ships")
	}
}

// Commands of Xcode 15, from build logs, with the paths of the test and without the options that only Apple's
// clang knows.
const xcodeCommands = `
./cairn-clang -x objective-c -target arm64-apple-ios15.0 -fmessage-length=0 -fdiagnostics-show-note-include-stack \
  -fmacro-backtrace-limit=0 -fno-color-diagnostics -std=gnu17 -fobjc-weak -fmodules -fmodules-cache-path=$PWD/derived/ModuleCache \
  -fmodules-prune-interval=86400 -fmodules-prune-after=345600 -Wno-trigraphs -Wunused-variable -fpascal-strings -Os -isysroot $SDK -g \
  -iquote derived/App.hmap -Iderived/include -Fderived -MMD -MT dependencies -MF derived/main.d --serialize-diagnostics derived/main.dia \
  -c $PWD/main.m -o derived/main.o
for link in clang clang++; do
./cairn-$link -Xlinker -reproducible -target arm64-apple-ios15.0 -isysroot $SDK -Os -Lderived -Fderived -filelist derived/App.LinkFileList \
  -Xlinker -rpath -Xlinker @executable_path/Frameworks -dead_strip -Xlinker -object_path_lto -Xlinker derived/App_lto.o \
  -Xlinker -export_dynamic -Xlinker -no_deduplicate -fobjc-link-runtime -framework Foundation -Xlinker -no_adhoc_codesign \
  -Xlinker -dependency_info -Xlinker derived/App_dependency_info.dat -sectcreate __TEXT __info_plist derived/main.d -o derived/App.$link
done
grep -q '^dependencies:' derived/main.d && test -s derived/main.dia && test -s derived/App_dependency_info.dat`

// xcode compiles and links as Xcode does, with the scripts of the page.
func (p *applePage) xcode(t *testing.T, want, commands string, functions int) {
	t.Helper()
	p.sh(t, commands)
	for _, program := range []string{"App.clang", "App.clang++"} {
		p.sh(t, "rm -rf "+program+".raws")
		checkAnswer(t, p.run(t, "derived/"+program, program+".raws"), want)
		text := p.sh(t, fmt.Sprintf("cairn merge -o xcode.mip derived/%[1]s %[1]s.raws && cairn show --json xcode.mip", program))
		if n := strings.Count(text, `main.m"`); n != functions {
			t.Errorf("%s: %d functions are of main.m, want %d: %s", program, n, functions, text)
		}
	}
}

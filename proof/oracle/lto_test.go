//go:build linux && amd64

package oracle

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The kinds of link-time optimisation by clang: modules on their own, and merged.
var ltoKinds = []string{"-flto=thin", "-flto"}

// TestLTO compares everything on programs whose code lld makes: C++, whose functions many
// modules define, and a library with assembly by hand between modules.
func TestLTO(t *testing.T) {
	t.Parallel()
	mustHave(t, "ld.lld-22")
	blst := goModule(t, "github.com/supranational/blst@v0.3.17")
	for _, program := range []struct {
		name, compiler string
		args           []string
	}{
		{"shapes", "clang++-22", []string{"-std=c++17", "-w", filepath.Join("testdata", "shapes.cc")}},
		{"blst", "clang-22", []string{
			"-w", "-I" + filepath.Join(blst, "bindings"), filepath.Join("testdata", "blst.c"),
			filepath.Join(blst, "src", "server.c"), filepath.Join(blst, "build", "assembly.S"),
		}},
	} {
		for _, kind := range ltoKinds {
			t.Run(program.name+kind, func(t *testing.T) {
				if program.name == "blst" || kind == "-flto" {
					skipLong(t)
				}
				t.Parallel()
				args := append([]string{"-O2", kind, "-fuse-ld=lld"}, program.args...)
				want := answerOf(t, build(t, "", program.compiler, append(program.args, "-O0")...))
				everything(t, want, program.compiler, args...)
			})
		}
	}
}

// TestLTORust compares Rust with a module of C, whose bitcode lld compiles together.
func TestLTORust(t *testing.T) {
	t.Parallel()
	skipLong(t)
	mustHave(t, "ld.lld-22")
	mustHave(t, "rustc")
	about := output(t, command(t, "rustc", "-vV"))
	_, llvm, _ := strings.Cut(about, "LLVM version: ")
	if major, err := strconv.Atoi(strings.SplitN(llvm, ".", 2)[0]); err != nil || major > 22 {
		t.Skipf("lld 22 does not read the bitcode of %s", about)
	}
	for _, kind := range ltoKinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			// The archiver is that of binutils, which makes no index: lld needs none.
			output(t, command(t, "clang-22", "-O2", kind, "-c", filepath.Join("testdata", "lto.c"), "-o", filepath.Join(dir, "part.o")))
			output(t, command(t, "ar", "rcs", filepath.Join(dir, "libpart.a"), filepath.Join(dir, "part.o")))
			compile := []string{
				"rustc", "-O", "-C", "linker-plugin-lto", "-C", "linker=clang-22", "-C", "link-arg=-fuse-ld=lld",
				"-L", dir, "-l", "static=part", filepath.Join("testdata", "lto.rs"), "-o",
			}
			plain, full := filepath.Join(dir, "plain"), filepath.Join(dir, "full")
			output(t, command(t, compile[0], append(compile[1:], plain)...))
			output(t, command(t, cairn, append(append([]string{"build", "--mode", "full", "--"}, compile...), full)...))
			answer, ran, m := callgrind(t, full)
			checkAnswer(t, answer, answerOf(t, plain))
			checkCalls(t, m, ran)
			checkCovered(t, m, ran)
		})
	}
}
